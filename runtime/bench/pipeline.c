/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "runtime/bench/variant.h"

enum { PAGE = 4096, GUARD = 65536, PATTERN = 0xa5 };

/* As which memory an argument's is allocated: what is read back is not write-combined, and what is
 * pinned is mapped too. */
static enum hn_host_memory kind_of(const struct hn_flow *flow, size_t argument)
{
    bool written_alone = (flow->pipeline->parts[argument] & HN_PARTS_ON_HOST) == HN_PART_UPLOAD;
    bool pinned = flow->host_memory == HN_HOST_MAPPED ||
                  (flow->host_memory == HN_HOST_WRITE_COMBINED && !written_alone);
    return pinned ? HN_HOST_PINNED : flow->host_memory;
}

/* With the guard zones. */
static uint64_t host_buffer_size(uint64_t bytes)
{
    return (bytes + (uint64_t)2 * GUARD + PAGE - 1) / PAGE * PAGE;
}

static void write_guards(struct hn_host_buffer *buffer)
{
    memset(buffer->block, PATTERN, GUARD);
    memset(buffer->data + buffer->bytes, PATTERN, GUARD);
}

static void host_buffer_free(struct hn_host_buffer *buffer, const struct hn_driver *driver)
{
    if (buffer->block == NULL)
        return;
    if (buffer->kind == HN_HOST_REGISTERED)
        driver->p_cuMemHostUnregister(buffer->block);
    if (buffer->kind == HN_HOST_PAGEABLE || buffer->kind == HN_HOST_REGISTERED)
        free(buffer->block);
    else if (buffer->kind == HN_HOST_MANAGED)
        driver->p_cuMemFree((CUdeviceptr)(uintptr_t)buffer->block);
    else
        driver->p_cuMemFreeHost(buffer->block);
    *buffer = (struct hn_host_buffer){0};
}

/* Whatever the driver says; CUDA_ERROR_OUT_OF_MEMORY also for plain memory. */
static CUresult host_buffer_allocate(struct hn_host_buffer *buffer, const struct hn_driver *driver,
                                     enum hn_host_memory kind, uint64_t bytes)
{
    const uint64_t size = host_buffer_size(bytes);
    void *block = NULL;
    CUdeviceptr address = 0;
    CUresult result = CUDA_SUCCESS;
    *buffer = (struct hn_host_buffer){.kind = kind};
    if (kind == HN_HOST_PINNED || kind == HN_HOST_WRITE_COMBINED) {
        unsigned int flags =
            kind == HN_HOST_PINNED ? CU_MEMHOSTALLOC_DEVICEMAP : CU_MEMHOSTALLOC_WRITECOMBINED;
        result = driver->p_cuMemHostAlloc(&block, size, flags | CU_MEMHOSTALLOC_PORTABLE);
    } else if (kind == HN_HOST_MANAGED) {
        result = driver->p_cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL);
        block = (void *)(uintptr_t)address;
    } else if ((block = aligned_alloc(PAGE, size)) == NULL) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result == CUDA_SUCCESS && kind == HN_HOST_REGISTERED) {
        /* Pages are touched before, so that only the registering is timed. */
        memset(block, 0, size);
        double started_ms = hn_now_ms();
        result = driver->p_cuMemHostRegister(block, size, 0);
        buffer->register_ms = hn_now_ms() - started_ms;
        if (result != CUDA_SUCCESS)
            free(block);
    }
    if (result != CUDA_SUCCESS)
        return result;
    buffer->block = block;
    buffer->block_bytes = size;
    buffer->data = buffer->block + GUARD;
    buffer->bytes = bytes;
    if (kind == HN_HOST_PINNED)
        result = driver->p_cuMemHostGetDevicePointer(&address, block, 0);
    buffer->device = address == 0 ? 0 : address + GUARD;
    if (result == CUDA_SUCCESS)
        write_guards(buffer);
    else
        host_buffer_free(buffer, driver);
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

/* Of what is free, so that the machine stays usable: pages of managed memory are moved by faults,
 * and a device that has to give up some for others may stall. */
static const double MANAGED_SHARE = 0.25;
static const double HOST_SHARE = 0.5;

void hn_stage_finish(struct hn_stage *stage)
{
    if (stage->arena == NULL)
        return;
    const struct hn_driver *driver = stage->arena->context->driver;
    for (size_t i = 0; i < stage->stream_count; i++) {
        driver->p_cuEventDestroy(stage->joins[i]);
        if (i > 0)
            driver->p_cuStreamDestroy(stage->streams[i]);
    }
    for (size_t i = 0; i < stage->upload_count; i++)
        driver->p_cuEventDestroy(stage->uploads[i]);
    HN_FREE_EACH(buffer, stage->buffers, stage->buffer_count, host_buffer_free(buffer, driver));
    free(stage->uploads);
    *stage = (struct hn_stage){0};
}

/* The host buffer of an argument that has one. */
static struct hn_host_buffer *buffer_of(const struct hn_stage *stage, const struct hn_flow *flow,
                                        size_t argument)
{
    return &stage->buffers[argument * HN_HOST_MEMORY_COUNT + kind_of(flow, argument)];
}

static bool is_on_host(const struct hn_flow *flow, size_t argument)
{
    return (flow->pipeline->parts[argument] & HN_PARTS_ON_HOST) != 0;
}

/* Bytes of host memory that are held, and of these with others that may be: what this process may
 * still take, by /proc/meminfo and the control group; INFINITY when neither says. What a group
 * keeps of files and has not used for long makes room when asked to. The limit on locked memory
 * (RLIMIT_MEMLOCK) is none of them: NVIDIA's kernel module pins pages without asking for it. */
static uint64_t held_bytes(const struct hn_stage *stage, double *most)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < stage->buffer_count; i++)
        bytes += stage->buffers[i].block_bytes;
    double limit = hn_file_number("/sys/fs/cgroup/memory.max", "", INFINITY);
    double used = hn_file_number("/sys/fs/cgroup/memory.current", "", 0.0);
    double files = hn_file_number("/sys/fs/cgroup/memory.stat", "inactive_file ", 0.0);
    double room = fmin(1024 * hn_file_number("/proc/meminfo", "MemAvailable:", INFINITY),
                       fmax(0.0, limit - fmax(0.0, used - files)));
    *most = HOST_SHARE * (room + (double)bytes);
    return bytes;
}

static void check_managed(const struct hn_variant *variant, uint64_t needed, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    size_t available = 0, total = 0;
    int concurrent = 0;
    HN_CALL(context, cuDeviceGetAttribute,
            (&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, context->handle),
            "cuDeviceGetAttribute", err);
    HN_CALL(context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    if (hn_failed(err))
        return;
    if (concurrent == 0 || context->driver->p_cuMemPrefetchAsync_v2 == NULL)
        hn_record_fail(variant->record, HN_OUTCOME_INVALID_LAUNCH,
                       "managed memory cannot be prefetched here (%s)",
                       concurrent == 0 ? "the device cannot use it beside the host"
                                       : "the driver is older than CUDA 12.2");
    else if ((double)needed > MANAGED_SHARE * (double)available)
        hn_record_fail(variant->record, HN_OUTCOME_OUT_OF_MEMORY,
                       "%.3f GiB of managed memory; at most a quarter of the %.3f GiB that are "
                       "free on the device is used",
                       (double)needed / 0x1p30, (double)available / 0x1p30);
}

/* Lets go of all that this flow does not use where it is in the way. */
static void check_room(struct hn_variant *variant, const struct hn_flow *flow, struct hn_error *err)
{
    struct hn_stage *stage = variant->stage;
    const struct hn_arena *arena = stage->arena;
    uint64_t needed = 0;
    double most = 0.0;
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (is_on_host(flow, i) && buffer_of(stage, flow, i)->block == NULL)
            needed += host_buffer_size(arena->buffers[i].bytes);
    if (!hn_goes_on(variant, err) || needed == 0)
        return;
    if (flow->host_memory == HN_HOST_MANAGED) {
        check_managed(variant, needed, err);
        return;
    }
    if ((double)(held_bytes(stage, &most) + needed) <= most)
        return;
    for (size_t i = 0; i < stage->buffer_count; i++)
        if (stage->buffers[i].kind != kind_of(flow, i / HN_HOST_MEMORY_COUNT))
            host_buffer_free(&stage->buffers[i], arena->context->driver);
    double wanted = (double)(held_bytes(stage, &most) + needed);
    if (wanted > most)
        hn_record_fail(
            variant->record, HN_OUTCOME_OUT_OF_MEMORY,
            "%.3f GiB of host memory; at most half of what is available is used, %.3f GiB",
            wanted / 0x1p30, most / 0x1p30);
}

static void allocate(struct hn_variant *variant, const struct hn_flow *flow, struct hn_error *err)
{
    const struct hn_arena *arena = variant->arena;
    for (size_t i = 0; i < arena->plan->argument_count && hn_goes_on(variant, err); i++) {
        struct hn_host_buffer *buffer = buffer_of(variant->stage, flow, i);
        uint64_t bytes = arena->buffers[i].bytes;
        char what[128];
        if (!is_on_host(flow, i) || buffer->block != NULL)
            continue;
        CUresult result =
            host_buffer_allocate(buffer, arena->context->driver, kind_of(flow, i), bytes);
        snprintf(what, sizeof what, "%.3f GiB of %s host memory for '%.60s'",
                 (double)bytes / 0x1p30, hn_host_memory_names[flow->host_memory],
                 arena->plan->arguments[i].name);
        hn_refuse(variant, result,
                  result == CUDA_ERROR_OUT_OF_MEMORY ? HN_OUTCOME_OUT_OF_MEMORY
                                                     : HN_OUTCOME_LAUNCH_ERROR,
                  what, err);
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

/* Kernels address it in host memory: there is no copy of the device's. */
static bool is_in_place(const struct hn_flow *flow)
{
    return flow->host_memory == HN_HOST_MAPPED || flow->host_memory == HN_HOST_MANAGED;
}

/* A texture or a tensor map sees the device's copy. */
static void check_views(const struct hn_variant *variant, const struct hn_flow *flow)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; is_in_place(flow) && i < plan->argument_count; i++) {
        enum hn_role role = plan->arguments[i].role;
        if ((role != HN_ROLE_TEXTURE && role != HN_ROLE_TENSOR_MAP) ||
            !is_on_host(flow, hn_plan_source(plan, i)))
            continue;
        hn_record_fail(variant->record, HN_OUTCOME_INVALID_LAUNCH,
                       "%s '%.60s' over '%.60s', which is in %s memory",
                       role == HN_ROLE_TEXTURE ? "texture" : "tensor map", plan->arguments[i].name,
                       plan->arguments[i].from, hn_host_memory_names[flow->host_memory]);
        return;
    }
}

/* Whether chunks read what others upload, in other streams. */
static bool shares_uploads(const struct hn_flow *flow)
{
    return (flow->halo > 0 || flow->padding > 0) && flow->streams > 1;
}

/* Notes how it is cut, and what registering its host buffers took once. */
void hn_pipeline_place(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_flow *flow = variant->launch.flow;
    struct hn_bindings *observed = &variant->record->observed;
    struct hn_arena *arena = variant->arena;
    struct hn_stage *stage = variant->stage;
    double register_ms = 0.0;
    if (flow == NULL || !hn_goes_on(variant, err))
        return;
    check_views(variant, flow);
    check_room(variant, flow, err);
    allocate(variant, flow, err);
    if (!hn_goes_on(variant, err))
        return;
    make_streams(stage, flow->streams, err);
    size_t uploads = shares_uploads(flow) ? flow->chunk_count : 0;
    if (uploads > stage->upload_count)
        stage->uploads = hn_need_more(stage->uploads, uploads, sizeof(CUevent));
    for (; stage->upload_count < uploads && !hn_failed(err); stage->upload_count += !hn_failed(err))
        HN_CALL(arena->context, cuEventCreate,
                (&stage->uploads[stage->upload_count], CU_EVENT_DISABLE_TIMING), "cuEventCreate",
                err);
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        struct hn_staged *staged = &variant->staged[i];
        *staged = (struct hn_staged){.base = arena->buffers[i].address};
        if (is_on_host(flow, i)) {
            staged->buffer = buffer_of(stage, flow, i);
            register_ms += staged->buffer->register_ms;
        }
        if (staged->buffer != NULL && is_in_place(flow))
            staged->base = staged->buffer->device;
        if ((flow->pipeline->parts[i] & HN_PART_CUT) != 0)
            staged->unit = arena->buffers[i].bytes / (uint64_t)hn_flow_units(flow, i);
    }
    hn_observed_set(observed, "staging.chunks", hn_integer((int64_t)flow->chunk_count), err);
    hn_observed_set(observed, "staging.streams", hn_integer((int64_t)flow->streams), err);
    if (register_ms > 0)
        hn_observed_set(observed, "staging.register_ms", hn_real(register_ms), err);
}

/* Issuing: after a call that failed nothing more is queued. */
struct issue {
    struct hn_variant *variant;
    const struct hn_flow *flow;
    const struct hn_stage *stage;
    const struct hn_driver *driver;
    CUresult result;
};
enum { UP = 1, DOWN = 0 };
static const size_t NOT_CUT = SIZE_MAX;
#define QUEUE(issue, function, arguments)                                                          \
    ((issue)->result = (issue)->result != CUDA_SUCCESS ? (issue)->result                           \
                                                       : (issue)->driver->p_##function arguments)

/* A part of an argument, in bytes, one way or the other. */
static void transfer(struct issue *issue, size_t argument, uint64_t from, uint64_t to, bool up,
                     CUstream stream)
{
    const struct hn_staged *staged = &issue->variant->staged[argument];
    CUdeviceptr address = staged->base + from;
    unsigned char *data = staged->buffer->data + from;
    CUmemLocation place = {.type = CU_MEM_LOCATION_TYPE_HOST};
    if (from == to)
        return;
    if (up)
        place = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                .id = issue->variant->arena->context->handle};
    if (issue->flow->host_memory == HN_HOST_MANAGED)
        QUEUE(issue, cuMemPrefetchAsync_v2, (address, to - from, place, 0, stream));
    else if (up)
        QUEUE(issue, cuMemcpyHtoDAsync, (address, data, to - from, stream));
    else
        QUEUE(issue, cuMemcpyDtoHAsync, (data, address, to - from, stream));
}

/* The units from..to - 1 of what is cut, in pieces; all of what is not. */
static void transfer_units(struct issue *issue, size_t argument, int64_t from, int64_t to, bool up,
                           CUstream stream)
{
    uint64_t unit = issue->variant->staged[argument].unit;
    int64_t count = to - from;
    int64_t pieces = issue->flow->pieces < count ? issue->flow->pieces : count;
    if (unit == 0)
        transfer(issue, argument, 0, issue->variant->arena->buffers[argument].bytes, up, stream);
    for (int64_t p = 0; unit != 0 && p < pieces; p++) {
        int64_t end = from + count / pieces + (p < count % pieces);
        transfer(issue, argument, (uint64_t)from * unit, (uint64_t)end * unit, up, stream);
        from = end;
    }
}

static bool skips(const struct issue *issue, bool up)
{
    return issue->flow->host_memory == HN_HOST_MAPPED ||
           (issue->variant->skip & (up ? HN_SKIP_UPLOADS : HN_SKIP_DOWNLOADS)) != 0;
}

/* What of the arguments that are cut is a chunk's; of no chunk (NOT_CUT) all others. */
static void transfer_chunk(struct issue *issue, size_t number, bool up, CUstream stream)
{
    for (size_t i = 0; i < issue->variant->arena->plan->argument_count; i++) {
        int64_t from = 0, to = 0;
        unsigned char parts = issue->flow->pipeline->parts[i];
        if ((parts & (up ? HN_PART_UPLOAD : HN_PART_DOWNLOAD)) == 0 || skips(issue, up) ||
            ((parts & HN_PART_CUT) != 0) != (number != NOT_CUT))
            continue;
        if (number != NOT_CUT) {
            from = issue->flow->chunks[number].begin;
            to = from + issue->flow->chunks[number].count;
        }
        if (number != NOT_CUT && up)
            hn_flow_upload_range(issue->flow, i, number, &from, &to);
        transfer_units(issue, i, from, to, up, stream);
    }
}

/* The copies that stand before step `before` of the plan, from the first on that is not done. */
static void copy_steps(struct issue *issue, const struct hn_chunk *chunk, size_t before,
                       size_t *next, CUstream stream)
{
    const struct hn_pipeline *pipeline = issue->flow->pipeline;
    for (; *next < pipeline->copy_count && pipeline->copies[*next].before <= before; ++*next) {
        const struct hn_copy_step *copy = &pipeline->copies[*next];
        if (!issue->flow->copies[*next] || is_in_place(issue->flow) || skips(issue, !copy->to_host))
            continue;
        for (size_t i = 0; i < copy->argument_count; i++)
            transfer_units(issue, copy->arguments[i], chunk->begin, chunk->begin + chunk->count,
                           !copy->to_host, stream);
    }
}

static CUstream stream_of(const struct issue *issue, size_t chunk)
{
    return issue->stage->streams[chunk % issue->flow->streams];
}

/* Kernels of other chunks wait for this one's upload. */
static bool has_waits(const struct issue *issue)
{
    return shares_uploads(issue->flow) && !skips(issue, UP);
}

/* Waits for the uploads that it needs of other streams: its own does what it does in order. */
static void compute(struct issue *issue, size_t number)
{
    struct hn_variant *variant = issue->variant;
    const struct hn_flow *flow = issue->flow;
    const struct hn_plan *plan = variant->arena->plan;
    const struct hn_chunk *chunk = &flow->chunks[number];
    union hn_scalar *scalars = variant->scalars + (number + 1) * plan->argument_count;
    CUstream stream = stream_of(issue, number);
    size_t next = 0;
    for (size_t earlier = has_waits(issue) ? number : 0;
         earlier-- > 0 && hn_flow_needs_upload(flow, number, earlier);)
        if (earlier % flow->streams != number % flow->streams)
            QUEUE(issue, cuStreamWaitEvent, (stream, issue->stage->uploads[earlier], 0));
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].count != NULL)
            variant->addresses[i] =
                variant->staged[i].base + (uint64_t)chunk->begin * variant->staged[i].unit;
    for (size_t s = 0; s < variant->launch.step_count; s++) {
        copy_steps(issue, chunk, (size_t)(chunk->steps[s].step - plan->steps), &next, stream);
        const struct hn_module_step shape = hn_module_step_of(&chunk->steps[s]);
        if (issue->result == CUDA_SUCCESS && (variant->skip & HN_SKIP_KERNELS) == 0)
            issue->result = hn_variant_launch_step(variant, s, &shape, scalars, stream);
    }
    copy_steps(issue, chunk, plan->step_count, &next, stream);
}

/* The other streams begin behind what the context's was given so far, and are joined to it again.
 * Depth first, a round is one chunk. */
CUresult hn_pipeline_launch(struct hn_variant *variant)
{
    const struct hn_context *context = variant->arena->context;
    const struct hn_stage *stage = variant->stage;
    const struct hn_flow *flow = variant->launch.flow;
    struct issue issue = {variant, flow, stage, context->driver, CUDA_SUCCESS};
    size_t round = flow->order == HN_BREADTH_FIRST ? flow->streams : 1;
    transfer_chunk(&issue, NOT_CUT, UP, context->stream);
    if (flow->streams > 1)
        QUEUE(&issue, cuEventRecord, (stage->joins[0], stage->streams[0]));
    for (size_t i = 1; i < flow->streams; i++)
        QUEUE(&issue, cuStreamWaitEvent, (stage->streams[i], stage->joins[0], 0));
    for (size_t first = 0; first < flow->chunk_count; first += round) {
        size_t end = first + round < flow->chunk_count ? first + round : flow->chunk_count;
        for (size_t c = first; c < end; c++) {
            transfer_chunk(&issue, c, UP, stream_of(&issue, c));
            if (has_waits(&issue))
                QUEUE(&issue, cuEventRecord, (stage->uploads[c], stream_of(&issue, c)));
        }
        for (size_t c = first; c < end; c++)
            compute(&issue, c);
        for (size_t c = first; c < end; c++)
            transfer_chunk(&issue, c, DOWN, stream_of(&issue, c));
    }
    for (size_t i = 1; i < flow->streams; i++) {
        QUEUE(&issue, cuEventRecord, (stage->joins[i], stage->streams[i]));
        QUEUE(&issue, cuStreamWaitEvent, (stage->streams[0], stage->joins[i], 0));
    }
    transfer_chunk(&issue, NOT_CUT, DOWN, context->stream);
    /* What was queued before it went wrong may still be at work on the buffers. */
    if (issue.result != CUDA_SUCCESS)
        context->driver->p_cuCtxSynchronize();
    return issue.result;
}

/* Host buffers before and after a launch. */

static void to_host(const struct hn_variant *variant, size_t argument, CUdeviceptr from,
                    struct hn_error *err)
{
    const struct hn_host_buffer *buffer = variant->staged[argument].buffer;
    HN_CALL(variant->arena->context, cuMemcpyDtoH, (buffer->data, from, buffer->bytes),
            "filling a host buffer", err);
}

/* Inputs once; what kernels change every time. A launch begins with everything on the host. */
void hn_pipeline_restore(const struct hn_variant *variant, struct hn_error *err)
{
    const CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    const struct hn_flow *flow = variant->launch.flow;
    const struct hn_arena *arena = variant->arena;
    for (size_t i = 0; flow != NULL && i < arena->plan->argument_count && !hn_failed(err); i++) {
        struct hn_host_buffer *buffer = variant->staged[i].buffer;
        enum hn_role role = arena->plan->arguments[i].role;
        if (buffer == NULL)
            continue;
        if (role == HN_ROLE_INOUT || (role == HN_ROLE_INPUT && buffer->contents != arena->contents))
            to_host(variant, i, arena->buffers[i].contents, err);
        buffer->contents = hn_failed(err) ? 0 : arena->contents;
        if (flow->host_memory == HN_HOST_MANAGED)
            HN_CALL(arena->context, cuMemPrefetchAsync_v2,
                    (buffer->device, buffer->bytes, host, 0, arena->context->stream),
                    "bringing managed memory to the host", err);
    }
}

void hn_pipeline_poison(const struct hn_variant *variant, uint64_t seed, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    const struct hn_flow *flow = variant->launch.flow;
    for (size_t i = 0; flow != NULL && i < arena->plan->argument_count && !hn_failed(err); i++) {
        const struct hn_argument *argument = &arena->plan->arguments[i];
        const struct hn_buffer *buffer = &arena->buffers[i];
        unsigned char parts = flow->pipeline->parts[i];
        if (variant->staged[i].buffer != NULL && argument->role == HN_ROLE_OUTPUT)
            to_host(variant, i, buffer->address, err);
        if (hn_failed(err) || (parts & HN_PART_UPLOAD) == 0 || is_in_place(flow))
            continue;
        arena->spoiled = arena->spoiled || argument->role == HN_ROLE_INPUT;
        const struct hn_elements all = {.data = buffer->address,
                                        .count = buffer->bytes / hn_element_size(argument->element),
                                        .type = argument->element};
        hn_support_poison(arena->support, all, seed, err);
    }
}

/* Something in the guard zones, written again here, tells more than what else a launch may do. */
void hn_pipeline_collect(const struct hn_variant *variant, const char *when, struct hn_error *err)
{
    const struct hn_flow *flow = variant->launch.flow;
    struct hn_arena *arena = variant->arena;
    size_t count = flow == NULL ? 0 : arena->plan->argument_count;
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        struct hn_host_buffer *buffer = variant->staged[i].buffer;
        if (buffer == NULL)
            continue;
        size_t before = find_change(buffer->block);
        size_t behind = find_change(buffer->data + buffer->bytes);
        if (before < GUARD || behind < GUARD) {
            long long offset = before < GUARD ? (long long)before - GUARD
                                              : (long long)buffer->bytes + (long long)behind;
            write_guards(buffer);
            buffer->contents = 0;
            if (variant->record->outcome == HN_OUTCOME_OK)
                hn_record_fail(variant->record, HN_OUTCOME_OUT_OF_BOUNDS,
                               "%swrote at byte %lld of the host buffer of '%s', which has %llu "
                               "bytes",
                               when, offset, arena->plan->arguments[i].name,
                               (unsigned long long)buffer->bytes);
        }
        if ((flow->pipeline->parts[i] & HN_PART_DOWNLOAD) != 0 || is_in_place(flow))
            HN_CALL(arena->context, cuMemcpyHtoD,
                    (arena->buffers[i].address, buffer->data, buffer->bytes),
                    "reading a host buffer", err);
    }
}
