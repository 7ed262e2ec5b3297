/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/driver.h"
#include "runtime/module/module.h"

void hn_refuse(struct hn_variant *variant, CUresult result, enum hn_outcome outcome,
               const char *what, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    struct hn_error reason;
    if (result == CUDA_SUCCESS || hn_failed(err))
        return;
    if (hn_driver_result_is_fatal(result)) {
        hn_context_check(context, result, what, err);
        return;
    }
    hn_driver_check(context->driver, result, what, &reason);
    hn_record_fail(variant->record, outcome, "%s", reason.message);
}

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

static void load_module(struct hn_variant *variant, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    const struct hn_driver *driver = variant->arena->context->driver;
    CUresult result =
        driver->p_cuModuleLoadDataEx(&variant->module, variant->image->cubin, 0, NULL, NULL);
    if (result != CUDA_SUCCESS)
        variant->module = NULL;
    hn_refuse(variant, result,
              result == CUDA_ERROR_OUT_OF_MEMORY ? HN_OUTCOME_OUT_OF_MEMORY
                                                 : HN_OUTCOME_LAUNCH_ERROR,
              "loading the module", err);
}

/* The grid of a step that asks for it, by what the device has room for. */
static void fit_clusters(struct hn_variant *variant, size_t step, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    struct hn_launch_step *launch = &variant->launch.steps[step];
    int clusters = 0;
    if (!hn_goes_on(variant, err) || !hn_plan_asks_clusters(variant->arena->plan, launch->step))
        return;
    CUresult result =
        hn_module_active_clusters(context->driver, launch, variant->functions[step], &clusters);
    hn_refuse(variant, result, HN_OUTCOME_LAUNCH_ERROR, "asking for clusters that run at once",
              err);
    if (hn_goes_on(variant, err))
        hn_launch_fit_clusters(variant->arena->plan, context->device, variant->values, clusters,
                               launch, variant->record);
    variant->shapes[step] = hn_module_step_of(launch);
}

static void find_functions(struct hn_variant *variant, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_image *image = variant->image;
    if (hn_goes_on(variant, err) && image->entry_count != variant->launch.step_count)
        hn_fail(err, HN_ERUN, "the image has %zu kernels; the plan launches %zu",
                image->entry_count, variant->launch.step_count);
    for (size_t i = 0; i < image->entry_count && hn_goes_on(variant, err); i++) {
        char what[96];
        CUresult result = hn_module_find(context->driver, variant->module, image, &variant->launch,
                                         i, &variant->functions[i], what);
        hn_refuse(variant, result, HN_OUTCOME_LAUNCH_ERROR, what, err);
        fit_clusters(variant, i, err);
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
    for (size_t i = 0; i < arguments; i++)
        if (variant->arena->plan->arguments[i].zero == HN_ZERO_INSIDE &&
            hn_launch_takes(&variant->launch, i))
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

static void find_symbol(struct hn_variant *variant, size_t symbol, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_plan *plan = variant->arena->plan;
    const struct hn_argument *argument = &plan->arguments[symbol];
    size_t source = argument->value != NULL ? 0 : hn_plan_source(plan, symbol);
    uint64_t content = argument->value != NULL ? hn_element_size(argument->element)
                                               : variant->arena->buffers[source].bytes;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUresult result =
        context->driver->p_cuModuleGetGlobal(&address, &bytes, variant->module, argument->name);
    if (result == CUDA_ERROR_NOT_FOUND) {
        if (!is_reference_template(variant))
            hn_record_fail(variant->record, HN_OUTCOME_LAUNCH_ERROR,
                           "symbol '%s' is not in the module: the template has no global variable "
                           "of this name, outside of namespaces; where only some variants have it, "
                           "give it an 'if' in the config",
                           argument->name);
        return;
    }
    hn_context_check(context, result, argument->name, err);
    if (hn_failed(err))
        return;
    if (content > bytes)
        hn_record_fail(variant->record, HN_OUTCOME_LAUNCH_ERROR,
                       "symbol '%s' has %zu bytes in the module; the config gives it %llu",
                       argument->name, bytes, (unsigned long long)content);
    else if (argument->value != NULL)
        HN_CALL(context, cuMemcpyHtoD, (address, &variant->scalars[symbol], content),
                "setting a symbol", err);
    else
        variant->symbols[variant->symbol_count++] = (struct hn_variant_symbol){address, source};
}

/* Sets those that have a value. Those that take a buffer's contents are set by
 * hn_variant_restore. A reference need not have the plan's symbols. */
static void find_symbols(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count && hn_goes_on(variant, err); i++) {
        bool applies = false;
        if (plan->arguments[i].role == HN_ROLE_SYMBOL &&
            hn_expression_holds(plan->arguments[i].condition, variant->values, &applies, err) ==
                HN_OK &&
            applies)
            find_symbol(variant, i, err);
    }
}

/* Makes the L2 cache as this variant wants it (runtime/device/driver.h). What is set aside is the
 * same for all steps: the most that one of them asks for. */
static CUresult use_cache(const struct hn_variant *variant, int64_t *set_aside)
{
    bool has_windows = false;
    *set_aside = 0;
    for (size_t i = 0; i < variant->launch.step_count; i++) {
        const struct hn_l2_window *window = &variant->launch.steps[i].window;
        has_windows = has_windows || hn_l2_window_counts(window);
        *set_aside = window->set_aside > *set_aside ? window->set_aside : *set_aside;
    }
    return hn_l2_use(variant->arena->context, has_windows ? variant : NULL, *set_aside);
}

static void check_window(const struct hn_variant *variant, const struct hn_launch_step *step)
{
    size_t argument = step->step->geometry.window.argument;
    if (hn_l2_window_counts(&step->window) &&
        (uint64_t)step->window.bytes > variant->arena->buffers[argument].bytes)
        hn_record_fail(variant->record, HN_OUTCOME_INVALID_LAUNCH,
                       "an L2 window of %lld bytes over '%s', which has %llu",
                       (long long)step->window.bytes,
                       variant->arena->plan->arguments[argument].name,
                       (unsigned long long)variant->arena->buffers[argument].bytes);
}

/* Windows of the L2 cache against their buffers, and whether the driver sets aside what they want;
 * what is refused is an invalid launch. */
static void open_windows(struct hn_variant *variant, struct hn_error *err)
{
    char what[128] = "setting L2 cache aside";
    int64_t set_aside = 0;
    for (size_t i = 0; i < variant->launch.step_count && hn_goes_on(variant, err); i++)
        check_window(variant, &variant->launch.steps[i]);
    if (!hn_goes_on(variant, err))
        return;
    CUresult result = use_cache(variant, &set_aside);
    if (!hn_driver_result_is_fatal(result))
        snprintf(what, sizeof what,
                 "a set-aside of %lld bytes of L2 cache, which the driver refuses: setting L2 "
                 "cache aside",
                 (long long)set_aside);
    hn_refuse(variant, result, HN_OUTCOME_INVALID_LAUNCH, what, err);
}

/* The tensor maps of a variant: each set of the arguments has its own, encoded
 * when it is first launched, and again where its buffer was moved. */

/* cuda.h wants maps at multiples of 64 bytes. */
struct hn_variant_map {
    CUtensorMap map;
    CUdeviceptr address; /* of the buffer; 0: it was not encoded */
};

/* Over the buffer of a set; NULL where no step takes the argument. */
static CUresult find_map(struct hn_variant *variant, size_t set, size_t argument, void **map)
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
static void make_views(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count && hn_goes_on(variant, err); i++) {
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
                                                  : find_map(variant, 0, i, &map);
        hn_refuse(variant, result, HN_OUTCOME_LAUNCH_ERROR, what, err);
    }
}

void hn_variant_place(struct hn_variant *variant, struct hn_error *err)
{
    bool fits = true;
    uint64_t needed = 0;
    if (!hn_goes_on(variant, err))
        return;
    hn_arena_place(variant->arena, variant->values, &fits, &needed, err);
    if (!hn_failed(err) && !fits)
        hn_record_fail(variant->record, HN_OUTCOME_OUT_OF_MEMORY,
                       "its scratch needs %.3f GiB, more than is free on the device",
                       (double)needed / 0x1p30);
    make_views(variant, err);
    hn_pipeline_place(variant, err);
}

void hn_variant_init(struct hn_variant *variant, struct hn_arena *arena, struct hn_stage *stage,
                     const struct hn_bindings *problem, const struct hn_bindings *point,
                     const struct hn_image *image, struct hn_launch *launch,
                     struct hn_record *record, struct hn_error *err)
{
    *variant = (struct hn_variant){
        .arena = arena, .stage = stage, .record = record, .image = image, .launch = *launch};
    *launch = (struct hn_launch){0};
    allocate(variant);
    if (!hn_failed(err))
        hn_plan_values(arena->plan, problem, point, &variant->values, err);
    evaluate_all_scalars(variant, err);
    load_module(variant, err);
    find_functions(variant, err);
    find_symbols(variant, err);
    hn_variant_place(variant, err);
    open_windows(variant, err);
    if (hn_failed(err))
        hn_variant_finish(variant);
}

static void drop_graph(struct hn_variant *variant, struct hn_variant_graph *graph)
{
    if (graph->exec != NULL)
        variant->arena->context->driver->p_cuGraphExecDestroy(graph->exec);
    free(graph->addresses);
    *graph = (struct hn_variant_graph){0};
}

void hn_variant_finish(struct hn_variant *variant)
{
    if (variant->arena == NULL)
        return;
    hn_l2_leave(variant->arena->context, variant);
    for (size_t i = 0; i < HN_VARIANT_GRAPHS; i++)
        drop_graph(variant, &variant->graphs[i]);
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
    *variant = (struct hn_variant){.record = variant->record};
}

void hn_variant_restore(const struct hn_variant *variant, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    int64_t set_aside;
    if (hn_failed(err))
        return;
    hn_context_check(arena->context, use_cache(variant, &set_aside), "setting L2 cache aside", err);
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
    hn_arena_poison(arena, HN_ROLE_OUTPUT, sets, seed, err);
    hn_pipeline_poison(variant, seed, err);
}

/* Launches. */

/* Where an argument is in a set: the address of a buffer, the handle of a
 * texture object, a tensor map. */
static CUresult locate(struct hn_variant *variant, size_t set, size_t argument)
{
    struct hn_arena *arena = variant->arena;
    enum hn_role role = arena->plan->arguments[argument].role;
    if (role == HN_ROLE_TENSOR_MAP)
        return find_map(variant, set, argument, &variant->map_places[argument]);
    if (role == HN_ROLE_TEXTURE)
        return hn_launch_takes(&variant->launch, argument)
                   ? hn_arena_texture(arena, set, argument, &variant->addresses[argument])
                   : CUDA_SUCCESS;
    variant->addresses[argument] = hn_arena_address(arena, set, argument);
    return CUDA_SUCCESS;
}

/* Where the driver finds an argument. */
static void *parameter_of(const struct hn_variant *variant, uint64_t *scalars, size_t argument)
{
    if (variant->arena->plan->arguments[argument].value != NULL)
        return &scalars[argument];
    if (variant->arena->buffers[argument].host != NULL)
        return variant->arena->buffers[argument].host;
    if (variant->map_places[argument] != NULL)
        return variant->map_places[argument];
    return &variant->addresses[argument];
}

static CUresult zero_counters(const struct hn_variant *variant)
{
    const struct hn_context *context = variant->arena->context;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < variant->zeroed_count && result == CUDA_SUCCESS; i++) {
        size_t argument = variant->zeroed[i];
        result = context->driver->p_cuMemsetD8Async(variant->addresses[argument], 0,
                                                    variant->arena->buffers[argument].bytes,
                                                    context->stream);
    }
    return result;
}

static CUresult launch_shape(struct hn_variant *variant, size_t number,
                             const struct hn_module_step *shape, const struct hn_step *step,
                             uint64_t *scalars, CUstream stream)
{
    for (size_t i = 0; i < step->argument_count; i++)
        variant->parameters[i] = parameter_of(variant, scalars, step->arguments[i]);
    variant->launched = true;
    return hn_module_launch(shape, variant->arena->context->driver, variant->functions[number],
                            stream, variant->addresses[step->geometry.window.argument],
                            variant->parameters);
}

CUresult hn_variant_launch_step(struct hn_variant *variant, size_t number,
                                const struct hn_launch_step *step, uint64_t *scalars,
                                CUstream stream)
{
    const struct hn_module_step shape = hn_module_step_of(step);
    return launch_shape(variant, number, &shape, step->step, scalars, stream);
}

static CUresult launch_steps(struct hn_variant *variant)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t s = 0; s < variant->launch.step_count && result == CUDA_SUCCESS; s++)
        result = launch_shape(variant, s, &variant->shapes[s], variant->launch.steps[s].step,
                              variant->scalars, variant->arena->context->stream);
    return result;
}

static CUresult locate_all(struct hn_variant *variant, size_t set)
{
    const struct hn_plan *plan = variant->arena->plan;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < plan->argument_count && result == CUDA_SUCCESS; i++)
        result = locate(variant, set, i);
    return result;
}

CUresult hn_variant_launch(struct hn_variant *variant, size_t set)
{
    CUresult result = locate_all(variant, set);
    if (result == CUDA_SUCCESS)
        result = zero_counters(variant);
    if (result != CUDA_SUCCESS)
        return result;
    return variant->launch.flow == NULL ? launch_steps(variant) : hn_pipeline_launch(variant);
}

CUresult hn_variant_launch_row(struct hn_variant *variant, size_t launches)
{
    CUresult result = locate_all(variant, 0);
    for (size_t i = 0; i < launches && result == CUDA_SUCCESS; i++) {
        result = zero_counters(variant);
        if (result == CUDA_SUCCESS)
            result = launch_steps(variant);
    }
    return result;
}

/* Launches as a program would capture them. A graph holds addresses: it is made
 * again where those of the arguments have changed. */

static size_t address_bytes(const struct hn_variant *variant)
{
    return variant->arena->plan->argument_count * sizeof *variant->addresses;
}

/* The capture is ended whatever happens in it. */
static CUresult capture(struct hn_variant *variant, size_t launches, CUgraph *graph)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_driver *driver = context->driver;
    CUresult result =
        driver->p_cuStreamBeginCapture(context->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < launches && result == CUDA_SUCCESS; i++)
        result = hn_variant_launch(variant, 0);
    CUresult ended = driver->p_cuStreamEndCapture(context->stream, graph);
    return result != CUDA_SUCCESS ? result : ended;
}

static CUresult make_graph(struct hn_variant *variant, size_t launches,
                           struct hn_variant_graph *graph)
{
    const struct hn_driver *driver = variant->arena->context->driver;
    CUgraph captured = NULL;
    drop_graph(variant, graph);
    graph->addresses = hn_need(1, address_bytes(variant) + 1);
    memcpy(graph->addresses, variant->addresses, address_bytes(variant));
    CUresult result = capture(variant, launches, &captured);
    if (result == CUDA_SUCCESS)
        result = driver->p_cuGraphInstantiate(&graph->exec, captured, 0);
    if (captured != NULL)
        driver->p_cuGraphDestroy(captured);
    if (result != CUDA_SUCCESS)
        graph->exec = NULL;
    return result;
}

CUresult hn_variant_replay(struct hn_variant *variant, size_t launches)
{
    struct hn_variant_graph *graph = &variant->graphs[launches == HN_GRAPH_CHAIN];
    CUresult result = locate_all(variant, 0);
    if (result == CUDA_SUCCESS &&
        (graph->exec == NULL ||
         memcmp(graph->addresses, variant->addresses, address_bytes(variant)) != 0))
        result = make_graph(variant, launches, graph);
    if (result != CUDA_SUCCESS)
        return result;
    variant->launched = true;
    return variant->arena->context->driver->p_cuGraphLaunch(graph->exec,
                                                            variant->arena->context->stream);
}

void hn_variant_describe(struct hn_variant *variant)
{
    const struct hn_launch_step *step = &variant->launch.steps[0];
    char more[160] = "";
    char flow[128] = "";
    if (hn_launch_step_has_clusters(step))
        snprintf(more, sizeof more, ", cluster (%lld, %lld, %lld)", (long long)step->cluster[0],
                 (long long)step->cluster[1], (long long)step->cluster[2]);
    size_t used = strlen(more);
    if (step->window.bytes > 0)
        snprintf(more + used, sizeof more - used, ", L2 window %lld B",
                 (long long)step->window.bytes);
    if (variant->launch.flow != NULL)
        hn_flow_describe(variant->launch.flow, flow, sizeof flow);
    snprintf(variant->what, sizeof variant->what,
             "%s <<<(%lld, %lld, %lld), (%lld, %lld, %lld), %lld B%s%s>>>%s%s", step->step->entry,
             (long long)step->grid[0], (long long)step->grid[1], (long long)step->grid[2],
             (long long)step->block[0], (long long)step->block[1], (long long)step->block[2],
             (long long)step->shared_bytes, more, step->cooperative ? ", cooperative" : "",
             flow[0] == '\0' ? "" : " in ", flow);
}
