/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/bench/arena.h"
#include "runtime/plan/contents.h"

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

void hn_arena_read_results(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    HN_CALL(context, cuMemcpyDtoH, (arena->host_results, arena->results, arena->result_bytes),
            "reading the results of the checks", err);
}

static void copy(struct hn_arena *arena, CUdeviceptr to, CUdeviceptr from, uint64_t bytes,
                 struct hn_error *err)
{
    struct hn_context *context = arena->context;
    HN_CALL(context, cuMemcpyDtoDAsync, (to, from, bytes, context->stream), "cuMemcpyDtoDAsync",
            err);
}

/* In pieces: a file may be larger than the host has memory for. Each row, or a buffer without rows,
 * by itself. */
static void load_rows(struct hn_arena *arena, struct hn_data_file *file, CUdeviceptr data,
                      const struct hn_buffer *buffer, uint64_t row_bytes, struct hn_error *err)
{
    static const uint64_t PIECE = 16u << 20;
    struct hn_context *context = arena->context;
    unsigned char *piece = hn_needed(malloc(row_bytes < PIECE ? row_bytes : PIECE));
    for (uint64_t row = 0; !hn_failed(err) && row < buffer->bytes; row += buffer->pitch) {
        for (uint64_t at = 0; !hn_failed(err) && at < row_bytes; at += PIECE) {
            size_t size = row_bytes - at < PIECE ? row_bytes - at : PIECE;
            hn_data_file_read(file, piece, size, err);
            HN_CALL(context, cuMemcpyHtoD, (data + row + at, piece, size), "cuMemcpyHtoD", err);
        }
        if (buffer->pitch == 0)
            break;
    }
    free(piece);
}

static void load_file(struct hn_arena *arena, const char *path, enum hn_element element,
                      CUdeviceptr data, const struct hn_buffer *buffer, struct hn_error *err)
{
    struct hn_data_file file;
    uint64_t row_bytes = buffer->row == 0 ? buffer->bytes : buffer->row * hn_element_size(element);
    if (hn_failed(err) || hn_data_file_open(path, element, buffer->count, &file, err) != HN_OK)
        return;
    load_rows(arena, &file, data, buffer, row_bytes, err);
    hn_data_file_close(&file);
}

/* What lies between rows is far from other numbers, so that a kernel that uses it is found out. */
static void fill_padding(struct hn_arena *arena, CUdeviceptr data, const struct hn_buffer *buffer,
                         struct hn_error *err)
{
    struct hn_context *context = arena->context;
    if (buffer->row == 0)
        return;
    HN_CALL(context, cuMemsetD8Async, (data, 0x7f, buffer->bytes, context->stream),
            "cuMemsetD8Async", err);
}

/* What a file holds is the same for every seed. */
static void fill_at(struct hn_arena *arena, size_t i, CUdeviceptr data, uint64_t seed,
                    struct hn_error *err)
{
    const struct hn_argument *argument = &arena->plan->arguments[i];
    const struct hn_buffer *buffer = &arena->buffers[i];
    struct hn_elements elements = hn_buffer_elements(buffer, argument->element, data);
    fill_padding(arena, data, buffer, err);
    if (buffer->recipe.fill.kind == HN_FILL_FILE)
        load_file(arena, buffer->file, argument->element, data, buffer, err);
    else
        hn_support_fill(arena->support, &elements, &buffer->recipe, seed, err);
}

void hn_arena_load(struct hn_arena *arena, size_t argument, const char *path, struct hn_error *err)
{
    const struct hn_buffer *buffer = &arena->buffers[argument];
    fill_padding(arena, buffer->address, buffer, err);
    load_file(arena, path, arena->plan->arguments[argument].element, buffer->address, buffer, err);
}

/* Where an input's contents are, or those that an inout argument begins with. */
static CUdeviceptr contents_of(const struct hn_arena *arena, size_t i)
{
    const struct hn_buffer *buffer = &arena->buffers[i];
    return arena->plan->arguments[i].role == HN_ROLE_INOUT ? buffer->pristine : buffer->address;
}

/* Fills input or pristine copy `i` and queues its checksum. */
static void fill_argument(struct hn_arena *arena, size_t i, struct hn_error *err)
{
    CUdeviceptr data = contents_of(arena, i);
    fill_at(arena, i, data, arena->seed, err);
    hn_support_checksum(arena->support, data, arena->buffers[i].bytes,
                        hn_arena_slot(arena, i, HN_SLOT_CHECKSUM), err);
}

/* What was read again has to be what the references were computed from. */
static void note_checksum(struct hn_arena *arena, size_t i, struct hn_error *err)
{
    struct hn_buffer *buffer = &arena->buffers[i];
    uint64_t checksum = hn_support_join_sums(hn_arena_host_slot(arena, i, HN_SLOT_CHECKSUM),
                                             arena->support->blocks);
    if (buffer->loaded && checksum != buffer->checksum) {
        hn_fail(err, HN_ERUN, "data file %s changed while it was in use; run again", buffer->file);
        return;
    }
    buffer->loaded = buffer->recipe.fill.kind == HN_FILL_FILE;
    buffer->checksum = checksum;
}

static void copy_to_host(struct hn_arena *arena, size_t i, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    const struct hn_buffer *source = &arena->buffers[hn_plan_source(arena->plan, i)];
    HN_CALL(context, cuMemcpyDtoH, (arena->buffers[i].host, source->address, source->bytes),
            "cuMemcpyDtoH", err);
}

void hn_arena_fill(struct hn_arena *arena, uint64_t seed, struct hn_error *err)
{
    const struct hn_plan *plan = arena->plan;
    if (hn_failed(err))
        return;
    arena->seed = seed;
    arena->contents_seed = seed;
    arena->contents++;
    arena->spoiled = false;
    arena->sets_filled = arena->set_count == 1;
    arena->lent_set = 0;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_filled(&plan->arguments[i]))
            fill_argument(arena, i, err);
    hn_support_checksum(arena->support, arena->flush, arena->flush_bytes,
                        hn_arena_flush_slot(arena), err);
    hn_arena_read_results(arena, err);
    arena->flush_checksum = hn_failed(err) ? 0 : hn_arena_host_flush_checksum(arena);
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        if (hn_argument_is_filled(&plan->arguments[i]))
            note_checksum(arena, i, err);
        else if (arena->buffers[i].host != NULL)
            copy_to_host(arena, i, err);
    }
}

void hn_arena_repair(struct hn_arena *arena, struct hn_error *err)
{
    hn_support_write_zones(arena->support, arena->zone_table, arena->zone_count, err);
    hn_arena_fill(arena, arena->seed, err);
}

static void copy_inputs(struct hn_arena *arena, size_t set, struct hn_error *err)
{
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++)
        if (arena->plan->arguments[i].role == HN_ROLE_INPUT)
            copy(arena, hn_arena_address(arena, set, i), arena->buffers[i].address,
                 arena->buffers[i].bytes, err);
}

/* Each set has contents of its own, so that what one launch of a batch has found out is of no use
 * to the next. */
static void fill_set(struct hn_arena *arena, size_t set, struct hn_error *err)
{
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        CUdeviceptr data = hn_arena_address(arena, set, i);
        if (arena->plan->arguments[i].role != HN_ROLE_INPUT)
            continue;
        if (buffer->recipe.fill.kind == HN_FILL_FILE)
            copy(arena, data, buffer->address, buffer->bytes, err);
        else
            fill_at(arena, i, data, arena->contents_seed + ((uint64_t)set << 32), err);
    }
}

void hn_arena_lend_inputs(struct hn_arena *arena, size_t set, struct hn_error *err)
{
    arena->lent_set = set;
    if (set != 0)
        copy_inputs(arena, set, err);
}

static void take_back_inputs(struct hn_arena *arena, struct hn_error *err)
{
    size_t set = arena->lent_set;
    arena->lent_set = 0;
    if (set != 0)
        fill_set(arena, set, err);
}

/* Of what launches leave at zero all sets, since it is launched in batches; of others the first. */
static void zero(struct hn_arena *arena, size_t i, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    const struct hn_buffer *buffer = &arena->buffers[i];
    bool all = arena->plan->arguments[i].zero == HN_ZERO_ONCE && !buffer->dynamic;
    for (size_t set = 0; set < (all ? arena->set_count : 1) && !hn_failed(err); set++) {
        HN_CALL(context, cuMemsetD8Async,
                (hn_arena_address(arena, set, i), 0, buffer->bytes, context->stream),
                "cuMemsetD8Async", err);
    }
}

void hn_arena_restore(struct hn_arena *arena, struct hn_error *err)
{
    take_back_inputs(arena, err);
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        enum hn_role role = arena->plan->arguments[i].role;
        if (arena->plan->arguments[i].zero == HN_ZERO_INSIDE)
            continue;
        if (role == HN_ROLE_INOUT)
            copy(arena, buffer->address, buffer->pristine, buffer->bytes, err);
        if (role == HN_ROLE_COUNTER || role == HN_ROLE_METRIC)
            zero(arena, i, err);
    }
}

/* All of an argument's bytes in the first `sets` sets, padding too: the first set lies by itself,
 * the others at equal distances. */
static void poison_argument(struct hn_arena *arena, size_t i, size_t sets, uint64_t seed,
                            struct hn_error *err)
{
    size_t size = hn_element_size(arena->plan->arguments[i].element);
    uint64_t count = arena->buffers[i].bytes / size;
    struct hn_elements elements = {.data = arena->buffers[i].address,
                                   .count = count,
                                   .type = arena->plan->arguments[i].element};
    hn_support_poison(arena->support, &elements, seed, err);
    if (sets < 2)
        return;
    elements.data = hn_arena_address(arena, 1, i);
    elements.count = (sets - 1) * count;
    elements.row = count;
    elements.pitch = arena->argument_bytes / size;
    hn_support_poison(arena->support, &elements, seed, err);
}

void hn_arena_poison(struct hn_arena *arena, enum hn_role role, size_t sets, uint64_t seed,
                     struct hn_error *err)
{
    if (role == HN_ROLE_OUTPUT)
        arena->poison = seed;
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++)
        if (arena->plan->arguments[i].role == role)
            poison_argument(arena, i, arena->buffers[i].dynamic ? 1 : sets, seed, err);
}

uint64_t hn_arena_poisoned(const struct hn_arena *arena, size_t set, size_t argument)
{
    size_t size = hn_element_size(arena->plan->arguments[argument].element);
    return set == 0 ? 0 : (set - 1) * (arena->buffers[argument].bytes / size);
}

static void rewrite_argument(struct hn_arena *arena, size_t i, size_t sets, struct hn_error *err)
{
    size_t size = hn_element_size(arena->plan->arguments[i].element);
    for (size_t set = 0; set < (arena->buffers[i].dynamic ? 1 : sets) && !hn_failed(err); set++) {
        CUdeviceptr data = hn_arena_address(arena, set, i);
        hn_support_veil(arena->support, data, data, arena->buffers[i].bytes / size, size, 0, err);
    }
}

void hn_arena_rewrite(struct hn_arena *arena, enum hn_role role, size_t sets, struct hn_error *err)
{
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++)
        if (arena->plan->arguments[i].role == role)
            rewrite_argument(arena, i, sets, err);
}

void hn_arena_sum_sets(struct hn_arena *arena, uint64_t *sum, struct hn_error *err)
{
    *sum = 0;
    if (arena->set_count == 1)
        return;
    hn_support_checksum(arena->support, arena->set_block,
                        (arena->set_count - 1) * arena->argument_bytes, hn_arena_flush_slot(arena),
                        err);
    hn_arena_read_results(arena, err);
    *sum = hn_failed(err) ? 0 : hn_arena_host_flush_checksum(arena);
}

/* How many further sets there is room for: a quarter of what is free, and 1 GiB at most. */
static void count_sets(struct hn_arena *arena, size_t wanted, size_t *count, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    size_t available = 0, total = 0;
    HN_CALL(context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    if (hn_failed(err))
        return;
    uint64_t limit = available / 4 < ((uint64_t)1 << 30) ? available / 4 : (uint64_t)1 << 30;
    uint64_t room = limit / arena->argument_bytes;
    *count = room < wanted - 1 ? (size_t)room : wanted - 1;
}

static void allocate_sets(struct hn_arena *arena, size_t wanted, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    struct hn_context *context = arena->context;
    size_t further = 0;
    arena->sets_tried = true;
    count_sets(arena, wanted, &further, err);
    if (hn_failed(err) || further == 0)
        return;
    CUresult result =
        context->driver->p_cuMemAlloc(&arena->set_block, further * arena->argument_bytes);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        hn_context_check(context, result, "cuMemAlloc", err);
    if (result != CUDA_SUCCESS) {
        arena->set_block = 0;
        return;
    }
    arena->set_count = further + 1;
    arena->sets_filled = false;
}

static void fill_sets(struct hn_arena *arena, struct hn_error *err)
{
    for (size_t set = 1; set < arena->set_count && !hn_failed(err); set++)
        fill_set(arena, set, err);
    arena->sets_filled = !hn_failed(err);
}

void hn_arena_refill(struct hn_arena *arena, uint64_t seed, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    arena->contents++;
    arena->contents_seed = seed;
    arena->spoiled = false;
    arena->lent_set = 0;
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++)
        if (hn_argument_is_filled(&arena->plan->arguments[i]) &&
            arena->buffers[i].recipe.fill.kind != HN_FILL_FILE)
            fill_at(arena, i, contents_of(arena, i), seed, err);
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++)
        if (arena->buffers[i].host != NULL)
            copy_to_host(arena, i, err);
    if (arena->sets_filled)
        fill_sets(arena, err);
}

void hn_arena_renew_sets(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    unsigned char byte = (unsigned char)hn_random_next(&arena->secret);
    if (arena->set_count == 1)
        return;
    HN_CALL(
        context, cuMemsetD8Async,
        (arena->set_block, byte, (arena->set_count - 1) * arena->argument_bytes, context->stream),
        "cuMemsetD8Async", err);
    fill_sets(arena, err);
}

void hn_arena_make_sets(struct hn_arena *arena, size_t wanted, size_t *count, struct hn_error *err)
{
    if (wanted > HN_MAX_SETS)
        wanted = HN_MAX_SETS;
    if (wanted > 1 && !arena->sets_tried)
        allocate_sets(arena, HN_MAX_SETS, err);
    if (!arena->sets_filled)
        fill_sets(arena, err);
    *count = wanted < arena->set_count ? wanted : arena->set_count;
}
