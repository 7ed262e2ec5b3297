/* SPDX-License-Identifier: MIT */
#include "runtime/device/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/run.h"
#include "runtime/device/library.h"

/* NVML's interface as far as we use it: toolkits and wheels do not always bring its header. */
enum { NVML_SUCCESS = 0, NVML_PROCESSES = 64, UUID_SIZE = 96 };
enum { NVML_SM_CLOCK = 1, NVML_MEMORY_CLOCK = 2, NVML_GPU_SENSOR = 0 };
struct nvml_process {
    unsigned int pid;
    unsigned long long used_memory;
    unsigned int gpu_instance;
    unsigned int compute_instance;
};

/* The names are written to caches and files: never change one. */
static const struct {
    unsigned bit;
    const char *name;
    const char *meaning;
} slowdowns[] = {
    {0x04, "conditions.held_down_by.power_cap", "the power cap"},
    {0x08, "conditions.held_down_by.hardware", "a hardware slowdown"},
    {0x20, "conditions.held_down_by.temperature", "the temperature"},
    {0x40, "conditions.held_down_by.hot", "the temperature"},
    {0x80, "conditions.held_down_by.power_supply", "the power supply"},
};
enum { SLOWDOWN_COUNT = sizeof slowdowns / sizeof *slowdowns };
enum { ALL_SLOWDOWNS = 0x04 | 0x08 | 0x20 | 0x40 | 0x80 };

/* What a look tells, and how it is put. */
enum condition { SM_MHZ, MEMORY_MHZ, POWER_W, TEMPERATURE_C, CONDITION_COUNT };
static const struct {
    const char *name;
    const char *before;
    const char *unit;
} conditions[CONDITION_COUNT] = {
    [SM_MHZ] = {"conditions.sm_mhz", "SM at ", "MHz"},
    [MEMORY_MHZ] = {"conditions.memory_mhz", "memory at ", "MHz"},
    [POWER_W] = {"conditions.power_w", "", "W"},
    [TEMPERATURE_C] = {"conditions.temperature_c", "", "°C"},
};

/* X(member, its name in the library, its arguments); init and shutdown have to be there. */
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, "nvmlInit_v2", (void))                                                                 \
    X(shutdown, "nvmlShutdown", (void))                                                            \
    X(count, "nvmlDeviceGetCount_v2", (unsigned int *count))                                       \
    X(at_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned int index, void **device))              \
    X(of_uuid, "nvmlDeviceGetHandleByUUID", (const char *uuid, void **device))                     \
    X(capability, "nvmlDeviceGetCudaComputeCapability", (void *device, int *major, int *minor))    \
    X(uuid, "nvmlDeviceGetUUID", (void *device, char *uuid, unsigned int size))                    \
    X(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons",                                        \
      (void *device, unsigned long long *reasons))                                                 \
    X(clock, "nvmlDeviceGetClockInfo", (void *device, int type, unsigned int *mhz))                \
    X(power, "nvmlDeviceGetPowerUsage", (void *device, unsigned int *milliwatts))                  \
    X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (void *device, unsigned int *milliwatts))    \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption",                                               \
      (void *device, unsigned long long *millijoules))                                             \
    X(temperature, "nvmlDeviceGetTemperature", (void *device, int sensor, unsigned int *degrees))  \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                        \
      (void *device, unsigned int *count, struct nvml_process *processes))                         \
    X(name, "nvmlSystemGetProcessName", (unsigned int pid, char *name, unsigned int size))

struct nvml {
    void *library;
#define X(member, name, arguments) int(*member) arguments;
    NVML_FUNCTIONS(X)
#undef X
};

/* Whether NVML has the function, and it succeeds. */
#define TELLS(nvml, member, arguments)                                                             \
    ((nvml)->member != NULL && (nvml)->member arguments == NVML_SUCCESS)

struct hn_health_watch {
    struct nvml nvml;
    void *device;
    double looked_ms;
    unsigned looks;
    double last[CONDITION_COUNT]; /* by the last look; 0: it was not told */
    unsigned held_down;
};

static const double look_interval_ms = 100;
enum { LOOKS_A_PROCESS_LIST = 20 };

static bool open_nvml(struct nvml *nvml)
{
    static const char *const names[] = {"libnvidia-ml.so.1"};
    struct hn_symbol symbols[] = {
#define X(member, name, arguments) {name, &nvml->member, true},
        NVML_FUNCTIONS(X)
#undef X
    };
    symbols[0].optional = symbols[1].optional = false;
    if (hn_library_open(names, 1, symbols, sizeof symbols / sizeof *symbols, &nvml->library,
                        NULL) != HN_OK)
        return false;
    if (nvml->init() == NVML_SUCCESS)
        return true;
    hn_library_close(nvml->library);
    return false;
}

/* The one capability of all devices, or of those whose UUID begins so; 0 when there are several.
 * Which device a number means depends on CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER. */
int hn_health_capability(const char *selector)
{
    struct nvml nvml = {0};
    bool by_uuid = selector != NULL && strncmp(selector, "GPU-", 4) == 0;
    unsigned int count = 0;
    int common = 0;
    /* It stays open: what watches the clocks later need not wait for it again. */
    if (!open_nvml(&nvml) || !TELLS(&nvml, count, (&count)))
        return 0;
    for (unsigned int i = 0; i < count; i++) {
        void *device;
        int major = 0, minor = 0;
        char own[UUID_SIZE] = "";
        /* One that this process may not use is none of ours. */
        if (!TELLS(&nvml, at_index, (i, &device)) ||
            (by_uuid && (!TELLS(&nvml, uuid, (device, own, sizeof own)) ||
                         strncmp(own, selector, strlen(selector)) != 0)) ||
            !TELLS(&nvml, capability, (device, &major, &minor)))
            continue;
        int capability = 10 * major + minor;
        if (common != 0 && capability != common)
            return 0;
        common = capability;
    }
    return common;
}

struct hn_health_watch *hn_health_watch_create(const char *uuid)
{
    struct hn_health_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL || !open_nvml(&watch->nvml)) {
        free(watch);
        return NULL;
    }
    if (watch->nvml.reasons != NULL && TELLS(&watch->nvml, of_uuid, (uuid, &watch->device)))
        return watch;
    hn_health_watch_destroy(watch);
    return NULL;
}

void hn_health_watch_destroy(struct hn_health_watch *watch)
{
    if (watch == NULL)
        return;
    watch->nvml.shutdown();
    hn_library_close(watch->nvml.library);
    free(watch);
}

double hn_health_power_limit(const struct hn_health_watch *watch)
{
    unsigned int milliwatts = 0;
    bool told = watch != NULL && TELLS(&watch->nvml, power_limit, (watch->device, &milliwatts));
    return told ? milliwatts * 1e-3 : 0;
}

/* In a container a process does not see its own number: one process is then taken to be ours. */
static void look_at_processes(struct hn_health_watch *watch, struct hn_health *health)
{
    struct nvml_process processes[NVML_PROCESSES];
    unsigned int count = NVML_PROCESSES;
    unsigned int own = (unsigned int)getpid();
    unsigned int others = 0, other = 0;
    char path[256] = "";
    if (!TELLS(&watch->nvml, processes, (watch->device, &count, processes)))
        return;
    count = count < NVML_PROCESSES ? count : NVML_PROCESSES;
    for (unsigned int i = 0; i < count; i++) {
        if (processes[i].pid == own)
            continue;
        other = processes[i].pid;
        others++;
    }
    if (others == count && others > 0)
        others--;
    if (others <= health->other_processes)
        return;
    health->other_processes = others;
    if (!TELLS(&watch->nvml, name, (other, path, sizeof path)))
        path[0] = '\0';
    path[sizeof path - 1] = '\0';
    const char *name = basename(path);
    bool named = name[0] != '\0';
    snprintf(health->process, sizeof health->process, "%.80s%spid %u%s", name, named ? " (" : "",
             other, named ? ")" : "");
}

int hn_health_look(struct hn_health_watch *watch, struct hn_health *health)
{
    unsigned long long reasons = 0;
    if (watch == NULL)
        return 0;
    double now_ms = hn_now_ms();
    health->watching = true;
    if (watch->looks > 0 && now_ms - watch->looked_ms < look_interval_ms)
        return (int)watch->last[TEMPERATURE_C];
    watch->looked_ms = now_ms;
    /* First what falls soonest once nothing runs. */
    const struct nvml *nvml = &watch->nvml;
    bool told = TELLS(nvml, reasons, (watch->device, &reasons));
    unsigned int now[CONDITION_COUNT] = {0};
    const bool known[CONDITION_COUNT] = {
        TELLS(nvml, clock, (watch->device, NVML_SM_CLOCK, &now[SM_MHZ])),
        TELLS(nvml, clock, (watch->device, NVML_MEMORY_CLOCK, &now[MEMORY_MHZ])),
        TELLS(nvml, power, (watch->device, &now[POWER_W])),
        TELLS(nvml, temperature, (watch->device, NVML_GPU_SENSOR, &now[TEMPERATURE_C])),
    };
    for (int i = 0; i < CONDITION_COUNT; i++)
        watch->last[i] = known[i] ? now[i] * (i == POWER_W ? 1e-3 : 1) : 0;
    watch->held_down = told ? (unsigned)reasons & ALL_SLOWDOWNS : 0;
    if (watch->looks++ % LOOKS_A_PROCESS_LIST == 0)
        look_at_processes(watch, health);
    health->checks += told;
    health->held_down += watch->held_down != 0;
    health->reasons |= watch->held_down;
    return (int)watch->last[TEMPERATURE_C];
}

void hn_slowdowns_describe(unsigned set, char *text, size_t size)
{
    const char *last = "";
    text[0] = '\0';
    for (size_t i = 0; i < SLOWDOWN_COUNT; i++) {
        const size_t length = strlen(text);
        if ((set & slowdowns[i].bit) == 0 || strcmp(slowdowns[i].meaning, last) == 0)
            continue;
        last = slowdowns[i].meaning;
        snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", last);
    }
}

void hn_health_note(const struct hn_health_watch *watch, struct hn_bindings *observed,
                    struct hn_error *err)
{
    if (hn_failed(err) || watch == NULL)
        return;
    hn_observed_drop(observed, "conditions");
    for (int i = 0; i < CONDITION_COUNT; i++) {
        double number = watch->last[i];
        if (number > 0)
            hn_observed_set(observed, conditions[i].name,
                            i == POWER_W ? hn_real(number) : hn_integer((int)number), err);
    }
    for (size_t i = 0; i < SLOWDOWN_COUNT; i++)
        if ((watch->held_down & slowdowns[i].bit) != 0)
            hn_observed_set(observed, slowdowns[i].name, hn_boolean(true), err);
}

unsigned hn_conditions_held_down(const struct hn_bindings *observed)
{
    unsigned held_down = 0;
    for (size_t i = 0; i < SLOWDOWN_COUNT; i++)
        if (hn_bindings_get(observed, slowdowns[i].name) != NULL)
            held_down |= slowdowns[i].bit;
    return held_down;
}

void hn_conditions_append(struct hn_text *text, const struct hn_bindings *observed)
{
    const char *separator = "";
    char held[128];
    for (int i = 0; i < CONDITION_COUNT; i++) {
        double value = hn_observed(observed, conditions[i].name);
        if (!(value > 0))
            continue;
        hn_text_printf(text, "%s%s%.0f %s", separator, conditions[i].before, value,
                       conditions[i].unit);
        separator = ", ";
    }
    hn_slowdowns_describe(hn_conditions_held_down(observed), held, sizeof held);
    if (held[0] != '\0')
        hn_text_printf(text, "%sheld down by %s", separator[0] != '\0' ? "; " : "", held);
}

bool hn_health_energy(const struct hn_health_watch *watch, double *joules)
{
    unsigned long long millijoules = 0;
    bool told = TELLS(&watch->nvml, energy, (watch->device, &millijoules));
    *joules = 1e-3 * (double)millijoules;
    return told;
}

/* The numbers fit into an int. */
static const struct hn_field health_fields[] = {
    {HN_NEEDED("checks"), .kind = HN_FIELD_COUNT, HN_AT(hn_health, checks)},
    {HN_NEEDED("held_down"), .kind = HN_FIELD_COUNT, HN_AT(hn_health, held_down)},
    {HN_NEEDED("reasons"), .kind = HN_FIELD_COUNT, HN_AT(hn_health, reasons)},
    {HN_NEEDED("other_processes"), .kind = HN_FIELD_COUNT, HN_AT(hn_health, other_processes)},
    {HN_NEEDED("process"), HN_CHARS(hn_health, process)},
};
const struct hn_structure hn_health_structure = HN_STRUCTURE(hn_health, health_fields, NULL);

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
