/* SPDX-License-Identifier: MIT */
#include "runtime/bench/arena.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/bench/stage.h"

enum { ALIGNMENT = HN_MOST_ALIGN };
static const uint64_t FLUSH_STEP = 1u << 20;

static uint64_t align(uint64_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* What a variant may find uninitialised or zeroed, whatever its size. */
static bool may_depend_on_parameters(const struct hn_argument *argument)
{
    return argument->role == HN_ROLE_SCRATCH || argument->role == HN_ROLE_COUNTER ||
           argument->role == HN_ROLE_METRIC;
}

/* An upper bound well beyond any device keeps sums of sizes from overflowing. */
static const int64_t MAX_BYTES = (int64_t)1 << 50;

/* All rows take a whole pitch, the last one too. */
static enum hn_status evaluate_rows(const struct hn_argument *argument,
                                    const struct hn_value *values, struct hn_buffer *buffer,
                                    struct hn_error *err)
{
    enum hn_status status =
        hn_argument_evaluate_rows(argument, values, &buffer->row, &buffer->pitch, err);
    if (status != HN_OK || buffer->row == 0)
        return status;
    uint64_t rows = buffer->count / buffer->row;
    if (rows > (uint64_t)MAX_BYTES / buffer->pitch)
        return hn_fail(err, HN_ECONFIG, "argument '%s' has %llu rows of %llu bytes: too large",
                       argument->name, (unsigned long long)rows, (unsigned long long)buffer->pitch);
    buffer->bytes = rows * buffer->pitch;
    return HN_OK;
}

static bool has_texture(const struct hn_plan *plan, const struct hn_argument *argument)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == HN_ROLE_TEXTURE &&
            &plan->arguments[hn_plan_source(plan, i)] == argument)
            return true;
    return false;
}

/* No better than what the config or cudaMalloc promises, so that who counts on more is found out;
 * what textures read has to lie at multiples of 512 bytes, and rows of a pitch do. */
static enum hn_status evaluate_align(const struct hn_plan *plan, const struct hn_argument *argument,
                                     const struct hn_value *values, struct hn_buffer *buffer,
                                     struct hn_error *err)
{
    bool textured = has_texture(plan, argument);
    buffer->align = textured || argument->shape.pitch != NULL ? HN_MOST_ALIGN : HN_PROMISED_ALIGN;
    return textured ? HN_OK : hn_argument_evaluate_align(argument, values, &buffer->align, err);
}

static enum hn_status evaluate_size(const struct hn_plan *plan, const struct hn_argument *argument,
                                    const struct hn_value *values, struct hn_buffer *buffer,
                                    struct hn_error *err)
{
    int64_t count = 0;
    int64_t element_size = (int64_t)hn_argument_bytes(argument);
    enum hn_status status = hn_expression_integer(argument->count, values, &count, err);
    if (status != HN_OK)
        return status;
    if (count < 1 || count > MAX_BYTES / element_size)
        return hn_fail(err, HN_ECONFIG,
                       "argument '%s' has a count of %lld; expected 1 to %lld elements",
                       argument->name, (long long)count, (long long)(MAX_BYTES / element_size));
    buffer->count = (uint64_t)count * argument->lanes;
    buffer->bytes = (uint64_t)(count * element_size);
    status = evaluate_rows(argument, values, buffer, err);
    return status == HN_OK ? evaluate_align(plan, argument, values, buffer, err) : status;
}

static enum hn_status resolve_fill(const struct hn_plan *plan, size_t i,
                                   const struct hn_value *values, struct hn_buffer *buffer,
                                   struct hn_error *err)
{
    const struct hn_argument *argument = &plan->arguments[i];
    const double *numbers = buffer->recipe.fill.numbers;
    struct hn_error reason = {0};
    enum hn_status status = hn_recipe_make(plan, i, values, &buffer->recipe, &reason);
    if (status != HN_OK)
        return hn_fail(err, status == HN_EVALUE ? HN_ECONFIG : status,
                       "argument '%s': found '%s(%g, %g)', %s", argument->name,
                       hn_fill_kind_name(argument->fill.kind), numbers[0], numbers[1],
                       reason.message);
    if (argument->fill.file == NULL)
        return HN_OK;
    return hn_plan_data_path(plan, argument->fill.file, values, &buffer->file, err);
}

/* Room for the contents of an input that kernels take by value. */
static enum hn_status make_host_copy(struct hn_arena *arena, size_t i, struct hn_error *err)
{
    const struct hn_argument *argument = &arena->plan->arguments[i];
    uint64_t bytes = arena->buffers[hn_plan_source(arena->plan, i)].bytes;
    if (bytes > HN_MAX_VALUE_BYTES)
        return hn_fail(err, HN_ECONFIG,
                       "argument '%s' passes the %llu bytes of '%s' by value; a kernel takes %u",
                       argument->name, (unsigned long long)bytes, argument->from,
                       HN_MAX_VALUE_BYTES);
    arena->buffers[i].host = calloc(1, HN_MAX_VALUE_BYTES);
    return arena->buffers[i].host == NULL ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status size_buffers(struct hn_arena *arena, const struct hn_value *values,
                                   struct hn_error *err)
{
    const struct hn_plan *plan = arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        if (argument->count == NULL)
            continue;
        const char *parameter = hn_plan_parameter_used(plan, argument->count);
        if (parameter == NULL)
            parameter = hn_plan_parameter_used(plan, argument->shape.pitch);
        if (parameter == NULL)
            parameter = hn_plan_parameter_used(plan, argument->align);
        if (parameter != NULL && !may_depend_on_parameters(argument))
            return hn_fail(
                err, HN_ECONFIG,
                "the size or align of argument '%s' uses the parameter '%s'; only scratch, "
                "counter and metric arguments can have one that depends on "
                "parameters, and '%s' is %s",
                argument->name, parameter, argument->name, hn_role_name(argument->role));
        if (parameter != NULL) {
            arena->buffers[i].dynamic = true;
            continue;
        }
        enum hn_status status = evaluate_size(plan, argument, values, &arena->buffers[i], err);
        if (status == HN_OK && hn_argument_is_filled(argument))
            status = resolve_fill(plan, i, values, &arena->buffers[i], err);
        if (status != HN_OK)
            return status;
    }
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++)
        if (plan->arguments[i].role == HN_ROLE_VALUE && plan->arguments[i].from != NULL)
            status = make_host_copy(arena, i, err);
    return status;
}

/* Lays the buffers (the dynamic ones, or the others) out from offset 0, a guard zone before,
 * between and behind them, adding the zones to the table. Returns the size of it all. */
static uint64_t lay_out(struct hn_arena *arena, bool dynamic)
{
    uint64_t end = 0;
    size_t before = SIZE_MAX;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        struct hn_buffer *buffer = &arena->buffers[i];
        if (arena->plan->arguments[i].count == NULL || buffer->dynamic != dynamic)
            continue;
        buffer->address = align(end + HN_GUARD_BYTES) + buffer->align % ALIGNMENT;
        arena->zones[arena->zone_count] = (struct hn_zone){end, buffer->address - end};
        arena->owners[arena->zone_count] = (struct hn_zone_owner){before, i};
        arena->zone_count++;
        end = buffer->address + buffer->bytes;
        before = i;
    }
    arena->zones[arena->zone_count] = (struct hn_zone){end, HN_GUARD_BYTES};
    arena->owners[arena->zone_count] = (struct hn_zone_owner){before, SIZE_MAX};
    arena->zone_count++;
    return align(end + HN_GUARD_BYTES);
}

static void move_to(struct hn_arena *arena, bool dynamic, size_t first_zone, CUdeviceptr base)
{
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (arena->plan->arguments[i].count != NULL && arena->buffers[i].dynamic == dynamic)
            arena->buffers[i].address += base;
    for (size_t i = first_zone; i < arena->zone_count; i++)
        arena->zones[i].start += base;
}

/* Twice the L2 cache, rounded up to a power of two. */
static uint64_t flush_size(const struct hn_device *device)
{
    uint64_t size = FLUSH_STEP;
    while (size < 2 * (uint64_t)(device->l2_bytes > 0 ? device->l2_bytes : 0))
        size *= 2;
    return size;
}

static void append_need(struct hn_text *table, const char *name, const char *what, uint64_t bytes)
{
    hn_text_printf(table, "\n  %-20s %-12s %12.3f GiB", name, what, (double)bytes / 0x1p30);
}

static enum hn_status fail_to_fit(const struct hn_arena *arena, uint64_t needed, uint64_t available,
                                  struct hn_error *err)
{
    struct hn_text table;
    hn_text_init(&table);
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        const struct hn_argument *argument = &arena->plan->arguments[i];
        uint64_t bytes = arena->buffers[i].bytes;
        if (bytes == 0)
            continue;
        append_need(&table, argument->name, hn_role_name(argument->role), bytes);
        if (argument->role == HN_ROLE_INOUT)
            append_need(&table, argument->name, "pristine", bytes);
        if (hn_argument_is_compared(argument))
            append_need(&table, argument->name, "reference", bytes);
    }
    append_need(&table, "(flush)", "L2 cache", arena->flush_bytes);
    enum hn_status status = hn_fail(
        err, HN_ERUN,
        "the buffers do not fit: %.3f GiB are needed and %.3f GiB are free on %s; choose a smaller "
        "problem, or end what else uses this GPU%.3500s",
        (double)needed / 0x1p30, (double)available / 0x1p30, arena->context->device->identity.name,
        table.failed ? "" : table.data);
    hn_text_finish(&table);
    return status;
}

/* Offsets of what follows the arguments; returns the size of the block. */
static uint64_t lay_out_rest(struct hn_arena *arena)
{
    uint64_t end = arena->argument_bytes;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        if (arena->plan->arguments[i].role != HN_ROLE_INOUT)
            continue;
        arena->buffers[i].pristine = end;
        end = align(end + arena->buffers[i].bytes);
    }
    arena->flush = end;
    arena->flush_bytes = flush_size(arena->context->device);
    return align(end + arena->flush_bytes);
}

/* Where in its block the rest begins is drawn, so that it can not be found from the arguments.
 * Returns the size of that block. */
static uint64_t lay_out_service(struct hn_arena *arena)
{
    static const uint64_t MOST_SKIPPED = 1u << 20;
    size_t max_zones = 2 * arena->plan->argument_count + 2;
    uint64_t end = hn_random_below(&arena->secret, MOST_SKIPPED / ALIGNMENT) * ALIGNMENT;
    arena->stamps = end;
    end = align(end + HN_MAX_STAMPS * sizeof(struct hn_stamp));
    arena->sink = end;
    end += ALIGNMENT;
    arena->zone_table = end;
    end = align(end + max_zones * sizeof(struct hn_zone));
    arena->results = end;
    arena->result_bytes = max_zones * sizeof(struct hn_damage) +
                          (arena->plan->argument_count + 1) * HN_SLOT_COUNT *
                              arena->support->blocks * sizeof(struct hn_difference);
    return align(end + arena->result_bytes);
}

static uint64_t reference_bytes(const struct hn_arena *arena)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (hn_argument_is_compared(&arena->plan->arguments[i]))
            bytes += align(arena->buffers[i].bytes);
    return bytes;
}

static enum hn_status allocate_part(struct hn_arena *arena, CUdeviceptr *part, uint64_t bytes,
                                    uint64_t needed, uint64_t available, struct hn_error *err)
{
    CUresult result = arena->context->driver->p_cuMemAlloc(part, bytes);
    if (result == CUDA_SUCCESS)
        return HN_OK;
    *part = 0;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return fail_to_fit(arena, needed, available, err);
    return hn_context_check(arena->context, result, "cuMemAlloc", err);
}

static enum hn_status allocate_blocks(struct hn_arena *arena, uint64_t bytes,
                                      uint64_t service_bytes, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    size_t available = 0, total = 0;
    CUresult result = context->driver->p_cuMemGetInfo(&available, &total);
    enum hn_status status = hn_context_check(context, result, "cuMemGetInfo", err);
    if (status != HN_OK)
        return status;
    uint64_t needed = bytes + service_bytes + reference_bytes(arena);
    if (needed > available)
        return fail_to_fit(arena, needed, available, err);
    status = allocate_part(arena, &arena->block, bytes, needed, available, err);
    if (status == HN_OK)
        status = allocate_part(arena, &arena->service, service_bytes, needed, available, err);
    return status;
}

static void rebase(struct hn_arena *arena)
{
    CUdeviceptr base = arena->block;
    move_to(arena, false, 0, base);
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (arena->plan->arguments[i].role == HN_ROLE_INOUT)
            arena->buffers[i].pristine += base;
    arena->flush += base;
    arena->stamps += arena->service;
    arena->sink += arena->service;
    arena->zone_table += arena->service;
    arena->results += arena->service;
}

enum hn_status hn_arena_renew_zone_table(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    CUresult result = context->driver->p_cuMemcpyHtoD(arena->zone_table, arena->zones,
                                                      arena->zone_count * sizeof *arena->zones);
    return hn_context_check(context, result, "cuMemcpyHtoD", err);
}

static enum hn_status write_zones(struct hn_arena *arena, struct hn_error *err)
{
    enum hn_status status = hn_arena_renew_zone_table(arena, err);
    if (status != HN_OK)
        return status;
    return hn_support_write_zones(arena->support, arena->zone_table, arena->zone_count, err);
}

static enum hn_status allocate_tables(struct hn_arena *arena, struct hn_error *err)
{
    size_t count = arena->plan->argument_count;
    arena->buffers = calloc(count + 1, sizeof *arena->buffers);
    arena->zones = calloc(2 * count + 2, sizeof *arena->zones);
    arena->owners = calloc(2 * count + 2, sizeof *arena->owners);
    if (arena->buffers == NULL || arena->zones == NULL || arena->owners == NULL)
        return hn_fail_memory(err);
    return HN_OK;
}

enum hn_status hn_arena_init(struct hn_arena *arena, struct hn_context *context,
                             struct hn_support *support, const struct hn_plan *plan,
                             const struct hn_value *values, struct hn_error *err)
{
    *arena = (struct hn_arena){
        .context = context, .support = support, .plan = plan, .set_count = 1, .sets_filled = true};
    enum hn_status status = hn_random_seed_secretly(&arena->secret, err);
    if (status != HN_OK)
        return status;
    arena->veil = hn_random_next(&arena->secret) | 1;
    status = allocate_tables(arena, err);
    if (status == HN_OK)
        status = size_buffers(arena, values, err);
    if (status != HN_OK)
        goto finish_arena;
    arena->argument_bytes = lay_out(arena, false);
    arena->static_zones = arena->zone_count;
    uint64_t bytes = lay_out_rest(arena);
    status = allocate_blocks(arena, bytes, lay_out_service(arena), err);
    if (status != HN_OK)
        goto finish_arena;
    rebase(arena);
    arena->host_results = malloc(arena->result_bytes);
    if (arena->host_results == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK)
        status = write_zones(arena, err);
    if (status != HN_OK)
        goto finish_arena;
    return HN_OK;

finish_arena:
    hn_arena_finish(arena);
    return status;
}

void hn_arena_finish(struct hn_arena *arena)
{
    if (arena->context == NULL)
        return;
    const struct hn_driver *driver = arena->context->driver;
    hn_arena_drop_textures(arena);
    hn_stage_destroy(arena->stage);
    if (arena->set_block != 0)
        driver->p_cuMemFree(arena->set_block);
    if (arena->dynamic_block != 0)
        driver->p_cuMemFree(arena->dynamic_block);
    if (arena->service != 0)
        driver->p_cuMemFree(arena->service);
    if (arena->block != 0)
        driver->p_cuMemFree(arena->block);
    for (size_t i = 0; arena->buffers != NULL && i < arena->plan->argument_count; i++) {
        free(arena->buffers[i].file);
        free(arena->buffers[i].host);
    }
    free(arena->host_results);
    free(arena->owners);
    free(arena->zones);
    free(arena->buffers);
    *arena = (struct hn_arena){0};
}

static bool has_dynamic(const struct hn_arena *arena)
{
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (arena->buffers[i].dynamic)
            return true;
    return false;
}

static enum hn_status grow_dynamic(struct hn_arena *arena, uint64_t bytes, bool *fits,
                                   struct hn_error *err)
{
    struct hn_context *context = arena->context;
    *fits = true;
    if (bytes <= arena->dynamic_bytes)
        return HN_OK;
    if (arena->dynamic_block != 0)
        context->driver->p_cuMemFree(arena->dynamic_block);
    arena->dynamic_block = 0;
    arena->dynamic_bytes = 0;
    CUresult result = context->driver->p_cuMemAlloc(&arena->dynamic_block, bytes);
    if (result == CUDA_SUCCESS) {
        arena->dynamic_bytes = bytes;
        return HN_OK;
    }
    arena->dynamic_block = 0;
    *fits = false;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return HN_OK;
    return hn_context_check(context, result, "cuMemAlloc", err);
}

enum hn_status hn_arena_place(struct hn_arena *arena, const struct hn_value *values, bool *fits,
                              uint64_t *needed, struct hn_error *err)
{
    *fits = true;
    *needed = 0;
    if (!has_dynamic(arena))
        return HN_OK;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        if (!arena->buffers[i].dynamic)
            continue;
        enum hn_status status =
            evaluate_size(arena->plan, &arena->plan->arguments[i], values, &arena->buffers[i], err);
        if (status != HN_OK)
            return status;
    }
    arena->zone_count = arena->static_zones;
    *needed = lay_out(arena, true);
    enum hn_status status = grow_dynamic(arena, *needed, fits, err);
    if (status != HN_OK || !*fits) {
        arena->zone_count = arena->static_zones;
        return status;
    }
    hn_arena_drop_textures(arena);
    move_to(arena, true, arena->static_zones, arena->dynamic_block);
    return write_zones(arena, err);
}

struct hn_elements hn_buffer_elements(const struct hn_buffer *buffer, enum hn_element element,
                                      CUdeviceptr data)
{
    return (struct hn_elements){.data = data,
                                .count = buffer->count,
                                .type = element,
                                .row = buffer->row,
                                .pitch = buffer->pitch / hn_element_size(element)};
}

uint64_t hn_buffer_place(const struct hn_buffer *buffer, enum hn_element element, uint64_t index)
{
    size_t size = hn_element_size(element);
    if (buffer->row == 0)
        return index * size;
    return index / buffer->row * buffer->pitch + index % buffer->row * size;
}

CUdeviceptr hn_arena_address(const struct hn_arena *arena, size_t set, size_t argument)
{
    const struct hn_buffer *buffer = &arena->buffers[argument];
    if (set == 0 || buffer->dynamic)
        return buffer->address;
    return arena->set_block + (set - 1) * arena->argument_bytes + (buffer->address - arena->block);
}

struct hn_elements hn_arena_elements(const struct hn_arena *arena, size_t set, size_t argument)
{
    return hn_buffer_elements(&arena->buffers[argument], arena->plan->arguments[argument].element,
                              hn_arena_address(arena, set, argument));
}
