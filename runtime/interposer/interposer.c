/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/driver.h"
#include "runtime/plan/capture_file.h"

/* The library that `hone capture` loads into a program before all others. Whoever looks for the
 * driver's launches, as the CUDA runtime does, is given those below. A kernel that is not wanted
 * passes with a few comparisons once it is known. */

enum { SLOTS = 1 << 12, PROBES = 8, BUFFERS_MOST = 1024, NAME_SIZE = 24 };

static struct hn_driver driver;
static _Thread_local bool is_loading;                  /* the driver's own functions */
static void *(*find)(void *library, const char *name); /* dlsym of the C library */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(CUfunction) passed[SLOTS + PROBES]; /* not wanted; near where a hash says */
static atomic_ulong launches;                      /* of those that are */
static unsigned long long wanted_launch, most_bytes;
static char *file; /* NULL: nothing is captured */
static const char *kernel;
static char others[4000]; /* that were launched and are not wanted */

/* Whoever asks for a capture wants to know that there can be none. */
static void load(void)
{
    struct hn_error err = {.status = HN_OK};
    const char *settings = getenv(HN_INTERPOSER);
    int begin = 0, end = 0;
    if (settings != NULL &&
        sscanf(settings, "%llu %llu %n%*[^\n]%n", &wanted_launch, &most_bytes, &begin, &end) == 2) {
        file = strndup(settings + begin, (size_t)(end - begin));
        kernel = settings + end + 1;
    }
    is_loading = true;
    if (hn_driver_load(&driver, &err) == HN_OK && driver.p_cuFuncGetParamInfo == NULL)
        hn_fail(&err, HN_ERUN, "the driver is older than CUDA 12.4");
    is_loading = false;
    if (!hn_failed(&err))
        return;
    fprintf(stderr, "hone: nothing can be captured: %s\n", err.message);
    exit(EXIT_FAILURE);
}

/* The runtime launches kernels of libraries, too, whose functions have the names. */
static const char *find_name(CUfunction *function)
{
    const char *name = NULL;
    CUfunction own = NULL;
    if (driver.p_cuFuncGetName(&name, *function) != CUDA_SUCCESS &&
        driver.p_cuKernelGetFunction(&own, (CUkernel)(void *)*function) == CUDA_SUCCESS &&
        driver.p_cuFuncGetName(&name, own) == CUDA_SUCCESS)
        *function = own;
    return name;
}

/* Whoever names a kernel that was not launched wants to know which were. */
__attribute__((destructor)) static void tell_others(void)
{
    if (others[0] != '\0' && atomic_load(&launches) == 0)
        fprintf(stderr, "hone: it launched %s\n", others);
}

/* Where it is, or can be; the last place that it may have where all are taken. */
static inline _Atomic(CUfunction) *slot_of(CUfunction function)
{
    _Atomic(CUfunction) *slot = &passed[((uintptr_t)function * 0x9e3779b97f4a7c15) >> 52];
    for (int i = 1; i < PROBES; i++, slot++) {
        CUfunction there = atomic_load_explicit(slot, memory_order_relaxed);
        if (there == function || there == NULL)
            break;
    }
    return slot;
}

/* A launch into a graph that is being captured has no data yet, and does not count. */
__attribute__((noinline)) static bool look(CUfunction function, CUstream stream)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    CUfunction own = function;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    pthread_once(&once, load);
    const char *name = file == NULL ? NULL : find_name(&own);
    bool passes = name == NULL || (*kernel != '\0' && !hn_capture_is_of(name, kernel)) ||
                  atomic_load(&launches) >= wanted_launch;
    pthread_mutex_lock(&mutex);
    size_t length = strlen(others);
    if (passes)
        atomic_store(slot_of(function), function);
    if (passes && name != NULL && strstr(others, name) == NULL)
        snprintf(others + length, sizeof others - length, "%s%s", length > 0 ? ", " : "", name);
    pthread_mutex_unlock(&mutex);
    return !passes && driver.p_cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE &&
           atomic_fetch_add(&launches, 1) + 1 == wanted_launch;
}

static inline bool is_wanted(CUfunction function, CUstream stream)
{
    return atomic_load_explicit(slot_of(function), memory_order_relaxed) != function &&
           look(function, stream);
}

struct buffer {
    char name[NAME_SIZE];
    CUdeviceptr address;
    uint64_t bytes;
};

/* Parameters are numbers, pointers to device memory, which reaches to the end of its allocation, or
 * structures, of which small ones look like numbers. Returns how many buffers there are. */
static size_t add_parameters(struct hn_capture_writer *writer, CUfunction function,
                             void **parameters, void **extra, struct buffer *buffers,
                             struct hn_error *err)
{
    size_t count = 0, offset, bytes, size;
    uint64_t total = 0;
    const char *packed = NULL;
    for (; extra != NULL && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        packed = *extra == CU_LAUNCH_PARAM_BUFFER_POINTER ? extra[1] : packed;
    for (size_t i = 0; !hn_failed(err) && count < BUFFERS_MOST &&
                       driver.p_cuFuncGetParamInfo(function, i, &offset, &bytes) == CUDA_SUCCESS;
         i++) {
        const char *value = parameters != NULL ? parameters[i] : packed + offset;
        struct buffer *buffer = &buffers[count];
        CUdeviceptr base;
        uint64_t bits = 0;
        snprintf(buffer->name, sizeof buffer->name, "p%zu", i);
        memcpy(&bits, value, bytes < sizeof bits ? bytes : sizeof bits);
        if (bytes != sizeof bits ||
            driver.p_cuMemGetAddressRange(&base, &size, bits) != CUDA_SUCCESS) {
            hn_capture_add(writer, writer->inputs, buffer->name, NULL, (uintptr_t)value, bytes,
                           err);
            if (bytes <= sizeof bits)
                json_object_set_new(writer->scalars, buffer->name, json_integer((json_int_t)bits));
            for (size_t at = 0; bytes > sizeof bits && at + sizeof bits <= bytes;
                 at += sizeof bits) {
                memcpy(&bits, value + at, sizeof bits);
                if (driver.p_cuMemGetAddressRange(&base, &size, bits) == CUDA_SUCCESS)
                    fprintf(stderr, "hone: p%zu has a pointer, whose memory is not captured\n", i);
            }
            continue;
        }
        if (bits != base)
            fprintf(stderr,
                    "hone: p%zu points %llu bytes into its memory, which are not captured\n", i,
                    bits - base);
        buffer->address = bits;
        buffer->bytes = base + size - bits;
        total += buffer->bytes;
        if (total > most_bytes)
            hn_fail(err, HN_ERUN, "parameter %zu brings its buffers to %llu MiB, beyond --limit", i,
                    (unsigned long long)total >> 20);
        hn_capture_add(writer, writer->inputs, buffer->name, &driver, bits, buffer->bytes, err);
        count++;
    }
    return count;
}

/* The program's launch, with what it reads and what it makes of it. */
static CUresult capture(const CUlaunchConfig *config, CUfunction function, void **parameters,
                        void **extra)
{
    static struct buffer buffers[BUFFERS_MOST]; /* one launch is captured */
    struct hn_capture_writer writer = {.stream = NULL};
    struct hn_error err = {.status = HN_OK};
    CUfunction own = function;
    const char *name = find_name(&own);
    CUstream stream = config->hStream;
    hn_capture_begin(&writer, hn_copy_string(file, &err), &err);
    if (!hn_failed(&err))
        hn_driver_check(&driver, driver.p_cuStreamSynchronize(stream), "waiting", &err);
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            fprintf(stderr,
                    "hone: its clusters are not captured: the config's launch needs them\n");
    size_t count = add_parameters(&writer, own, parameters, extra, buffers, &err);
    CUresult result = driver.p_cuLaunchKernelEx(config, function, parameters, extra);
    if (!hn_failed(&err) && hn_driver_check(&driver, result, "launching", &err) == HN_OK)
        hn_driver_check(&driver, driver.p_cuStreamSynchronize(stream), "waiting", &err);
    for (size_t i = 0; i < count; i++)
        hn_capture_add(&writer, writer.expected, buffers[i].name, &driver, buffers[i].address,
                       buffers[i].bytes, &err);
    json_t *head =
        json_pack("{s:s, s:b, s:{}, s:[i, i, i], s:[i, i, i], s:i}", "kernel", name, "positional",
                  1, "problem", "grid", (int)config->gridDimX, (int)config->gridDimY,
                  (int)config->gridDimZ, "block", (int)config->blockDimX, (int)config->blockDimY,
                  (int)config->blockDimZ, "shared_bytes", (int)config->sharedMemBytes);
    hn_capture_finish(&writer, head, &err);
    if (hn_failed(&err))
        fprintf(stderr, "hone: %s was launched, but not captured: %s\n", name, err.message);
    else
        fprintf(stderr, "hone: launch %llu of %s is in %s\n", wanted_launch, name, file);
    return result;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                void **parameters, void **extra)
{
    if (is_wanted(function, stream)) {
        const CUlaunchConfig config = {grid_x,  grid_y,       grid_z, block_x, block_y,
                                       block_z, shared_bytes, stream, NULL,    0};
        return capture(&config, function, parameters, extra);
    }
    return driver.p_cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                   shared_bytes, stream, parameters, extra);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                  void **parameters, void **extra)
{
    return is_wanted(function, config->hStream)
               ? capture(config, function, parameters, extra)
               : driver.p_cuLaunchKernelEx(config, function, parameters, extra);
}

/* For programs whose default stream is one a thread. */
__typeof__(cuLaunchKernel) cuLaunchKernel_ptsz;
CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                     unsigned int grid_z, unsigned int block_x,
                                     unsigned int block_y, unsigned int block_z,
                                     unsigned int shared_bytes, CUstream stream, void **parameters,
                                     void **extra)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                          stream == NULL ? CU_STREAM_PER_THREAD : stream, parameters, extra);
}

__typeof__(cuLaunchKernelEx) cuLaunchKernelEx_ptsz;
CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function,
                                       void **parameters, void **extra)
{
    CUlaunchConfig own = *config;
    own.hStream = own.hStream == NULL ? CU_STREAM_PER_THREAD : own.hStream;
    return cuLaunchKernelEx(&own, function, parameters, extra);
}

/* That of CUDA 11, which cuda.h no longer declares. */
#undef cuGetProcAddress
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **address, int version,
                                  cuuint64_t flags);

/* What stands for a function of the driver, as that is asked for; NULL: itself. */
static void *find_own(const char *symbol, int version, bool per_thread)
{
    const struct {
        const char *name;
        void (*function)(void);
    } own[] = {
        {"cuLaunchKernel", (void (*)(void))(per_thread ? cuLaunchKernel_ptsz : cuLaunchKernel)},
        {"cuLaunchKernel_ptsz", (void (*)(void))cuLaunchKernel_ptsz},
        {"cuLaunchKernelEx",
         (void (*)(void))(per_thread ? cuLaunchKernelEx_ptsz : cuLaunchKernelEx)},
        {"cuLaunchKernelEx_ptsz", (void (*)(void))cuLaunchKernelEx_ptsz},
        {version >= 12000 ? "" : "cuGetProcAddress", (void (*)(void))cuGetProcAddress},
        {"cuGetProcAddress", (void (*)(void))cuGetProcAddress_v2},
        {"cuGetProcAddress_v2", (void (*)(void))cuGetProcAddress_v2},
    };
    void *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof own / sizeof *own; i++)
        if (strcmp(symbol, own[i].name) == 0)
            memcpy(&found, &own[i].function, sizeof found);
    return found;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **address, int version,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    pthread_once(&once, load);
    void *own =
        find_own(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
    CUresult result = driver.p_cuGetProcAddress_v2(symbol, address, version, flags, status);
    if (result == CUDA_SUCCESS && *address != NULL && own != NULL)
        *address = own;
    return result;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **address, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(symbol, address, version, flags, NULL);
}

/* The C library's own looks at where it was called from, which stays so where that is the last
 * thing that is done here. */
void *dlsym(void *library, const char *name)
{
    /* Those that x86-64 and aarch64 have had. */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (size_t i = 0; find == NULL && i < sizeof versions / sizeof *versions; i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&find, &found, sizeof find);
    }
    void *own = !is_loading && strncmp(name, "cu", 2) == 0 ? find_own(name, 0, false) : NULL;
    if (own != NULL && find(library, name) != NULL)
        return own;
    return find(library, name);
}
