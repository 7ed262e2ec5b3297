/* SPDX-License-Identifier: MIT */
#include "runtime/bench/stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of what is free, so that the machine stays usable: pages of managed memory are moved by faults,
 * and a device that has to give up some for others may stall. */
static const double MANAGED_SHARE = 0.25;
static const double HOST_SHARE = 0.5;

static enum hn_status create(struct hn_arena *arena, struct hn_error *err)
{
    if (arena->stage != NULL)
        return HN_OK;
    struct hn_stage *stage = calloc(1, sizeof *stage);
    if (stage == NULL)
        return hn_fail_memory(err);
    arena->stage = stage;
    stage->arena = arena;
    for (size_t class = 0; class < HN_CLASS_COUNT; class ++) {
        stage->buffers[class] = calloc(arena->plan->argument_count + 1, sizeof **stage->buffers);
        if (stage->buffers[class] == NULL)
            return hn_fail_memory(err);
    }
    return HN_OK;
}

void hn_stage_destroy(struct hn_stage *stage)
{
    if (stage == NULL)
        return;
    struct hn_context *context = stage->arena->context;
    for (size_t i = 0; i < stage->stream_count; i++) {
        context->driver->p_cuEventDestroy(stage->joins[i]);
        if (i > 0)
            context->driver->p_cuStreamDestroy(stage->streams[i]);
    }
    for (size_t i = 0; i < stage->upload_count; i++)
        context->driver->p_cuEventDestroy(stage->uploads[i]);
    for (size_t class = 0; class < HN_CLASS_COUNT; class ++) {
        for (size_t i = 0; stage->buffers[class] != NULL && i < stage->arena->plan->argument_count;
             i++)
            hn_host_buffer_free(&stage->buffers[class][i], context, (enum hn_host_class) class);
        free(stage->buffers[class]);
    }
    free(stage->uploads);
    free(stage);
}

struct hn_host_buffer *hn_stage_buffer(const struct hn_stage *stage, const struct hn_flow *flow,
                                       size_t argument)
{
    enum hn_host_class class = hn_host_class_of(flow->host_memory, flow->pipeline->parts[argument]);
    return &stage->buffers[class][argument];
}

static bool is_on_host(const struct hn_flow *flow, size_t argument)
{
    return (flow->pipeline->parts[argument] & HN_PARTS_ON_HOST) != 0;
}

/* Bytes that are still to be allocated. */
static uint64_t missing_bytes(const struct hn_stage *stage, const struct hn_flow *flow)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < stage->arena->plan->argument_count; i++)
        if (is_on_host(flow, i) && hn_stage_buffer(stage, flow, i)->block == NULL)
            bytes += hn_host_buffer_size(stage->arena->buffers[i].bytes);
    return bytes;
}

static uint64_t held_bytes(const struct hn_stage *stage)
{
    uint64_t bytes = 0;
    for (size_t class = 0; class < HN_CLASS_COUNT; class ++)
        for (size_t i = 0; i < stage->arena->plan->argument_count; i++)
            bytes += stage->buffers[class][i].block_bytes;
    return bytes;
}

/* Lets go of all that this flow does not use. */
static void make_room(struct hn_stage *stage, const struct hn_flow *flow)
{
    for (size_t class = 0; class < HN_CLASS_COUNT; class ++)
        for (size_t i = 0; i < stage->arena->plan->argument_count; i++) {
            struct hn_host_buffer *buffer = &stage->buffers[class][i];
            if (buffer != hn_stage_buffer(stage, flow, i))
                hn_host_buffer_free(buffer, stage->arena->context, (enum hn_host_class) class);
        }
}

static bool has_room(const struct hn_stage *stage, uint64_t needed, double *most)
{
    double held = (double)held_bytes(stage);
    *most = HOST_SHARE * (hn_host_memory_available() + held);
    return held + (double)needed <= *most;
}

static enum hn_status check_managed(const struct hn_stage *stage, uint64_t needed,
                                    enum hn_outcome *outcome, char why[256], struct hn_error *err)
{
    struct hn_context *context = stage->arena->context;
    size_t available = 0, total = 0;
    int concurrent = 0;
    CUresult result = context->driver->p_cuDeviceGetAttribute(
        &concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, context->handle);
    enum hn_status status = hn_context_check(context, result, "cuDeviceGetAttribute", err);
    if (status == HN_OK)
        status = hn_context_check(context, context->driver->p_cuMemGetInfo(&available, &total),
                                  "cuMemGetInfo", err);
    if (status != HN_OK)
        return status;
    if (concurrent == 0 || context->driver->p_cuMemPrefetchAsync_v2 == NULL) {
        *outcome = HN_OUTCOME_INVALID_LAUNCH;
        snprintf(why, 256, "managed memory can not be prefetched here (%s)",
                 concurrent == 0 ? "the device can not use it beside the host"
                                 : "the driver is older than CUDA 12.2");
    } else if ((double)needed > MANAGED_SHARE * (double)available) {
        *outcome = HN_OUTCOME_OUT_OF_MEMORY;
        snprintf(why, 256,
                 "%.3f GiB of managed memory; at most a quarter of the %.3f GiB that are free on "
                 "the device is used",
                 (double)needed / 0x1p30, (double)available / 0x1p30);
    }
    return HN_OK;
}

static enum hn_status check_room(struct hn_stage *stage, const struct hn_flow *flow,
                                 enum hn_outcome *outcome, char why[256], struct hn_error *err)
{
    uint64_t needed = missing_bytes(stage, flow);
    double most = 0.0;
    if (needed == 0)
        return HN_OK;
    if (flow->host_memory == HN_HOST_MANAGED)
        return check_managed(stage, needed, outcome, why, err);
    if (has_room(stage, needed, &most))
        return HN_OK;
    make_room(stage, flow);
    if (has_room(stage, needed, &most))
        return HN_OK;
    *outcome = HN_OUTCOME_OUT_OF_MEMORY;
    snprintf(why, 256,
             "%.3f GiB of host memory; at most half of what is available is used, %.3f GiB",
             (double)(held_bytes(stage) + needed) / 0x1p30, most / 0x1p30);
    return HN_OK;
}

static enum hn_status allocate(struct hn_stage *stage, const struct hn_flow *flow,
                               enum hn_outcome *outcome, char why[256], struct hn_error *err)
{
    const struct hn_plan *plan = stage->arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        struct hn_host_buffer *buffer = hn_stage_buffer(stage, flow, i);
        uint64_t bytes = stage->arena->buffers[i].bytes;
        char what[128];
        if (!is_on_host(flow, i) || buffer->block != NULL)
            continue;
        CUresult result = hn_host_buffer_allocate(
            buffer, stage->arena->context,
            hn_host_class_of(flow->host_memory, flow->pipeline->parts[i]), bytes);
        snprintf(what, sizeof what, "%.3f GiB of %s host memory for '%.60s'",
                 (double)bytes / 0x1p30, hn_host_memory_names[flow->host_memory],
                 plan->arguments[i].name);
        if (result == CUDA_SUCCESS)
            continue;
        struct hn_error reason;
        enum hn_status status = hn_context_check(stage->arena->context, result, what, &reason);
        if (hn_driver_result_is_fatal(result))
            return hn_fail(err, status, "%s", reason.message);
        *outcome =
            result == CUDA_ERROR_OUT_OF_MEMORY ? HN_OUTCOME_OUT_OF_MEMORY : HN_OUTCOME_LAUNCH_ERROR;
        snprintf(why, 256, "%.255s", reason.message);
        return HN_OK;
    }
    return HN_OK;
}

/* The first stream is the context's, and its event the one where the others fork from it. */
static enum hn_status make_streams(struct hn_stage *stage, size_t count, struct hn_error *err)
{
    struct hn_context *context = stage->arena->context;
    while (stage->stream_count < count) {
        size_t i = stage->stream_count;
        stage->streams[i] = context->stream;
        CUresult result = CUDA_SUCCESS;
        if (i > 0)
            result = context->driver->p_cuStreamCreate(&stage->streams[i], CU_STREAM_NON_BLOCKING);
        enum hn_status status = hn_context_check(context, result, "cuStreamCreate", err);
        if (status != HN_OK)
            return status;
        result = context->driver->p_cuEventCreate(&stage->joins[i], CU_EVENT_DISABLE_TIMING);
        status = hn_context_check(context, result, "cuEventCreate", err);
        if (status != HN_OK) {
            if (i > 0)
                context->driver->p_cuStreamDestroy(stage->streams[i]);
            return status;
        }
        stage->stream_count++;
    }
    return HN_OK;
}

static enum hn_status make_uploads(struct hn_stage *stage, size_t count, struct hn_error *err)
{
    struct hn_context *context = stage->arena->context;
    if (count <= stage->upload_count)
        return HN_OK;
    CUevent *grown = realloc(stage->uploads, count * sizeof(CUevent));
    if (grown == NULL)
        return hn_fail_memory(err);
    stage->uploads = grown;
    while (stage->upload_count < count) {
        CUresult result =
            context->driver->p_cuEventCreate(&grown[stage->upload_count], CU_EVENT_DISABLE_TIMING);
        enum hn_status status = hn_context_check(context, result, "cuEventCreate", err);
        if (status != HN_OK)
            return status;
        stage->upload_count++;
    }
    return HN_OK;
}

/* A texture or a tensor map sees the device's copy, which there is none of then. */
static bool have_views(const struct hn_plan *plan, const struct hn_flow *flow,
                       enum hn_outcome *outcome, char why[256])
{
    if (flow->host_memory != HN_HOST_MAPPED && flow->host_memory != HN_HOST_MANAGED)
        return true;
    for (size_t i = 0; i < plan->argument_count; i++) {
        enum hn_role role = plan->arguments[i].role;
        if ((role != HN_ROLE_TEXTURE && role != HN_ROLE_TENSOR_MAP) ||
            !is_on_host(flow, hn_plan_source(plan, i)))
            continue;
        *outcome = HN_OUTCOME_INVALID_LAUNCH;
        snprintf(why, 256, "%s '%.60s' over '%.60s', which is in %s memory",
                 role == HN_ROLE_TEXTURE ? "texture" : "tensor map", plan->arguments[i].name,
                 plan->arguments[i].from, hn_host_memory_names[flow->host_memory]);
        return false;
    }
    return true;
}

enum hn_status hn_stage_place(struct hn_arena *arena, const struct hn_flow *flow,
                              enum hn_outcome *outcome, char why[256], struct hn_error *err)
{
    why[0] = '\0';
    *outcome = HN_OUTCOME_OK;
    if (!have_views(arena->plan, flow, outcome, why))
        return HN_OK;
    enum hn_status status = create(arena, err);
    struct hn_stage *stage = arena->stage;
    if (status == HN_OK)
        status = check_room(stage, flow, outcome, why, err);
    if (status == HN_OK && *outcome == HN_OUTCOME_OK)
        status = allocate(stage, flow, outcome, why, err);
    if (status == HN_OK && *outcome == HN_OUTCOME_OK)
        status = make_streams(stage, flow->streams, err);
    if (status == HN_OK && *outcome == HN_OUTCOME_OK && hn_flow_shares_uploads(flow))
        status = make_uploads(stage, flow->chunk_count, err);
    return status;
}
