/* SPDX-License-Identifier: MIT */
#include "tuner/machine.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
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

static double memory_workers(void)
{
    double physical = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double limit = read_number("/sys/fs/cgroup/memory.max");
    return floor(fmin(physical, limit) / worker_bytes);
}

int hn_machine_jobs(void)
{
    double jobs = fmin(affinity_cpus(), fmin(quota_cpus(), memory_workers()));
    return jobs >= 1 ? (int)fmin(jobs, 1024) : 1;
}
