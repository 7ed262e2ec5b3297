/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/libhone/kernel.h"
#include "runtime/module/module.h"

/* Tensor maps over the buffers of launches. Each is encoded once for an address and then found in a
 * table, which never moves and out of which nothing is taken: launches of several threads read it
 * without a lock. Where the table is full of other addresses a launch encodes its own. */

enum { PROBES = 8 };

struct hn_lib_map {
    CUtensorMap map;
    const struct hn_tensor *tensor;
    CUdeviceptr address;
};

static struct hn_lib_map *make(const struct hone_kernel *kernel, const struct hn_tensor *tensor,
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
static const CUtensorMap *find(struct hone_kernel *kernel, const struct hn_tensor *tensor,
                               CUdeviceptr address, CUresult *result)
{
    struct hn_lib_map *made = NULL;
    size_t number = (size_t)(tensor - kernel->launch.tensors);
    uint64_t hash = (address / 256 + number) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < PROBES; i++) {
        _Atomic(struct hn_lib_map *) *place = &kernel->maps[((hash >> 32) + i) % HN_LIB_PLACES];
        struct hn_lib_map *there = atomic_load_explicit(place, memory_order_acquire);
        if (there == NULL && made == NULL)
            made = make(kernel, tensor, address, result);
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

CUresult hn_lib_maps_place(struct hone_kernel *kernel, uint64_t *values,
                           CUtensorMap spare[HN_LIB_MAX_MAPS])
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < kernel->launch.tensor_count && result == CUDA_SUCCESS; i++) {
        const struct hn_tensor *tensor = &kernel->launch.tensors[i];
        CUdeviceptr address = values[tensor->buffer];
        if (values[tensor->argument] != 0)
            continue;
        const CUtensorMap *map = find(kernel, tensor, address, &result);
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
