/* SPDX-License-Identifier: MIT */
/* libnvidia-ml.so.1 without a GPU: HONE_DOUBLE_NVML names the compute capabilities of its devices,
 * "90" or "90,80"; the first is the driver double's device. HONE_DOUBLE_HELD=REASONS
 * (decimal, NVML's bits) says what holds its clocks down; else nothing does.
 * HONE_DOUBLE_POWER_BY_BLOCK=1: larger blocks take more power. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NVML_SUCCESS = 0, NVML_INVALID_ARGUMENT = 2, NVML_NOT_FOUND = 6, MOST_DEVICES = 8 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int size);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetClockInfo(void *device, int type, unsigned int *mhz);
int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned int *milliwatts);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *degrees);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

static struct {
    int capability;
    char uuid[48];
} devices[MOST_DEVICES];
static unsigned int device_count;

int nvmlInit_v2(void)
{
    const char *text = getenv("HONE_DOUBLE_NVML");
    device_count = 0;
    while (text != NULL && *text != '\0' && device_count < MOST_DEVICES) {
        char *end;
        devices[device_count].capability = (int)strtol(text, &end, 10);
        snprintf(devices[device_count].uuid, sizeof devices[device_count].uuid,
                 "GPU-%08x-0000-0000-0000-000000000000", device_count);
        device_count++;
        text = *end == ',' ? end + 1 : "";
    }
    return NVML_SUCCESS;
}

int nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = device_count;
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
    *device = &devices[index];
    return index < device_count ? NVML_SUCCESS : NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    (void)uuid;
    return nvmlDeviceGetHandleByIndex_v2(0, device);
}

static size_t index_of(const void *device)
{
    return (size_t)((const char *)device - (const char *)devices) / sizeof *devices;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    int capability = devices[index_of(device)].capability;
    *major = capability / 10;
    *minor = capability % 10;
    return NVML_SUCCESS;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int size)
{
    snprintf(uuid, size, "%s", devices[index_of(device)].uuid);
    return NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    const char *held = getenv("HONE_DOUBLE_HELD");
    (void)device;
    *reasons = held == NULL ? 0 : strtoull(held, NULL, 10);
    return NVML_SUCCESS;
}

/* SM and memory, with different clocks where they are held down. */
int nvmlDeviceGetClockInfo(void *device, int type, unsigned int *mhz)
{
    unsigned long long reasons = 0;
    nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons);
    *mhz = type == 2 ? 3201 : reasons != 0 ? 1500 : 1980;
    return type == 1 || type == 2 ? NVML_SUCCESS : NVML_INVALID_ARGUMENT;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = 412500;
    return NVML_SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = 700000;
    return NVML_SUCCESS;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *degrees)
{
    (void)device;
    *degrees = 54;
    return sensor == 0 ? NVML_SUCCESS : NVML_INVALID_ARGUMENT;
}

/* Of the driver double's last launch. */
static unsigned long long block_threads(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const uint64_t *threads = driver == NULL ? NULL : dlsym(driver, "hone_double_threads");
    unsigned long long now = threads == NULL ? 0 : *threads;
    if (driver != NULL)
        dlclose(driver);
    return now;
}

/* 400 W, or 100 W and as many as a block has threads; in steps of 20 ms. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    enum { STEP_MS = 20, WATTS = 400, LEAST_WATTS = 100 };
    static unsigned long long seen_ms;
    static unsigned long long consumed;
    struct timespec now;
    (void)device;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long ms =
        (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
    ms = ms / STEP_MS * STEP_MS;
    *millijoules = ms * WATTS;
    if (getenv("HONE_DOUBLE_POWER_BY_BLOCK") != NULL) {
        consumed += seen_ms == 0 ? 0 : (ms - seen_ms) * (LEAST_WATTS + block_threads());
        seen_ms = ms;
        *millijoules = consumed;
    }
    return NVML_SUCCESS;
}
