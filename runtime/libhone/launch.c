/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdlib.h>
#include <string.h>

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

struct hn_lib_stream {
    struct hn_lib_stream *next;
    CUstream stream;
    const void *thread;             /* of CU_STREAM_PER_THREAD, which is another stream in each */
    _Atomic(CUdeviceptr) workspace; /* 0: it has no scratch memory yet */
    bool is_piece;                  /* of a slab: the workspace */
    atomic_flag busy; /* a thread is at its graphs: another one launches the plain way */
    size_t oldest;
    struct graph graphs[KEPT];
    uint64_t values[]; /* theirs; none where the kernel has no graphs */
};

static struct hn_lib_stream *find_stream(const struct hone_kernel *kernel, CUstream stream)
{
    const void *thread =
        stream == CU_STREAM_PER_THREAD ? (const void *)(uintptr_t)pthread_self() : NULL;
    struct hn_lib_stream *own = atomic_load_explicit(&kernel->streams, memory_order_acquire);
    while (own != NULL && (own->stream != stream || own->thread != thread))
        own = own->next;
    return own;
}

/* With the lock held; NULL when out of memory. */
static struct hn_lib_stream *add_stream(struct hone_kernel *kernel, CUstream stream)
{
    size_t slots = kernel->as_graph ? kernel->slot_count : 0;
    struct hn_lib_stream *made = calloc(1, sizeof *made + KEPT * slots * sizeof *made->values);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < KEPT; i++)
        made->graphs[i].values = made->values + i * slots;
    atomic_flag_clear(&made->busy);
    made->stream = stream;
    if (stream == CU_STREAM_PER_THREAD)
        made->thread = (const void *)(uintptr_t)pthread_self();
    made->next = atomic_load_explicit(&kernel->streams, memory_order_relaxed);
    atomic_store_explicit(&kernel->streams, made, memory_order_release);
    return made;
}

/* NULL when out of memory. */
static struct hn_lib_stream *get_stream(struct hone_kernel *kernel, CUstream stream)
{
    struct hn_lib_stream *own = find_stream(kernel, stream);
    if (own != NULL)
        return own;
    pthread_mutex_lock(&kernel->cache->lock);
    own = find_stream(kernel, stream);
    if (own == NULL)
        own = add_stream(kernel, stream);
    pthread_mutex_unlock(&kernel->cache->lock);
    return own;
}

enum { SLAB_BYTES = 1 << 20 };

static CUdeviceptr allocate(struct hone_kernel *kernel, uint64_t bytes, struct hn_error *err)
{
    CUcontext outside = NULL;
    CUdeviceptr address = 0;
    CUresult result = hn_lib_enter(kernel->cache, kernel->context, &outside);
    if (result == CUDA_SUCCESS) {
        result = kernel->cache->driver.p_cuMemAlloc(&address, bytes);
        hn_lib_leave(kernel->cache, outside);
    }
    hn_lib_cuda(kernel->cache, result, "allocating scratch memory", err);
    return result == CUDA_SUCCESS ? address : 0;
}

/* Of a size of a family that is a piece of a slab where it is small: programs ask for thousands of
 * sizes. */
static CUdeviceptr take(struct hone_kernel *kernel, bool *is_piece, struct hn_error *err)
{
    const uint64_t bytes = kernel->workspace_bytes;
    struct hone_cache *cache = kernel->cache;
    struct hn_lib_slab *slab = cache->slabs;
    *is_piece = kernel->is_piece && bytes <= SLAB_BYTES / 16;
    if (!*is_piece)
        return allocate(kernel, bytes, err);
    while (slab != NULL && (slab->context != kernel->context || slab->used + bytes > SLAB_BYTES))
        slab = slab->next;
    if (slab == NULL) {
        slab = hn_allocate(1, sizeof *slab, err);
        CUdeviceptr address = slab == NULL ? 0 : allocate(kernel, SLAB_BYTES, err);
        if (address == 0) {
            free(slab);
            return 0;
        }
        *slab = (struct hn_lib_slab){cache->slabs, kernel->context, address, 0};
        cache->slabs = slab;
    }
    slab->used += bytes;
    return slab->address + slab->used - bytes;
}

/* With the lock held. What launches leave at zero begins so. */
static void add_workspace(struct hone_kernel *kernel, struct hn_lib_stream *own,
                          struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUdeviceptr address = take(kernel, &own->is_piece, err);
    CUresult result = CUDA_SUCCESS;
    if (hn_failed(err))
        return;
    for (size_t i = 0; i < kernel->slot_count && result == CUDA_SUCCESS; i++) {
        const struct hn_lib_slot *slot = &kernel->slots[i];
        if (slot->starts_zero && slot->taken)
            result = driver->p_cuMemsetD8Async(address + slot->preset, 0, slot->bytes, own->stream);
    }
    hn_lib_cuda(kernel->cache, result, "zeroing scratch memory", err);
    if (!hn_failed(err))
        atomic_store_explicit(&own->workspace, address, memory_order_release);
    else if (!own->is_piece)
        driver->p_cuMemFree(address);
}

/* The stream's scratch memory, allocated when it has none yet. Not to be called with the lock
 * held. */
static CUdeviceptr get_workspace(struct hone_kernel *kernel, CUstream stream, struct hn_error *err)
{
    struct hn_lib_stream *own = hn_made(get_stream(kernel, stream), err);
    if (own == NULL)
        return 0;
    CUdeviceptr address = atomic_load_explicit(&own->workspace, memory_order_acquire);
    if (address != 0)
        return address;
    pthread_mutex_lock(&kernel->cache->lock);
    if (atomic_load(&own->workspace) == 0)
        add_workspace(kernel, own, err);
    pthread_mutex_unlock(&kernel->cache->lock);
    return atomic_load(&own->workspace);
}

void hn_lib_prepare(struct hone_kernel *kernel, CUstream stream, struct hn_error *err)
{
    if (kernel->workspace_bytes > 0 && !hn_failed(err))
        get_workspace(kernel, stream, err);
    if (kernel->race != NULL)
        hn_lib_race_prepare(kernel, stream, err);
}

enum hone_status hone_prepare(struct hone_kernel *kernel, CUstream stream, struct hone_error *err)
{
    struct hn_error why;
    hn_error_init(&why);
    if (kernel == NULL)
        hn_lib_fail(&why, HONE_INVALID, "hone_prepare: 'kernel' is NULL");
    else
        hn_lib_prepare(kernel, stream, &why);
    return hn_lib_tell(&why, err);
}

/* Tensor maps over the buffers of launches. Each is encoded once for an address and then found in a
 * table, which never moves and out of which nothing is taken: launches of several threads read it
 * without a lock. Where the table is full of other addresses a launch encodes its own. */

enum { PLACES = 128, PROBES = 8 };

struct hn_lib_map {
    CUtensorMap map;
    const struct hn_tensor *tensor;
    CUdeviceptr address;
};

struct hn_lib_maps {
    _Atomic(struct hn_lib_map *) places[PLACES]; /* by address */
};

/* Made when it is first asked for; NULL when out of memory. */
static struct hn_lib_maps *get_maps(struct hone_kernel *kernel)
{
    struct hn_lib_maps *there = atomic_load_explicit(&kernel->maps, memory_order_acquire);
    struct hn_lib_maps *made = there == NULL ? calloc(1, sizeof *made) : NULL;
    if (made == NULL || atomic_compare_exchange_strong(&kernel->maps, &there, made))
        return there != NULL ? there : made;
    free(made);
    return there;
}

/* The table's, in which it is then; NULL: there is no place, or *result says why not. */
static const CUtensorMap *find_map(struct hone_kernel *kernel, const struct hn_tensor *tensor,
                                   CUdeviceptr address, CUresult *result)
{
    struct hn_lib_maps *maps = get_maps(kernel);
    struct hn_lib_map *made = NULL;
    size_t number = (size_t)(tensor - kernel->launch.tensors);
    uint64_t hash = (address / 256 + number) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; maps != NULL && i < PROBES; i++) {
        _Atomic(struct hn_lib_map *) *place = &maps->places[((hash >> 32) + i) % PLACES];
        struct hn_lib_map *there = atomic_load_explicit(place, memory_order_acquire);
        if (there == NULL && made == NULL) {
            made = aligned_alloc(_Alignof(struct hn_lib_map), sizeof *made);
            if (made == NULL)
                return NULL;
            made->tensor = tensor;
            made->address = address;
            *result = hn_tensor_encode(&kernel->cache->driver, tensor, address, &made->map);
            if (*result != CUDA_SUCCESS)
                break;
        }
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

static void free_streams(struct hone_kernel *kernel, bool on_device)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    for (struct hn_lib_stream *next, *own = atomic_load(&kernel->streams); own != NULL;
         own = next) {
        next = own->next;
        CUdeviceptr workspace = atomic_load(&own->workspace);
        if (on_device && workspace != 0 && !own->is_piece)
            driver->p_cuMemFree(workspace);
        for (size_t i = 0; i < KEPT; i++)
            if (on_device && own->graphs[i].exec != NULL)
                driver->p_cuGraphExecDestroy(own->graphs[i].exec);
        free(own);
    }
}

/* In its own context, and leaves the one that is current as it was. A context that is gone has
 * freed all that was in it. */
void hn_lib_kernel_destroy(struct hone_kernel *kernel)
{
    CUcontext outside;
    if (kernel == NULL)
        return;
    hn_lib_race_destroy(kernel->race);
    if (kernel->module != NULL) {
        bool is_there = hn_lib_enter(kernel->cache, kernel->context, &outside) == CUDA_SUCCESS;
        free_streams(kernel, is_there);
        if (is_there && kernel->shared == NULL)
            kernel->cache->driver.p_cuModuleUnload(kernel->module);
        if (is_there)
            hn_lib_leave(kernel->cache, outside);
    }
    struct hn_lib_maps *maps = atomic_load(&kernel->maps);
    for (size_t i = 0; maps != NULL && i < PLACES; i++)
        free(atomic_load(&maps->places[i]));
    free(maps);
    if (!kernel->is_piece) {
        hn_launch_finish(&kernel->launch);
        hn_bindings_finish(&kernel->problem);
        if (kernel->configuration == NULL)
            hn_bindings_finish(&kernel->point);
        free(kernel->symbols);
        free(kernel->steps);
        free(kernel->grids);
        free(kernel->slots);
        free(kernel);
    }
}

/* The values' own, or the one that is longest there, which forgets its own. */
static struct graph *choose_graph(struct hn_lib_stream *own, const struct hone_kernel *kernel,
                                  const uint64_t *values)
{
    size_t bytes = kernel->slot_count * sizeof *values;
    for (size_t i = 0; i < KEPT; i++)
        if (own->graphs[i].seen && memcmp(own->graphs[i].values, values, bytes) == 0)
            return &own->graphs[i];
    struct graph *graph = &own->graphs[own->oldest++ % KEPT];
    if (graph->exec != NULL)
        kernel->cache->driver.p_cuGraphExecDestroy(graph->exec);
    graph->exec = NULL;
    graph->seen = false;
    graph->refused = false;
    memcpy(graph->values, values, bytes);
    return graph;
}

/* In a stream of its own, since the caller's may be the default one, which cannot be captured.
 * Another stream of the program may be captured meanwhile, which allows a thread little. The
 * capture is ended whatever happens in it. */
static void make_graph(struct hone_kernel *kernel, struct graph *graph)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    uint64_t values[HN_LIB_MAX_ARGUMENTS];
    CUcontext outside = NULL;
    CUstream stream = NULL;
    CUgraph captured = NULL;
    struct hn_error failed;
    graph->refused = true;
    if (hn_lib_enter(kernel->cache, kernel->context, &outside) != CUDA_SUCCESS)
        return;
    hn_error_init(&failed);
    memcpy(values, graph->values, kernel->slot_count * sizeof *values);
    driver->p_cuThreadExchangeStreamCaptureMode(&mode);
    if (driver->p_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS) {
        if (driver->p_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) ==
            CUDA_SUCCESS) {
            hn_lib_launch_steps(kernel, stream, values, &failed);
            graph->refused =
                driver->p_cuStreamEndCapture(stream, &captured) != CUDA_SUCCESS ||
                hn_failed(&failed) ||
                driver->p_cuGraphInstantiate(&graph->exec, captured, 0) != CUDA_SUCCESS;
        }
        driver->p_cuStreamDestroy(stream);
    }
    if (graph->refused)
        graph->exec = NULL;
    if (captured != NULL)
        driver->p_cuGraphDestroy(captured);
    driver->p_cuThreadExchangeStreamCaptureMode(&mode);
    hn_lib_leave(kernel->cache, outside);
}

bool hn_lib_is_capturing(const struct hone_kernel *kernel, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return kernel->cache->driver.p_cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* A tensor map that is given takes the place of the one that is made, and may change behind its
 * pointer. */
static void launch_graph(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                         struct hn_error *err)
{
    CUgraphExec exec = NULL;
    CUresult result = CUDA_SUCCESS;
    bool suits = !hn_lib_is_capturing(kernel, stream);
    for (size_t i = 0; i < kernel->slot_count; i++)
        suits = suits && !(kernel->slots[i].mapped && values[i] != 0);
    struct hn_lib_stream *own = suits ? get_stream(kernel, stream) : NULL;
    if (own != NULL && !atomic_flag_test_and_set_explicit(&own->busy, memory_order_acquire)) {
        struct graph *graph = choose_graph(own, kernel, values);
        if (graph->seen && graph->exec == NULL && !graph->refused)
            make_graph(kernel, graph);
        graph->seen = true;
        exec = graph->exec;
        if (exec != NULL)
            result = kernel->cache->driver.p_cuGraphLaunch(exec, stream);
        atomic_flag_clear_explicit(&own->busy, memory_order_release);
    }
    if (exec == NULL)
        hn_lib_launch_steps(kernel, stream, values, err);
    else
        hn_lib_cuda(kernel->cache, result, "launching a graph", err);
}

/* The way of every launch: no lock, no allocation, and formatting only of what goes wrong; a struct
 * hn_error, whose place on the stack costs some nanoseconds, is not made before. */

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

/* These are false. */
__attribute__((cold, noinline)) static bool refuse(const struct hone_kernel *kernel,
                                                   const struct hn_lib_slot *slot,
                                                   const struct hone_argument *argument,
                                                   struct hn_error *err)
{
    const char *name = slot->name, *of = kernel->name;
    if (err == NULL)
        return false;
    if (argument->kind != slot->kind)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s is given by %s, expected %s",
                           name, of, kind_name(argument->kind), kind_name(slot->kind));
    if (slot->kind == HONE_BYTES)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s has %u bytes, expected %u", name,
                           of, argument->bytes, slot->value_bytes);
    if (slot->kind == HONE_BUFFER)
        return hn_lib_fail(err, HONE_INVALID,
                           "argument '%s' of %s lies at 0x%llx, expected a multiple of %llu "
                           "bytes, as its 'align' or a tensor map over it wants",
                           name, of, (unsigned long long)argument->as.bits,
                           (unsigned long long)slot->below_align + 1);
    return hn_lib_fail(err, HONE_INVALID,
                       "argument '%s' of %s is not what it is for the problem %.300s: leave it "
                       "out, or get the kernel for the problem that you have",
                       name, of, hone_kernel_info(kernel)->problem);
}

/* found: NULL where the arguments end; slot: NULL behind the last one. */
__attribute__((cold, noinline)) static bool refuse_place(const struct hone_kernel *kernel,
                                                         const struct hn_lib_slot *slot,
                                                         const struct hone_argument *found,
                                                         struct hn_error *err)
{
    const char *name = found == NULL ? "" : found->name == NULL ? "(NULL)" : found->name;
    bool known = false;
    if (err == NULL)
        return false;
    for (size_t i = 0; found != NULL && found->name != NULL && i < kernel->slot_count; i++)
        known = known || strcmp(kernel->slots[i].name, name) == 0;
    if (found == NULL)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s is missing", slot->name,
                           kernel->name);
    if (slot == NULL)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s': %s", name,
                           known ? "it is given twice, or out of the config's order"
                                 : "the kernel has none of that name");
    return hn_lib_fail(err, HONE_INVALID, "found argument '%s' where %s takes '%s'%s", name,
                       kernel->name, slot->name,
                       known ? ": arguments stand in the config's order"
                             : ", and nothing of that name");
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

/* Gives each slot its value. *owned has a bit for each that is an offset in the workspace. False:
 * an argument is wrong, which err says where it is not NULL. */
static inline bool resolve(const struct hone_kernel *kernel, const struct hone_argument *arguments,
                           size_t count, uint64_t *values, uint64_t *owned, struct hn_error *err)
{
    size_t next = 0;
    *owned = 0;
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
            return refuse_place(kernel, slot, argument, err);
        values[i] = slot->preset;
        if (slot->need == HONE_OWNED && slot->taken && !slot->mapped)
            *owned |= (uint64_t)1 << i;
    }
    return next == count || refuse_place(kernel, NULL, &arguments[next], err);
}

static void place_owned(const struct hone_kernel *kernel, uint64_t owned, CUdeviceptr workspace,
                        uint64_t *values)
{
    for (size_t i = 0; i < kernel->slot_count; i++)
        if ((owned >> i & 1) != 0)
            values[i] += workspace;
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

struct started {
    const char *what; /* the call that failed */
    CUresult result;
};

static struct started start_steps(struct hone_kernel *kernel, CUstream stream, uint64_t *values)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    void *parameters[HN_LIB_MAX_ARGUMENTS];
    CUtensorMap spare[HN_LIB_MAX_MAPS];
    CUresult result = CUDA_SUCCESS;
    if (kernel->launch.tensor_count > 0)
        result = place_maps(kernel, values, spare);
    if (result != CUDA_SUCCESS)
        return (struct started){"encoding a tensor map", result};
    if (kernel->has_zeroed)
        result = zero(kernel, stream, values);
    for (size_t s = 0; s < kernel->step_count && result == CUDA_SUCCESS; s++) {
        const struct hn_lib_step *step = &kernel->steps[s];
        for (size_t i = 0; i < step->of->argument_count; i++) {
            size_t argument = step->of->arguments[i];
            parameters[i] = kernel->slots[argument].kind == HONE_BYTES
                                ? (void *)(uintptr_t)values[argument]
                                : &values[argument];
        }
        CUdeviceptr window =
            step->shape.window == SIZE_MAX ? 0 : values[step->of->geometry.window.argument];
        result = hn_module_launch(&step->shape, kernel->grids[s], driver, step->function, stream,
                                  window, parameters);
    }
    return (struct started){"launching", result};
}

void hn_lib_launch_steps(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                         struct hn_error *err)
{
    if (hn_failed(err))
        return;
    const struct started started = start_steps(kernel, stream, values);
    hn_lib_cuda(kernel->cache, started.result, started.what, err);
}

void hn_lib_launch(struct hone_kernel *kernel, const struct hn_lib_launch *launch,
                   struct hn_error *err)
{
    uint64_t values[HN_LIB_MAX_ARGUMENTS], owned;
    if (!resolve(kernel, launch->arguments, launch->count, values, &owned, err))
        return;
    if (kernel->symbols_to_set > 0 &&
        !atomic_load_explicit(&kernel->symbols_are_set, memory_order_acquire))
        hn_lib_fail(err, HONE_INVALID,
                    "%s has %zu symbols that were never set: call hone_set_symbols first",
                    kernel->name, kernel->symbols_to_set);
    else if (owned != 0)
        place_owned(kernel, owned, get_workspace(kernel, launch->stream, err), values);
    if (hn_failed(err))
        return;
    if (kernel->race != NULL) {
        hn_lib_race_launch(kernel, launch, values, err);
    } else if (kernel->is_watched) {
        hn_lib_capture(kernel, launch->stream, values, err);
    } else if (kernel->as_graph) {
        launch_graph(kernel, launch->stream, values, err);
    } else {
        hn_lib_launch_steps(kernel, launch->stream, values, err);
    }
}

__attribute__((cold, noinline)) static enum hone_status
launch_with_error(struct hone_kernel *kernel, CUstream stream,
                  const struct hone_argument *arguments, size_t count, struct hone_error *err)
{
    const struct hn_lib_launch launch = {stream, arguments, count};
    struct hn_error why;
    hn_error_init(&why);
    if (kernel == NULL || (arguments == NULL && count > 0))
        hn_lib_fail(&why, HONE_INVALID, "hone_launch: '%s' is NULL",
                    kernel == NULL ? "kernel" : "arguments");
    else
        hn_lib_launch(kernel, &launch, &why);
    return hn_lib_tell(&why, err);
}

__attribute__((cold, noinline)) static enum hone_status
tell_failure(const struct hone_kernel *kernel, struct started started, struct hone_error *err)
{
    struct hn_error why;
    hn_error_init(&why);
    hn_lib_cuda(kernel->cache, started.result, started.what, &why);
    return hn_lib_tell(&why, err);
}

/* Nothing but steps, with arguments that are right and scratch memory that is there. */
enum hone_status hone_launch(struct hone_kernel *kernel, CUstream stream,
                             const struct hone_argument *arguments, size_t count,
                             struct hone_error *err)
{
    uint64_t values[HN_LIB_MAX_ARGUMENTS], owned = 0;
    if (kernel == NULL || (arguments == NULL && count > 0) || kernel->symbols_to_set > 0 ||
        kernel->is_watched || kernel->as_graph ||
        !resolve(kernel, arguments, count, values, &owned, NULL))
        return launch_with_error(kernel, stream, arguments, count, err);
    if (owned != 0) {
        const struct hn_lib_stream *own = find_stream(kernel, stream);
        CUdeviceptr workspace =
            own == NULL ? 0 : atomic_load_explicit(&own->workspace, memory_order_acquire);
        if (workspace == 0)
            return launch_with_error(kernel, stream, arguments, count, err);
        place_owned(kernel, owned, workspace, values);
    }
    const struct started started = start_steps(kernel, stream, values);
    return started.result == CUDA_SUCCESS ? HONE_OK : tell_failure(kernel, started, err);
}
