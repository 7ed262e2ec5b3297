/* SPDX-License-Identifier: MIT */
#include "runtime/process/machine.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const double worker_bytes = 400.0 * 1024 * 1024;

static double affinity_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                       : (double)sysconf(_SC_NPROCESSORS_ONLN);
}

/* cgroup v2: "quota period" or "max period". */
static double quota_cpus(void)
{
    double quota = 0;
    double period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (file == NULL)
        return INFINITY;
    int read = fscanf(file, "%lf %lf", &quota, &period);
    fclose(file);
    return read == 2 && period > 0 ? ceil(quota / period) : INFINITY;
}

static double read_number(const char *path)
{
    double number = INFINITY;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return INFINITY;
    if (fscanf(file, "%lf", &number) != 1)
        number = INFINITY;
    fclose(file);
    return number;
}

static double memory_bytes(void)
{
    double physical = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return fmin(physical, read_number("/sys/fs/cgroup/memory.max"));
}

int hn_machine_jobs(void)
{
    double jobs = fmin(affinity_cpus(), fmin(quota_cpus(), floor(memory_bytes() / worker_bytes)));
    return jobs >= 1 ? (int)fmin(jobs, 1024) : 1;
}

void hn_machine_offer_to_end(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "we");
    if (file == NULL)
        return;
    fputs("1000", file);
    fclose(file);
}

void hn_machine_limit_memory(void)
{
/* The sanitizer's shadow counts as data. */
#ifndef __SANITIZE_ADDRESS__
    const double most_bytes = 4096.0 * 1024 * 1024;
    struct rlimit limit;
    rlim_t wanted = (rlim_t)fmin(most_bytes, memory_bytes() / 2);
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur < wanted)
        return;
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_DATA, &limit);
#endif
}
