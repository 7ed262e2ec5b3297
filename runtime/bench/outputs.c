/* SPDX-License-Identifier: MIT */
#include "runtime/bench/outputs.h"

#include <stdlib.h>

enum { ALIGNMENT = 256 };

static uint64_t lay_out(struct hn_outputs *outputs)
{
    const struct hn_arena *arena = outputs->arena;
    uint64_t end = 0;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        if (!hn_argument_is_compared(&arena->plan->arguments[i]))
            continue;
        outputs->offsets[i] = end;
        end += (arena->buffers[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return end;
}

enum hn_status hn_outputs_init(struct hn_outputs *outputs, struct hn_arena *arena,
                               struct hn_error *err)
{
    *outputs = (struct hn_outputs){.arena = arena};
    size_t count = arena->plan->argument_count;
    outputs->offsets = calloc(count + 1, sizeof *outputs->offsets);
    outputs->checksums = calloc(count + 1, sizeof *outputs->checksums);
    outputs->counts = calloc(count + 1, sizeof *outputs->counts);
    enum hn_status status = HN_OK;
    if (outputs->offsets == NULL || outputs->checksums == NULL || outputs->counts == NULL) {
        status = hn_fail_memory(err);
        goto finish_outputs;
    }
    uint64_t bytes = lay_out(outputs);
    if (bytes == 0)
        return HN_OK;
    CUresult result = arena->context->driver->p_cuMemAlloc(&outputs->block, bytes);
    if (result == CUDA_SUCCESS)
        return HN_OK;
    outputs->block = 0;
    status = hn_context_check(arena->context, result, "allocating the reference outputs", err);

finish_outputs:
    hn_outputs_finish(outputs);
    return status;
}

void hn_outputs_finish(struct hn_outputs *outputs)
{
    if (outputs->block != 0)
        outputs->arena->context->driver->p_cuMemFree(outputs->block);
    free(outputs->counts);
    free(outputs->checksums);
    free(outputs->offsets);
    *outputs = (struct hn_outputs){0};
}

CUdeviceptr hn_outputs_address(const struct hn_outputs *outputs, size_t argument)
{
    return outputs->block + outputs->offsets[argument];
}

static enum hn_status capture_argument(struct hn_outputs *outputs, size_t i, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    const struct hn_buffer *buffer = &arena->buffers[i];
    size_t size = hn_element_size(arena->plan->arguments[i].element);
    CUdeviceptr copy = hn_outputs_address(outputs, i);
    enum hn_status status = hn_support_veil(arena->support, buffer->address, copy,
                                            buffer->bytes / size, size, arena->veil, err);
    if (status != HN_OK)
        return status;
    return hn_support_checksum(arena->support, copy, buffer->bytes,
                               hn_arena_slot(arena, i, HN_SLOT_REFERENCE), err);
}

enum hn_status hn_outputs_read(const struct hn_outputs *outputs, size_t argument, uint64_t offset,
                               void *element, struct hn_error *err)
{
    struct hn_context *context = outputs->arena->context;
    size_t size = hn_element_size(outputs->arena->plan->arguments[argument].element);
    CUresult result = context->driver->p_cuMemcpyDtoH(
        element, hn_outputs_address(outputs, argument) + offset, size);
    enum hn_status status = hn_context_check(context, result, "cuMemcpyDtoH", err);
    hn_support_unveil(element, size, offset / size, outputs->arena->veil);
    return status;
}

/* How many elements the captured length says, between none and all. */
static enum hn_status read_length(struct hn_outputs *outputs, size_t length, unsigned lanes,
                                  uint64_t most, uint64_t *count, struct hn_error *err)
{
    enum hn_element element = outputs->arena->plan->arguments[length].element;
    unsigned char bytes[8] = {0};
    enum hn_status status = hn_outputs_read(outputs, length, 0, bytes, err);
    uint64_t number = hn_element_count(bytes, element);
    *count = number < most / lanes ? number * lanes : most;
    return status;
}

static enum hn_status note_counts(struct hn_outputs *outputs, struct hn_error *err)
{
    const struct hn_arena *arena = outputs->arena;
    const struct hn_plan *plan = arena->plan;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++) {
        const char *name = plan->arguments[i].length;
        outputs->counts[i] = arena->buffers[i].count;
        if (name == NULL)
            continue;
        size_t length = (size_t)(hn_plan_find_argument(plan, name) - plan->arguments);
        status = read_length(outputs, length, plan->arguments[i].lanes, arena->buffers[i].count,
                             &outputs->counts[i], err);
    }
    return status;
}

enum hn_status hn_outputs_capture(struct hn_outputs *outputs, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    const struct hn_plan *plan = arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (!hn_argument_is_compared(&plan->arguments[i]))
            continue;
        enum hn_status status = capture_argument(outputs, i, err);
        if (status != HN_OK)
            return status;
    }
    enum hn_status status = hn_arena_read_results(arena, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_compared(&plan->arguments[i]))
            outputs->checksums[i] = hn_support_join_sums(
                hn_arena_host_slot(arena, i, HN_SLOT_REFERENCE), arena->support->blocks);
    outputs->damaged = false;
    return note_counts(outputs, err);
}
