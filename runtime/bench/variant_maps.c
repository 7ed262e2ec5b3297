/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench/variant.h"
#include "runtime/module/module.h"

/* The tensor maps of a variant: each set of the arguments has its own, encoded when it is first
 * launched, and again where its buffer was moved. */

/* cuda.h wants maps at multiples of 64 bytes. */
struct hn_variant_map {
    CUtensorMap map;
    CUdeviceptr address; /* of the buffer; 0: it was not encoded */
};

CUresult hn_variant_map(struct hn_variant *variant, size_t set, size_t argument, void **map)
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
        variant->maps = aligned_alloc(_Alignof(CUtensorMap), bytes);
        if (variant->maps == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
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
