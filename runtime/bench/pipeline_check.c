/* SPDX-License-Identifier: MIT */
#include "runtime/bench/pipeline_run.h"

/* Host buffers before and after a launch. */

static bool is_in_place(const struct hn_variant *variant)
{
    const struct hn_flow *flow = variant->launch.flow;
    return flow->host_memory == HN_HOST_MAPPED || flow->host_memory == HN_HOST_MANAGED;
}

static enum hn_status to_host(const struct hn_variant *variant, size_t argument, CUdeviceptr from,
                              struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_host_buffer *buffer = variant->staged[argument].buffer;
    CUresult result = context->driver->p_cuMemcpyDtoH(buffer->data, from, buffer->bytes);
    return hn_context_check(context, result, "filling a host buffer", err);
}

/* A launch begins with everything on the host. */
static enum hn_status bring_home(const struct hn_variant *variant,
                                 const struct hn_host_buffer *buffer, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    CUresult result = context->driver->p_cuMemPrefetchAsync_v2(buffer->device, buffer->bytes, host,
                                                               0, context->stream);
    return hn_context_check(context, result, "bringing managed memory to the host", err);
}

/* Inputs once; what kernels change every time. */
static enum hn_status restore_argument(const struct hn_variant *variant, size_t i,
                                       struct hn_error *err)
{
    const struct hn_arena *arena = variant->arena;
    struct hn_host_buffer *buffer = variant->staged[i].buffer;
    enum hn_role role = arena->plan->arguments[i].role;
    enum hn_status status = HN_OK;
    if (role == HN_ROLE_INOUT)
        status = to_host(variant, i, arena->buffers[i].pristine, err);
    else if (role == HN_ROLE_INPUT && buffer->contents != arena->contents)
        status = to_host(variant, i, arena->buffers[i].address, err);
    buffer->contents = status == HN_OK ? arena->contents : 0;
    if (status == HN_OK && variant->launch.flow->host_memory == HN_HOST_MANAGED)
        status = bring_home(variant, buffer, err);
    return status;
}

enum hn_status hn_pipeline_restore(const struct hn_variant *variant, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < variant->arena->plan->argument_count && status == HN_OK; i++)
        if (variant->staged[i].buffer != NULL)
            status = restore_argument(variant, i, err);
    return status;
}

enum hn_status hn_pipeline_poison(const struct hn_variant *variant, uint64_t seed,
                                  struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < arena->plan->argument_count && status == HN_OK; i++) {
        const struct hn_argument *argument = &arena->plan->arguments[i];
        const struct hn_buffer *buffer = &arena->buffers[i];
        unsigned char parts = variant->launch.flow->pipeline->parts[i];
        if (variant->staged[i].buffer != NULL && argument->role == HN_ROLE_OUTPUT)
            status = to_host(variant, i, buffer->address, err);
        if (status != HN_OK || (parts & HN_PART_UPLOAD) == 0 || is_in_place(variant))
            continue;
        arena->spoiled = arena->spoiled || argument->role == HN_ROLE_INPUT;
        const struct hn_elements all = {.data = buffer->address,
                                        .count = buffer->bytes / hn_element_size(argument->element),
                                        .type = argument->element};
        status = hn_support_poison(arena->support, &all, seed, err);
    }
    return status;
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

static enum hn_status bring(const struct hn_variant *variant, size_t argument, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_host_buffer *buffer = variant->staged[argument].buffer;
    CUresult result = context->driver->p_cuMemcpyHtoD(variant->arena->buffers[argument].address,
                                                      buffer->data, buffer->bytes);
    return hn_context_check(context, result, "reading a host buffer", err);
}

enum hn_status hn_pipeline_collect(const struct hn_variant *variant, const char *when,
                                   struct hn_record *record, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < variant->arena->plan->argument_count && status == HN_OK; i++) {
        unsigned char parts = variant->launch.flow->pipeline->parts[i];
        if (variant->staged[i].buffer == NULL)
            continue;
        check_guards(variant, i, when, record);
        if ((parts & HN_PART_DOWNLOAD) != 0 || is_in_place(variant))
            status = bring(variant, i, err);
    }
    return status;
}

double hn_pipeline_register_ms(const struct hn_variant *variant)
{
    double sum_ms = 0.0;
    for (size_t i = 0; i < variant->arena->plan->argument_count; i++)
        if (variant->staged[i].buffer != NULL)
            sum_ms += variant->staged[i].buffer->register_ms;
    return sum_ms;
}
