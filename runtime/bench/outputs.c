/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/bench/verify.h"

enum { ALIGNMENT = 256 };

static uint64_t align(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool is_partial(const struct hn_outputs *outputs, size_t argument)
{
    const struct hn_plan *plan = outputs->arena->plan;
    return hn_plan_compares_in_part(plan, &plan->arguments[argument]);
}

/* The copy, and behind it a bit for each element where not all are compared. */
static uint64_t kept_bytes(const struct hn_outputs *outputs, size_t argument)
{
    const struct hn_buffer *buffer = &outputs->arena->buffers[argument];
    if (!is_partial(outputs, argument))
        return buffer->bytes;
    return align(buffer->bytes) + (buffer->count + 31) / 32 * sizeof(uint32_t);
}

static uint64_t lay_out(struct hn_outputs *outputs)
{
    const struct hn_arena *arena = outputs->arena;
    uint64_t end = 0;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        if (!hn_argument_is_compared(&arena->plan->arguments[i]))
            continue;
        outputs->offsets[i] = end;
        end += align(kept_bytes(outputs, i));
    }
    return end;
}

void hn_outputs_init(struct hn_outputs *outputs, struct hn_arena *arena, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    *outputs = (struct hn_outputs){.arena = arena};
    size_t count = arena->plan->argument_count;
    outputs->offsets = hn_need(count + 1, sizeof *outputs->offsets);
    outputs->checksums = hn_need(count + 1, sizeof *outputs->checksums);
    outputs->counts = hn_need(count + 1, sizeof *outputs->counts);
    outputs->compared = hn_need(count + 1, sizeof *outputs->compared);
    outputs->largest = hn_need(count + 1, sizeof *outputs->largest);
    uint64_t bytes = lay_out(outputs);
    if (bytes == 0)
        return;
    HN_CALL(arena->context, cuMemAlloc, (&outputs->block, bytes),
            "allocating the reference outputs", err);
    if (hn_failed(err))
        outputs->block = 0;
}

void hn_outputs_finish(struct hn_outputs *outputs)
{
    if (outputs->block != 0)
        outputs->arena->context->driver->p_cuMemFree(outputs->block);
    free(outputs->largest);
    free(outputs->compared);
    free(outputs->counts);
    free(outputs->checksums);
    free(outputs->offsets);
    *outputs = (struct hn_outputs){0};
}

CUdeviceptr hn_outputs_address(const struct hn_outputs *outputs, size_t argument)
{
    return outputs->block + outputs->offsets[argument];
}

CUdeviceptr hn_outputs_written(const struct hn_outputs *outputs, size_t argument)
{
    if (!is_partial(outputs, argument))
        return 0;
    return hn_outputs_address(outputs, argument) + align(outputs->arena->buffers[argument].bytes);
}

bool hn_outputs_are_partial(const struct hn_outputs *outputs)
{
    for (size_t i = 0; i < outputs->arena->plan->argument_count; i++)
        if (is_partial(outputs, i))
            return true;
    return false;
}

void hn_outputs_queue_checksum(const struct hn_outputs *outputs, size_t argument,
                               struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    hn_support_checksum(arena->support, hn_outputs_address(outputs, argument),
                        kept_bytes(outputs, argument),
                        hn_arena_slot(arena, argument, HN_SLOT_REFERENCE), err);
}

/* Every element, until it is known which are written. */
static void expect_all(const struct hn_outputs *outputs, size_t i, struct hn_error *err)
{
    struct hn_context *context = outputs->arena->context;
    CUdeviceptr written = hn_outputs_written(outputs, i);
    if (written == 0)
        return;
    /* From the end of the copy on, so that all that the checksum is of is known. */
    CUdeviceptr end = hn_outputs_address(outputs, i) + outputs->arena->buffers[i].bytes;
    CUdeviceptr kept_end = hn_outputs_address(outputs, i) + kept_bytes(outputs, i);
    HN_CALL(context, cuMemsetD8Async, (end, 0xff, kept_end - end, context->stream),
            "cuMemsetD8Async", err);
}

static void capture_argument(struct hn_outputs *outputs, size_t i, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    const struct hn_buffer *buffer = &arena->buffers[i];
    size_t size = hn_element_size(arena->plan->arguments[i].element);
    CUdeviceptr copy = hn_outputs_address(outputs, i);
    hn_support_veil(arena->support, buffer->address, copy, buffer->bytes / size, size, arena->veil,
                    err);
    expect_all(outputs, i, err);
}

void hn_outputs_read(const struct hn_outputs *outputs, size_t argument, uint64_t offset,
                     void *element, struct hn_error *err)
{
    struct hn_context *context = outputs->arena->context;
    size_t size = hn_element_size(outputs->arena->plan->arguments[argument].element);
    HN_CALL(context, cuMemcpyDtoH, (element, hn_outputs_address(outputs, argument) + offset, size),
            "cuMemcpyDtoH", err);
    hn_support_unveil(element, size, offset / size, outputs->arena->veil);
}

/* How many elements the captured length says, between none and all. */
static void read_length(struct hn_outputs *outputs, size_t length, unsigned lanes, uint64_t most,
                        uint64_t *count, struct hn_error *err)
{
    enum hn_element element = outputs->arena->plan->arguments[length].element;
    unsigned char bytes[8] = {0};
    hn_outputs_read(outputs, length, 0, bytes, err);
    uint64_t number = hn_element_count(bytes, element);
    *count = number < most / lanes ? number * lanes : most;
}

static void note_counts(struct hn_outputs *outputs, struct hn_error *err)
{
    const struct hn_arena *arena = outputs->arena;
    const struct hn_plan *plan = arena->plan;
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        const char *name = plan->arguments[i].length;
        outputs->counts[i] = arena->buffers[i].count;
        if (name == NULL)
            continue;
        size_t length = (size_t)(hn_plan_find_argument(plan, name) - plan->arguments);
        read_length(outputs, length, plan->arguments[i].lanes, arena->buffers[i].count,
                    &outputs->counts[i], err);
    }
}

static void note_checksums(struct hn_outputs *outputs, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    const struct hn_plan *plan = arena->plan;
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++)
        if (hn_argument_is_compared(&plan->arguments[i]))
            hn_outputs_queue_checksum(outputs, i, err);
    hn_arena_read_results(arena, err);
    if (hn_failed(err))
        return;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_compared(&plan->arguments[i]))
            outputs->checksums[i] = hn_support_join_sums(
                hn_arena_host_slot(arena, i, HN_SLOT_REFERENCE), arena->support->blocks);
}

void hn_outputs_capture(struct hn_outputs *outputs, struct hn_error *err)
{
    const struct hn_plan *plan = outputs->arena->plan;
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++)
        if (hn_argument_is_compared(&plan->arguments[i]))
            capture_argument(outputs, i, err);
    note_checksums(outputs, err);
    note_counts(outputs, err);
    if (hn_failed(err))
        return;
    memcpy(outputs->compared, outputs->counts, plan->argument_count * sizeof *outputs->compared);
    outputs->damaged = false;
}

static void queue_find_written(struct hn_outputs *outputs, size_t i, const uint64_t poisons[2],
                               struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    struct hn_elements found = hn_arena_elements(arena, 0, i);
    found.count = outputs->counts[i];
    found.data = poisons == NULL ? 0 : found.data;
    hn_support_find_written(arena->support, &found, hn_outputs_address(outputs, i), arena->veil,
                            poisons, hn_outputs_written(outputs, i),
                            hn_arena_slot(arena, i, HN_SLOT_COMPARE), err);
}

void hn_outputs_find_written(struct hn_outputs *outputs, const uint64_t poisons[2], size_t *empty,
                             struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    size_t count = arena->plan->argument_count;
    *empty = SIZE_MAX;
    for (size_t i = 0; i < count && !hn_failed(err); i++)
        if (is_partial(outputs, i))
            queue_find_written(outputs, i, poisons, err);
    note_checksums(outputs, err);
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        if (!is_partial(outputs, i))
            continue;
        outputs->compared[i] = hn_support_join_sums(hn_arena_host_slot(arena, i, HN_SLOT_COMPARE),
                                                    arena->support->blocks);
        if (outputs->compared[i] == 0 && outputs->counts[i] > 0)
            *empty = i;
    }
}
