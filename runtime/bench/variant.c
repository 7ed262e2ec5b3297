/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/driver.h"

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

/* Of the whole extent, and behind that of each chunk. */
static void evaluate_scalars(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    const struct hn_flow *flow = variant->launch.flow;
    union hn_scalar *scalars = variant->scalars;
    for (size_t c = 0; c <= (flow == NULL ? 0 : flow->chunk_count); c++) {
        const struct hn_chunk *chunk = c == 0 ? NULL : &flow->chunks[c - 1];
        if (chunk != NULL && !hn_failed(err))
            hn_plan_set_chunk(plan, variant->values, chunk->begin, chunk->count, (int64_t)c - 1);
        for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
            const struct hn_argument *argument = &plan->arguments[i];
            if (argument->structure != NULL && hn_launch_takes(&variant->launch, i))
                scalars[i].structure = hn_cubin_make_structure(
                    variant->image, argument, variant->values, &variant->memory, err);
            else if (argument->value != NULL &&
                     hn_expression_holds(argument->condition, variant->values, err))
                hn_argument_evaluate_scalar(argument, variant->values, &scalars[i].bits, err);
        }
        scalars += plan->argument_count;
    }
    if (flow != NULL && !hn_failed(err))
        hn_plan_set_chunk(plan, variant->values, 0, flow->over, 0);
}

/* A step that asks for it gets its grid by what the device has room for. */
static void find_functions(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_context *context = variant->arena->context;
    const struct hn_plan *plan = variant->arena->plan;
    const struct hn_image *image = variant->image;
    if (hn_goes_on(variant, err) && image->entry_count != variant->launch.step_count)
        hn_fail(err, HN_ERUN, "the image has %zu kernels; the plan launches %zu",
                image->entry_count, variant->launch.step_count);
    for (size_t i = 0; i < image->entry_count && hn_goes_on(variant, err); i++) {
        struct hn_launch_step *launch = &variant->launch.steps[i];
        char what[96];
        int clusters = 0;
        CUresult result = hn_module_find(context->driver, variant->module, image->entries[i],
                                         launch, hn_module_shared_bytes(&variant->launch, image, i),
                                         &variant->functions[i], what);
        hn_refuse(variant, result, HN_OUTCOME_LAUNCH_ERROR, what, err);
        if (!hn_goes_on(variant, err) || !hn_plan_asks_clusters(plan, launch->step))
            continue;
        result =
            hn_module_active_clusters(context->driver, launch, variant->functions[i], &clusters);
        hn_refuse(variant, result, HN_OUTCOME_LAUNCH_ERROR, "asking for clusters that run at once",
                  err);
        if (hn_goes_on(variant, err))
            hn_launch_fit_clusters(plan, context->device, variant->values, clusters, launch,
                                   variant->record);
        variant->shapes[i] = hn_module_step_of(launch);
    }
}

static void allocate(struct hn_variant *variant)
{
    const struct hn_launch *launch = &variant->launch;
    struct hn_blocks *memory = &variant->memory;
    size_t arguments = variant->arena->plan->argument_count;
    size_t chunks = launch->flow == NULL ? 0 : launch->flow->chunk_count;
    size_t longest = 0;
    for (size_t i = 0; i < launch->step_count; i++)
        if (launch->steps[i].step->argument_count > longest)
            longest = launch->steps[i].step->argument_count;
    variant->functions = hn_need_block(memory, launch->step_count, sizeof *variant->functions);
    variant->shapes = hn_need_block(memory, launch->step_count, sizeof *variant->shapes);
    variant->scalars = hn_need_block(memory, (chunks + 1) * arguments, sizeof *variant->scalars);
    variant->staged = hn_need_block(memory, arguments, sizeof *variant->staged);
    variant->addresses = hn_need_block(memory, arguments, sizeof *variant->addresses);
    variant->map_places = hn_need_block(memory, arguments, sizeof *variant->map_places);
    variant->parameters = hn_need_block(memory, longest, sizeof *variant->parameters);
    variant->symbols = hn_need_block(memory, arguments, sizeof *variant->symbols);
    variant->zeroed = hn_need_block(memory, arguments, sizeof *variant->zeroed);
    variant->metric_values = hn_need_block(memory, arguments, sizeof *variant->metric_values);
    for (size_t i = 0; i < launch->step_count; i++)
        variant->shapes[i] = hn_module_step_of(&launch->steps[i]);
    for (size_t i = 0; i < arguments; i++)
        if (variant->arena->plan->arguments[i].zero == HN_ZERO_INSIDE &&
            (variant->arena->plan->arguments[i].held || hn_launch_takes(launch, i)))
            variant->zeroed[variant->zeroed_count++] = i;
}

/* Sets one that has a value; what takes a buffer's contents is set by hn_variant_restore. A
 * reference need not have the plan's symbols: its template is not the variants'. */
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
        if (variant->launch.step_count != 1 ||
            variant->launch.steps[0].step != &plan->reference.step)
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

/* Makes the L2 cache as this variant wants it (runtime/device/driver.h). What is set aside is the
 * same for all steps: the most that one of them asks for. */
static CUresult use_cache(const struct hn_variant *variant, int64_t *set_aside)
{
    bool has_windows = false;
    *set_aside = 0;
    for (size_t i = 0; i < variant->launch.step_count; i++) {
        const struct hn_l2_window *window = &variant->launch.steps[i].window;
        has_windows = has_windows || window->bytes > 0 || window->set_aside > 0;
        *set_aside = window->set_aside > *set_aside ? window->set_aside : *set_aside;
    }
    return hn_l2_use(variant->arena->context, has_windows ? variant : NULL, *set_aside);
}

/* Windows of the L2 cache against their buffers, and whether the driver sets aside what they want;
 * what is refused is an invalid launch. */
static void open_windows(struct hn_variant *variant, struct hn_error *err)
{
    char what[128] = "setting L2 cache aside";
    int64_t set_aside = 0;
    for (size_t i = 0; i < variant->launch.step_count && hn_goes_on(variant, err); i++) {
        const struct hn_launch_step *step = &variant->launch.steps[i];
        size_t argument = step->step->geometry.window.argument;
        unsigned long long bytes = variant->arena->buffers[argument].bytes;
        if (step->window.bytes > 0 && (unsigned long long)step->window.bytes > bytes)
            hn_record_fail(variant->record, HN_OUTCOME_INVALID_LAUNCH,
                           "an L2 window of %lld bytes over '%s', which has %llu",
                           (long long)step->window.bytes,
                           variant->arena->plan->arguments[argument].name, bytes);
    }
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
    if (variant->maps == NULL)
        variant->maps = memset(hn_needed(aligned_alloc(_Alignof(CUtensorMap), bytes)), 0, bytes);
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

void hn_variant_place(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    if (!hn_goes_on(variant, err))
        return;
    uint64_t needed = hn_arena_place(variant->arena, variant->values, err);
    if (!hn_failed(err) && needed > 0)
        hn_record_fail(variant->record, HN_OUTCOME_OUT_OF_MEMORY,
                       "its scratch needs %.3f GiB, more than is free on the device",
                       (double)needed / 0x1p30);
    /* A texture or a tensor map that the device refuses is told by its name. */
    for (size_t i = 0; i < plan->argument_count && hn_goes_on(variant, err); i++) {
        char what[160];
        enum hn_role role = plan->arguments[i].role;
        if ((role != HN_ROLE_TEXTURE && role != HN_ROLE_TENSOR_MAP) ||
            !hn_launch_takes(&variant->launch, i))
            continue;
        snprintf(what, sizeof what, "%s '%.60s' over '%.60s'",
                 role == HN_ROLE_TEXTURE ? "texture" : "tensor map", plan->arguments[i].name,
                 plan->arguments[i].from);
        hn_refuse(variant, locate(variant, 0, i), HN_OUTCOME_LAUNCH_ERROR, what, err);
    }
    hn_pipeline_place(variant, err);
}

void hn_variant_init(struct hn_variant *variant, struct hn_arena *arena, struct hn_stage *stage,
                     const struct hn_bindings *problem, const struct hn_bindings *point,
                     const struct hn_image *image, struct hn_launch *launch,
                     struct hn_record *record, struct hn_error *err)
{
    const struct hn_driver *driver = arena->context->driver;
    *variant = (struct hn_variant){.record = record};
    if (!hn_goes_on(variant, err)) {
        hn_launch_finish(launch);
        return;
    }
    *variant = (struct hn_variant){
        .arena = arena, .stage = stage, .record = record, .image = image, .launch = *launch};
    *launch = (struct hn_launch){0};
    allocate(variant);
    hn_plan_values(arena->plan, problem, point, &variant->values, err);
    evaluate_scalars(variant, err);
    if (!hn_failed(err)) {
        CUresult result =
            driver->p_cuModuleLoadDataEx(&variant->module, image->cubin, 0, NULL, NULL);
        variant->module = result == CUDA_SUCCESS ? variant->module : NULL;
        hn_refuse(variant, result,
                  result == CUDA_ERROR_OUT_OF_MEMORY ? HN_OUTCOME_OUT_OF_MEMORY
                                                     : HN_OUTCOME_LAUNCH_ERROR,
                  "loading the module", err);
    }
    find_functions(variant, err);
    for (size_t i = 0; i < arena->plan->argument_count && hn_goes_on(variant, err); i++)
        if (arena->plan->arguments[i].role == HN_ROLE_SYMBOL &&
            hn_expression_holds(arena->plan->arguments[i].condition, variant->values, err))
            find_symbol(variant, i, err);
    hn_variant_place(variant, err);
    open_windows(variant, err);
    if (hn_failed(err))
        hn_variant_finish(variant);
}

void hn_variant_finish(struct hn_variant *variant)
{
    if (variant->arena == NULL)
        return;
    struct hn_context *context = variant->arena->context;
    const struct hn_driver *driver = context->driver;
    /* What it set aside is free again, as in a new context. */
    if (context->l2.user == variant && !context->dead)
        hn_l2_use(context, NULL, 0);
    for (size_t i = 0; i < HN_VARIANT_GRAPHS; i++)
        if (variant->graphs[i].exec != NULL)
            driver->p_cuGraphExecDestroy(variant->graphs[i].exec);
    if (variant->module != NULL)
        driver->p_cuModuleUnload(variant->module);
    hn_launch_finish(&variant->launch);
    hn_blocks_finish(&variant->memory);
    free(variant->maps);
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
    HN_EACH_OF(symbol, variant->symbols, variant->symbol_count) {
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

/* The structure, with the addresses of the set that is launched in it. */
static void *complete(struct hn_variant *variant, size_t index, struct hn_passed *passed)
{
    const struct hn_argument *argument = &variant->arena->plan->arguments[index];
    for (size_t i = 0; i < argument->member_count; i++)
        if (argument->members[i].value == NULL)
            memcpy(passed->data + passed->offsets[i],
                   &variant->addresses[argument->members[i].buffer], sizeof(CUdeviceptr));
    return passed->data;
}

CUresult hn_variant_launch_step(struct hn_variant *variant, size_t number,
                                const struct hn_module_step *shape, union hn_scalar *scalars,
                                CUstream stream)
{
    const struct hn_step *step = variant->launch.steps[number].step;
    const struct hn_arena *arena = variant->arena;
    for (size_t i = 0; i < step->argument_count; i++) {
        size_t argument = step->arguments[i];
        variant->parameters[i] =
            arena->plan->arguments[argument].value != NULL ? &scalars[argument]
            : arena->plan->arguments[argument].structure != NULL
                ? complete(variant, argument, scalars[argument].structure)
            : arena->buffers[argument].host != NULL ? (void *)arena->buffers[argument].host
            : variant->map_places[argument] != NULL ? variant->map_places[argument]
                                                    : &variant->addresses[argument];
    }
    variant->launched = true;
    return hn_module_launch(shape, NULL, arena->context->driver, variant->functions[number], stream,
                            variant->addresses[step->geometry.window.argument],
                            variant->parameters);
}

static CUresult queue_launch(struct hn_variant *variant)
{
    const struct hn_context *context = variant->arena->context;
    const struct hn_launch *launch = &variant->launch;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < variant->zeroed_count && result == CUDA_SUCCESS; i++) {
        size_t argument = variant->zeroed[i];
        result = context->driver->p_cuMemsetD8Async(variant->addresses[argument], 0,
                                                    variant->arena->buffers[argument].bytes,
                                                    context->stream);
    }
    if (launch->flow != NULL && result == CUDA_SUCCESS)
        return hn_pipeline_launch(variant);
    for (size_t s = 0; s < launch->step_count && result == CUDA_SUCCESS; s++)
        result = hn_variant_launch_step(variant, s, &variant->shapes[s], variant->scalars,
                                        context->stream);
    return result;
}

static CUresult locate_all(struct hn_variant *variant, size_t set)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < variant->arena->plan->argument_count && result == CUDA_SUCCESS; i++)
        result = locate(variant, set, i);
    return result;
}

CUresult hn_variant_launch(struct hn_variant *variant, size_t set)
{
    CUresult result = locate_all(variant, set);
    return result == CUDA_SUCCESS ? queue_launch(variant) : result;
}

/* Of launches as a program would capture them. The capture is ended whatever happens in it. */
static CUresult make_graph(struct hn_variant *variant, size_t launches,
                           struct hn_variant_graph *graph, size_t address_bytes)
{
    const struct hn_driver *driver = variant->arena->context->driver;
    CUstream stream = variant->arena->context->stream;
    CUgraph captured = NULL;
    if (graph->exec != NULL)
        driver->p_cuGraphExecDestroy(graph->exec);
    graph->exec = NULL;
    if (graph->addresses == NULL)
        graph->addresses = hn_need_block(&variant->memory, 1, address_bytes);
    memcpy(graph->addresses, variant->addresses, address_bytes);
    graph->contents = variant->arena->contents;
    CUresult result = driver->p_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < launches && result == CUDA_SUCCESS; i++)
        result = hn_variant_launch(variant, 0);
    CUresult ended = driver->p_cuStreamEndCapture(stream, &captured);
    result = result != CUDA_SUCCESS ? result : ended;
    if (result == CUDA_SUCCESS)
        result = driver->p_cuGraphInstantiate(&graph->exec, captured, 0);
    if (captured != NULL)
        driver->p_cuGraphDestroy(captured);
    if (result != CUDA_SUCCESS)
        graph->exec = NULL;
    return result;
}

/* A graph holds addresses, and what is passed by value: it is made again where that has changed. */
static CUresult replay(struct hn_variant *variant, size_t launches)
{
    const struct hn_context *context = variant->arena->context;
    struct hn_variant_graph *graph = &variant->graphs[launches == HN_GRAPH_CHAIN];
    size_t bytes = variant->arena->plan->argument_count * sizeof *variant->addresses;
    CUresult result = locate_all(variant, 0);
    if (result == CUDA_SUCCESS &&
        (graph->exec == NULL || graph->contents != variant->arena->contents ||
         memcmp(graph->addresses, variant->addresses, bytes) != 0))
        result = make_graph(variant, launches, graph, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    variant->launched = true;
    return context->driver->p_cuGraphLaunch(graph->exec, context->stream);
}

CUresult hn_variant_deploy(struct hn_variant *variant, enum hn_regime regime, size_t count)
{
    size_t chain = regime == HN_GRAPH10 && count % HN_GRAPH_CHAIN == 0 ? HN_GRAPH_CHAIN : 1;
    CUresult result = regime == HN_STREAM ? locate_all(variant, 0) : CUDA_SUCCESS;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i += chain)
        result = regime == HN_STREAM ? queue_launch(variant) : replay(variant, chain);
    return result;
}

void hn_variant_describe(struct hn_variant *variant)
{
    const struct hn_launch_step *step = &variant->launch.steps[0];
    char more[160] = "", flow[128] = "";
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
