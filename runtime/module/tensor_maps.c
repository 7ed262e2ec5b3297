/* SPDX-License-Identifier: MIT */
#include "runtime/module/tensor_maps.h"

#include <stdint.h>

/* Whether bytes have a sign is nothing to a copy. */
static CUtensorMapDataType type_of(enum hn_element element)
{
    static const CUtensorMapDataType types[HN_ELEMENT_COUNT] = {
        [HN_INT8] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
        [HN_INT16] = CU_TENSOR_MAP_DATA_TYPE_UINT16,
        [HN_INT32] = CU_TENSOR_MAP_DATA_TYPE_INT32,
        [HN_INT64] = CU_TENSOR_MAP_DATA_TYPE_INT64,
        [HN_UINT8] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
        [HN_UINT16] = CU_TENSOR_MAP_DATA_TYPE_UINT16,
        [HN_UINT32] = CU_TENSOR_MAP_DATA_TYPE_UINT32,
        [HN_UINT64] = CU_TENSOR_MAP_DATA_TYPE_UINT64,
        [HN_FLOAT32] = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        [HN_FLOAT64] = CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        [HN_FLOAT16] = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        [HN_BFLOAT16] = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        [HN_FLOAT8_E4M3] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
    };
    return types[element];
}

static CUtensorMapSwizzle swizzle_of(int64_t bytes)
{
    return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                         : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static CUtensorMapL2promotion promotion_of(int64_t bytes)
{
    return bytes == 256   ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
           : bytes == 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
           : bytes == 64  ? CU_TENSOR_MAP_L2_PROMOTION_L2_64B
                          : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

static CUtensorMapInterleave interleave_of(int64_t bytes)
{
    return bytes == 32   ? CU_TENSOR_MAP_INTERLEAVE_32B
           : bytes == 16 ? CU_TENSOR_MAP_INTERLEAVE_16B
                         : CU_TENSOR_MAP_INTERLEAVE_NONE;
}

CUresult hn_tensor_encode(const struct hn_driver *driver, const struct hn_tensor *tensor,
                          CUdeviceptr address, CUtensorMap *map)
{
    cuuint64_t dims[HN_TENSOR_RANK], strides[HN_TENSOR_RANK];
    cuuint32_t box[HN_TENSOR_RANK], element_strides[HN_TENSOR_RANK];
    if (driver->p_cuTensorMapEncodeTiled == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (int i = 0; i < HN_TENSOR_RANK; i++) {
        dims[i] = (cuuint64_t)tensor->dims[i];
        strides[i] = (cuuint64_t)tensor->strides[i];
        box[i] = (cuuint32_t)tensor->box[i];
        element_strides[i] = (cuuint32_t)tensor->element_strides[i];
    }
    return driver->p_cuTensorMapEncodeTiled(
        map, type_of(tensor->element), (cuuint32_t)tensor->rank, (void *)(uintptr_t)address, dims,
        strides, box, element_strides, interleave_of(tensor->settings[HN_TENSOR_INTERLEAVE]),
        swizzle_of(tensor->settings[HN_TENSOR_SWIZZLE]),
        promotion_of(tensor->settings[HN_TENSOR_PROMOTION]),
        tensor->settings[HN_TENSOR_FILL] == HN_TENSOR_NAN
            ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
            : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
