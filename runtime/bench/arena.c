/* SPDX-License-Identifier: MIT */
#include "runtime/bench/arena.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/plan/contents.h"

static const uint64_t FLUSH_STEP = 1u << 17;

/* All rows take a whole pitch, the last one too. The alignment is no better than what the config or
 * cudaMalloc promises, so that who counts on more is found out; what textures read has to lie at
 * multiples of 512 bytes, and rows of a pitch do. */
static void evaluate_size(const struct hn_plan *plan, const struct hn_argument *argument,
                          const struct hn_value *values, struct hn_buffer *buffer,
                          struct hn_error *err)
{
    int64_t count = 0;
    bool textured = false;
    hn_argument_buffer_bytes(argument, values, &buffer->bytes, err);
    hn_argument_evaluate_rows(argument, values, &buffer->row, &buffer->pitch, err);
    if (!hn_expression_integer(argument->count, values, &count, err))
        return;
    buffer->count = (uint64_t)count * argument->lanes;
    for (size_t i = 0; i < plan->argument_count; i++)
        textured = textured || (plan->arguments[i].role == HN_ROLE_TEXTURE &&
                                &plan->arguments[hn_plan_source(plan, i)] == argument);
    buffer->align = textured || argument->shape.pitch != NULL ? HN_MOST_ALIGN : HN_PROMISED_ALIGN;
    if (!textured)
        hn_argument_evaluate_align(argument, values, &buffer->align, err);
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

static void size_buffers(struct hn_arena *arena, const struct hn_value *values,
                         struct hn_error *err)
{
    const struct hn_plan *plan = arena->plan;
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        if (argument->count == NULL)
            continue;
        arena->buffers[i].dynamic = hn_plan_parameter_used(plan, argument->count) != NULL ||
                                    hn_plan_parameter_used(plan, argument->shape.pitch) != NULL ||
                                    hn_plan_parameter_used(plan, argument->align) != NULL;
        if (arena->buffers[i].dynamic)
            continue;
        evaluate_size(plan, argument, values, &arena->buffers[i], err);
        resolve_fill(plan, i, values, &arena->buffers[i], err);
    }
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        if (argument->role != HN_ROLE_VALUE || argument->from == NULL)
            continue;
        uint64_t bytes = arena->buffers[hn_plan_source(plan, i)].bytes;
        if (bytes > HN_MAX_VALUE_BYTES)
            hn_fail(err, HN_ECONFIG,
                    "argument '%s' passes the %llu bytes of '%s' by value; a kernel takes %u",
                    argument->name, (unsigned long long)bytes, argument->from, HN_MAX_VALUE_BYTES);
        arena->buffers[i].host = hn_need_block(&arena->memory, 1, HN_MAX_VALUE_BYTES);
    }
}

/* Lays the buffers (the dynamic ones, or the others) out from `base` on, a guard zone before,
 * between and behind them, with their zones in the table. Returns the size of it all. */
static uint64_t lay_out(struct hn_arena *arena, bool dynamic, CUdeviceptr base)
{
    uint64_t end = 0;
    size_t before = SIZE_MAX;
    size_t zone = dynamic ? arena->static_zones : 0;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        struct hn_buffer *buffer = &arena->buffers[i];
        if (arena->plan->arguments[i].count == NULL || buffer->dynamic != dynamic)
            continue;
        uint64_t begin = hn_arena_align(end + HN_GUARD_BYTES) + buffer->align % HN_MOST_ALIGN;
        arena->zones[zone] = (struct hn_zone){base + end, begin - end};
        arena->owners[zone++] = (struct hn_zone_owner){before, i};
        buffer->address = buffer->contents = base + begin;
        end = begin + buffer->bytes;
        before = i;
    }
    arena->zones[zone] = (struct hn_zone){base + end, HN_GUARD_BYTES};
    arena->owners[zone++] = (struct hn_zone_owner){before, SIZE_MAX};
    arena->zone_count = zone;
    return hn_arena_align(end + HN_GUARD_BYTES);
}

/* The same of all that is in the block: pristine copies, as aligned as the buffers, so that equal
 * contents have equal checksums, and the flush buffer follow. */
static uint64_t lay_out_block(struct hn_arena *arena, CUdeviceptr base)
{
    uint64_t end = arena->argument_bytes = lay_out(arena, false, base);
    arena->static_zones = arena->zone_count;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        if (arena->plan->arguments[i].role != HN_ROLE_INOUT)
            continue;
        arena->buffers[i].contents = base + end + arena->buffers[i].align % HN_MOST_ALIGN;
        end = hn_arena_align(end + HN_MOST_ALIGN + arena->buffers[i].bytes);
    }
    arena->flush = base + end;
    return hn_arena_align(end + arena->flush_bytes);
}

static void append_need(struct hn_text *table, const char *name, const char *what, uint64_t bytes)
{
    hn_text_printf(table, "\n  %-20s %-12s %12.3f GiB", name, what, (double)bytes / 0x1p30);
}

static void fail_to_fit(const struct hn_arena *arena, uint64_t needed, uint64_t available,
                        struct hn_error *err)
{
    struct hn_text table HN_ENDED_BY(hn_text_finish) = {0};
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
        "problem (of a family: by `where`), or end what else uses this GPU%.3500s",
        (double)needed / 0x1p30, (double)available / 0x1p30, arena->context->device->identity.name,
        table.failed ? "" : table.data);
}

/* The service block, in which so many bytes are skipped first. */
static uint64_t lay_out_service(struct hn_arena *arena, CUdeviceptr base, uint64_t skipped)
{
    size_t max_zones = 2 * arena->plan->argument_count + 2;
    arena->stamps = base + skipped;
    uint64_t end = hn_arena_align(skipped + HN_MAX_STAMPS * sizeof(struct hn_stamp));
    arena->sink = base + end;
    end += HN_MOST_ALIGN;
    arena->zone_table = base + end;
    end = hn_arena_align(end + max_zones * sizeof(struct hn_zone));
    arena->results = base + end;
    arena->result_bytes = max_zones * sizeof(struct hn_damage) +
                          (arena->plan->argument_count + 1) * HN_SLOT_COUNT *
                              arena->support->blocks * sizeof(struct hn_difference);
    return hn_arena_align(end + arena->result_bytes);
}

/* False where there is not enough memory, or err has failed. */
static bool allocate(struct hn_arena *arena, CUdeviceptr *block, uint64_t bytes,
                     struct hn_error *err)
{
    *block = 0;
    if (hn_failed(err))
        return false;
    CUresult result = arena->context->driver->p_cuMemAlloc(block, bytes);
    if (result != CUDA_SUCCESS)
        *block = 0;
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        hn_context_check(arena->context, result, "cuMemAlloc", err);
    return result == CUDA_SUCCESS;
}

/* Where the service begins in its block is drawn: it cannot be found from the arguments. */
static void allocate_blocks(struct hn_arena *arena, struct hn_error *err)
{
    static const uint64_t MOST_SKIPPED = 1u << 20;
    uint64_t skipped =
        hn_random_below(&arena->secret, MOST_SKIPPED / HN_MOST_ALIGN) * HN_MOST_ALIGN;
    uint64_t bytes = lay_out_block(arena, 0), service_bytes = lay_out_service(arena, 0, skipped);
    uint64_t needed = bytes + service_bytes;
    size_t available = 0, total = 0;
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (hn_argument_is_compared(&arena->plan->arguments[i]))
            needed += hn_arena_align(arena->buffers[i].bytes);
    HN_CALL(arena->context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    if (hn_failed(err))
        return;
    if (needed > available || !allocate(arena, &arena->block, bytes, err) ||
        !allocate(arena, &arena->service, service_bytes, err)) {
        if (!hn_failed(err))
            fail_to_fit(arena, needed, available, err);
        return;
    }
    lay_out_block(arena, arena->block);
    lay_out_service(arena, arena->service, skipped);
}

void hn_arena_write_zones(struct hn_arena *arena, bool all, struct hn_error *err)
{
    HN_CALL(arena->context, cuMemcpyHtoD,
            (arena->zone_table, arena->zones, arena->zone_count * sizeof *arena->zones),
            "cuMemcpyHtoD", err);
    if (all)
        hn_support_launch(arena->support, HN_SUPPORT_WRITE_ZONES, (unsigned int)arena->zone_count,
                          (void *[]){&arena->zone_table}, err);
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
        .flush_bytes = FLUSH_STEP,
    };
    arena->buffers = hn_need_block(&arena->memory, count + 1, sizeof *arena->buffers);
    arena->zones = hn_need_block(&arena->memory, 2 * count + 2, sizeof *arena->zones);
    arena->owners = hn_need_block(&arena->memory, 2 * count + 2, sizeof *arena->owners);
    if (hn_random_seed_secretly(&arena->secret, err) != HN_OK)
        return;
    arena->veil = hn_random_next(&arena->secret) | 1;
    /* Twice the L2 cache, rounded up to a power of two. */
    int l2_bytes = context->device->l2_bytes;
    while (arena->flush_bytes < 2 * (uint64_t)(l2_bytes > 0 ? l2_bytes : 0))
        arena->flush_bytes *= 2;
    size_buffers(arena, values, err);
    if (!hn_failed(err))
        allocate_blocks(arena, err);
    if (hn_failed(err))
        return;
    arena->host_results = hn_need_block(&arena->memory, 1, arena->result_bytes);
    hn_arena_write_zones(arena, true, err);
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
    const CUdeviceptr blocks[] = {arena->set_block, arena->dynamic_block, arena->service,
                                  arena->block};
    if (arena->context == NULL)
        return;
    drop_textures(arena);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i] != 0)
            arena->context->driver->p_cuMemFree(blocks[i]);
    for (size_t i = 0; arena->buffers != NULL && i < arena->plan->argument_count; i++)
        free(arena->buffers[i].file);
    hn_blocks_finish(&arena->memory);
    *arena = (struct hn_arena){0};
}

uint64_t hn_arena_place(struct hn_arena *arena, const struct hn_value *values, struct hn_error *err)
{
    bool has_dynamic = false;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        has_dynamic = has_dynamic || arena->buffers[i].dynamic;
        if (arena->buffers[i].dynamic)
            evaluate_size(arena->plan, &arena->plan->arguments[i], values, &arena->buffers[i], err);
    }
    if (!has_dynamic || hn_failed(err))
        return 0;
    uint64_t needed = lay_out(arena, true, arena->dynamic_block);
    if (needed > arena->dynamic_bytes) {
        if (arena->dynamic_block != 0)
            arena->context->driver->p_cuMemFree(arena->dynamic_block);
        bool fits = allocate(arena, &arena->dynamic_block, needed, err);
        arena->dynamic_bytes = fits ? needed : 0;
        lay_out(arena, true, arena->dynamic_block);
        if (!fits) {
            arena->zone_count = arena->static_zones;
            return needed;
        }
    }
    drop_textures(arena);
    hn_arena_write_zones(arena, true, err);
    return 0;
}

CUdeviceptr hn_arena_address(const struct hn_arena *arena, size_t set, size_t argument)
{
    const struct hn_buffer *buffer = &arena->buffers[argument];
    if (set == 0 || buffer->dynamic)
        return buffer->address;
    return arena->set_block + (set - 1) * arena->argument_bytes + (buffer->address - arena->block);
}

struct hn_elements hn_arena_elements(const struct hn_arena *arena, size_t argument,
                                     CUdeviceptr data)
{
    const struct hn_buffer *buffer = &arena->buffers[argument];
    enum hn_element element = arena->plan->arguments[argument].element;
    return (struct hn_elements){.data = data,
                                .count = buffer->count,
                                .type = element,
                                .row = buffer->row,
                                .pitch = buffer->pitch / hn_element_size(element)};
}

static CUresult make_texture(const struct hn_arena *arena, size_t set, size_t i,
                             CUtexObject *texture)
{
    static const CUarray_format formats[HN_ELEMENT_COUNT] = {
        [HN_INT8] = CU_AD_FORMAT_SIGNED_INT8,      [HN_INT16] = CU_AD_FORMAT_SIGNED_INT16,
        [HN_INT32] = CU_AD_FORMAT_SIGNED_INT32,    [HN_UINT8] = CU_AD_FORMAT_UNSIGNED_INT8,
        [HN_UINT16] = CU_AD_FORMAT_UNSIGNED_INT16, [HN_UINT32] = CU_AD_FORMAT_UNSIGNED_INT32,
        [HN_FLOAT16] = CU_AD_FORMAT_HALF,          [HN_FLOAT32] = CU_AD_FORMAT_FLOAT,
    };
    static const CUaddress_mode modes[HN_TEXTURE_ADDRESS_COUNT] = {
        [HN_TEXTURE_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
        [HN_TEXTURE_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
        [HN_TEXTURE_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
        [HN_TEXTURE_BORDER] = CU_TR_ADDRESS_MODE_BORDER,
    };
    const struct hn_argument *argument = &arena->plan->arguments[i];
    const struct hn_texture *wanted = &argument->texture;
    size_t source = hn_plan_source(arena->plan, i);
    const struct hn_buffer *buffer = &arena->buffers[source];
    CUdeviceptr address = hn_arena_address(arena, set, source);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
    if (wanted->dimensions == 1) {
        resource.res.linear.devPtr = address;
        resource.res.linear.format = formats[argument->element];
        resource.res.linear.numChannels = argument->lanes;
        resource.res.linear.sizeInBytes = buffer->bytes;
    } else {
        resource.resType = CU_RESOURCE_TYPE_PITCH2D;
        resource.res.pitch2D.devPtr = address;
        resource.res.pitch2D.format = formats[argument->element];
        resource.res.pitch2D.numChannels = argument->lanes;
        resource.res.pitch2D.width = buffer->row / argument->lanes;
        resource.res.pitch2D.height = buffer->count / buffer->row;
        resource.res.pitch2D.pitchInBytes = buffer->pitch;
    }
    CUDA_TEXTURE_DESC description = {
        .addressMode = {modes[wanted->address[0]], modes[wanted->address[1]],
                        CU_TR_ADDRESS_MODE_CLAMP},
        .filterMode = wanted->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
        .flags = wanted->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0};
    if (!wanted->as_float && !hn_element_is_real(argument->element))
        description.flags |= CU_TRSF_READ_AS_INTEGER;
    return arena->context->driver->p_cuTexObjectCreate(texture, &resource, &description, NULL);
}

CUresult hn_arena_texture(struct hn_arena *arena, size_t set, size_t argument, CUtexObject *texture)
{
    size_t count = arena->plan->argument_count;
    if (arena->textures == NULL)
        arena->textures = hn_need(HN_MAX_SETS * count, sizeof *arena->textures);
    CUtexObject *made = &arena->textures[set * count + argument];
    CUresult result = *made == 0 ? make_texture(arena, set, argument, made) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        *made = 0;
    *texture = *made;
    return result;
}

static size_t slot_offset(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    return (argument * HN_SLOT_COUNT + (size_t)slot) * arena->support->blocks *
           sizeof(struct hn_difference);
}

CUdeviceptr hn_arena_slot(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    return arena->results + slot_offset(arena, argument, slot);
}

const void *hn_arena_found(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    return arena->host_results + slot_offset(arena, argument, slot);
}

uint64_t hn_arena_sum(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    const uint64_t *sums = hn_arena_found(arena, argument, slot);
    uint64_t sum = 0;
    for (size_t i = 0; i < arena->support->blocks; i++)
        sum += sums[i];
    return sum;
}

void hn_arena_read_results(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    HN_CALL(context, cuMemcpyDtoH, (arena->host_results, arena->results, arena->result_bytes),
            "reading the results of the checks", err);
}

/* In pieces: a file may be larger than the host has memory for. Each row, or a buffer without rows,
 * by itself. Whether there is a number in it. */
static bool load_file(struct hn_arena *arena, const char *path, enum hn_element element,
                      CUdeviceptr data, const struct hn_buffer *buffer, struct hn_error *err)
{
    static const uint64_t PIECE = 16u << 20;
    const size_t step = hn_element_size(element);
    uint64_t row_bytes = buffer->row == 0 ? buffer->bytes : buffer->row * step;
    bool numbers = !hn_element_is_real(element);
    FILE *file;
    if (hn_failed(err) || hn_data_file_open(path, element, buffer->count, &file, err) != HN_OK)
        return false;
    unsigned char *piece HN_FREED = hn_needed(malloc(row_bytes < PIECE ? row_bytes : PIECE));
    for (uint64_t row = 0; row < buffer->bytes;
         row += buffer->pitch == 0 ? buffer->bytes : buffer->pitch)
        for (uint64_t at = 0; !hn_failed(err) && at < row_bytes; at += PIECE) {
            size_t size = row_bytes - at < PIECE ? row_bytes - at : PIECE;
            hn_data_file_read(file, piece, size, err);
            for (size_t i = 0; !numbers && i < size; i += step)
                numbers = isfinite(hn_element_decode(piece + i, element));
            HN_CALL(arena->context, cuMemcpyHtoD, (data + row + at, piece, size), "cuMemcpyHtoD",
                    err);
        }
    fclose(file);
    return numbers;
}

/* What lies between rows is far from other numbers, so that a kernel that uses it is found out. */
static void fill_padding(struct hn_arena *arena, CUdeviceptr data, const struct hn_buffer *buffer,
                         struct hn_error *err)
{
    struct hn_context *context = arena->context;
    if (buffer->row > 0)
        HN_CALL(context, cuMemsetD8Async, (data, 0x7f, buffer->bytes, context->stream),
                "cuMemsetD8Async", err);
}

/* What a file holds is the same for every seed. */
static void fill_at(struct hn_arena *arena, size_t i, CUdeviceptr data, uint64_t seed,
                    struct hn_error *err)
{
    const struct hn_buffer *buffer = &arena->buffers[i];
    struct hn_elements elements = hn_arena_elements(arena, i, data);
    fill_padding(arena, data, buffer, err);
    if (buffer->recipe.fill.kind == HN_FILL_FILE)
        load_file(arena, buffer->file, elements.type, data, buffer, err);
    else
        hn_support_fill(arena->support, elements, &buffer->recipe, seed, err);
}

void hn_arena_load(struct hn_arena *arena, size_t argument, const char *path, struct hn_error *err)
{
    const struct hn_buffer *buffer = &arena->buffers[argument];
    fill_padding(arena, buffer->address, buffer, err);
    bool numbers = load_file(arena, path, arena->plan->arguments[argument].element, buffer->address,
                             buffer, err);
    if (!numbers && !hn_failed(err))
        hn_fail(err, HN_ECONFIG,
                "the reference's file of '%s' holds nothing but NaN and infinities, which tell no "
                "two variants apart",
                arena->plan->arguments[argument].name);
}

/* Brings what kernels take by value to the host. */
static void copy_to_host(struct hn_arena *arena, struct hn_error *err)
{
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        const struct hn_buffer *source = &arena->buffers[hn_plan_source(arena->plan, i)];
        if (arena->buffers[i].host != NULL)
            HN_CALL(arena->context, cuMemcpyDtoH,
                    (arena->buffers[i].host, source->address, source->bytes), "cuMemcpyDtoH", err);
    }
}

/* What was read again has to be what the references were computed from. */
void hn_arena_fill(struct hn_arena *arena, uint64_t seed, struct hn_error *err)
{
    const struct hn_plan *plan = arena->plan;
    const size_t flush = plan->argument_count;
    if (hn_failed(err))
        return;
    arena->seed = seed;
    arena->contents_seed = seed;
    arena->contents++;
    arena->spoiled = false;
    arena->sets_filled = arena->set_count == 1;
    arena->lent_set = 0;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_filled(&plan->arguments[i])) {
            CUdeviceptr data = arena->buffers[i].contents;
            fill_at(arena, i, data, arena->seed, err);
            hn_support_checksum(arena->support, data, arena->buffers[i].bytes,
                                hn_arena_slot(arena, i, HN_SLOT_CHECKSUM), err);
        }
    hn_support_checksum(arena->support, arena->flush, arena->flush_bytes,
                        hn_arena_slot(arena, flush, HN_SLOT_CHECKSUM), err);
    hn_arena_read_results(arena, err);
    arena->flush_checksum = hn_failed(err) ? 0 : hn_arena_sum(arena, flush, HN_SLOT_CHECKSUM);
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        struct hn_buffer *buffer = &arena->buffers[i];
        uint64_t checksum = hn_arena_sum(arena, i, HN_SLOT_CHECKSUM);
        if (!hn_argument_is_filled(&plan->arguments[i]))
            continue;
        if (buffer->loaded && checksum != buffer->checksum)
            hn_fail(err, HN_ERUN, "data file %s changed while it was in use; run again",
                    buffer->file);
        buffer->loaded = buffer->recipe.fill.kind == HN_FILL_FILE;
        buffer->checksum = hn_failed(err) ? buffer->checksum : checksum;
    }
    copy_to_host(arena, err);
}

void hn_arena_repair(struct hn_arena *arena, struct hn_error *err)
{
    hn_arena_write_zones(arena, true, err);
    hn_arena_fill(arena, arena->seed, err);
}

/* Gives a set the first one's inputs, or contents of its own, so that what one launch of a batch
 * has found out is of no use to the next. */
static void fill_set(struct hn_arena *arena, size_t set, bool as_first, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        CUdeviceptr data = hn_arena_address(arena, set, i);
        if (arena->plan->arguments[i].role != HN_ROLE_INPUT)
            continue;
        if (as_first || buffer->recipe.fill.kind == HN_FILL_FILE)
            HN_CALL(context, cuMemcpyDtoDAsync,
                    (data, buffer->address, buffer->bytes, context->stream), "cuMemcpyDtoDAsync",
                    err);
        else
            fill_at(arena, i, data, arena->contents_seed + ((uint64_t)set << 32), err);
    }
}

void hn_arena_lend_inputs(struct hn_arena *arena, size_t set, struct hn_error *err)
{
    arena->lent_set = set;
    if (set != 0)
        fill_set(arena, set, true, err);
}

/* Zeroed are all sets of what launches, in batches, leave at zero; of others the first. */
void hn_arena_restore(struct hn_arena *arena, struct hn_error *err)
{
    struct hn_context *context = arena->context;
    size_t lent = arena->lent_set;
    arena->lent_set = 0;
    if (lent != 0)
        fill_set(arena, lent, false, err);
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        const struct hn_argument *argument = &arena->plan->arguments[i];
        bool all = argument->zero == HN_ZERO_ONCE && !buffer->dynamic;
        if (argument->zero == HN_ZERO_INSIDE)
            continue;
        if (argument->role == HN_ROLE_INOUT)
            HN_CALL(context, cuMemcpyDtoDAsync,
                    (buffer->address, buffer->contents, buffer->bytes, context->stream),
                    "cuMemcpyDtoDAsync", err);
        if (argument->role != HN_ROLE_COUNTER && argument->role != HN_ROLE_METRIC)
            continue;
        for (size_t set = 0; set < (all ? arena->set_count : 1); set++)
            HN_CALL(context, cuMemsetD8Async,
                    (hn_arena_address(arena, set, i), 0, buffer->bytes, context->stream),
                    "cuMemsetD8Async", err);
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
    hn_support_poison(arena->support, elements, seed, err);
    if (sets < 2)
        return;
    elements.data = hn_arena_address(arena, 1, i);
    elements.count = (sets - 1) * count;
    elements.row = count;
    elements.pitch = arena->argument_bytes / size;
    hn_support_poison(arena->support, elements, seed, err);
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

void hn_arena_rewrite(struct hn_arena *arena, enum hn_role role, size_t sets, struct hn_error *err)
{
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        size_t size = hn_element_size(arena->plan->arguments[i].element);
        size_t count = arena->plan->arguments[i].role != role ? 0 : buffer->dynamic ? 1 : sets;
        for (size_t set = 0; set < count; set++) {
            CUdeviceptr data = hn_arena_address(arena, set, i);
            hn_support_veil(arena->support, data, data, buffer->bytes / size, size, 0, err);
        }
    }
}

/* As many as there is room for in a quarter of what is free, and in 1 GiB. */
static void allocate_sets(struct hn_arena *arena, struct hn_error *err)
{
    size_t available = 0, total = 0;
    HN_CALL(arena->context, cuMemGetInfo, (&available, &total), "cuMemGetInfo", err);
    if (hn_failed(err))
        return;
    uint64_t limit = available / 4 < ((uint64_t)1 << 30) ? available / 4 : (uint64_t)1 << 30;
    uint64_t further = limit / arena->argument_bytes;
    further = further < HN_MAX_SETS - 1 ? further : HN_MAX_SETS - 1;
    arena->sets_tried = true;
    if (further == 0 || !allocate(arena, &arena->set_block, further * arena->argument_bytes, err))
        return;
    arena->set_count = (size_t)further + 1;
    arena->sets_filled = false;
}

static void fill_sets(struct hn_arena *arena, struct hn_error *err)
{
    for (size_t set = 1; set < arena->set_count; set++)
        fill_set(arena, set, false, err);
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
    for (size_t i = 0; i < arena->plan->argument_count; i++)
        if (hn_argument_is_filled(&arena->plan->arguments[i]) &&
            arena->buffers[i].recipe.fill.kind != HN_FILL_FILE)
            fill_at(arena, i, arena->buffers[i].contents, seed, err);
    copy_to_host(arena, err);
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
    if (wanted > 1 && !arena->sets_tried)
        allocate_sets(arena, err);
    if (!arena->sets_filled)
        fill_sets(arena, err);
    *count = wanted < arena->set_count ? wanted : arena->set_count;
}
