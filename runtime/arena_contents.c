/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/arena.h"

static size_t slot_offset(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    return (argument * HN_SLOT_COUNT + (size_t)slot) * arena->support->blocks *
           sizeof(struct hn_difference);
}

CUdeviceptr hn_arena_slot(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    return arena->results + slot_offset(arena, argument, slot);
}

const void *hn_arena_host_slot(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    return arena->host_results + slot_offset(arena, argument, slot);
}

CUdeviceptr hn_arena_flush_slot(const struct hn_arena *arena)
{
    return hn_arena_slot(arena, arena->plan->argument_count, HN_SLOT_CHECKSUM);
}

uint64_t hn_arena_host_flush_checksum(const struct hn_arena *arena)
{
    return hn_support_join_sums(
        hn_arena_host_slot(arena, arena->plan->argument_count, HN_SLOT_CHECKSUM),
        arena->support->blocks);
}

/* The damage of the zones stands behind the slots. */
CUdeviceptr hn_arena_damage(const struct hn_arena *arena)
{
    return hn_arena_slot(arena, arena->plan->argument_count + 1, (enum hn_slot)0);
}

const struct hn_damage *hn_arena_host_damage(const struct hn_arena *arena)
{
    return hn_arena_host_slot(arena, arena->plan->argument_count + 1, (enum hn_slot)0);
}

enum hn_status hn_arena_read_results(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    CUresult result =
        context->driver->p_cuMemcpyDtoH(arena->host_results, arena->results, arena->result_bytes);
    return hn_context_check(context, result, "reading the results of the checks", err);
}

static enum hn_status copy(struct hn_arena *arena, CUdeviceptr to, CUdeviceptr from, uint64_t bytes,
                           struct hn_error *err)
{
    struct hn_context *context = arena->context;
    CUresult result = context->driver->p_cuMemcpyDtoDAsync(to, from, bytes, context->stream);
    return hn_context_check(context, result, "cuMemcpyDtoDAsync", err);
}

/* Fills input or pristine copy `i` and queues its checksum. */
static enum hn_status fill_argument(struct hn_arena *arena, size_t i, struct hn_error *err)
{
    const struct hn_argument *argument = &arena->plan->arguments[i];
    struct hn_buffer *buffer = &arena->buffers[i];
    CUdeviceptr data = argument->role == HN_ROLE_INOUT ? buffer->pristine : buffer->address;
    enum hn_status status = hn_support_fill(arena->support, data, buffer->count, argument->element,
                                            &argument->fill, arena->seed, i, err);
    if (status != HN_OK)
        return status;
    return hn_support_checksum(arena->support, data, buffer->bytes,
                               hn_arena_slot(arena, i, HN_SLOT_CHECKSUM), err);
}

enum hn_status hn_arena_fill(struct hn_arena *arena, uint64_t seed, struct hn_error *err)
{
    const struct hn_plan *plan = arena->plan;
    arena->seed = seed;
    arena->sets_filled = arena->set_count == 1;
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (!hn_argument_is_filled(&plan->arguments[i]))
            continue;
        enum hn_status status = fill_argument(arena, i, err);
        if (status != HN_OK)
            return status;
    }
    enum hn_status status = hn_support_checksum(arena->support, arena->flush, arena->flush_bytes,
                                                hn_arena_flush_slot(arena), err);
    if (status == HN_OK)
        status = hn_arena_read_results(arena, err);
    if (status != HN_OK)
        return status;
    arena->flush_checksum = hn_arena_host_flush_checksum(arena);
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_filled(&plan->arguments[i]))
            arena->buffers[i].checksum = hn_support_join_sums(
                hn_arena_host_slot(arena, i, HN_SLOT_CHECKSUM), arena->support->blocks);
    return HN_OK;
}

enum hn_status hn_arena_repair(struct hn_arena *arena, struct hn_error *err)
{
    enum hn_status status =
        hn_support_write_zones(arena->support, arena->zone_table, arena->zone_count, err);
    if (status != HN_OK)
        return status;
    return hn_arena_fill(arena, arena->seed, err);
}

enum hn_status hn_arena_restore(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < arena->plan->argument_count && status == HN_OK; i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        enum hn_role role = arena->plan->arguments[i].role;
        if (role == HN_ROLE_INOUT)
            status = copy(arena, buffer->address, buffer->pristine, buffer->bytes, err);
        if (role == HN_ROLE_COUNTER || role == HN_ROLE_METRIC) {
            CUresult result = context->driver->p_cuMemsetD8Async(buffer->address, 0, buffer->bytes,
                                                                 context->stream);
            status = hn_context_check(context, result, "cuMemsetD8Async", err);
        }
    }
    return status;
}

enum hn_status hn_arena_poison(struct hn_arena *arena, uint64_t seed, struct hn_error *err)
{
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        const struct hn_argument *argument = &arena->plan->arguments[i];
        if (argument->role != HN_ROLE_OUTPUT)
            continue;
        enum hn_status status =
            hn_support_poison(arena->support, arena->buffers[i].address, arena->buffers[i].count,
                              argument->element, seed, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* How many further sets there is room for: a quarter of what is free, and 1 GiB at most. */
static enum hn_status count_sets(struct hn_arena *arena, size_t wanted, size_t *count,
                                 struct hn_error *err)
{
    struct hn_context *context = arena->context;
    size_t available = 0, total = 0;
    CUresult result = context->driver->p_cuMemGetInfo(&available, &total);
    enum hn_status status = hn_context_check(context, result, "cuMemGetInfo", err);
    if (status != HN_OK)
        return status;
    uint64_t limit = available / 4 < ((uint64_t)1 << 30) ? available / 4 : (uint64_t)1 << 30;
    uint64_t room = limit / arena->argument_bytes;
    *count = room < wanted - 1 ? (size_t)room : wanted - 1;
    return HN_OK;
}

static enum hn_status allocate_sets(struct hn_arena *arena, size_t wanted, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    size_t further = 0;
    arena->sets_tried = true;
    enum hn_status status = count_sets(arena, wanted, &further, err);
    if (status != HN_OK || further == 0)
        return status;
    CUresult result =
        context->driver->p_cuMemAlloc(&arena->set_block, further * arena->argument_bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        arena->set_block = 0;
        return HN_OK;
    }
    status = hn_context_check(context, result, "cuMemAlloc", err);
    if (status != HN_OK) {
        arena->set_block = 0;
        return status;
    }
    arena->set_count = further + 1;
    arena->sets_filled = false;
    return HN_OK;
}

static enum hn_status fill_sets(struct hn_arena *arena, struct hn_error *err)
{
    for (size_t set = 1; set < arena->set_count; set++) {
        for (size_t i = 0; i < arena->plan->argument_count; i++) {
            const struct hn_buffer *buffer = &arena->buffers[i];
            if (arena->plan->arguments[i].role != HN_ROLE_INPUT)
                continue;
            enum hn_status status =
                copy(arena, hn_arena_address(arena, set, i), buffer->address, buffer->bytes, err);
            if (status != HN_OK)
                return status;
        }
    }
    arena->sets_filled = true;
    return HN_OK;
}

enum hn_status hn_arena_make_sets(struct hn_arena *arena, size_t wanted, size_t *count,
                                  struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (wanted > HN_MAX_SETS)
        wanted = HN_MAX_SETS;
    if (wanted > 1 && !arena->sets_tried)
        status = allocate_sets(arena, HN_MAX_SETS, err);
    if (status == HN_OK && !arena->sets_filled)
        status = fill_sets(arena, err);
    *count = wanted < arena->set_count ? wanted : arena->set_count;
    return status;
}
