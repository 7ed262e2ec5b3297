/* SPDX-License-Identifier: MIT */
#include "runtime/bench/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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
static void evaluate_rows(const struct hn_argument *argument, const struct hn_value *values,
                          struct hn_buffer *buffer, struct hn_error *err)
{
    hn_argument_evaluate_rows(argument, values, &buffer->row, &buffer->pitch, err);
    if (hn_failed(err) || buffer->row == 0)
        return;
    uint64_t rows = buffer->count / buffer->row;
    buffer->bytes = rows * buffer->pitch;
    if (rows > (uint64_t)MAX_BYTES / buffer->pitch)
        hn_fail(err, HN_ECONFIG, "argument '%s' has %llu rows of %llu bytes: too large",
                argument->name, (unsigned long long)rows, (unsigned long long)buffer->pitch);
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
static void evaluate_align(const struct hn_plan *plan, const struct hn_argument *argument,
                           const struct hn_value *values, struct hn_buffer *buffer,
                           struct hn_error *err)
{
    bool textured = has_texture(plan, argument);
    if (hn_failed(err))
        return;
    buffer->align = textured || argument->shape.pitch != NULL ? HN_MOST_ALIGN : HN_PROMISED_ALIGN;
    if (!textured)
        hn_argument_evaluate_align(argument, values, &buffer->align, err);
}

static void evaluate_size(const struct hn_plan *plan, const struct hn_argument *argument,
                          const struct hn_value *values, struct hn_buffer *buffer,
                          struct hn_error *err)
{
    int64_t count = 0;
    int64_t element_size = (int64_t)hn_argument_bytes(argument);
    if (hn_failed(err))
        return;
    hn_expression_integer(argument->count, values, &count, err);
    if (hn_failed(err))
        return;
    if (count < 1 || count > MAX_BYTES / element_size) {
        hn_fail(err, HN_ECONFIG, "argument '%s' has a count of %lld; expected 1 to %lld elements",
                argument->name, (long long)count, (long long)(MAX_BYTES / element_size));
        return;
    }
    buffer->count = (uint64_t)count * argument->lanes;
    buffer->bytes = (uint64_t)(count * element_size);
    evaluate_rows(argument, values, buffer, err);
    evaluate_align(plan, argument, values, buffer, err);
}

static void resolve_fill(const struct hn_plan *plan, size_t i, const struct hn_value *values,
                         struct hn_buffer *buffer, struct hn_error *err)
{
    const struct hn_argument *argument = &plan->arguments[i];
    const double *numbers = buffer->recipe.fill.numbers;
    struct hn_error reason = {0};
    if (hn_failed(err) || !hn_argument_is_filled(argument))
        return;
    enum hn_status status = hn_recipe_make(plan, i, values, &buffer->recipe, &reason);
    if (status != HN_OK)
        hn_fail(err, status == HN_EVALUE ? HN_ECONFIG : status,
                "argument '%s': found '%s(%g, %g)', %s", argument->name,
                hn_fill_names[argument->fill.kind], numbers[0], numbers[1], reason.message);
    else if (argument->fill.file != NULL)
        hn_plan_data_path(plan, argument->fill.file, values, &buffer->file, err);
}

/* Room for the contents of an input that kernels take by value. */
static void make_host_copy(struct hn_arena *arena, size_t i, struct hn_error *err)
{
    const struct hn_argument *argument = &arena->plan->arguments[i];
    uint64_t bytes = arena->buffers[hn_plan_source(arena->plan, i)].bytes;
    if (bytes > HN_MAX_VALUE_BYTES)
        hn_fail(err, HN_ECONFIG,
                "argument '%s' passes the %llu bytes of '%s' by value; a kernel takes %u",
                argument->name, (unsigned long long)bytes, argument->from, HN_MAX_VALUE_BYTES);
    arena->buffers[i].host = hn_need(1, HN_MAX_VALUE_BYTES);
}

static void size_buffers(struct hn_arena *arena, const struct hn_value *values,
                         struct hn_error *err)
{
    const struct hn_plan *plan = arena->plan;
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        if (argument->count == NULL)
            continue;
        const char *parameter = hn_plan_parameter_used(plan, argument->count);
        if (parameter == NULL)
            parameter = hn_plan_parameter_used(plan, argument->shape.pitch);
        if (parameter == NULL)
            parameter = hn_plan_parameter_used(plan, argument->align);
        if (parameter != NULL && !may_depend_on_parameters(argument))
            hn_fail(err, HN_ECONFIG,
                    "the size or align of argument '%s' uses the parameter '%s'; only scratch, "
                    "counter and metric arguments can have one that depends on "
                    "parameters, and '%s' is %s",
                    argument->name, parameter, argument->name, hn_role_names[argument->role]);
        if (parameter != NULL) {
            arena->buffers[i].dynamic = true;
            continue;
        }
        evaluate_size(plan, argument, values, &arena->buffers[i], err);
        resolve_fill(plan, i, values, &arena->buffers[i], err);
    }
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++)
        if (plan->arguments[i].role == HN_ROLE_VALUE && plan->arguments[i].from != NULL)
            make_host_copy(arena, i, err);
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

static void fail_to_fit(const struct hn_arena *arena, uint64_t needed, uint64_t available,
                        struct hn_error *err)
{
    struct hn_text table;
    hn_text_init(&table);
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        const struct hn_argument *argument = &arena->plan->arguments[i];
        uint64_t bytes = arena->buffers[i].bytes;
        if (bytes == 0)
            continue;
        append_need(&table, argument->name, hn_role_names[argument->role], bytes);
        if (argument->role == HN_ROLE_INOUT)
            append_need(&table, argument->name, "pristine", bytes);
        if (hn_argument_is_compared(argument))
            append_need(&table, argument->name, "reference", bytes);
    }
    append_need(&table, "(flush)", "L2 cache", arena->flush_bytes);
    hn_fail(
        err, HN_ERUN,
        "the buffers do not fit: %.3f GiB are needed and %.3f GiB are free on %s; choose a smaller "
        "problem, or end what else uses this GPU%.3500s",
        (double)needed / 0x1p30, (double)available / 0x1p30, arena->context->device->identity.name,
        table.failed ? "" : table.data);
    hn_text_finish(&table);
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

static void allocate_part(struct hn_arena *arena, CUdeviceptr *part, uint64_t bytes,
                          uint64_t needed, uint64_t available, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    CUresult result = arena->context->driver->p_cuMemAlloc(part, bytes);
    if (result == CUDA_SUCCESS)
        return;
    *part = 0;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        fail_to_fit(arena, needed, available, err);
    hn_context_check(arena->context, result, "cuMemAlloc", err);
}

static void allocate_blocks(struct hn_arena *arena, uint64_t bytes, uint64_t service_bytes,
                            struct hn_error *err)
{
    struct hn_context *context = arena->context;
    size_t available = 0, total = 0;
    HN_CALL(context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    if (hn_failed(err))
        return;
    uint64_t needed = bytes + service_bytes + reference_bytes(arena);
    if (needed > available)
        fail_to_fit(arena, needed, available, err);
    allocate_part(arena, &arena->block, bytes, needed, available, err);
    allocate_part(arena, &arena->service, service_bytes, needed, available, err);
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

void hn_arena_renew_zone_table(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    HN_CALL(context, cuMemcpyHtoD,
            (arena->zone_table, arena->zones, arena->zone_count * sizeof *arena->zones),
            "cuMemcpyHtoD", err);
}

static void write_zones(struct hn_arena *arena, struct hn_error *err)
{
    hn_arena_renew_zone_table(arena, err);
    hn_support_write_zones(arena->support, arena->zone_table, arena->zone_count, err);
}

void hn_arena_init(struct hn_arena *arena, struct hn_context *context, struct hn_support *support,
                   const struct hn_plan *plan, const struct hn_value *values, struct hn_error *err)
{
    size_t count = plan->argument_count;
    if (hn_failed(err))
        return;
    *arena = (struct hn_arena){
        .context = context,
        .support = support,
        .plan = plan,
        .set_count = 1,
        .sets_filled = true,
        .buffers = hn_need(count + 1, sizeof *arena->buffers),
        .zones = hn_need(2 * count + 2, sizeof *arena->zones),
        .owners = hn_need(2 * count + 2, sizeof *arena->owners),
    };
    if (hn_random_seed_secretly(&arena->secret, err) != HN_OK)
        return;
    arena->veil = hn_random_next(&arena->secret) | 1;
    size_buffers(arena, values, err);
    if (hn_failed(err))
        return;
    arena->argument_bytes = lay_out(arena, false);
    arena->static_zones = arena->zone_count;
    uint64_t bytes = lay_out_rest(arena);
    allocate_blocks(arena, bytes, lay_out_service(arena), err);
    if (hn_failed(err))
        return;
    rebase(arena);
    arena->host_results = hn_need(1, arena->result_bytes);
    write_zones(arena, err);
}

/* They are made again where buffers were moved. */
static void drop_textures(struct hn_arena *arena)
{
    size_t count = arena->textures == NULL ? 0 : HN_MAX_SETS * arena->plan->argument_count;
    for (size_t i = 0; i < count; i++)
        if (arena->textures[i] != 0)
            arena->context->driver->p_cuTexObjectDestroy(arena->textures[i]);
    free(arena->textures);
    arena->textures = NULL;
}

void hn_arena_finish(struct hn_arena *arena)
{
    if (arena->context == NULL)
        return;
    const struct hn_driver *driver = arena->context->driver;
    drop_textures(arena);
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

static void grow_dynamic(struct hn_arena *arena, uint64_t bytes, bool *fits, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    struct hn_context *context = arena->context;
    if (bytes <= arena->dynamic_bytes)
        return;
    if (arena->dynamic_block != 0)
        context->driver->p_cuMemFree(arena->dynamic_block);
    arena->dynamic_block = 0;
    arena->dynamic_bytes = 0;
    CUresult result = context->driver->p_cuMemAlloc(&arena->dynamic_block, bytes);
    if (result == CUDA_SUCCESS) {
        arena->dynamic_bytes = bytes;
        return;
    }
    arena->dynamic_block = 0;
    *fits = false;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return;
    hn_context_check(context, result, "cuMemAlloc", err);
}

void hn_arena_place(struct hn_arena *arena, const struct hn_value *values, bool *fits,
                    uint64_t *needed, struct hn_error *err)
{
    *fits = true;
    *needed = 0;
    if (!has_dynamic(arena))
        return;
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (arena->buffers[i].dynamic)
            evaluate_size(arena->plan, &arena->plan->arguments[i], values, &arena->buffers[i], err);
    if (hn_failed(err))
        return;
    arena->zone_count = arena->static_zones;
    *needed = lay_out(arena, true);
    grow_dynamic(arena, *needed, fits, err);
    if (hn_failed(err) || !*fits) {
        arena->zone_count = arena->static_zones;
        return;
    }
    drop_textures(arena);
    move_to(arena, true, arena->static_zones, arena->dynamic_block);
    write_zones(arena, err);
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

static CUarray_format format_of(enum hn_element element)
{
    static const CUarray_format formats[HN_ELEMENT_COUNT] = {
        [HN_INT8] = CU_AD_FORMAT_SIGNED_INT8,      [HN_INT16] = CU_AD_FORMAT_SIGNED_INT16,
        [HN_INT32] = CU_AD_FORMAT_SIGNED_INT32,    [HN_UINT8] = CU_AD_FORMAT_UNSIGNED_INT8,
        [HN_UINT16] = CU_AD_FORMAT_UNSIGNED_INT16, [HN_UINT32] = CU_AD_FORMAT_UNSIGNED_INT32,
        [HN_FLOAT16] = CU_AD_FORMAT_HALF,          [HN_FLOAT32] = CU_AD_FORMAT_FLOAT,
    };
    return formats[element];
}

static CUDA_RESOURCE_DESC describe_resource(const struct hn_arena *arena, size_t set, size_t i)
{
    const struct hn_argument *texture = &arena->plan->arguments[i];
    size_t source = hn_plan_source(arena->plan, i);
    const struct hn_buffer *buffer = &arena->buffers[source];
    CUDA_RESOURCE_DESC resource = {0};
    if (texture->texture.dimensions == 1) {
        resource.resType = CU_RESOURCE_TYPE_LINEAR;
        resource.res.linear.devPtr = hn_arena_address(arena, set, source);
        resource.res.linear.format = format_of(texture->element);
        resource.res.linear.numChannels = texture->lanes;
        resource.res.linear.sizeInBytes = buffer->bytes;
        return resource;
    }
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = hn_arena_address(arena, set, source);
    resource.res.pitch2D.format = format_of(texture->element);
    resource.res.pitch2D.numChannels = texture->lanes;
    resource.res.pitch2D.width = buffer->row / texture->lanes;
    resource.res.pitch2D.height = buffer->count / buffer->row;
    resource.res.pitch2D.pitchInBytes = buffer->pitch;
    return resource;
}

static CUDA_TEXTURE_DESC describe_texture(const struct hn_argument *argument)
{
    static const CUaddress_mode modes[HN_TEXTURE_ADDRESS_COUNT] = {
        [HN_TEXTURE_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
        [HN_TEXTURE_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
        [HN_TEXTURE_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
        [HN_TEXTURE_BORDER] = CU_TR_ADDRESS_MODE_BORDER,
    };
    const struct hn_texture *texture = &argument->texture;
    CUDA_TEXTURE_DESC description = {0};
    description.addressMode[0] = modes[texture->address[0]];
    description.addressMode[1] = modes[texture->address[1]];
    description.addressMode[2] = CU_TR_ADDRESS_MODE_CLAMP;
    description.filterMode = texture->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    if (!texture->as_float && !hn_element_is_real(argument->element))
        description.flags |= CU_TRSF_READ_AS_INTEGER;
    if (texture->normalized)
        description.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    return description;
}

CUresult hn_arena_texture(struct hn_arena *arena, size_t set, size_t argument, CUtexObject *texture)
{
    size_t count = arena->plan->argument_count;
    if (arena->textures == NULL)
        arena->textures = hn_need(HN_MAX_SETS * count, sizeof *arena->textures);
    CUtexObject *made = &arena->textures[set * count + argument];
    CUresult result = CUDA_SUCCESS;
    if (*made == 0) {
        CUDA_RESOURCE_DESC resource = describe_resource(arena, set, argument);
        CUDA_TEXTURE_DESC description = describe_texture(&arena->plan->arguments[argument]);
        result = arena->context->driver->p_cuTexObjectCreate(made, &resource, &description, NULL);
        if (result != CUDA_SUCCESS)
            *made = 0;
    }
    *texture = *made;
    return result;
}
