/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

struct CUctx_st {
    int unused;
};

static struct {
    long calls, fail_at;
    CUresult error;
    bool strict;
    int device_count;
    int visible[64]; /* the numbers of those that CUDA_VISIBLE_DEVICES leaves */
    struct double_device device;
    bool initialised;
    uint64_t waits;
} state;

static _Thread_local CUcontext current;

static struct CUctx_st the_context;
/* No mutex: a race detector would take it for an order that no driver promises. */
static atomic_flag calls = ATOMIC_FLAG_INIT;

bool double_hold(void)
{
    while (atomic_flag_test_and_set_explicit(&calls, memory_order_acquire))
        sched_yield();
    return true;
}

void double_let_go(const bool *held)
{
    if (*held)
        atomic_flag_clear_explicit(&calls, memory_order_release);
}

struct double_device *double_the_device(void)
{
    return &state.device;
}

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtol(text, NULL, 10);
}

CUresult double_enter(void)
{
    if (++state.calls == state.fail_at)
        return state.error;
    return state.device.fault;
}

uint64_t double_waits(void)
{
    return state.waits;
}

CUresult double_wait(void)
{
    state.waits++;
    /* Real time that a wait takes, for tests of what is done meanwhile. */
    long wait_us = setting("HONE_DOUBLE_WAIT_US", 0);
    if (wait_us > 0)
        usleep((useconds_t)wait_us);
    while (state.device.hangs)
        pause();
    if (state.device.pending != CUDA_SUCCESS)
        state.device.fault = state.device.pending;
    return state.device.fault;
}

/* The numbers in CUDA_VISIBLE_DEVICES, as far as there are such devices. */
static void choose_devices(int there)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    const int most = sizeof state.visible / sizeof *state.visible;
    state.device_count = 0;
    for (int i = 0; text == NULL && i < there && i < most; i++)
        state.visible[state.device_count++] = i;
    while (text != NULL && *text != '\0' && state.device_count < most) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end == text || number < 0 || number >= there)
            return;
        state.visible[state.device_count++] = (int)number;
        text = *end == ',' ? end + 1 : end;
    }
}

/* "1,1.1,1.05": how much longer each device takes than the first. */
static double slowness_of(int device)
{
    const char *text = getenv("HONE_DOUBLE_SLOWNESS");
    double slowness = 1;
    for (int i = 0; text != NULL && *text != '\0' && i <= device; i++) {
        char *end;
        slowness = strtod(text, &end);
        text = *end == ',' ? end + 1 : end;
    }
    return slowness > 0 ? slowness : 1;
}

static double take_pace(void)
{
    const char *path = getenv("HONE_DOUBLE_PACES");
    char left[4096] = "";
    double pace = 0;
    int read = 0;
    FILE *file = path != NULL ? fopen(path, "r+") : NULL;
    if (file == NULL)
        return 0;
    left[fread(left, 1, sizeof left - 1, file)] = '\0';
    if (sscanf(left, "%lf\n%n", &pace, &read) == 1) {
        rewind(file);
        fputs(left + read, file);
        fflush(file);
        if (ftruncate(fileno(file), (off_t)strlen(left + read)) != 0)
            pace = 0;
    }
    fclose(file);
    return pace;
}

double double_poison_us(void)
{
    static double poison_us = -1;
    const char *path = getenv("HONE_DOUBLE_POISON_ONCE");
    if (poison_us >= 0)
        return poison_us;
    int file = path == NULL ? -1 : open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    poison_us = path == NULL || file >= 0 ? (double)setting("HONE_DOUBLE_POISON_US", 0) : 0;
    if (file >= 0)
        close(file);
    return poison_us;
}

static void free_all(void)
{
    double_memory_free();
    double_modules_free();
    double_streams_free();
    double_host_free();
    double_textures_free();
}

__attribute__((destructor)) static void unload(void)
{
    free_all();
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
    free_all();
    memset(&state, 0, sizeof state);
    state.fail_at = setting("HONE_DOUBLE_FAIL", 0);
    state.error = (CUresult)setting("HONE_DOUBLE_ERROR", CUDA_ERROR_UNKNOWN);
    state.strict = setting("HONE_DOUBLE_STRICT", 0) != 0;
    double_memory_init((size_t)setting("HONE_DOUBLE_MEMORY", 96L << 20));
    choose_devices((int)setting("HONE_DOUBLE_COUNT", 1));
    state.device.slowness = 1;
    state.device.pace = take_pace();
    state.device.throttle = setting("HONE_DOUBLE_THROTTLE", 0);
    usleep((useconds_t)setting("HONE_DOUBLE_INIT_MS", 0) * 1000);
    state.initialised = true;
    current = NULL;
    ENTER();
    if (state.device.pace < 0)
        return CUDA_ERROR_UNKNOWN;
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    ENTER();
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    ENTER();
    *count = state.device_count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER();
    if (ordinal < 0 || ordinal >= state.device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = state.visible[ordinal];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice device)
{
    ENTER();
    (void)device;
    const char *wanted = getenv("HONE_DOUBLE_NAME");
    snprintf(name, (size_t)size, "%s", wanted == NULL ? "Hone Double" : wanted);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    ENTER();
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (char)(i * 17);
    uuid->bytes[0] = (char)(0xd0 + device);
    /* For a test whose device is nobody else's. */
    long serial = setting("HONE_DOUBLE_SERIAL", 0);
    for (int i = 0; serial != 0 && i < 8; i++)
        uuid->bytes[8 + i] = (char)((unsigned long)serial >> (8 * i));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    ENTER();
    (void)device;
    return double_attribute(attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    ENTER();
    (void)device;
    *bytes = double_memory_total();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER();
    state.device.slowness = slowness_of(device);
    *context = &the_context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    bool left = double_memory_left() || double_modules_left() || double_streams_left() ||
                double_host_left() || double_textures_left() || double_graphs_left() ||
                state.device.set_aside != 0;
    if (left && state.strict && state.device.fault == CUDA_SUCCESS) {
        fprintf(stderr, "driver double: the context was released with%s%s%s%s%s in it\n",
                double_memory_left() ? " memory" : "", double_modules_left() ? " modules" : "",
                double_streams_left() || double_host_left() ? " events, streams or host memory"
                                                            : "",
                double_textures_left() || double_graphs_left() ? " textures or graphs" : "",
                state.device.set_aside != 0 ? " L2 cache set aside" : "");
        abort();
    }
    free_all();
    ENTER();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    ENTER();
    if (context != NULL && context != &the_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    current = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    if (!state.initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    ENTER();
    *context = current;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    ENTER();
    *device = 0;
    return current == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    ENTER();
    double_streams_drain();
    return double_wait();
}

/* Asking for more than there is gives as much as there is. */
CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    int most = 0;
    ENTER();
    double_attribute(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, &most);
    if (limit != CU_LIMIT_PERSISTING_L2_CACHE_SIZE || setting("HONE_DOUBLE_NO_L2", 0) != 0)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    state.device.set_aside = value < (size_t)most ? value : (size_t)most;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
    ENTER();
    if (limit != CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = state.device.set_aside;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    ENTER();
    state.device.persisting = 0;
    return CUDA_SUCCESS;
}

/* Of the newest version that there is. */
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **address, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
    char versioned[128];
    void *own = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    (void)version;
    (void)flags;
    snprintf(versioned, sizeof versioned, "%s_v2", symbol);
    *address = dlsym(own, versioned);
    if (*address == NULL)
        *address = dlsym(own, symbol);
    dlclose(own);
    if (status != NULL)
        *status =
            *address != NULL ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *address != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
