/* SPDX-License-Identifier: MIT */
#include "runtime/bench/stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"

enum { PAGE = 4096, GUARD = 65536, PATTERN = 0xa5 };

/* Of an argument with these parts: what is read back is not write-combined. */
static enum hn_host_class host_class_of(enum hn_host_memory memory, unsigned char parts)
{
    static const enum hn_host_class classes[HN_HOST_MEMORY_COUNT] = {
        [HN_HOST_PAGEABLE] = HN_CLASS_PAGEABLE, [HN_HOST_REGISTERED] = HN_CLASS_REGISTERED,
        [HN_HOST_PINNED] = HN_CLASS_PINNED,     [HN_HOST_WRITE_COMBINED] = HN_CLASS_WRITE_COMBINED,
        [HN_HOST_MAPPED] = HN_CLASS_PINNED,     [HN_HOST_MANAGED] = HN_CLASS_MANAGED,
    };
    if (memory == HN_HOST_WRITE_COMBINED && (parts & HN_PARTS_ON_HOST) != HN_PART_UPLOAD)
        return HN_CLASS_PINNED;
    return classes[memory];
}

/* With the guard zones. */
static uint64_t host_buffer_size(uint64_t bytes)
{
    return (bytes + (uint64_t)2 * GUARD + PAGE - 1) / PAGE * PAGE;
}

static CUresult allocate_block(struct hn_host_buffer *buffer, struct hn_context *context,
                               enum hn_host_class class)
{
    const struct hn_driver *driver = context->driver;
    void *block = NULL;
    CUdeviceptr address = 0;
    CUresult result = CUDA_SUCCESS;
    switch (class) {
    case HN_CLASS_PAGEABLE:
    case HN_CLASS_REGISTERED:
        block = aligned_alloc(PAGE, buffer->block_bytes);
        result = block == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
        break;
    case HN_CLASS_PINNED:
        result = driver->p_cuMemHostAlloc(&block, buffer->block_bytes,
                                          CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
        break;
    case HN_CLASS_WRITE_COMBINED:
        result = driver->p_cuMemHostAlloc(&block, buffer->block_bytes,
                                          CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE);
        break;
    case HN_CLASS_MANAGED:
        result = driver->p_cuMemAllocManaged(&address, buffer->block_bytes, CU_MEM_ATTACH_GLOBAL);
        block = (void *)(uintptr_t)address;
        break;
    case HN_CLASS_COUNT:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS)
        buffer->block = block;
    return result;
}

/* Pages are touched before, so that only the registering is timed. */
static CUresult register_block(struct hn_host_buffer *buffer, struct hn_context *context)
{
    memset(buffer->block, 0, buffer->block_bytes);
    double started_ms = hn_now_ms();
    CUresult result = context->driver->p_cuMemHostRegister(buffer->block, buffer->block_bytes, 0);
    buffer->register_ms = hn_now_ms() - started_ms;
    if (result == CUDA_SUCCESS)
        return result;
    free(buffer->block);
    buffer->block = NULL;
    return result;
}

static CUresult find_address(struct hn_host_buffer *buffer, struct hn_context *context,
                             enum hn_host_class class)
{
    if (class == HN_CLASS_MANAGED)
        buffer->device = (CUdeviceptr)(uintptr_t)buffer->data;
    if (class != HN_CLASS_PINNED)
        return CUDA_SUCCESS;
    CUresult result =
        context->driver->p_cuMemHostGetDevicePointer(&buffer->device, buffer->block, 0);
    buffer->device += GUARD;
    return result;
}

static void write_guards(struct hn_host_buffer *buffer)
{
    memset(buffer->block, PATTERN, GUARD);
    memset(buffer->data + buffer->bytes, PATTERN, GUARD);
}

static void host_buffer_free(struct hn_host_buffer *buffer, struct hn_context *context,
                             enum hn_host_class class)
{
    const struct hn_driver *driver = context->driver;
    if (buffer->block == NULL)
        return;
    switch (class) {
    case HN_CLASS_REGISTERED:
        driver->p_cuMemHostUnregister(buffer->block);
        free(buffer->block);
        break;
    case HN_CLASS_PAGEABLE:
        free(buffer->block);
        break;
    case HN_CLASS_PINNED:
    case HN_CLASS_WRITE_COMBINED:
        driver->p_cuMemFreeHost(buffer->block);
        break;
    case HN_CLASS_MANAGED:
        driver->p_cuMemFree((CUdeviceptr)(uintptr_t)buffer->block);
        break;
    case HN_CLASS_COUNT:
        break;
    }
    *buffer = (struct hn_host_buffer){0};
}

/* Whatever the driver says; CUDA_ERROR_OUT_OF_MEMORY also for plain memory. */
static CUresult host_buffer_allocate(struct hn_host_buffer *buffer, struct hn_context *context,
                                     enum hn_host_class class, uint64_t bytes)
{
    *buffer = (struct hn_host_buffer){.bytes = bytes};
    buffer->block_bytes = host_buffer_size(bytes);
    CUresult result = allocate_block(buffer, context, class);
    if (result == CUDA_SUCCESS && class == HN_CLASS_REGISTERED)
        result = register_block(buffer, context);
    if (result != CUDA_SUCCESS) {
        *buffer = (struct hn_host_buffer){0};
        return result;
    }
    buffer->data = buffer->block + GUARD;
    result = find_address(buffer, context, class);
    if (result == CUDA_SUCCESS)
        write_guards(buffer);
    else
        host_buffer_free(buffer, context, class);
    return result;
}

/* The first byte of a guard zone that has changed, or GUARD. What is write-combined is read in
 * large pieces: each read goes to memory. */
static size_t find_change(const unsigned char *zone)
{
    unsigned char piece[PAGE];
    for (size_t at = 0; at < GUARD; at += PAGE) {
        memcpy(piece, zone + at, PAGE);
        for (size_t i = 0; i < PAGE; i++)
            if (piece[i] != PATTERN)
                return at + i;
    }
    return GUARD;
}

bool hn_host_buffer_check(struct hn_host_buffer *buffer, int64_t *offset)
{
    size_t before = find_change(buffer->block);
    size_t behind = find_change(buffer->data + buffer->bytes);
    if (before == GUARD && behind == GUARD)
        return true;
    *offset = before < GUARD ? (int64_t)before - GUARD : (int64_t)buffer->bytes + (int64_t)behind;
    write_guards(buffer);
    return false;
}

/* Of a control group, what it keeps of files and has not used for long makes room when asked to. */
static double read_group(void)
{
    double most = hn_file_number("/sys/fs/cgroup/memory.max", "", INFINITY);
    double used = hn_file_number("/sys/fs/cgroup/memory.current", "", 0.0);
    double files = hn_file_number("/sys/fs/cgroup/memory.stat", "inactive_file ", 0.0);
    return fmax(0.0, most - fmax(0.0, used - files));
}

/* Bytes that this process may still take, by /proc/meminfo and the control group; INFINITY when
 * neither says. The limit on locked memory (RLIMIT_MEMLOCK) is none of them: NVIDIA's kernel module
 * pins pages without asking for it. */
static double host_memory_available(void)
{
    return fmin(1024 * hn_file_number("/proc/meminfo", "MemAvailable:", INFINITY), read_group());
}

/* Of what is free, so that the machine stays usable: pages of managed memory are moved by faults,
 * and a device that has to give up some for others may stall. */
static const double MANAGED_SHARE = 0.25;
static const double HOST_SHARE = 0.5;

void hn_stage_init(struct hn_stage *stage, struct hn_arena *arena)
{
    *stage = (struct hn_stage){.arena = arena};
    for (size_t class = 0; class < HN_CLASS_COUNT; class ++)
        stage->buffers[class] = hn_need(arena->plan->argument_count + 1, sizeof **stage->buffers);
}

void hn_stage_finish(struct hn_stage *stage)
{
    if (stage->arena == NULL)
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
        for (size_t i = 0; i < stage->arena->plan->argument_count; i++)
            host_buffer_free(&stage->buffers[class][i], context, (enum hn_host_class) class);
        free(stage->buffers[class]);
    }
    free(stage->uploads);
    *stage = (struct hn_stage){0};
}

struct hn_host_buffer *hn_stage_buffer(const struct hn_stage *stage, const struct hn_flow *flow,
                                       size_t argument)
{
    enum hn_host_class class = host_class_of(flow->host_memory, flow->pipeline->parts[argument]);
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
            bytes += host_buffer_size(stage->arena->buffers[i].bytes);
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
                host_buffer_free(buffer, stage->arena->context, (enum hn_host_class) class);
        }
}

static bool has_room(const struct hn_stage *stage, uint64_t needed, double *most)
{
    double held = (double)held_bytes(stage);
    *most = HOST_SHARE * (host_memory_available() + held);
    return held + (double)needed <= *most;
}

void hn_refuse(struct hn_context *context, CUresult result, enum hn_outcome outcome,
               const char *what, struct hn_record *record, struct hn_error *err)
{
    struct hn_error reason;
    if (result == CUDA_SUCCESS || hn_failed(err))
        return;
    if (hn_driver_result_is_fatal(result)) {
        hn_context_check(context, result, what, err);
        return;
    }
    hn_driver_check(context->driver, result, what, &reason);
    hn_record_fail(record, outcome, "%s", reason.message);
}

static void check_managed(const struct hn_stage *stage, uint64_t needed, struct hn_record *record,
                          struct hn_error *err)
{
    struct hn_context *context = stage->arena->context;
    size_t available = 0, total = 0;
    int concurrent = 0;
    HN_CALL(context, cuDeviceGetAttribute,
            (&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, context->handle),
            "cuDeviceGetAttribute", err);
    HN_CALL(context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    if (hn_failed(err))
        return;
    if (concurrent == 0 || context->driver->p_cuMemPrefetchAsync_v2 == NULL)
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                       "managed memory can not be prefetched here (%s)",
                       concurrent == 0 ? "the device can not use it beside the host"
                                       : "the driver is older than CUDA 12.2");
    else if ((double)needed > MANAGED_SHARE * (double)available)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_MEMORY,
                       "%.3f GiB of managed memory; at most a quarter of the %.3f GiB that are "
                       "free on the device is used",
                       (double)needed / 0x1p30, (double)available / 0x1p30);
}

static void check_room(struct hn_stage *stage, const struct hn_flow *flow, struct hn_record *record,
                       struct hn_error *err)
{
    uint64_t needed = missing_bytes(stage, flow);
    double most = 0.0;
    if (needed == 0)
        return;
    if (flow->host_memory == HN_HOST_MANAGED) {
        check_managed(stage, needed, record, err);
        return;
    }
    if (has_room(stage, needed, &most))
        return;
    make_room(stage, flow);
    if (!has_room(stage, needed, &most))
        hn_record_fail(
            record, HN_OUTCOME_OUT_OF_MEMORY,
            "%.3f GiB of host memory; at most half of what is available is used, %.3f GiB",
            (double)(held_bytes(stage) + needed) / 0x1p30, most / 0x1p30);
}

static void allocate(struct hn_stage *stage, const struct hn_flow *flow, struct hn_record *record,
                     struct hn_error *err)
{
    const struct hn_plan *plan = stage->arena->plan;
    for (size_t i = 0; i < plan->argument_count && hn_goes_on(err, record); i++) {
        struct hn_host_buffer *buffer = hn_stage_buffer(stage, flow, i);
        uint64_t bytes = stage->arena->buffers[i].bytes;
        char what[128];
        if (!is_on_host(flow, i) || buffer->block != NULL)
            continue;
        CUresult result =
            host_buffer_allocate(buffer, stage->arena->context,
                                 host_class_of(flow->host_memory, flow->pipeline->parts[i]), bytes);
        snprintf(what, sizeof what, "%.3f GiB of %s host memory for '%.60s'",
                 (double)bytes / 0x1p30, hn_host_memory_names[flow->host_memory],
                 plan->arguments[i].name);
        hn_refuse(stage->arena->context, result,
                  result == CUDA_ERROR_OUT_OF_MEMORY ? HN_OUTCOME_OUT_OF_MEMORY
                                                     : HN_OUTCOME_LAUNCH_ERROR,
                  what, record, err);
    }
}

/* The first stream is the context's, and its event the one where the others fork from it. */
static void make_streams(struct hn_stage *stage, size_t count, struct hn_error *err)
{
    struct hn_context *context = stage->arena->context;
    while (stage->stream_count < count && !hn_failed(err)) {
        size_t i = stage->stream_count;
        stage->streams[i] = context->stream;
        if (i > 0)
            HN_CALL(context, cuStreamCreate, (&stage->streams[i], CU_STREAM_NON_BLOCKING),
                    "cuStreamCreate", err);
        if (hn_failed(err))
            return;
        HN_CALL(context, cuEventCreate, (&stage->joins[i], CU_EVENT_DISABLE_TIMING),
                "cuEventCreate", err);
        if (hn_failed(err) && i > 0)
            context->driver->p_cuStreamDestroy(stage->streams[i]);
        stage->stream_count += !hn_failed(err);
    }
}

static void make_uploads(struct hn_stage *stage, size_t count, struct hn_error *err)
{
    struct hn_context *context = stage->arena->context;
    if (count <= stage->upload_count)
        return;
    stage->uploads = hn_need_more(stage->uploads, count, sizeof(CUevent));
    while (stage->upload_count < count && !hn_failed(err)) {
        CUevent *event = &stage->uploads[stage->upload_count];
        HN_CALL(context, cuEventCreate, (event, CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
        stage->upload_count += !hn_failed(err);
    }
}

/* A texture or a tensor map sees the device's copy, which there is none of then. */
static void check_views(const struct hn_plan *plan, const struct hn_flow *flow,
                        struct hn_record *record)
{
    if (flow->host_memory != HN_HOST_MAPPED && flow->host_memory != HN_HOST_MANAGED)
        return;
    for (size_t i = 0; i < plan->argument_count && record->outcome == HN_OUTCOME_OK; i++) {
        enum hn_role role = plan->arguments[i].role;
        if ((role == HN_ROLE_TEXTURE || role == HN_ROLE_TENSOR_MAP) &&
            is_on_host(flow, hn_plan_source(plan, i)))
            hn_record_fail(
                record, HN_OUTCOME_INVALID_LAUNCH, "%s '%.60s' over '%.60s', which is in %s memory",
                role == HN_ROLE_TEXTURE ? "texture" : "tensor map", plan->arguments[i].name,
                plan->arguments[i].from, hn_host_memory_names[flow->host_memory]);
    }
}

void hn_stage_place(struct hn_stage *stage, const struct hn_flow *flow, struct hn_record *record,
                    struct hn_error *err)
{
    if (!hn_goes_on(err, record))
        return;
    check_views(stage->arena->plan, flow, record);
    if (hn_goes_on(err, record))
        check_room(stage, flow, record, err);
    allocate(stage, flow, record, err);
    if (!hn_goes_on(err, record))
        return;
    make_streams(stage, flow->streams, err);
    if (hn_flow_shares_uploads(flow))
        make_uploads(stage, flow->chunk_count, err);
}
