/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/driver.h"
#include "runtime/module/module.h"

static void evaluate_scalars(const struct hn_variant *variant, uint64_t *scalars,
                             struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        bool applies = false;
        if (plan->arguments[i].value == NULL)
            continue;
        if (hn_expression_holds(plan->arguments[i].condition, variant->values, &applies, err) ==
                HN_OK &&
            applies)
            hn_argument_evaluate_scalar(&plan->arguments[i], variant->values, &scalars[i], err);
    }
}

/* Of the whole extent, and behind that of each chunk. */
static void evaluate_all_scalars(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    const struct hn_flow *flow = variant->launch.flow;
    if (hn_failed(err))
        return;
    evaluate_scalars(variant, variant->scalars, err);
    for (size_t c = 0; flow != NULL && c < flow->chunk_count && !hn_failed(err); c++) {
        const struct hn_chunk *chunk = &flow->chunks[c];
        hn_plan_set_chunk(plan, variant->values, chunk->begin, chunk->count, (int64_t)c);
        evaluate_scalars(variant, variant->scalars + (c + 1) * plan->argument_count, err);
    }
    if (flow != NULL)
        hn_plan_set_chunk(plan, variant->values, 0, flow->over, 0);
}

static void load_module(struct hn_variant *variant, const struct hn_image *image,
                        struct hn_record *record, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    const struct hn_driver *driver = variant->arena->context->driver;
    CUresult result = driver->p_cuModuleLoadDataEx(&variant->module, image->cubin, 0, NULL, NULL);
    if (result != CUDA_SUCCESS)
        variant->module = NULL;
    hn_refuse(variant->arena->context, result,
              result == CUDA_ERROR_OUT_OF_MEMORY ? HN_OUTCOME_OUT_OF_MEMORY
                                                 : HN_OUTCOME_LAUNCH_ERROR,
              "loading the module", record, err);
}

/* The grid of a step that asks for it, by what the device has room for. */
static void fit_clusters(struct hn_variant *variant, size_t step, struct hn_record *record,
                         struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    struct hn_launch_step *launch = &variant->launch.steps[step];
    int clusters = 0;
    if (!hn_goes_on(err, record) || !hn_plan_asks_clusters(variant->arena->plan, launch->step))
        return;
    CUresult result =
        hn_module_active_clusters(context->driver, launch, variant->functions[step], &clusters);
    hn_refuse(context, result, HN_OUTCOME_LAUNCH_ERROR, "asking for clusters that run at once",
              record, err);
    if (hn_goes_on(err, record))
        hn_launch_fit_clusters(variant->arena->plan, context->device, variant->values, clusters,
                               launch, record);
    variant->shapes[step] = hn_module_step_of(launch);
}

static void find_functions(struct hn_variant *variant, const struct hn_image *image,
                           struct hn_record *record, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    if (hn_goes_on(err, record) && image->entry_count != variant->launch.step_count)
        hn_fail(err, HN_ERUN, "the image has %zu kernels; the plan launches %zu",
                image->entry_count, variant->launch.step_count);
    for (size_t i = 0; i < image->entry_count && hn_goes_on(err, record); i++) {
        char what[96];
        CUresult result = hn_module_find(context->driver, variant->module, image, &variant->launch,
                                         i, &variant->functions[i], what);
        hn_refuse(context, result, HN_OUTCOME_LAUNCH_ERROR, what, record, err);
        fit_clusters(variant, i, record, err);
    }
}

static void allocate(struct hn_variant *variant)
{
    size_t arguments = variant->arena->plan->argument_count;
    size_t chunks = variant->launch.flow == NULL ? 0 : variant->launch.flow->chunk_count;
    size_t longest = 0;
    for (size_t i = 0; i < variant->launch.step_count; i++)
        if (variant->launch.steps[i].step->argument_count > longest)
            longest = variant->launch.steps[i].step->argument_count;
    variant->functions = hn_need(variant->launch.step_count + 1, sizeof *variant->functions);
    variant->shapes = hn_need(variant->launch.step_count + 1, sizeof *variant->shapes);
    variant->scalars = hn_need((chunks + 1) * arguments + 1, sizeof *variant->scalars);
    variant->staged = hn_need(arguments + 1, sizeof *variant->staged);
    variant->addresses = hn_need(arguments + 1, sizeof *variant->addresses);
    variant->map_places = hn_need(arguments + 1, sizeof *variant->map_places);
    variant->parameters = hn_need(longest + 1, sizeof *variant->parameters);
    variant->symbols = hn_need(arguments + 1, sizeof *variant->symbols);
    variant->zeroed = hn_need(arguments + 1, sizeof *variant->zeroed);
    variant->metric_values = hn_need(arguments + 1, sizeof *variant->metric_values);
    for (size_t i = 0; i < variant->launch.step_count; i++)
        variant->shapes[i] = hn_module_step_of(&variant->launch.steps[i]);
}

static void find_zeroed(struct hn_variant *variant)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].zero == HN_ZERO_INSIDE && hn_launch_takes(&variant->launch, i))
            variant->zeroed[variant->zeroed_count++] = i;
}

bool hn_variant_is_repeatable(const struct hn_variant *variant)
{
    const struct hn_plan *plan = variant->arena->plan;
    if (variant->launch.flow != NULL)
        return false;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (!hn_argument_is_repeatable(&plan->arguments[i]))
            return false;
    return true;
}

/* The reference's template is not the variants': it may do without the variables. */
static bool is_reference_template(const struct hn_variant *variant)
{
    return variant->launch.step_count == 1 &&
           variant->launch.steps[0].step == &variant->arena->plan->reference.step;
}

static uint64_t content_bytes(const struct hn_variant *variant, size_t symbol)
{
    const struct hn_plan *plan = variant->arena->plan;
    if (plan->arguments[symbol].value != NULL)
        return hn_element_size(plan->arguments[symbol].element);
    return variant->arena->buffers[hn_plan_source(plan, symbol)].bytes;
}

static void reject_missing(const struct hn_variant *variant, const char *name,
                           struct hn_record *record)
{
    if (!is_reference_template(variant))
        hn_record_fail(record, HN_OUTCOME_LAUNCH_ERROR,
                       "symbol '%s' is not in the module: the template has no global variable of "
                       "this name, outside of namespaces; where only some variants have it, give "
                       "it an 'if' in the config",
                       name);
}

static void set_symbol(struct hn_variant *variant, size_t symbol, CUdeviceptr address,
                       struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_plan *plan = variant->arena->plan;
    if (plan->arguments[symbol].value != NULL)
        HN_CALL(context, cuMemcpyHtoD,
                (address, &variant->scalars[symbol], content_bytes(variant, symbol)),
                "setting a symbol", err);
    else
        variant->symbols[variant->symbol_count++] =
            (struct hn_variant_symbol){address, hn_plan_source(plan, symbol)};
}

static void find_symbol(struct hn_variant *variant, size_t symbol, struct hn_record *record,
                        struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const char *name = variant->arena->plan->arguments[symbol].name;
    uint64_t content = content_bytes(variant, symbol);
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUresult result = context->driver->p_cuModuleGetGlobal(&address, &bytes, variant->module, name);
    if (result == CUDA_ERROR_NOT_FOUND) {
        reject_missing(variant, name, record);
        return;
    }
    hn_context_check(context, result, name, err);
    if (result == CUDA_SUCCESS && content > bytes)
        hn_record_fail(record, HN_OUTCOME_LAUNCH_ERROR,
                       "symbol '%s' has %zu bytes in the module; the config gives it %llu", name,
                       bytes, (unsigned long long)content);
    else if (result == CUDA_SUCCESS)
        set_symbol(variant, symbol, address, err);
}

/* Sets those that have a value. Those that take a buffer's contents are set by hn_variant_restore.
 * A reference need not have the plan's symbols. */
static void find_symbols(struct hn_variant *variant, struct hn_record *record, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count && hn_goes_on(err, record); i++) {
        bool applies = false;
        if (plan->arguments[i].role == HN_ROLE_SYMBOL &&
            hn_expression_holds(plan->arguments[i].condition, variant->values, &applies, err) ==
                HN_OK &&
            applies)
            find_symbol(variant, i, record, err);
    }
}

/* What is set aside is the same for all steps: the most that one of them asks for. */
static int64_t most_set_aside(const struct hn_launch *launch)
{
    int64_t most = 0;
    for (size_t i = 0; i < launch->step_count; i++)
        if (launch->steps[i].window.set_aside > most)
            most = launch->steps[i].window.set_aside;
    return most;
}

static bool has_windows(const struct hn_launch *launch)
{
    bool has = false;
    for (size_t i = 0; i < launch->step_count; i++)
        has = has || hn_l2_window_counts(&launch->steps[i].window);
    return has;
}

/* Makes the L2 cache as this variant wants it: runtime/device/driver.h. */
static CUresult use_cache(const struct hn_variant *variant)
{
    return hn_l2_use(variant->arena->context, has_windows(&variant->launch) ? variant : NULL,
                     most_set_aside(&variant->launch));
}

static bool check_buffer(const struct hn_variant *variant, const struct hn_launch_step *step,
                         struct hn_record *record)
{
    size_t argument = step->step->geometry.window.argument;
    uint64_t bytes = variant->arena->buffers[argument].bytes;
    if ((uint64_t)step->window.bytes <= bytes)
        return true;
    hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                   "an L2 window of %lld bytes over '%s', which has %llu",
                   (long long)step->window.bytes, variant->arena->plan->arguments[argument].name,
                   (unsigned long long)bytes);
    return false;
}

/* Windows of the L2 cache against their buffers, and whether the driver sets aside what they want;
 * what is refused is an invalid launch. */
static void open_windows(const struct hn_variant *variant, struct hn_record *record,
                         struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    char what[128];
    for (size_t i = 0; i < variant->launch.step_count && hn_goes_on(err, record); i++)
        if (hn_l2_window_counts(&variant->launch.steps[i].window) &&
            !check_buffer(variant, &variant->launch.steps[i], record))
            return;
    if (!hn_goes_on(err, record))
        return;
    CUresult result = use_cache(variant);
    if (hn_driver_result_is_fatal(result)) {
        hn_context_check(context, result, "setting L2 cache aside", err);
        return;
    }
    snprintf(what, sizeof what,
             "a set-aside of %lld bytes of L2 cache, which the driver refuses: setting L2 cache "
             "aside",
             (long long)most_set_aside(&variant->launch));
    hn_refuse(context, result, HN_OUTCOME_INVALID_LAUNCH, what, record, err);
}

/* The tensor maps of a variant: each set of the arguments has its own, encoded when it is first
 * launched, and again where its buffer was moved. */

/* cuda.h wants maps at multiples of 64 bytes. */
struct hn_variant_map {
    CUtensorMap map;
    CUdeviceptr address; /* of the buffer; 0: it was not encoded */
};

CUresult hn_variant_map(struct hn_variant *variant, size_t set, size_t argument, void **map)
{
    const struct hn_launch *launch = &variant->launch;
    size_t bytes = HN_MAX_SETS * launch->tensor_count * sizeof *variant->maps;
    size_t number = 0;
    while (number < launch->tensor_count && launch->tensors[number].argument != argument)
        number++;
    *map = NULL;
    if (number == launch->tensor_count)
        return CUDA_SUCCESS;
    if (variant->maps == NULL) {
        variant->maps = hn_needed(aligned_alloc(_Alignof(CUtensorMap), bytes));
        memset(variant->maps, 0, bytes);
    }
    struct hn_variant_map *made = &variant->maps[set * launch->tensor_count + number];
    const struct hn_tensor *tensor = &launch->tensors[number];
    CUdeviceptr address = hn_arena_address(variant->arena, set, tensor->buffer);
    CUresult result = CUDA_SUCCESS;
    if (made->address != address)
        result = hn_tensor_encode(variant->arena->context->driver, tensor, address, &made->map);
    made->address = result == CUDA_SUCCESS ? address : 0;
    *map = &made->map;
    return result;
}

/* A texture or a tensor map that the device refuses is told by its name. */
static void make_views(struct hn_variant *variant, struct hn_record *record, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count && hn_goes_on(err, record); i++) {
        char what[160];
        CUtexObject texture;
        void *map;
        enum hn_role role = plan->arguments[i].role;
        if ((role != HN_ROLE_TEXTURE && role != HN_ROLE_TENSOR_MAP) ||
            !hn_launch_takes(&variant->launch, i))
            continue;
        snprintf(what, sizeof what, "%s '%.60s' over '%.60s'",
                 role == HN_ROLE_TEXTURE ? "texture" : "tensor map", plan->arguments[i].name,
                 plan->arguments[i].from);
        CUresult result = role == HN_ROLE_TEXTURE ? hn_arena_texture(variant->arena, 0, i, &texture)
                                                  : hn_variant_map(variant, 0, i, &map);
        hn_refuse(variant->arena->context, result, HN_OUTCOME_LAUNCH_ERROR, what, record, err);
    }
}

void hn_variant_place(struct hn_variant *variant, struct hn_record *record, struct hn_error *err)
{
    bool fits = true;
    uint64_t needed = 0;
    if (!hn_goes_on(err, record))
        return;
    hn_arena_place(variant->arena, variant->values, &fits, &needed, err);
    if (!hn_failed(err) && !fits)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_MEMORY,
                       "its scratch needs %.3f GiB, more than is free on the device",
                       (double)needed / 0x1p30);
    make_views(variant, record, err);
    hn_pipeline_place(variant, record, err);
}

void hn_variant_init(struct hn_variant *variant, struct hn_arena *arena, struct hn_stage *stage,
                     const struct hn_bindings *problem, const struct hn_bindings *point,
                     const struct hn_image *image, struct hn_launch *launch,
                     struct hn_record *record, struct hn_error *err)
{
    *variant =
        (struct hn_variant){.arena = arena, .stage = stage, .image = image, .launch = *launch};
    *launch = (struct hn_launch){0};
    allocate(variant);
    if (!hn_failed(err))
        hn_plan_values(arena->plan, problem, point, &variant->values, err);
    evaluate_all_scalars(variant, err);
    load_module(variant, image, record, err);
    find_zeroed(variant);
    find_functions(variant, image, record, err);
    find_symbols(variant, record, err);
    hn_variant_place(variant, record, err);
    open_windows(variant, record, err);
    if (hn_failed(err))
        hn_variant_finish(variant);
}

void hn_variant_finish(struct hn_variant *variant)
{
    if (variant->arena == NULL)
        return;
    hn_l2_leave(variant->arena->context, variant);
    hn_variant_drop_graphs(variant);
    if (variant->module != NULL)
        variant->arena->context->driver->p_cuModuleUnload(variant->module);
    hn_launch_finish(&variant->launch);
    free(variant->staged);
    free(variant->metric_values);
    free(variant->zeroed);
    free(variant->symbols);
    free(variant->parameters);
    free(variant->maps);
    free(variant->map_places);
    free(variant->addresses);
    free(variant->scalars);
    free(variant->shapes);
    free(variant->functions);
    free(variant->values);
    *variant = (struct hn_variant){0};
}

void hn_variant_restore(const struct hn_variant *variant, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    if (hn_failed(err))
        return;
    hn_context_check(arena->context, use_cache(variant), "setting L2 cache aside", err);
    if (arena->spoiled)
        hn_arena_fill(arena, arena->seed, err);
    hn_arena_restore(arena, err);
    hn_pipeline_restore(variant, err);
    for (size_t i = 0; i < variant->symbol_count; i++) {
        const struct hn_variant_symbol *symbol = &variant->symbols[i];
        const struct hn_buffer *buffer = &arena->buffers[symbol->source];
        HN_CALL(arena->context, cuMemcpyDtoDAsync,
                (symbol->address, buffer->address, buffer->bytes, arena->context->stream),
                "setting a symbol", err);
    }
}

void hn_variant_poison(struct hn_variant *variant, size_t sets, uint64_t seed, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    variant->compared_set = hn_random_below(&arena->secret, sets);
    hn_arena_lend_inputs(arena, variant->compared_set, err);
    hn_arena_poison(arena, sets, seed, err);
    hn_pipeline_poison(variant, seed, err);
}
