/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/record/regime.h"
#include "runtime/bench/variant.h"

/* Launches as a program would capture them. A graph holds addresses: it is made again where those
 * of the arguments have changed. */

static size_t address_bytes(const struct hn_variant *variant)
{
    return variant->arena->plan->argument_count * sizeof *variant->addresses;
}

static void drop(struct hn_variant *variant, struct hn_variant_graph *graph)
{
    if (graph->exec != NULL)
        variant->arena->context->driver->p_cuGraphExecDestroy(graph->exec);
    free(graph->addresses);
    *graph = (struct hn_variant_graph){0};
}

void hn_variant_drop_graphs(struct hn_variant *variant)
{
    for (size_t i = 0; i < HN_VARIANT_GRAPHS; i++)
        drop(variant, &variant->graphs[i]);
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

static CUresult make(struct hn_variant *variant, size_t launches, struct hn_variant_graph *graph)
{
    const struct hn_driver *driver = variant->arena->context->driver;
    CUgraph captured = NULL;
    drop(variant, graph);
    graph->addresses = malloc(address_bytes(variant) + 1);
    if (graph->addresses == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
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
    CUresult result = hn_variant_locate(variant, 0);
    if (result == CUDA_SUCCESS &&
        (graph->exec == NULL ||
         memcmp(graph->addresses, variant->addresses, address_bytes(variant)) != 0))
        result = make(variant, launches, graph);
    if (result != CUDA_SUCCESS)
        return result;
    variant->launched = true;
    return variant->arena->context->driver->p_cuGraphLaunch(graph->exec,
                                                            variant->arena->context->stream);
}
