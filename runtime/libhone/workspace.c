/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/libhone/kernel.h"

enum { SLAB_BYTES = 1 << 20 };

const void *hn_lib_stream_thread(CUstream stream)
{
    return stream == CU_STREAM_PER_THREAD ? (const void *)(uintptr_t)pthread_self() : NULL;
}

static const struct hn_lib_workspace *find(const struct hone_kernel *kernel, CUstream stream,
                                           const void *thread)
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

static enum hone_status add(struct hone_kernel *kernel, CUstream stream, const void *thread,
                            struct hone_error *err)
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
    const void *thread = hn_lib_stream_thread(stream);
    const struct hn_lib_workspace *workspace = find(kernel, stream, thread);
    enum hone_status status = HONE_OK;
    if (workspace == NULL) {
        pthread_mutex_lock(&kernel->cache->lock);
        workspace = find(kernel, stream, thread);
        if (workspace == NULL)
            status = add(kernel, stream, thread, err);
        workspace = find(kernel, stream, thread);
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
