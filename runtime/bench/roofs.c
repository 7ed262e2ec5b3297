/* SPDX-License-Identifier: MIT */
#include "runtime/bench/roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/run.h"
#include "base/statistics.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/device/health.h"

enum { KERNEL_FP32, KERNEL_L2, KERNEL_COPY, KERNEL_LAUNCH, KERNEL_TENSOR };
enum { KERNELS = KERNEL_TENSOR + HN_PIPE_COUNT };
const char *const hn_roofs_entries[] = {"hone_roof_fp32", "hone_roof_l2", "hone_roof_copy",
                                        "hone_roof_launch",
#define X(identifier, key, name, bytes) "hone_roof_" key,
                                        HN_TENSOR_PIPES(X)
#undef X
};
static const int element_bytes[] = {
#define X(identifier, key, name, bytes) bytes,
    HN_TENSOR_PIPES(X)
#undef X
};
const size_t hn_roofs_entry_count = KERNELS;

enum { RUNS = 9, THREADS = 256, BLOCKS_PER_SM = 8, LAUNCHES = 32 };
/* A round of hone_roof_fp32 has four multiply-adds of each of 16 chains. */
static const double OPERATIONS_A_ROUND = 2.0 * 4 * 16;
/* Those on the tensor cores multiply 2 x 64 rows by 256 columns, along 128 bytes of both. */
static const double TENSOR_OPERATIONS_A_ROUND = 2.0 * 128 * 256 * 128;
static const double WARM_UP_MS = 100.0;
static const uint64_t COPY_BYTES = 1u << 30;

/* Everything that is needed for a run. */
struct roofer {
    struct hn_context *context;
    CUmodule module;
    CUfunction kernels[KERNELS];
    CUevent start;
    CUevent end;
    CUdeviceptr buffer; /* two halves of `half` bytes */
    int pipe;           /* of the tensor cores, whose turn it is */
    uint64_t half;
    unsigned int blocks;
    unsigned int copiers; /* blocks of the kernel that copies */
};

/* What is timed: queues work, and says how much it is. */
typedef void queue_work(struct roofer *roofer, double *amount, struct hn_error *err);

static void launch(struct roofer *roofer, int kernel, unsigned int blocks, void **parameters,
                   struct hn_error *err)
{
    HN_CALL(roofer->context, cuLaunchKernel,
            (roofer->kernels[kernel], blocks, 1, 1, kernel == KERNEL_LAUNCH ? 32 : THREADS, 1, 1, 0,
             roofer->context->stream, parameters, NULL),
            hn_roofs_entries[kernel], err);
}

static void queue_fp32(struct roofer *roofer, double *amount, struct hn_error *err)
{
    int rounds = 1024;
    float a = 0.999f;
    float b = 0.001f;
    void *parameters[] = {&roofer->buffer, &rounds, &a, &b};
    *amount = OPERATIONS_A_ROUND * rounds * THREADS * roofer->blocks;
    launch(roofer, KERNEL_FP32, roofer->blocks, parameters, err);
}

/* A quarter of the cache, so that all of it stays there wherever it lies. */
static void queue_l2(struct roofer *roofer, double *amount, struct hn_error *err)
{
    int rounds = 256;
    uint64_t bytes = (uint64_t)roofer->context->device->l2_bytes / 4;
    if (bytes > roofer->half)
        bytes = roofer->half;
    uint64_t count = bytes / 16;
    CUdeviceptr sink = roofer->buffer + roofer->half;
    void *parameters[] = {&roofer->buffer, &count, &rounds, &sink};
    *amount = 16.0 * (double)count * rounds;
    launch(roofer, KERNEL_L2, roofer->blocks, parameters, err);
}

/* A block a multiprocessor; cycles and nanoseconds of one go to the buffer. */
static void queue_products(struct roofer *roofer, double *amount, struct hn_error *err)
{
    int rounds = 1024;
    CUdeviceptr clocks = roofer->buffer + roofer->half;
    void *parameters[] = {&roofer->buffer, &rounds, &clocks};
    unsigned int blocks = roofer->blocks / BLOCKS_PER_SM;
    *amount = TENSOR_OPERATIONS_A_ROUND / element_bytes[roofer->pipe] * rounds * blocks;
    launch(roofer, KERNEL_TENSOR + roofer->pipe, blocks, parameters, err);
}

static void queue_copy(struct roofer *roofer, double *amount, struct hn_error *err)
{
    *amount = 2.0 * (double)roofer->half;
    HN_CALL(roofer->context, cuMemcpyDtoDAsync,
            (roofer->buffer + roofer->half, roofer->buffer, roofer->half, roofer->context->stream),
            "cuMemcpyDtoDAsync", err);
}

static void queue_words(struct roofer *roofer, double *amount, struct hn_error *err)
{
    uint64_t count = roofer->half / 16;
    CUdeviceptr to = roofer->buffer + roofer->half;
    void *parameters[] = {&roofer->buffer, &to, &count};
    *amount = 2.0 * (double)roofer->half;
    launch(roofer, KERNEL_COPY, roofer->copiers, parameters, err);
}

static void queue_launches(struct roofer *roofer, double *amount, struct hn_error *err)
{
    *amount = LAUNCHES;
    for (int i = 0; i < LAUNCHES && !hn_failed(err); i++)
        launch(roofer, KERNEL_LAUNCH, 1, NULL, err);
}

static void record(struct roofer *roofer, CUevent event, struct hn_error *err)
{
    HN_CALL(roofer->context, cuEventRecord, (event, roofer->context->stream), "cuEventRecord", err);
}

/* One run, behind work that keeps the device busy until all is queued. */
static void time_once(struct roofer *roofer, queue_work *queue, double *amount, double *time_us,
                      struct hn_error *err)
{
    float elapsed_ms = 0.0f;
    double ignored;
    queue_fp32(roofer, &ignored, err);
    record(roofer, roofer->start, err);
    queue(roofer, amount, err);
    record(roofer, roofer->end, err);
    HN_CALL(roofer->context, cuEventSynchronize, (roofer->end), "cuEventSynchronize", err);
    HN_CALL(roofer->context, cuEventElapsedTime, (&elapsed_ms, roofer->start, roofer->end),
            "cuEventElapsedTime", err);
    *time_us = 1e3 * (double)elapsed_ms;
}

/* How much is done in a microsecond. */
static void measure_rate(struct roofer *roofer, queue_work *queue, double *rate,
                         struct hn_error *err)
{
    double times_us[RUNS];
    double amount = 0.0;
    time_once(roofer, queue, &amount, &times_us[0], err);
    for (int i = 0; i < RUNS && !hn_failed(err); i++)
        time_once(roofer, queue, &amount, &times_us[i], err);
    if (hn_failed(err))
        return;
    double median_us = hn_median(times_us, RUNS);
    *rate = median_us > 0.0 ? amount / median_us : 0.0;
}

/* A memcpy, threads that copy several words, a thread for each: which is the fastest differs from
 * device to device. */
static void measure_copies(struct roofer *roofer, double *gb_per_s, struct hn_error *err)
{
    const unsigned int copiers[] = {0, roofer->blocks, (unsigned int)(roofer->half / 16 / THREADS)};
    for (int i = 0; i < 3 && !hn_failed(err); i++) {
        double rate = 0.0;
        roofer->copiers = copiers[i];
        measure_rate(roofer, i == 0 ? queue_copy : queue_words, &rate, err);
        *gb_per_s = fmax(*gb_per_s, rate / 1e3);
    }
}

static void warm_up(struct roofer *roofer, struct hn_error *err)
{
    double start_ms = hn_now_ms();
    double amount, time_us;
    /* A simulated device takes no time of ours. */
    for (int i = 0; !hn_failed(err) && i < 1000 && hn_now_ms() - start_ms < WARM_UP_MS; i++)
        time_once(roofer, queue_fp32, &amount, &time_us, err);
}

bool hn_roofs_have_pipe(int capability, enum hn_tensor_pipe pipe)
{
    if (capability / 10 == 10 || capability / 10 == 11)
        return false;
    return capability >= (pipe == HN_PIPE_FP8 ? 89 : 80);
}

static void measure_pipe(struct roofer *roofer, struct hn_tensor_roof *roof, struct hn_error *err)
{
    uint64_t clocks[2] = {0, 0}; /* cycles, nanoseconds */
    double rate = 0.0;
    measure_rate(roofer, queue_products, &rate, err);
    HN_CALL(roofer->context, cuMemcpyDtoH, (clocks, roofer->buffer + roofer->half, sizeof clocks),
            "cuMemcpyDtoH", err);
    *roof = (struct hn_tensor_roof){
        .gflops = rate / 1e3,
        .clock_mhz = clocks[1] == 0 ? 0.0 : 1e3 * (double)clocks[0] / (double)clocks[1]};
}

static void measure_tensor_cores(struct roofer *roofer, struct hn_tensor_roofs *roofs,
                                 struct hn_error *err)
{
    const struct hn_device *device = roofer->context->device;
    if (hn_failed(err))
        return;
    for (int pipe = 0; pipe < HN_PIPE_COUNT && !hn_failed(err); pipe++) {
        roofer->pipe = pipe;
        if (hn_roofs_have_pipe(device->identity.capability, (enum hn_tensor_pipe)pipe))
            measure_pipe(roofer, &roofs->pipes[pipe], err);
    }
    struct hn_health_watch *watch = hn_health_watch_create(device->uuid);
    roofs->power_limit_w = hn_health_power_limit(watch);
    hn_health_watch_destroy(watch);
}

static void measure_all(struct roofer *roofer, struct hn_roofs *roofs, struct hn_error *err)
{
    double rate = 0.0;
    warm_up(roofer, err);
    measure_rate(roofer, queue_fp32, &rate, err);
    roofs->fp32_gflops = rate / 1e3;
    measure_rate(roofer, queue_l2, &rate, err);
    roofs->l2_gb_per_s = rate / 1e3;
    measure_copies(roofer, &roofs->copy_gb_per_s, err);
    measure_rate(roofer, queue_launches, &rate, err);
    roofs->launch_us = rate > 0.0 ? 1.0 / rate : 0.0;
    measure_tensor_cores(roofer, &roofs->tensor, err);
}

/* A GiB, or what fits. */
static void allocate(struct roofer *roofer, struct hn_error *err)
{
    size_t available = 0, total = 0;
    HN_CALL(roofer->context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    if (hn_failed(err))
        return;
    roofer->half = COPY_BYTES;
    while (roofer->half > available / 4 && roofer->half > 1u << 20)
        roofer->half /= 2;
    HN_CALL(roofer->context, cuMemAlloc, (&roofer->buffer, 2 * roofer->half),
            "allocating what is copied", err);
    if (hn_failed(err)) {
        roofer->buffer = 0;
        return;
    }
    HN_CALL(roofer->context, cuMemsetD8Async,
            (roofer->buffer, 1, 2 * roofer->half, roofer->context->stream), "cuMemsetD8Async", err);
}

static void find_kernels(struct roofer *roofer, const struct hn_image *image, struct hn_error *err)
{
    HN_CALL(roofer->context, cuModuleLoadDataEx, (&roofer->module, image->cubin, 0, NULL, NULL),
            "loading the kernels of the roofs", err);
    if (hn_failed(err)) {
        roofer->module = NULL;
        return;
    }
    for (int i = 0; i < KERNELS && !hn_failed(err); i++) {
        HN_CALL(roofer->context, cuModuleGetFunction,
                (&roofer->kernels[i], roofer->module, hn_roofs_entries[i]), hn_roofs_entries[i],
                err);
    }
}

static void make_event(struct roofer *roofer, CUevent *event, struct hn_error *err)
{
    HN_CALL(roofer->context, cuEventCreate, (event, CU_EVENT_DEFAULT), "cuEventCreate", err);
    if (hn_failed(err))
        *event = NULL;
}

static void finish(struct roofer *roofer)
{
    const struct hn_driver *driver = roofer->context->driver;
    if (roofer->end != NULL)
        driver->p_cuEventDestroy(roofer->end);
    if (roofer->start != NULL)
        driver->p_cuEventDestroy(roofer->start);
    if (roofer->buffer != 0)
        driver->p_cuMemFree(roofer->buffer);
    if (roofer->module != NULL)
        driver->p_cuModuleUnload(roofer->module);
}

enum hn_status hn_roofs_measure(struct hn_context *context, const struct hn_image *image,
                                struct hn_roofs *roofs, struct hn_error *err)
{
    struct roofer roofer = {.context = context};
    hn_error_init(err);
    *roofs = (struct hn_roofs){.measured = (double)time(NULL)};
    if (image->outcome != HN_OUTCOME_OK || image->cubin == NULL)
        return hn_fail(err, HN_ERUN, "the kernels of the roofs did not compile: %s",
                       image->message == NULL ? "no message" : image->message);
    snprintf(roofs->driver, sizeof roofs->driver, "%s", context->device->driver);
    int sms = context->device->identity.sm_count;
    roofer.blocks = BLOCKS_PER_SM * (unsigned int)(sms > 0 ? sms : 1);
    find_kernels(&roofer, image, err);
    make_event(&roofer, &roofer.start, err);
    make_event(&roofer, &roofer.end, err);
    allocate(&roofer, err);
    measure_all(&roofer, roofs, err);
    finish(&roofer);
    return err->status;
}

/* The copy that a bench sets its results beside. */

struct copy {
    struct hn_context *context;
    CUdeviceptr from;
    CUdeviceptr to;
    size_t bytes;
};

static void prepare_copy(void *subject, size_t sets, enum hn_outputs_before before,
                         struct hn_error *err)
{
    (void)subject;
    (void)sets;
    (void)before;
    (void)err;
}

static void launch_copy(void *subject, size_t set, struct hn_error *err)
{
    struct copy *copy = subject;
    (void)set;
    HN_CALL(copy->context, cuMemcpyDtoDAsync,
            (copy->to, copy->from, copy->bytes, copy->context->stream), "cuMemcpyDtoDAsync", err);
}

static void measure_copy(struct hn_bench *bench, struct copy *copy, double *gb_per_s,
                         struct hn_error *err)
{
    const struct hn_recipe recipe = {.fill = {.kind = HN_FILL_UNIFORM, .numbers = {-1.0, 1.0}}};
    const struct hn_bench_request request = {.full = true};
    struct hn_work work = {.sampler = &bench->sampler,
                           .batch = 1,
                           .subject = copy,
                           .prepare = prepare_copy,
                           .launch = launch_copy,
                           .what = "cuMemcpyDtoDAsync",
                           .step_count = 1};
    struct hn_timing timing = {0};
    struct hn_measured measured;
    const struct hn_elements from = {
        .data = copy->from, .count = copy->bytes / 4, .type = HN_FLOAT32};
    hn_support_fill(&bench->support, &from, &recipe, 0, err);
    hn_measure(&work, &request, (struct hn_sample){0}, &timing, &measured, err);
    if (!hn_failed(err))
        *gb_per_s = 2e-3 * (double)copy->bytes / timing.median_us;
    free(timing.samples_us);
}

enum hn_status hn_bench_copy_bandwidth(struct hn_bench *bench, size_t bytes, double *gb_per_s,
                                       struct hn_error *err)
{
    struct hn_context *context = &bench->context;
    struct copy copy = {.context = context, .bytes = bytes};
    size_t available = 0, total = 0;
    hn_error_init(err);
    *gb_per_s = 0.0;
    HN_CALL(context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    /* Beside a large plan there may be no room for as much again; half of it copies about as fast.
     */
    while (copy.bytes > available / 3 && copy.bytes > 4096)
        copy.bytes /= 2;
    HN_CALL(context, cuMemAlloc, (&copy.from, copy.bytes), "allocating the source of the copy",
            err);
    if (hn_failed(err))
        return err->status;
    HN_CALL(context, cuMemAlloc, (&copy.to, copy.bytes), "allocating the target of the copy", err);
    if (!hn_failed(err)) {
        measure_copy(bench, &copy, gb_per_s, err);
        context->driver->p_cuMemFree(copy.to);
    }
    context->driver->p_cuMemFree(copy.from);
    return err->status;
}
