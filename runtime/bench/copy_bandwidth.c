/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/bench/bench_internal.h"

struct copy {
    struct hn_context *context;
    CUdeviceptr from;
    CUdeviceptr to;
    size_t bytes;
};

static enum hn_status prepare_copy(void *subject, size_t sets, enum hn_outputs_before before,
                                   struct hn_error *err)
{
    (void)subject;
    (void)sets;
    (void)before;
    (void)err;
    return HN_OK;
}

static enum hn_status launch_copy(void *subject, size_t set, struct hn_error *err)
{
    struct copy *copy = subject;
    (void)set;
    CUresult result = copy->context->driver->p_cuMemcpyDtoDAsync(copy->to, copy->from, copy->bytes,
                                                                 copy->context->stream);
    return hn_context_check(copy->context, result, "cuMemcpyDtoDAsync", err);
}

static enum hn_status measure_copy(struct hn_bench *bench, struct copy *copy, double *gb_per_s,
                                   struct hn_error *err)
{
    const struct hn_recipe recipe = {.fill = {.kind = HN_FILL_UNIFORM, .numbers = {-1.0, 1.0}}};
    const struct hn_bench_request request = {.full = true};
    struct hn_work work = {.subject = copy,
                           .prepare = prepare_copy,
                           .launch = launch_copy,
                           .what = "cuMemcpyDtoDAsync",
                           .step_count = 1};
    struct hn_timing timing = {0};
    struct hn_measured measured;
    const struct hn_elements from = {
        .data = copy->from, .count = copy->bytes / 4, .type = HN_FLOAT32};
    enum hn_status status = hn_support_fill(&bench->support, &from, &recipe, 0, err);
    if (status == HN_OK)
        status = hn_measure(&bench->sampler, &work, &request, (struct hn_sample){0}, &timing,
                            &measured, err);
    if (status == HN_OK)
        *gb_per_s = 2e-3 * (double)copy->bytes / timing.median_us;
    free(timing.samples_us);
    return status;
}

/* Beside a large plan there may be no room for as much again; half of it copies about as fast. */
static enum hn_status fit(struct copy *copy, struct hn_error *err)
{
    size_t available = 0, total = 0;
    CUresult result = copy->context->driver->p_cuMemGetInfo(&available, &total);
    while (copy->bytes > available / 3 && copy->bytes > 4096)
        copy->bytes /= 2;
    return hn_context_check(copy->context, result, "cuMemGetInfo", err);
}

enum hn_status hn_bench_copy_bandwidth(struct hn_bench *bench, size_t bytes, double *gb_per_s,
                                       struct hn_error *err)
{
    struct hn_context *context = &bench->context;
    struct copy copy = {.context = context, .bytes = bytes};
    *gb_per_s = 0.0;
    enum hn_status status = fit(&copy, err);
    if (status != HN_OK)
        return status;
    CUresult result = context->driver->p_cuMemAlloc(&copy.from, copy.bytes);
    status = hn_context_check(context, result, "allocating the source of the copy", err);
    if (status != HN_OK)
        return status;
    result = context->driver->p_cuMemAlloc(&copy.to, copy.bytes);
    status = hn_context_check(context, result, "allocating the target of the copy", err);
    if (status != HN_OK)
        goto free_source;
    status = measure_copy(bench, &copy, gb_per_s, err);
    context->driver->p_cuMemFree(copy.to);

free_source:
    context->driver->p_cuMemFree(copy.from);
    return status;
}
