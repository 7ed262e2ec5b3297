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
enum { KERNELS = KERNEL_TENSOR + HN_PIPE_COUNT, MEMCPY = KERNELS };
static const char *const entries_of_all[] = {"hone_roof_fp32", "hone_roof_l2", "hone_roof_copy",
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
static struct hn_text_file file = {(char *)"hone/roofs.cu", NULL};
static const struct hn_template template = {.files = &file, .file_count = 1};
const struct hn_source hn_roofs_program = {.template = &template,
                                           .arch_specific = true,
                                           .text = (char *)hn_roofs_source,
                                           .entries = (char **)entries_of_all,
                                           .entry_count = KERNELS};

enum { RUNS = 9, THREADS = 256, BLOCKS_PER_SM = 8, LAUNCHES = 32 };
/* A round of hone_roof_fp32 has four multiply-adds of each of 16 chains. */
static const double OPERATIONS_A_ROUND = 2.0 * 4 * 16;
/* Those on the tensor cores multiply 2 x 64 rows by 256 columns, along 128 bytes of both. */
static const double TENSOR_OPERATIONS_A_ROUND = 2.0 * 128 * 256 * 128;
static const double WARM_UP_MS = 100.0;
static const uint64_t COPY_BYTES = 1u << 30;

/* Everything that is needed for a run. After a failure nothing is done. */
struct roofer {
    struct hn_context *context;
    struct hn_error *err;
    CUmodule module;
    CUfunction kernels[KERNELS];
    CUevent events[2];  /* around what is timed */
    CUdeviceptr buffer; /* two halves of `half` bytes */
    uint64_t half;
    unsigned int blocks;
};

static void launch(struct roofer *roofer, int kernel, unsigned int blocks, void **parameters)
{
    HN_CALL(roofer->context, cuLaunchKernel,
            (roofer->kernels[kernel], blocks, 1, 1, kernel == KERNEL_LAUNCH ? 32 : THREADS, 1, 1, 0,
             roofer->context->stream, parameters, NULL),
            entries_of_all[kernel], roofer->err);
}

/* Queues work, and returns how much it is. blocks: of the kernel that copies, in which threads copy
 * several words each, or one. */
static double queue(struct roofer *roofer, int work, unsigned int blocks)
{
    struct hn_context *context = roofer->context;
    CUdeviceptr from = roofer->buffer, to = from + roofer->half;
    /* A quarter of the cache, so that all of it stays there wherever it lies. */
    uint64_t cached = (uint64_t)context->device->l2_bytes / 4;
    uint64_t count = (cached < roofer->half ? cached : roofer->half) / 16;
    uint64_t words = roofer->half / 16;
    int rounds = work == KERNEL_L2 ? 256 : 1024;
    float a = 0.999f, b = 0.001f;
    switch (work) {
    case KERNEL_FP32:
        launch(roofer, work, roofer->blocks, (void *[]){&from, &rounds, &a, &b});
        return OPERATIONS_A_ROUND * rounds * THREADS * roofer->blocks;
    case KERNEL_L2:
        launch(roofer, work, roofer->blocks, (void *[]){&from, &count, &rounds, &to});
        return 16.0 * (double)count * rounds;
    case KERNEL_COPY:
        launch(roofer, work, blocks, (void *[]){&from, &to, &words});
        return 2.0 * (double)roofer->half;
    case MEMCPY:
        HN_CALL(context, cuMemcpyDtoDAsync, (to, from, roofer->half, context->stream),
                "cuMemcpyDtoDAsync", roofer->err);
        return 2.0 * (double)roofer->half;
    case KERNEL_LAUNCH:
        for (int i = 0; i < LAUNCHES; i++)
            launch(roofer, work, 1, NULL);
        return LAUNCHES;
    default: /* On the tensor cores: cycles and nanoseconds of one block go to the buffer. */
        blocks = roofer->blocks / BLOCKS_PER_SM;
        launch(roofer, work, blocks, (void *[]){&from, &rounds, &to});
        return TENSOR_OPERATIONS_A_ROUND / element_bytes[work - KERNEL_TENSOR] * rounds * blocks;
    }
}

/* One run, behind work that keeps the device busy until all is queued: its time in us, and how much
 * was done. */
static double time_once(struct roofer *roofer, int work, unsigned int blocks, double *amount)
{
    struct hn_context *context = roofer->context;
    CUevent start = roofer->events[0], end = roofer->events[1];
    queue(roofer, KERNEL_FP32, 0);
    HN_CALL(context, cuEventRecord, (start, context->stream), "cuEventRecord", roofer->err);
    *amount = queue(roofer, work, blocks);
    HN_CALL(context, cuEventRecord, (end, context->stream), "cuEventRecord", roofer->err);
    HN_CALL(context, cuEventSynchronize, (end), "cuEventSynchronize", roofer->err);
    return hn_elapsed_us(context, start, end, roofer->err);
}

/* How much is done in a microsecond. The first run does not count. */
static double measure_rate(struct roofer *roofer, int work, unsigned int blocks)
{
    double times_us[RUNS], amount = 0.0;
    time_once(roofer, work, blocks, &amount);
    for (int i = 0; i < RUNS; i++)
        times_us[i] = time_once(roofer, work, blocks, &amount);
    double median_us = hn_median(times_us, RUNS);
    return median_us > 0.0 ? amount / median_us : 0.0;
}

bool hn_roofs_have_pipe(int capability, enum hn_tensor_pipe pipe)
{
    if (capability / 10 == 10 || capability / 10 == 11)
        return false;
    return capability >= (pipe == HN_PIPE_FP8 ? 89 : 80);
}

static void measure_tensor_cores(struct roofer *roofer, struct hn_tensor_roofs *roofs)
{
    const struct hn_device *device = roofer->context->device;
    for (int pipe = 0; pipe < HN_PIPE_COUNT && !hn_failed(roofer->err); pipe++) {
        uint64_t clocks[2] = {0, 0}; /* cycles, nanoseconds */
        if (!hn_roofs_have_pipe(device->identity.capability, (enum hn_tensor_pipe)pipe))
            continue;
        roofs->pipes[pipe].gflops = measure_rate(roofer, KERNEL_TENSOR + pipe, 0) / 1e3;
        HN_CALL(roofer->context, cuMemcpyDtoH,
                (clocks, roofer->buffer + roofer->half, sizeof clocks), "cuMemcpyDtoH",
                roofer->err);
        if (clocks[1] != 0)
            roofs->pipes[pipe].clock_mhz = 1e3 * (double)clocks[0] / (double)clocks[1];
    }
    struct hn_health_watch *watch =
        hn_failed(roofer->err) ? NULL : hn_health_watch_create(device->uuid);
    roofs->power_limit_w = hn_health_power_limit(watch);
    hn_health_watch_destroy(watch);
}

/* What copies fastest differs from device to device: a memcpy, threads that copy several words, or
 * a thread for each. */
static void measure_all(struct roofer *roofer, struct hn_roofs *roofs)
{
    const unsigned int copiers[] = {roofer->blocks, (unsigned int)(roofer->half / 16 / THREADS)};
    double start_ms = hn_now_ms(), measured_ms = 0.0, amount;
    if (hn_failed(roofer->err))
        return;
    /* A simulated device takes no time of ours. */
    while (!hn_failed(roofer->err) && fmax(hn_now_ms() - start_ms, measured_ms) < WARM_UP_MS)
        measured_ms += 1e-3 * time_once(roofer, KERNEL_FP32, 0, &amount);
    roofs->fp32_gflops = measure_rate(roofer, KERNEL_FP32, 0) / 1e3;
    roofs->l2_gb_per_s = measure_rate(roofer, KERNEL_L2, 0) / 1e3;
    double copied = measure_rate(roofer, MEMCPY, 0);
    for (int i = 0; i < 2; i++)
        copied = fmax(copied, measure_rate(roofer, KERNEL_COPY, copiers[i]));
    roofs->copy_gb_per_s = copied / 1e3;
    double launches = measure_rate(roofer, KERNEL_LAUNCH, 0);
    roofs->launch_us = launches > 0.0 ? 1.0 / launches : 0.0;
    measure_tensor_cores(roofer, &roofs->tensor);
}

enum hn_status hn_roofs_measure(struct hn_context *context, const struct hn_image *image,
                                struct hn_roofs *roofs, struct hn_error *err)
{
    const struct hn_driver *driver = context->driver;
    struct roofer roofer = {.context = context, .err = err};
    int sms = context->device->identity.sm_count;
    size_t available = 0, total = 0;
    hn_error_init(err);
    *roofs =
        (struct hn_roofs){.measured = (double)time(NULL), .l2_bytes = context->device->l2_bytes};
    snprintf(roofs->driver, sizeof roofs->driver, "%s", context->device->driver);
    roofer.blocks = BLOCKS_PER_SM * (unsigned int)(sms > 0 ? sms : 1);
    roofer.module = hn_kernels_load(context, image, "kernels of the roofs", entries_of_all, KERNELS,
                                    roofer.kernels, err);
    for (int i = 0; i < 2; i++) {
        HN_CALL(context, cuEventCreate, (&roofer.events[i], CU_EVENT_DEFAULT), "cuEventCreate",
                err);
        if (hn_failed(err))
            roofer.events[i] = NULL;
    }
    /* A GiB, or what fits. */
    HN_CALL(context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    roofer.half = COPY_BYTES;
    while (roofer.half > available / 4 && roofer.half > 1u << 20)
        roofer.half /= 2;
    HN_CALL(context, cuMemAlloc, (&roofer.buffer, 2 * roofer.half), "allocating what is copied",
            err);
    if (hn_failed(err))
        roofer.buffer = 0;
    HN_CALL(context, cuMemsetD8Async, (roofer.buffer, 1, 2 * roofer.half, context->stream),
            "cuMemsetD8Async", err);
    measure_all(&roofer, roofs);
    for (int i = 1; i >= 0; i--)
        if (roofer.events[i] != NULL)
            driver->p_cuEventDestroy(roofer.events[i]);
    if (roofer.buffer != 0)
        driver->p_cuMemFree(roofer.buffer);
    if (roofer.module != NULL)
        driver->p_cuModuleUnload(roofer.module);
    return err->status;
}

/* The copy that a bench sets its results beside. */

struct copy {
    struct hn_context *context;
    CUdeviceptr from, to;
    size_t bytes;
};

static void launch_copy(void *subject, size_t set, struct hn_error *err)
{
    struct copy *copy = subject;
    (void)set;
    HN_CALL(copy->context, cuMemcpyDtoDAsync,
            (copy->to, copy->from, copy->bytes, copy->context->stream), "cuMemcpyDtoDAsync", err);
}

enum hn_status hn_bench_copy_bandwidth(struct hn_bench *bench, size_t bytes, double *gb_per_s,
                                       struct hn_error *err)
{
    const struct hn_recipe recipe = {.fill = {.kind = HN_FILL_UNIFORM, .numbers = {-1.0, 1.0}}};
    const struct hn_bench_request request = {.full = true};
    struct hn_context *context = &bench->context;
    struct copy copy = {.context = context, .bytes = bytes};
    struct hn_work work = {.sampler = &bench->sampler,
                           .batch = 1,
                           .subject = &copy,
                           .launch = launch_copy,
                           .what = "cuMemcpyDtoDAsync",
                           .step_count = 1};
    struct hn_timing timing = {0};
    struct hn_measured measured;
    size_t available = 0, total = 0;
    hn_error_init(err);
    *gb_per_s = 0.0;
    HN_CALL(context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    /* Beside a large plan there may be no room for as much again; half copies about as fast. */
    while (copy.bytes > available / 3 && copy.bytes > 4096)
        copy.bytes /= 2;
    HN_CALL(context, cuMemAlloc, (&copy.from, copy.bytes), "allocating the source of the copy",
            err);
    if (hn_failed(err))
        return err->status;
    HN_CALL(context, cuMemAlloc, (&copy.to, copy.bytes), "allocating the target of the copy", err);
    if (!hn_failed(err)) {
        const struct hn_elements from = {
            .data = copy.from, .count = copy.bytes / 4, .type = HN_FLOAT32};
        hn_support_fill(&bench->support, from, &recipe, 0, err);
        hn_measure(&work, &request, (struct hn_sample){0}, &timing, &measured, err);
        if (!hn_failed(err))
            *gb_per_s = 2e-3 * (double)copy.bytes / timing.median_us;
        free(timing.samples_us);
        context->driver->p_cuMemFree(copy.to);
    }
    context->driver->p_cuMemFree(copy.from);
    return err->status;
}
