/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cache/record/record.h"
#include "runtime/bench/variant.h"
#include "runtime/module/module.h"

/* Where an argument is in a set: the address of a buffer, the handle of a texture object, a tensor
 * map. */
static CUresult locate(struct hn_variant *variant, size_t set, size_t argument)
{
    struct hn_arena *arena = variant->arena;
    enum hn_role role = arena->plan->arguments[argument].role;
    if (role == HN_ROLE_TENSOR_MAP)
        return hn_variant_map(variant, set, argument, &variant->map_places[argument]);
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

/* Launches as a program would capture them. A graph holds addresses: it is made again where those
 * of the arguments have changed. */

static size_t address_bytes(const struct hn_variant *variant)
{
    return variant->arena->plan->argument_count * sizeof *variant->addresses;
}

static void drop_graph(struct hn_variant *variant, struct hn_variant_graph *graph)
{
    if (graph->exec != NULL)
        variant->arena->context->driver->p_cuGraphExecDestroy(graph->exec);
    free(graph->addresses);
    *graph = (struct hn_variant_graph){0};
}

void hn_variant_drop_graphs(struct hn_variant *variant)
{
    for (size_t i = 0; i < HN_VARIANT_GRAPHS; i++)
        drop_graph(variant, &variant->graphs[i]);
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

void hn_variant_describe(const struct hn_variant *variant, char *text, size_t size)
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
    snprintf(text, size, "%s <<<(%lld, %lld, %lld), (%lld, %lld, %lld), %lld B%s%s>>>%s%s",
             step->step->entry, (long long)step->grid[0], (long long)step->grid[1],
             (long long)step->grid[2], (long long)step->block[0], (long long)step->block[1],
             (long long)step->block[2], (long long)step->shared_bytes, more,
             step->cooperative ? ", cooperative" : "", flow[0] == '\0' ? "" : " in ", flow);
}
