/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

enum { UP = 1, DOWN = 0 };

static bool is_in_place(const struct hn_flow *flow)
{
    return flow->host_memory == HN_HOST_MAPPED || flow->host_memory == HN_HOST_MANAGED;
}

/* How it is cut, and what registering its host buffers took once. */
static void observe(const struct hn_variant *variant, struct hn_bindings *observed,
                    struct hn_error *err)
{
    const struct hn_flow *flow = variant->launch.flow;
    double register_ms = 0.0;
    for (size_t i = 0; i < variant->arena->plan->argument_count; i++)
        if (variant->staged[i].buffer != NULL)
            register_ms += variant->staged[i].buffer->register_ms;
    hn_observed_count(observed, "staging.chunks", (int64_t)flow->chunk_count, err);
    hn_observed_count(observed, "staging.streams", (int64_t)flow->streams, err);
    if (register_ms > 0)
        hn_observed_set(observed, "staging.register_ms", register_ms, err);
}

void hn_pipeline_place(struct hn_variant *variant, struct hn_record *record, struct hn_error *err)
{
    const struct hn_flow *flow = variant->launch.flow;
    struct hn_arena *arena = variant->arena;
    if (flow == NULL)
        return;
    hn_stage_place(variant->stage, flow, record, err);
    if (!hn_goes_on(err, record))
        return;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        unsigned char parts = flow->pipeline->parts[i];
        struct hn_staged *staged = &variant->staged[i];
        *staged = (struct hn_staged){.base = arena->buffers[i].address};
        if ((parts & HN_PARTS_ON_HOST) != 0)
            staged->buffer = hn_stage_buffer(variant->stage, flow, i);
        if (staged->buffer != NULL && is_in_place(flow))
            staged->base = staged->buffer->device;
        if ((parts & HN_PART_CUT) != 0)
            staged->unit = arena->buffers[i].bytes / (uint64_t)hn_flow_units(flow, i);
    }
    observe(variant, &record->observed, err);
}

/* A part of an argument, in bytes, one way or the other. */
static CUresult transfer(const struct hn_variant *variant, size_t argument, uint64_t from,
                         uint64_t to, bool up, CUstream stream)
{
    const struct hn_context *context = variant->arena->context;
    const struct hn_staged *staged = &variant->staged[argument];
    CUdeviceptr address = staged->base + from;
    unsigned char *data = staged->buffer->data + from;
    if (from == to)
        return CUDA_SUCCESS;
    if (variant->launch.flow->host_memory != HN_HOST_MANAGED)
        return up ? context->driver->p_cuMemcpyHtoDAsync(address, data, to - from, stream)
                  : context->driver->p_cuMemcpyDtoHAsync(data, address, to - from, stream);
    CUmemLocation place = {.type = CU_MEM_LOCATION_TYPE_HOST};
    if (up)
        place = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = context->handle};
    return context->driver->p_cuMemPrefetchAsync_v2(address, to - from, place, 0, stream);
}

/* The units from..to - 1 of what is cut, in pieces; all of what is not. */
static CUresult transfer_units(const struct hn_variant *variant, size_t argument, int64_t from,
                               int64_t to, bool up, CUstream stream)
{
    const struct hn_flow *flow = variant->launch.flow;
    uint64_t unit = variant->staged[argument].unit;
    int64_t count = to - from;
    int64_t pieces = flow->pieces < count ? flow->pieces : count;
    CUresult result = CUDA_SUCCESS;
    if (unit == 0)
        return transfer(variant, argument, 0, variant->arena->buffers[argument].bytes, up, stream);
    int64_t each = pieces == 0 ? 0 : count / pieces;
    int64_t more = pieces == 0 ? 0 : count % pieces;
    for (int64_t p = 0; p < pieces && result == CUDA_SUCCESS; p++) {
        int64_t end = from + each + (p < more);
        result =
            transfer(variant, argument, (uint64_t)from * unit, (uint64_t)end * unit, up, stream);
        from = end;
    }
    return result;
}

static bool skips(const struct hn_variant *variant, bool up)
{
    return variant->launch.flow->host_memory == HN_HOST_MAPPED ||
           (variant->skip & (up ? HN_SKIP_UPLOADS : HN_SKIP_DOWNLOADS)) != 0;
}

static bool takes_part(const struct hn_variant *variant, size_t argument, bool cut, bool up)
{
    unsigned char parts = variant->launch.flow->pipeline->parts[argument];
    return (parts & (up ? HN_PART_UPLOAD : HN_PART_DOWNLOAD)) != 0 &&
           ((parts & HN_PART_CUT) != 0) == cut && !skips(variant, up);
}

/* All arguments that are not cut. */
static CUresult transfer_whole(const struct hn_variant *variant, bool up, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < variant->arena->plan->argument_count && result == CUDA_SUCCESS; i++)
        if (takes_part(variant, i, false, up))
            result = transfer_units(variant, i, 0, 0, up, stream);
    return result;
}

/* Those that are, as far as they are a chunk's. */
static CUresult transfer_chunk(const struct hn_variant *variant, size_t number, bool up,
                               CUstream stream)
{
    const struct hn_chunk *chunk = &variant->launch.flow->chunks[number];
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < variant->arena->plan->argument_count && result == CUDA_SUCCESS; i++) {
        int64_t from = chunk->begin;
        int64_t to = from + chunk->count;
        if (!takes_part(variant, i, true, up))
            continue;
        if (up)
            hn_flow_upload_range(variant->launch.flow, i, number, &from, &to);
        result = transfer_units(variant, i, from, to, up, stream);
    }
    return result;
}

static CUresult copy_step(const struct hn_variant *variant, const struct hn_copy_step *copy,
                          const struct hn_chunk *chunk, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    if (is_in_place(variant->launch.flow) || skips(variant, !copy->to_host))
        return result;
    for (size_t i = 0; i < copy->argument_count && result == CUDA_SUCCESS; i++)
        result = transfer_units(variant, copy->arguments[i], chunk->begin,
                                chunk->begin + chunk->count, !copy->to_host, stream);
    return result;
}

/* The copies that stand before step `before` of the plan, from the first on that is not done. */
static CUresult copy_steps(const struct hn_variant *variant, const struct hn_chunk *chunk,
                           size_t before, size_t *next, CUstream stream)
{
    const struct hn_flow *flow = variant->launch.flow;
    CUresult result = CUDA_SUCCESS;
    for (; *next < flow->pipeline->copy_count && flow->pipeline->copies[*next].before <= before &&
           result == CUDA_SUCCESS;
         ++*next)
        if (flow->copies[*next])
            result = copy_step(variant, &flow->pipeline->copies[*next], chunk, stream);
    return result;
}

static CUstream stream_of(const struct hn_variant *variant, size_t chunk)
{
    return variant->stage->streams[chunk % variant->launch.flow->streams];
}

/* Kernels of other chunks wait for this one's upload. */
static bool has_waits(const struct hn_variant *variant)
{
    return hn_flow_shares_uploads(variant->launch.flow) && !skips(variant, UP);
}

static CUresult upload(struct hn_variant *variant, size_t chunk)
{
    const struct hn_context *context = variant->arena->context;
    CUstream stream = stream_of(variant, chunk);
    CUresult result = transfer_chunk(variant, chunk, UP, stream);
    if (result == CUDA_SUCCESS && has_waits(variant))
        result = context->driver->p_cuEventRecord(variant->stage->uploads[chunk], stream);
    return result;
}

/* What its stream does is in order anyway. */
static CUresult wait_for_uploads(struct hn_variant *variant, size_t chunk)
{
    const struct hn_flow *flow = variant->launch.flow;
    const struct hn_context *context = variant->arena->context;
    CUresult result = CUDA_SUCCESS;
    for (size_t earlier = chunk; earlier-- > 0 && result == CUDA_SUCCESS;) {
        if (!hn_flow_needs_upload(flow, chunk, earlier))
            break;
        if (earlier % flow->streams != chunk % flow->streams)
            result = context->driver->p_cuStreamWaitEvent(stream_of(variant, chunk),
                                                          variant->stage->uploads[earlier], 0);
    }
    return result;
}

static void address_chunk(struct hn_variant *variant, const struct hn_chunk *chunk)
{
    for (size_t i = 0; i < variant->arena->plan->argument_count; i++)
        if (variant->arena->plan->arguments[i].count != NULL)
            variant->addresses[i] =
                variant->staged[i].base + (uint64_t)chunk->begin * variant->staged[i].unit;
}

static CUresult compute(struct hn_variant *variant, size_t number)
{
    const struct hn_plan *plan = variant->arena->plan;
    const struct hn_chunk *chunk = &variant->launch.flow->chunks[number];
    uint64_t *scalars = variant->scalars + (number + 1) * plan->argument_count;
    CUstream stream = stream_of(variant, number);
    size_t next = 0;
    CUresult result = has_waits(variant) ? wait_for_uploads(variant, number) : CUDA_SUCCESS;
    address_chunk(variant, chunk);
    for (size_t s = 0; s < variant->launch.step_count && result == CUDA_SUCCESS; s++) {
        size_t place = (size_t)(chunk->steps[s].step - plan->steps);
        result = copy_steps(variant, chunk, place, &next, stream);
        if (result == CUDA_SUCCESS && (variant->skip & HN_SKIP_KERNELS) == 0)
            result = hn_variant_launch_step(variant, s, &chunk->steps[s], scalars, stream);
    }
    return result == CUDA_SUCCESS ? copy_steps(variant, chunk, plan->step_count, &next, stream)
                                  : result;
}

static CUresult download(struct hn_variant *variant, size_t number)
{
    return transfer_chunk(variant, number, DOWN, stream_of(variant, number));
}

typedef CUresult stage_of_chunk(struct hn_variant *variant, size_t chunk);

/* Depth first, a round is one chunk. */
static CUresult issue_chunks(struct hn_variant *variant)
{
    static stage_of_chunk *const stages[] = {upload, compute, download};
    const struct hn_flow *flow = variant->launch.flow;
    size_t round = flow->order == HN_BREADTH_FIRST ? flow->streams : 1;
    CUresult result = CUDA_SUCCESS;
    for (size_t first = 0; first < flow->chunk_count; first += round) {
        size_t end = first + round < flow->chunk_count ? first + round : flow->chunk_count;
        for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++)
            for (size_t c = first; c < end && result == CUDA_SUCCESS; c++)
                result = stages[s](variant, c);
    }
    return result;
}

/* The other streams begin behind what the context's was given so far. */
static CUresult fork_streams(const struct hn_variant *variant)
{
    const struct hn_stage *stage = variant->stage;
    const struct hn_driver *driver = variant->arena->context->driver;
    size_t count = variant->launch.flow->streams;
    if (count == 1)
        return CUDA_SUCCESS;
    CUresult result = driver->p_cuEventRecord(stage->joins[0], stage->streams[0]);
    for (size_t i = 1; i < count && result == CUDA_SUCCESS; i++)
        result = driver->p_cuStreamWaitEvent(stage->streams[i], stage->joins[0], 0);
    return result;
}

static CUresult join_streams(const struct hn_variant *variant)
{
    const struct hn_stage *stage = variant->stage;
    const struct hn_driver *driver = variant->arena->context->driver;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 1; i < variant->launch.flow->streams && result == CUDA_SUCCESS; i++) {
        result = driver->p_cuEventRecord(stage->joins[i], stage->streams[i]);
        if (result == CUDA_SUCCESS)
            result = driver->p_cuStreamWaitEvent(stage->streams[0], stage->joins[i], 0);
    }
    return result;
}

CUresult hn_pipeline_launch(struct hn_variant *variant)
{
    const struct hn_context *context = variant->arena->context;
    CUresult result = transfer_whole(variant, UP, context->stream);
    if (result == CUDA_SUCCESS)
        result = fork_streams(variant);
    if (result == CUDA_SUCCESS)
        result = issue_chunks(variant);
    if (result == CUDA_SUCCESS)
        result = join_streams(variant);
    if (result == CUDA_SUCCESS)
        result = transfer_whole(variant, DOWN, context->stream);
    /* What was queued before it went wrong may still be at work on the buffers. */
    if (result != CUDA_SUCCESS)
        context->driver->p_cuCtxSynchronize();
    return result;
}

/* Host buffers before and after a launch. */

static void to_host(const struct hn_variant *variant, size_t argument, CUdeviceptr from,
                    struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_host_buffer *buffer = variant->staged[argument].buffer;
    HN_CALL(context, cuMemcpyDtoH, (buffer->data, from, buffer->bytes), "filling a host buffer",
            err);
}

/* A launch begins with everything on the host. */
static void bring_home(const struct hn_variant *variant, const struct hn_host_buffer *buffer,
                       struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    HN_CALL(context, cuMemPrefetchAsync_v2,
            (buffer->device, buffer->bytes, host, 0, context->stream),
            "bringing managed memory to the host", err);
}

/* Inputs once; what kernels change every time. */
static void restore_argument(const struct hn_variant *variant, size_t i, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    const struct hn_arena *arena = variant->arena;
    struct hn_host_buffer *buffer = variant->staged[i].buffer;
    enum hn_role role = arena->plan->arguments[i].role;
    if (role == HN_ROLE_INOUT)
        to_host(variant, i, arena->buffers[i].pristine, err);
    else if (role == HN_ROLE_INPUT && buffer->contents != arena->contents)
        to_host(variant, i, arena->buffers[i].address, err);
    buffer->contents = hn_failed(err) ? 0 : arena->contents;
    if (variant->launch.flow->host_memory == HN_HOST_MANAGED)
        bring_home(variant, buffer, err);
}

void hn_pipeline_restore(const struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_flow *flow = variant->launch.flow;
    for (size_t i = 0; flow != NULL && i < variant->arena->plan->argument_count; i++)
        if (variant->staged[i].buffer != NULL)
            restore_argument(variant, i, err);
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
        if (hn_failed(err) || (parts & HN_PART_UPLOAD) == 0 || is_in_place(variant->launch.flow))
            continue;
        arena->spoiled = arena->spoiled || argument->role == HN_ROLE_INPUT;
        const struct hn_elements all = {.data = buffer->address,
                                        .count = buffer->bytes / hn_element_size(argument->element),
                                        .type = argument->element};
        hn_support_poison(arena->support, &all, seed, err);
    }
}

/* Something in the guard zones tells more than what else it may have done. */
static void check_guards(const struct hn_variant *variant, size_t argument, const char *when,
                         struct hn_record *record)
{
    struct hn_host_buffer *buffer = variant->staged[argument].buffer;
    int64_t offset = 0;
    if (hn_host_buffer_check(buffer, &offset))
        return;
    buffer->contents = 0;
    if (record->outcome == HN_OUTCOME_OK)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote at byte %lld of the host buffer of '%s', which has %llu bytes",
                       when, (long long)offset, variant->arena->plan->arguments[argument].name,
                       (unsigned long long)buffer->bytes);
}

static void bring(const struct hn_variant *variant, size_t argument, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_host_buffer *buffer = variant->staged[argument].buffer;
    HN_CALL(context, cuMemcpyHtoD,
            (variant->arena->buffers[argument].address, buffer->data, buffer->bytes),
            "reading a host buffer", err);
}

void hn_pipeline_collect(const struct hn_variant *variant, const char *when,
                         struct hn_record *record, struct hn_error *err)
{
    const struct hn_flow *flow = variant->launch.flow;
    size_t count = flow == NULL ? 0 : variant->arena->plan->argument_count;
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        unsigned char parts = flow->pipeline->parts[i];
        if (variant->staged[i].buffer == NULL)
            continue;
        check_guards(variant, i, when, record);
        if ((parts & HN_PART_DOWNLOAD) != 0 || is_in_place(variant->launch.flow))
            bring(variant, i, err);
    }
}
