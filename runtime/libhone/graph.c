/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/kernel.h"

/* Launches of several steps as CUDA graphs, where options.graph asks for it. A graph holds the
 * values of the arguments, so that a stream has some, and a launch whose values are in none goes
 * the plain way. Only values that come a second time get a graph: making one takes as long as some
 * dozens of launches. */

enum { KEPT = 4 };

struct graph {
    uint64_t *values; /* one a slot */
    CUgraphExec exec; /* NULL: not made yet */
    bool seen;
    bool refused; /* the driver makes none of it */
};

/* Of a stream, and of a thread where the stream is each thread's own. */
struct hn_lib_graphs {
    struct hn_lib_graphs *next;
    CUstream stream;
    const void *thread;
    atomic_flag busy; /* a thread is at it: another one launches the plain way */
    size_t oldest;
    struct graph graphs[KEPT];
};

bool hn_lib_graph_suits(const struct hone_kernel *kernel)
{
    size_t nodes = kernel->step_count;
    for (size_t i = 0; i < kernel->slot_count; i++) {
        nodes += kernel->slots[i].zeroed;
        /* What lies behind such a pointer may be another thing each time. */
        if (kernel->slots[i].kind == HONE_BYTES && kernel->slots[i].taken &&
            !kernel->slots[i].mapped)
            return false;
    }
    for (size_t i = 0; i < kernel->symbol_count; i++)
        nodes += kernel->symbols[i].zeroed;
    return nodes > 1;
}

static struct hn_lib_graphs *find(const struct hone_kernel *kernel, CUstream stream,
                                  const void *thread)
{
    struct hn_lib_graphs *graphs = atomic_load_explicit(&kernel->graphs, memory_order_acquire);
    while (graphs != NULL && (graphs->stream != stream || graphs->thread != thread))
        graphs = graphs->next;
    return graphs;
}

/* With the lock held; NULL when out of memory. */
static struct hn_lib_graphs *add(struct hone_kernel *kernel, CUstream stream, const void *thread)
{
    struct hn_lib_graphs *made = calloc(1, sizeof *made);
    uint64_t *values = calloc(KEPT * kernel->slot_count + 1, sizeof *values);
    if (made == NULL || values == NULL) {
        free(made);
        free(values);
        return NULL;
    }
    for (size_t i = 0; i < KEPT; i++)
        made->graphs[i].values = values + i * kernel->slot_count;
    atomic_flag_clear(&made->busy);
    made->stream = stream;
    made->thread = thread;
    made->next = atomic_load_explicit(&kernel->graphs, memory_order_relaxed);
    atomic_store_explicit(&kernel->graphs, made, memory_order_release);
    return made;
}

static struct hn_lib_graphs *graphs_of(struct hone_kernel *kernel, CUstream stream)
{
    const void *thread = hn_lib_stream_thread(stream);
    struct hn_lib_graphs *graphs = find(kernel, stream, thread);
    if (graphs != NULL)
        return graphs;
    pthread_mutex_lock(&kernel->cache->lock);
    graphs = find(kernel, stream, thread);
    if (graphs == NULL)
        graphs = add(kernel, stream, thread);
    pthread_mutex_unlock(&kernel->cache->lock);
    return graphs;
}

/* A tensor map that is given takes the place of the one that is made, and may change behind its
 * pointer. */
static bool gives_maps(const struct hone_kernel *kernel, const uint64_t *values)
{
    for (size_t i = 0; i < kernel->slot_count; i++)
        if (kernel->slots[i].mapped && values[i] != 0)
            return true;
    return false;
}

/* The values' own, or the one that is longest there, which forgets its own. */
static struct graph *choose(struct hn_lib_graphs *graphs, const struct hone_kernel *kernel,
                            const uint64_t *values)
{
    size_t bytes = kernel->slot_count * sizeof *values;
    for (size_t i = 0; i < KEPT; i++)
        if (graphs->graphs[i].seen && memcmp(graphs->graphs[i].values, values, bytes) == 0)
            return &graphs->graphs[i];
    struct graph *graph = &graphs->graphs[graphs->oldest++ % KEPT];
    if (graph->exec != NULL)
        kernel->cache->driver.p_cuGraphExecDestroy(graph->exec);
    graph->exec = NULL;
    graph->seen = false;
    graph->refused = false;
    memcpy(graph->values, values, bytes);
    return graph;
}

/* In a stream of its own, since the caller's may be the default one, which can not be captured. The
 * capture is ended whatever happens in it. */
static CUresult capture(struct hone_kernel *kernel, const struct graph *graph, CUgraph *captured)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    uint64_t values[HN_LIB_MAX_ARGUMENTS];
    CUstream stream = NULL;
    memcpy(values, graph->values, kernel->slot_count * sizeof *values);
    CUresult result = driver->p_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS)
        return result;
    result = driver->p_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result == CUDA_SUCCESS) {
        struct hone_error reason = {0};
        if (hn_lib_launch_steps(kernel, stream, values, &reason) != HONE_OK)
            result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        CUresult ended = driver->p_cuStreamEndCapture(stream, captured);
        result = result != CUDA_SUCCESS ? result : ended;
    }
    driver->p_cuStreamDestroy(stream);
    return result;
}

/* Another stream of the program may be captured meanwhile, which allows a thread little. */
static void make(struct hone_kernel *kernel, struct graph *graph)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext outside = NULL;
    CUgraph captured = NULL;
    graph->refused = true;
    if (!hn_lib_enter(kernel->cache, kernel->context, &outside))
        return;
    driver->p_cuThreadExchangeStreamCaptureMode(&mode);
    if (capture(kernel, graph, &captured) == CUDA_SUCCESS)
        graph->refused = driver->p_cuGraphInstantiate(&graph->exec, captured, 0) != CUDA_SUCCESS;
    if (graph->refused)
        graph->exec = NULL;
    if (captured != NULL)
        driver->p_cuGraphDestroy(captured);
    driver->p_cuThreadExchangeStreamCaptureMode(&mode);
    hn_lib_leave(kernel->cache, outside);
}

static bool is_captured(const struct hone_kernel *kernel, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = kernel->cache->driver.p_cuStreamIsCapturing(stream, &status);
    return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

enum hone_status hn_lib_graph_launch(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                                     struct hone_error *err)
{
    CUgraphExec exec = NULL;
    CUresult result = CUDA_SUCCESS;
    struct hn_lib_graphs *graphs = NULL;
    if (!is_captured(kernel, stream) && !gives_maps(kernel, values))
        graphs = graphs_of(kernel, stream);
    if (graphs == NULL || atomic_flag_test_and_set_explicit(&graphs->busy, memory_order_acquire))
        return hn_lib_launch_steps(kernel, stream, values, err);
    struct graph *graph = choose(graphs, kernel, values);
    if (graph->seen && graph->exec == NULL && !graph->refused)
        make(kernel, graph);
    graph->seen = true;
    exec = graph->exec;
    if (exec != NULL)
        result = kernel->cache->driver.p_cuGraphLaunch(exec, stream);
    atomic_flag_clear_explicit(&graphs->busy, memory_order_release);
    if (exec == NULL)
        return hn_lib_launch_steps(kernel, stream, values, err);
    return result == CUDA_SUCCESS ? HONE_OK
                                  : hn_lib_cuda(kernel->cache, result, "launching a graph", err);
}

void hn_lib_graphs_free(struct hone_kernel *kernel, bool on_device)
{
    struct hn_lib_graphs *graphs = atomic_load(&kernel->graphs);
    while (graphs != NULL) {
        struct hn_lib_graphs *next = graphs->next;
        for (size_t i = 0; i < KEPT; i++)
            if (on_device && graphs->graphs[i].exec != NULL)
                kernel->cache->driver.p_cuGraphExecDestroy(graphs->graphs[i].exec);
        free(graphs->graphs[0].values);
        free(graphs);
        graphs = next;
    }
}
