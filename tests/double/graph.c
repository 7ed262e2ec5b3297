/* SPDX-License-Identifier: MIT */
/* Graphs of one stream: what was captured runs in that order, as often as it is launched. Each
 * launch of a graph takes 2 us of the device, whatever is in it. */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

static const double LAUNCH_US = 2.0;

struct node {
    struct double_function *function; /* NULL: a memset */
    struct double_geometry geometry;
    struct double_values values;
    void *to;
    unsigned char value;
    size_t bytes;
};

struct CUgraph_st {
    struct node *nodes;
    size_t count;
};

/* Has nodes of its own. */
struct CUgraphExec_st {
    struct CUgraph_st graph;
};

static struct {
    CUstream stream;
    struct CUgraph_st *graph; /* NULL: nothing is captured */
} capture;
static size_t alive;

static struct node *add_node(CUstream stream)
{
    if (capture.graph == NULL || stream != capture.stream)
        return NULL;
    struct CUgraph_st *graph = capture.graph;
    struct node *grown = realloc(graph->nodes, (graph->count + 1) * sizeof *grown);
    if (grown == NULL)
        abort();
    graph->nodes = grown;
    memset(&grown[graph->count], 0, sizeof *grown);
    return &grown[graph->count++];
}

bool double_graph_takes_kernel(CUstream stream, struct double_function *function,
                               const struct double_geometry *geometry, void **parameters)
{
    struct node *node = add_node(stream);
    if (node == NULL)
        return false;
    node->function = function;
    node->geometry = *geometry;
    double_values_keep(&node->values, function, parameters);
    return true;
}

bool double_graph_takes_memset(CUstream stream, void *to, unsigned char value, size_t bytes)
{
    struct node *node = add_node(stream);
    if (node == NULL)
        return false;
    node->to = to;
    node->value = value;
    node->bytes = bytes;
    return true;
}

bool double_graph_captures(CUstream stream)
{
    return capture.graph != NULL && stream == capture.stream;
}

bool double_graphs_left(void)
{
    return alive > 0;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    ENTER();
    (void)mode;
    if (capture.graph != NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    capture.graph = calloc(1, sizeof *capture.graph);
    capture.stream = stream;
    alive += capture.graph != NULL;
    return capture.graph == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    *graph = stream == capture.stream ? capture.graph : NULL;
    capture.graph = NULL;
    ENTER();
    return *graph == NULL ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    ENTER();
    (void)flags;
    CUgraphExec made = calloc(1, sizeof *made);
    struct node *nodes = malloc((graph->count + 1) * sizeof *nodes);
    if (made == NULL || nodes == NULL) {
        free(made);
        free(nodes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < graph->count; i++)
        nodes[i] = graph->nodes[i];
    made->graph = (struct CUgraph_st){nodes, graph->count};
    *exec = made;
    alive++;
    return CUDA_SUCCESS;
}

static CUresult run(struct node *node)
{
    struct double_device *device = double_the_device();
    void *parameters[DOUBLE_KEPT_PARAMETERS];
    if (node->function == NULL) {
        memset(node->to, node->value, node->bytes);
        double_memory_written();
        device->now_us += 1.0;
        return CUDA_SUCCESS;
    }
    double_values_point(&node->values, parameters);
    return double_kernel_run(
        &(struct double_launch){device, node->function, &node->geometry, parameters});
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    ENTER();
    struct double_device *device = double_the_device();
    CUresult result = CUDA_SUCCESS;
    if (device->pending != CUDA_SUCCESS || device->hangs)
        return CUDA_SUCCESS;
    double_stream_begin(stream);
    device->now_us += LAUNCH_US;
    for (size_t i = 0; i < exec->graph.count && result == CUDA_SUCCESS; i++)
        result = run(&exec->graph.nodes[i]);
    double_stream_end(stream);
    return result;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    free(graph->nodes);
    free(graph);
    alive--;
    ENTER();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    free(exec->graph.nodes);
    free(exec);
    alive--;
    ENTER();
    return CUDA_SUCCESS;
}
