/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/module/module.h"

enum { SLAB_BYTES = 1 << 20 };

static const void *stream_thread(CUstream stream)
{
    return stream == CU_STREAM_PER_THREAD ? (const void *)(uintptr_t)pthread_self() : NULL;
}

static const struct hn_lib_workspace *find_workspace(const struct hone_kernel *kernel,
                                                     CUstream stream, const void *thread)
{
    const struct hn_lib_workspace *workspace =
        atomic_load_explicit(&kernel->workspaces, memory_order_acquire);
    while (workspace != NULL && (workspace->stream != stream || workspace->thread != thread))
        workspace = workspace->next;
    return workspace;
}

static enum hone_status allocate(struct hone_kernel *kernel, uint64_t bytes, CUdeviceptr *address,
                                 struct hone_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUcontext current = NULL;
    CUresult result = driver->p_cuCtxGetCurrent(&current);
    if (result == CUDA_SUCCESS)
        result = driver->p_cuCtxSetCurrent(kernel->context);
    if (result == CUDA_SUCCESS) {
        result = driver->p_cuMemAlloc(address, bytes);
        driver->p_cuCtxSetCurrent(current);
    }
    return hn_lib_cuda(kernel->cache, result, "allocating scratch memory", err);
}

static enum hone_status add_slab(struct hone_kernel *kernel, struct hn_lib_slab **slab,
                                 struct hone_error *err)
{
    struct hn_lib_slab *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    enum hone_status status = allocate(kernel, SLAB_BYTES, &made->address, err);
    if (status != HONE_OK) {
        free(made);
        return status;
    }
    made->context = kernel->context;
    made->next = kernel->cache->slabs;
    kernel->cache->slabs = *slab = made;
    return HONE_OK;
}

/* Of a size of a family that is a piece of a slab where it is small: programs ask for thousands of
 * sizes. */
static enum hone_status take(struct hone_kernel *kernel, struct hn_lib_workspace *workspace,
                             struct hone_error *err)
{
    struct hn_lib_slab *slab = kernel->cache->slabs;
    workspace->is_piece = kernel->is_piece && kernel->workspace_bytes <= SLAB_BYTES / 16;
    if (!workspace->is_piece)
        return allocate(kernel, kernel->workspace_bytes, &workspace->address, err);
    while (slab != NULL &&
           (slab->context != kernel->context || slab->used + kernel->workspace_bytes > SLAB_BYTES))
        slab = slab->next;
    enum hone_status status = slab != NULL ? HONE_OK : add_slab(kernel, &slab, err);
    if (status == HONE_OK) {
        workspace->address = slab->address + slab->used;
        slab->used += kernel->workspace_bytes;
    }
    return status;
}

void hn_lib_slabs_free(struct hone_cache *cache)
{
    while (cache->slabs != NULL) {
        CUcontext outside;
        struct hn_lib_slab *slab = cache->slabs;
        cache->slabs = slab->next;
        if (hn_lib_enter(cache, slab->context, &outside)) {
            cache->driver.p_cuMemFree(slab->address);
            hn_lib_leave(cache, outside);
        }
        free(slab);
    }
}

/* What launches leave at zero begins so. */
static enum hone_status clear(const struct hone_kernel *kernel, CUdeviceptr address,
                              CUstream stream, struct hone_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < kernel->slot_count && result == CUDA_SUCCESS; i++) {
        const struct hn_lib_slot *slot = &kernel->slots[i];
        if (slot->starts_zero && slot->taken)
            result = driver->p_cuMemsetD8Async(address + slot->preset, 0, slot->bytes, stream);
    }
    return result == CUDA_SUCCESS
               ? HONE_OK
               : hn_lib_cuda(kernel->cache, result, "zeroing scratch memory", err);
}

static enum hone_status add_workspace(struct hone_kernel *kernel, CUstream stream,
                                      const void *thread, struct hone_error *err)
{
    struct hn_lib_workspace *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    enum hone_status status = take(kernel, made, err);
    if (status == HONE_OK)
        status = clear(kernel, made->address, stream, err);
    if (status != HONE_OK) {
        if (made->address != 0 && !made->is_piece)
            kernel->cache->driver.p_cuMemFree(made->address);
        free(made);
        return status;
    }
    made->stream = stream;
    made->thread = thread;
    made->next = atomic_load_explicit(&kernel->workspaces, memory_order_relaxed);
    atomic_store_explicit(&kernel->workspaces, made, memory_order_release);
    return HONE_OK;
}

enum hone_status hn_lib_workspace_get(struct hone_kernel *kernel, CUstream stream,
                                      CUdeviceptr *address, struct hone_error *err)
{
    const void *thread = stream_thread(stream);
    const struct hn_lib_workspace *workspace = find_workspace(kernel, stream, thread);
    enum hone_status status = HONE_OK;
    if (workspace == NULL) {
        pthread_mutex_lock(&kernel->cache->lock);
        workspace = find_workspace(kernel, stream, thread);
        if (workspace == NULL)
            status = add_workspace(kernel, stream, thread, err);
        workspace = find_workspace(kernel, stream, thread);
        pthread_mutex_unlock(&kernel->cache->lock);
    }
    *address = workspace == NULL ? 0 : workspace->address;
    return status;
}

enum hone_status hone_prepare(struct hone_kernel *kernel, CUstream stream, struct hone_error *err)
{
    CUdeviceptr address = 0;
    if (kernel == NULL)
        return hn_lib_fail(err, HONE_INVALID, "hone_prepare: 'kernel' is NULL");
    enum hone_status status = kernel->workspace_bytes == 0
                                  ? HONE_OK
                                  : hn_lib_workspace_get(kernel, stream, &address, err);
    return status != HONE_OK || kernel->race == NULL ? status
                                                     : hn_lib_race_prepare(kernel, stream, err);
}

/* Tensor maps over the buffers of launches. Each is encoded once for an address and then found in a
 * table, which never moves and out of which nothing is taken: launches of several threads read it
 * without a lock. Where the table is full of other addresses a launch encodes its own. */

enum { PROBES = 8 };

struct hn_lib_map {
    CUtensorMap map;
    const struct hn_tensor *tensor;
    CUdeviceptr address;
};

static struct hn_lib_map *make_map(const struct hone_kernel *kernel, const struct hn_tensor *tensor,
                                   CUdeviceptr address, CUresult *result)
{
    struct hn_lib_map *made = aligned_alloc(_Alignof(struct hn_lib_map), sizeof *made);
    if (made == NULL)
        return NULL;
    made->tensor = tensor;
    made->address = address;
    *result = hn_tensor_encode(&kernel->cache->driver, tensor, address, &made->map);
    if (*result == CUDA_SUCCESS)
        return made;
    free(made);
    return NULL;
}

/* The table's, in which it is then; NULL: there is no place, or *result says why not. */
static const CUtensorMap *find_map(struct hone_kernel *kernel, const struct hn_tensor *tensor,
                                   CUdeviceptr address, CUresult *result)
{
    struct hn_lib_map *made = NULL;
    size_t number = (size_t)(tensor - kernel->launch.tensors);
    uint64_t hash = (address / 256 + number) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < PROBES; i++) {
        _Atomic(struct hn_lib_map *) *place = &kernel->maps[((hash >> 32) + i) % HN_LIB_PLACES];
        struct hn_lib_map *there = atomic_load_explicit(place, memory_order_acquire);
        if (there == NULL && made == NULL)
            made = make_map(kernel, tensor, address, result);
        if (there == NULL && made == NULL)
            return NULL;
        if (there == NULL && atomic_compare_exchange_strong(place, &there, made))
            return &made->map;
        if (there->tensor == tensor && there->address == address) {
            free(made);
            return &there->map;
        }
    }
    free(made);
    return NULL;
}

static CUresult place_maps(struct hone_kernel *kernel, uint64_t *values,
                           CUtensorMap spare[HN_LIB_MAX_MAPS])
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < kernel->launch.tensor_count && result == CUDA_SUCCESS; i++) {
        const struct hn_tensor *tensor = &kernel->launch.tensors[i];
        CUdeviceptr address = values[tensor->buffer];
        if (values[tensor->argument] != 0)
            continue;
        const CUtensorMap *map = find_map(kernel, tensor, address, &result);
        if (map == NULL && result == CUDA_SUCCESS) {
            map = &spare[i];
            result = hn_tensor_encode(&kernel->cache->driver, tensor, address, &spare[i]);
        }
        values[tensor->argument] = (uint64_t)(uintptr_t)map;
    }
    return result;
}

void hn_lib_maps_free(struct hone_kernel *kernel)
{
    for (size_t i = 0; kernel->maps != NULL && i < HN_LIB_PLACES; i++)
        free(atomic_load(&kernel->maps[i]));
    free(kernel->maps);
}

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

static struct hn_lib_graphs *find_graphs(const struct hone_kernel *kernel, CUstream stream,
                                         const void *thread)
{
    struct hn_lib_graphs *graphs = atomic_load_explicit(&kernel->graphs, memory_order_acquire);
    while (graphs != NULL && (graphs->stream != stream || graphs->thread != thread))
        graphs = graphs->next;
    return graphs;
}

/* With the lock held; NULL when out of memory. */
static struct hn_lib_graphs *add_graphs(struct hone_kernel *kernel, CUstream stream,
                                        const void *thread)
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
    const void *thread = stream_thread(stream);
    struct hn_lib_graphs *graphs = find_graphs(kernel, stream, thread);
    if (graphs != NULL)
        return graphs;
    pthread_mutex_lock(&kernel->cache->lock);
    graphs = find_graphs(kernel, stream, thread);
    if (graphs == NULL)
        graphs = add_graphs(kernel, stream, thread);
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
static struct graph *choose_graph(struct hn_lib_graphs *graphs, const struct hone_kernel *kernel,
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
static CUresult capture_graph(struct hone_kernel *kernel, const struct graph *graph,
                              CUgraph *captured)
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
static void make_graph(struct hone_kernel *kernel, struct graph *graph)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext outside = NULL;
    CUgraph captured = NULL;
    graph->refused = true;
    if (!hn_lib_enter(kernel->cache, kernel->context, &outside))
        return;
    driver->p_cuThreadExchangeStreamCaptureMode(&mode);
    if (capture_graph(kernel, graph, &captured) == CUDA_SUCCESS)
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

static enum hone_status launch_graph(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                                     struct hone_error *err)
{
    CUgraphExec exec = NULL;
    CUresult result = CUDA_SUCCESS;
    struct hn_lib_graphs *graphs = NULL;
    if (!is_captured(kernel, stream) && !gives_maps(kernel, values))
        graphs = graphs_of(kernel, stream);
    if (graphs == NULL || atomic_flag_test_and_set_explicit(&graphs->busy, memory_order_acquire))
        return hn_lib_launch_steps(kernel, stream, values, err);
    struct graph *graph = choose_graph(graphs, kernel, values);
    if (graph->seen && graph->exec == NULL && !graph->refused)
        make_graph(kernel, graph);
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

/* The way of every launch: no lock, no allocation, and formatting only of what goes wrong. */

static const char *name_of(const struct hone_argument *argument)
{
    return argument->name == NULL ? "(NULL)" : argument->name;
}

static const char *kind_name(enum hone_argument_kind kind)
{
    static const char *const names[] = {
        [HONE_BUFFER] = "hone_buffer",     [HONE_TEXTURE] = "hone_texture",
        [HONE_BYTES] = "hone_bytes",       [HONE_INT8] = "hone_int8",
        [HONE_INT16] = "hone_int16",       [HONE_INT32] = "hone_int32",
        [HONE_INT64] = "hone_int64",       [HONE_UINT8] = "hone_uint8",
        [HONE_UINT16] = "hone_uint16",     [HONE_UINT32] = "hone_uint32",
        [HONE_UINT64] = "hone_uint64",     [HONE_FLOAT32] = "hone_float32",
        [HONE_FLOAT64] = "hone_float64",   [HONE_FLOAT16] = "hone_float16",
        [HONE_BFLOAT16] = "hone_bfloat16", [HONE_FLOAT8_E4M3] = "hone_float8_e4m3",
    };
    size_t index = (size_t)kind;
    return index < sizeof names / sizeof *names && names[index] != NULL ? names[index]
                                                                        : "no such kind";
}

static bool is_known(const struct hone_kernel *kernel, const char *name)
{
    for (size_t i = 0; name != NULL && i < kernel->slot_count; i++)
        if (strcmp(kernel->slots[i].name, name) == 0)
            return true;
    return false;
}

__attribute__((cold, noinline)) static enum hone_status refuse(const struct hone_kernel *kernel,
                                                               const struct hn_lib_slot *slot,
                                                               const struct hone_argument *argument,
                                                               struct hone_error *err)
{
    const char *kind = kind_name(slot->kind);
    if (argument->kind != slot->kind)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s is given by %s, expected %s",
                           slot->name, kernel->name, kind_name(argument->kind), kind);
    if (slot->kind == HONE_BYTES)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s has %u bytes, expected %u",
                           slot->name, kernel->name, argument->bytes, slot->value_bytes);
    if (slot->kind == HONE_BUFFER)
        return hn_lib_fail(err, HONE_INVALID,
                           "argument '%s' of %s lies at 0x%llx, expected a multiple of %llu bytes, "
                           "as its 'align' or a tensor map over it wants",
                           slot->name, kernel->name, (unsigned long long)argument->as.bits,
                           (unsigned long long)slot->below_align + 1);
    return hn_lib_fail(
        err, HONE_INVALID,
        "argument '%s' of %s is not what it is for the problem %.300s: leave it out, "
        "or get the kernel for the problem that you have",
        slot->name, kernel->name, hone_kernel_info(kernel)->problem);
}

__attribute__((cold, noinline)) static enum hone_status
refuse_missing(const struct hone_kernel *kernel, const struct hn_lib_slot *slot,
               const struct hone_argument *found, struct hone_error *err)
{
    if (found == NULL)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s is missing", slot->name,
                           kernel->name);
    return hn_lib_fail(err, HONE_INVALID, "found argument '%s' where %s takes '%s'%s",
                       name_of(found), kernel->name, slot->name,
                       is_known(kernel, found->name) ? ": arguments stand in the config's order"
                                                     : ", and nothing of that name");
}

__attribute__((cold, noinline)) static enum hone_status
refuse_rest(const struct hone_kernel *kernel, const struct hone_argument *found,
            struct hone_error *err)
{
    return hn_lib_fail(err, HONE_INVALID, "argument '%s': %s", name_of(found),
                       is_known(kernel, found->name)
                           ? "it is given twice, or out of the config's order"
                           : "the kernel has none of that name");
}

/* Whether an argument can be slot's; NULL names match no slot. */
static inline bool is_right(const struct hn_lib_slot *slot, const struct hone_argument *argument)
{
    if (argument->kind != slot->kind)
        return false;
    if (slot->kind == HONE_BYTES)
        return argument->bytes == slot->value_bytes && argument->as.host != NULL;
    if (slot->kind == HONE_BUFFER)
        return (argument->as.bits & slot->below_align) == 0;
    return slot->need != HONE_FIXED || argument->as.bits == slot->preset;
}

/* Gives each slot its value. *owned has a bit for each that is an offset in the workspace. */
static enum hone_status resolve(const struct hone_kernel *kernel,
                                const struct hone_argument *arguments, size_t count,
                                uint64_t *values, uint64_t *owned, struct hone_error *err)
{
    size_t next = 0;
    for (size_t i = 0; i < kernel->slot_count; i++) {
        const struct hn_lib_slot *slot = &kernel->slots[i];
        const struct hone_argument *argument = next < count ? &arguments[next] : NULL;
        if (argument != NULL && argument->name != NULL && strcmp(argument->name, slot->name) == 0) {
            if (!is_right(slot, argument))
                return refuse(kernel, slot, argument, err);
            values[i] = argument->as.bits;
            next++;
            continue;
        }
        if (slot->need == HONE_REQUIRED)
            return refuse_missing(kernel, slot, argument, err);
        values[i] = slot->preset;
        if (slot->need == HONE_OWNED && slot->taken && !slot->mapped)
            *owned |= (uint64_t)1 << i;
    }
    return next == count ? HONE_OK : refuse_rest(kernel, &arguments[next], err);
}

static enum hone_status place_owned(struct hone_kernel *kernel, CUstream stream, uint64_t owned,
                                    uint64_t *values, struct hone_error *err)
{
    CUdeviceptr base = 0;
    enum hone_status status = hn_lib_workspace_get(kernel, stream, &base, err);
    for (size_t i = 0; status == HONE_OK && i < kernel->slot_count; i++)
        if ((owned >> i & 1) != 0)
            values[i] += base;
    return status;
}

static CUresult zero(const struct hone_kernel *kernel, CUstream stream, const uint64_t *values)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < kernel->slot_count && result == CUDA_SUCCESS; i++)
        if (kernel->slots[i].zeroed)
            result = driver->p_cuMemsetD8Async(values[i], 0, kernel->slots[i].bytes, stream);
    for (size_t i = 0; i < kernel->symbol_count && result == CUDA_SUCCESS; i++)
        if (kernel->symbols[i].zeroed)
            result = driver->p_cuMemsetD8Async(kernel->symbols[i].address, 0,
                                               kernel->symbols[i].bytes, stream);
    return result;
}

enum hone_status hn_lib_launch_steps(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                                     struct hone_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    void *parameters[HN_LIB_MAX_ARGUMENTS];
    CUtensorMap spare[HN_LIB_MAX_MAPS];
    if (kernel->launch.tensor_count > 0) {
        CUresult placed = place_maps(kernel, values, spare);
        if (placed != CUDA_SUCCESS)
            return hn_lib_cuda(kernel->cache, placed, "encoding a tensor map", err);
    }
    CUresult result = kernel->has_zeroed ? zero(kernel, stream, values) : CUDA_SUCCESS;
    for (size_t s = 0; s < kernel->step_count && result == CUDA_SUCCESS; s++) {
        const struct hn_lib_step *step = &kernel->steps[s];
        for (size_t i = 0; i < step->argument_count; i++) {
            size_t argument = step->arguments[i];
            parameters[i] = kernel->slots[argument].kind == HONE_BYTES
                                ? (void *)(uintptr_t)values[argument]
                                : &values[argument];
        }
        CUdeviceptr window = step->shape.window == SIZE_MAX ? 0 : values[step->window_argument];
        result = hn_module_launch_grid(&step->shape, kernel->grids[s], driver, step->function,
                                       stream, window, parameters);
    }
    return result == CUDA_SUCCESS ? HONE_OK : hn_lib_cuda(kernel->cache, result, "launching", err);
}

enum hone_status hone_launch(struct hone_kernel *kernel, CUstream stream,
                             const struct hone_argument *arguments, size_t count,
                             struct hone_error *err)
{
    uint64_t values[HN_LIB_MAX_ARGUMENTS];
    uint64_t owned = 0;
    if (kernel == NULL || (arguments == NULL && count > 0))
        return hn_lib_fail(err, HONE_INVALID, "hone_launch: '%s' is NULL",
                           kernel == NULL ? "kernel" : "arguments");
    enum hone_status status = resolve(kernel, arguments, count, values, &owned, err);
    if (status != HONE_OK)
        return status;
    if (kernel->symbols_to_set > 0 &&
        !atomic_load_explicit(&kernel->symbols_are_set, memory_order_acquire))
        return hn_lib_fail(err, HONE_INVALID,
                           "%s has %zu symbols that were never set: call hone_set_symbols first",
                           kernel->name, kernel->symbols_to_set);
    if (owned != 0)
        status = place_owned(kernel, stream, owned, values, err);
    if (status != HONE_OK)
        return status;
    if (!kernel->is_watched)
        return kernel->as_graph ? launch_graph(kernel, stream, values, err)
                                : hn_lib_launch_steps(kernel, stream, values, err);
    if (kernel->race != NULL)
        return hn_lib_race_launch(kernel, stream, arguments, count, values, err);
    enum hone_status captured = hn_lib_capture(kernel, stream, values, err);
    status = hn_lib_launch_steps(kernel, stream, values, err);
    return status == HONE_OK ? captured : status;
}
