/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

struct allocation {
    struct allocation *next;
    size_t bytes;
    unsigned char *data;
};

struct CUctx_st {
    int unused;
};

static struct {
    long calls;
    long fail_at;
    CUresult error;
    bool strict;
    int device_count;
    size_t memory;
    size_t used;
    struct allocation *allocations;
    struct double_module *modules;
    struct double_texture *textures;
    struct double_device device;
    bool initialised;
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

CUresult double_wait(void)
{
    while (state.device.hangs)
        pause();
    if (state.device.pending != CUDA_SUCCESS)
        state.device.fault = state.device.pending;
    return state.device.fault;
}

static void free_all(void)
{
    while (state.allocations != NULL) {
        struct allocation *next = state.allocations->next;
        free(state.allocations->data);
        free(state.allocations);
        state.allocations = next;
    }
    while (state.modules != NULL) {
        struct double_module *next = state.modules->next;
        free(state.modules);
        state.modules = next;
    }
    double_streams_free();
    double_host_free();
    while (state.textures != NULL) {
        struct double_texture *next = state.textures->next;
        free(state.textures);
        state.textures = next;
    }
    state.used = 0;
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
    state.memory = (size_t)setting("HONE_DOUBLE_MEMORY", 256L << 20);
    state.device_count = (int)setting("HONE_DOUBLE_COUNT", 1);
    state.device.throttle = setting("HONE_DOUBLE_THROTTLE", 0);
    usleep((useconds_t)setting("HONE_DOUBLE_INIT_MS", 0) * 1000);
    state.initialised = true;
    current = NULL;
    ENTER();
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
    *device = ordinal;
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
    *bytes = state.memory;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER();
    (void)device;
    *context = &the_context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    bool left = state.allocations != NULL || state.modules != NULL || double_streams_left() ||
                double_host_left() || state.textures != NULL || state.device.set_aside != 0;
    if (left && state.strict && state.device.fault == CUDA_SUCCESS) {
        fprintf(stderr, "driver double: the context was released with%s%s%s%s%s in it\n",
                state.allocations != NULL ? " memory" : "", state.modules != NULL ? " modules" : "",
                double_streams_left() || double_host_left() ? " events, streams or host memory"
                                                            : "",
                state.textures != NULL ? " textures" : "",
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

CUresult CUDAAPI cuMemGetInfo(size_t *available, size_t *total)
{
    ENTER();
    *available = state.memory - state.used;
    *total = state.memory;
    return CUDA_SUCCESS;
}

CUresult double_allocate(CUdeviceptr *address, size_t bytes)
{
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > state.memory - state.used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct allocation *made = malloc(sizeof *made);
    unsigned char *data = aligned_alloc(512, (bytes + 511) / 512 * 512);
    if (made == NULL || data == NULL) {
        free(made);
        free(data);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct allocation){state.allocations, bytes, data};
    state.allocations = made;
    state.used += bytes;
    *address = (CUdeviceptr)(uintptr_t)data;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    ENTER();
    return double_allocate(address, bytes);
}

CUresult double_release(CUdeviceptr address)
{
    for (struct allocation **link = &state.allocations; *link != NULL; link = &(*link)->next) {
        struct allocation *found = *link;
        if ((CUdeviceptr)(uintptr_t)found->data != address)
            continue;
        *link = found->next;
        state.used -= found->bytes;
        free(found->data);
        free(found);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address)
{
    ENTER();
    return double_release(address);
}

bool double_is_valid(CUdeviceptr address, size_t bytes)
{
    for (const struct allocation *one = state.allocations; one != NULL; one = one->next) {
        CUdeviceptr start = (CUdeviceptr)(uintptr_t)one->data;
        if (address >= start && bytes <= one->bytes && address - start <= one->bytes - bytes)
            return true;
    }
    return false;
}

static void *at(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    ENTER();
    if (!double_is_valid(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(at(to), from, bytes);
    return double_wait();
}

CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    ENTER();
    if (!double_is_valid(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = double_wait();
    if (result == CUDA_SUCCESS)
        memcpy(to, at(from), bytes);
    return result;
}

/* At 4000 GB/s, read and written. */
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER();
    (void)stream;
    if (!double_is_valid(to, bytes) || !double_is_valid(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memmove(at(to), at(from), bytes);
    state.device.now_us += 1.0 + 2.0 * (double)bytes / 4e6;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    ENTER();
    (void)stream;
    if (!double_is_valid(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memset(at(to), value, bytes);
    state.device.now_us += 1.0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int option_count,
                                    CUjit_option *options, void **values)
{
    ENTER();
    (void)option_count;
    (void)options;
    (void)values;
    struct double_module *made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = double_module_read(image, made);
    if (result != CUDA_SUCCESS) {
        free(made);
        return result;
    }
    made->next = state.modules;
    state.modules = made;
    *module = (CUmodule)(void *)made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    ENTER();
    struct double_module **link = &state.modules;
    while (*link != NULL && (void *)*link != (void *)module)
        link = &(*link)->next;
    if (*link == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    struct double_module *found = *link;
    *link = found->next;
    for (int i = 0; i < found->global_count; i++)
        if (found->globals[i].data != NULL)
            double_release((CUdeviceptr)(uintptr_t)found->globals[i].data);
    free(found);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER();
    struct double_module *own = (struct double_module *)(void *)module;
    for (int i = 0; i < own->function_count; i++) {
        if (strcmp(own->functions[i].name, name) != 0)
            continue;
        *function = (CUfunction)(void *)&own->functions[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* Zero, as far as the double knows: it reads no initialisers. */
static CUresult allocate_global(struct double_global *global)
{
    CUdeviceptr address = 0;
    CUresult result = double_allocate(&address, global->bytes);
    if (result != CUDA_SUCCESS)
        return result;
    global->data = at(address);
    memset(global->data, 0, global->bytes);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module,
                                   const char *name)
{
    ENTER();
    struct double_module *own = (struct double_module *)(void *)module;
    for (int i = 0; i < own->global_count; i++) {
        struct double_global *global = &own->globals[i];
        if (strcmp(global->name, name) != 0)
            continue;
        CUresult result = global->data == NULL ? allocate_global(global) : CUDA_SUCCESS;
        *address = (CUdeviceptr)(uintptr_t)global->data;
        *bytes = global->bytes;
        return result;
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* The limits of linear and pitched memory that a device has. */
static bool is_resource(const CUDA_RESOURCE_DESC *resource)
{
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR)
        return double_is_valid(resource->res.linear.devPtr, resource->res.linear.sizeInBytes) &&
               resource->res.linear.devPtr % 512 == 0;
    if (resource->resType != CU_RESOURCE_TYPE_PITCH2D)
        return false;
    size_t bytes = resource->res.pitch2D.pitchInBytes * resource->res.pitch2D.height;
    return double_is_valid(resource->res.pitch2D.devPtr, bytes) &&
           resource->res.pitch2D.devPtr % 512 == 0 && resource->res.pitch2D.pitchInBytes % 32 == 0;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
                                   const CUDA_TEXTURE_DESC *description,
                                   const CUDA_RESOURCE_VIEW_DESC *view)
{
    ENTER();
    if (view != NULL || !is_resource(resource))
        return CUDA_ERROR_INVALID_VALUE;
    struct double_texture *made = malloc(sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (struct double_texture){state.textures, *resource, *description};
    state.textures = made;
    *texture = (CUtexObject)(uintptr_t)made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texture)
{
    ENTER();
    struct double_texture **link = &state.textures;
    while (*link != NULL && (CUtexObject)(uintptr_t)*link != texture)
        link = &(*link)->next;
    if (*link == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    struct double_texture *found = *link;
    *link = found->next;
    free(found);
    return CUDA_SUCCESS;
}
