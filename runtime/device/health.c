/* SPDX-License-Identifier: MIT */
#include "runtime/device/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/device/library.h"

/* NVML's interface as far as we use it: toolkits and wheels do not always bring its header. */
enum { NVML_SUCCESS = 0, NVML_PROCESSES = 64 };
struct nvml_process {
    unsigned int pid;
    unsigned long long used_memory;
    unsigned int gpu_instance;
    unsigned int compute_instance;
};

struct hn_health_watch {
    void *library;
    void *device;
    double looked_ms;
    unsigned looks;
    int (*init)(void);
    int (*shutdown)(void);
    int (*get_device)(const char *uuid, void **device);
    int (*get_reasons)(void *device, unsigned long long *reasons);
    int (*get_processes)(void *device, unsigned int *count, struct nvml_process *processes);
    int (*get_name)(unsigned int pid, char *name, unsigned int size);
};

static const double look_interval_ms = 100;
enum { LOOKS_A_PROCESS_LIST = 20 };

/* Clocks event reasons that take speed away; idle and application clocks do not. */
static const struct {
    unsigned bit;
    const char *name;
} slowdowns[] = {
    {0x04, "the power cap"},   {0x08, "a hardware slowdown"}, {0x20, "the temperature"},
    {0x40, "the temperature"}, {0x80, "the power supply"},
};

struct hn_health_watch *hn_health_watch_create(const char *uuid)
{
    static const char *const names[] = {"libnvidia-ml.so.1"};
    struct hn_health_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    const struct hn_symbol symbols[] = {
        {"nvmlInit_v2", &watch->init, false},
        {"nvmlShutdown", &watch->shutdown, false},
        {"nvmlDeviceGetHandleByUUID", &watch->get_device, false},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", &watch->get_reasons, false},
        {"nvmlDeviceGetComputeRunningProcesses_v3", &watch->get_processes, true},
        {"nvmlSystemGetProcessName", &watch->get_name, true},
    };
    if (hn_library_open(names, 1, symbols, sizeof symbols / sizeof *symbols, &watch->library,
                        NULL) != HN_OK) {
        free(watch);
        return NULL;
    }
    if (watch->init() == NVML_SUCCESS && watch->get_device(uuid, &watch->device) == NVML_SUCCESS)
        return watch;
    hn_health_watch_destroy(watch);
    return NULL;
}

void hn_health_watch_destroy(struct hn_health_watch *watch)
{
    if (watch == NULL)
        return;
    watch->shutdown();
    hn_library_close(watch->library);
    free(watch);
}

static void describe_process(const struct hn_health_watch *watch, unsigned pid, char *text,
                             size_t size)
{
    char path[256] = "";
    if (watch->get_name == NULL || watch->get_name(pid, path, sizeof path) != NVML_SUCCESS)
        path[0] = '\0';
    path[sizeof path - 1] = '\0';
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    snprintf(text, size, "%.80s%spid %u%s", name, name[0] != '\0' ? " (" : "", pid,
             name[0] != '\0' ? ")" : "");
}

/* In a container a process does not see its own number: one process is then taken to be ours. */
static void look_at_processes(struct hn_health_watch *watch, struct hn_health *health)
{
    struct nvml_process processes[NVML_PROCESSES];
    unsigned int count = NVML_PROCESSES;
    if (watch->get_processes == NULL ||
        watch->get_processes(watch->device, &count, processes) != NVML_SUCCESS)
        return;
    unsigned int own = (unsigned int)getpid();
    unsigned int others = 0;
    bool own_seen = false;
    unsigned int other = 0;
    for (unsigned int i = 0; i < count && i < NVML_PROCESSES; i++) {
        own_seen = own_seen || processes[i].pid == own;
        if (processes[i].pid == own)
            continue;
        other = processes[i].pid;
        others++;
    }
    if (!own_seen && others > 0)
        others--;
    if (others <= health->other_processes)
        return;
    health->other_processes = others;
    describe_process(watch, other, health->process, sizeof health->process);
}

void hn_health_look(struct hn_health_watch *watch, struct hn_health *health)
{
    unsigned long long reasons = 0;
    unsigned slow = 0;
    if (watch == NULL)
        return;
    double now_ms = hn_now_ms();
    health->watching = true;
    if (watch->looks > 0 && now_ms - watch->looked_ms < look_interval_ms)
        return;
    watch->looked_ms = now_ms;
    if (watch->looks++ % LOOKS_A_PROCESS_LIST == 0)
        look_at_processes(watch, health);
    if (watch->get_reasons(watch->device, &reasons) != NVML_SUCCESS)
        return;
    for (size_t i = 0; i < sizeof slowdowns / sizeof *slowdowns; i++)
        slow |= (unsigned)reasons & slowdowns[i].bit;
    health->checks++;
    health->held_down += slow != 0;
    health->reasons |= slow;
}

void hn_health_add(struct hn_health *health, const struct hn_health *more)
{
    health->watching = health->watching || more->watching;
    health->checks += more->checks;
    health->held_down += more->held_down;
    health->reasons |= more->reasons;
    if (more->other_processes > health->other_processes) {
        health->other_processes = more->other_processes;
        memcpy(health->process, more->process, sizeof health->process);
    }
}

void hn_health_reasons(unsigned reasons, char *text, size_t size)
{
    size_t length = 0;
    const char *last = "";
    text[0] = '\0';
    for (size_t i = 0; i < sizeof slowdowns / sizeof *slowdowns; i++) {
        if ((reasons & slowdowns[i].bit) == 0 || strcmp(slowdowns[i].name, last) == 0)
            continue;
        int n = snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "",
                         slowdowns[i].name);
        last = slowdowns[i].name;
        length += n > 0 ? (size_t)n : 0;
        if (length >= size)
            return;
    }
}
