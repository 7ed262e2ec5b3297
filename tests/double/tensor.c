/* SPDX-License-Identifier: MIT */
/* Tensor maps: what the driver refuses, and what a map of the double says to a kernel of the
 * double. The rules are those of "Tensor Map Object Management" of the CUDA Driver API. */
#include <string.h>

#include "calls.h"

struct double_map {
    uint64_t address, dims[DOUBLE_MAP_RANK];
    uint64_t strides[DOUBLE_MAP_RANK - 1];
    uint16_t box[DOUBLE_MAP_RANK];
    uint8_t element_strides[DOUBLE_MAP_RANK], rank;
    uint8_t size; /* of an element */
    uint8_t nan;
    uint32_t mark; /* that it was made here, and not copied in part */
};
_Static_assert(sizeof(struct double_map) <= sizeof(CUtensorMap), "it is passed as one");
enum { MARK = 0x7e4505 };

static unsigned long encoded;

unsigned long double_maps_encoded(void)
{
    return encoded;
}

static const uint8_t sizes[] = {
    [CU_TENSOR_MAP_DATA_TYPE_UINT8] = 1,   [CU_TENSOR_MAP_DATA_TYPE_UINT16] = 2,
    [CU_TENSOR_MAP_DATA_TYPE_UINT32] = 4,  [CU_TENSOR_MAP_DATA_TYPE_INT32] = 4,
    [CU_TENSOR_MAP_DATA_TYPE_UINT64] = 8,  [CU_TENSOR_MAP_DATA_TYPE_INT64] = 8,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = 2, [CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = 4,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = 8, [CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = 2,
};

static uint64_t swizzle_bytes(CUtensorMapSwizzle swizzle)
{
    return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? UINT64_MAX : 16u << (unsigned)swizzle;
}

static bool are_extents(const struct double_map *map, uint64_t grain)
{
    for (int i = 0; i < map->rank; i++)
        if (map->dims[i] == 0 || map->dims[i] > UINT64_C(1) << 32 || map->box[i] == 0 ||
            map->box[i] > 256 || map->element_strides[i] == 0 || map->element_strides[i] > 8)
            return false;
    for (int i = 0; i + 1 < map->rank; i++)
        if (map->strides[i] == 0 || map->strides[i] % grain != 0 ||
            map->strides[i] >= UINT64_C(1) << 40)
            return false;
    return map->address != 0 && map->address % grain == 0;
}

CUresult CUDAAPI cuTensorMapEncodeTiled(
    CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    ENTER();
    bool plain = interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
    bool is_float = type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    if ((uintptr_t)out % 64 != 0 || (size_t)type >= sizeof sizes / sizeof sizes[0] || rank < 1 ||
        rank > DOUBLE_MAP_RANK || (!plain && rank < 3) ||
        promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B || swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_32B) ||
        (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float))
        return CUDA_ERROR_INVALID_VALUE;
    struct double_map map = {.address = (uintptr_t)address,
                             .rank = (uint8_t)rank,
                             .size = sizes[type],
                             .nan = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                             .mark = MARK};
    for (cuuint32_t i = 0; i < rank; i++) {
        map.dims[i] = dims[i];
        map.box[i] = (uint16_t)(box[i] <= 256 ? box[i] : 0);
        map.element_strides[i] = (uint8_t)(element_strides[i] <= 8 ? element_strides[i] : 0);
        if (i + 1 < rank)
            map.strides[i] = strides[i];
    }
    uint64_t inner = (uint64_t)map.box[0] * map.size;
    if (!are_extents(&map, interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16) ||
        (plain && (inner % 16 != 0 || inner > swizzle_bytes(swizzle))))
        return CUDA_ERROR_INVALID_VALUE;
    memset(out, 0, sizeof *out);
    memcpy(out, &map, sizeof map);
    encoded++;
    return CUDA_SUCCESS;
}

/* Where an element lies; NULL: outside. */
static void *find(const struct double_map *map, const int64_t *at)
{
    uint64_t place = 0;
    for (int i = 0; i < map->rank; i++) {
        if (at[i] < 0 || (uint64_t)at[i] >= map->dims[i])
            return NULL;
        place += (uint64_t)at[i] * (i == 0 ? map->size : map->strides[i - 1]);
    }
    return double_is_valid(map->address + place, map->size) ? (void *)(map->address + place) : NULL;
}

/* Moves it by a row and four columns, or eight by the template's table. */
CUresult double_tensor(const struct double_launch *launch)
{
    struct double_map in, out;
    memcpy(&in, launch->parameters[0], sizeof in);
    memcpy(&out, launch->parameters[1], sizeof out);
    if (in.mark != MARK || out.mark != MARK || in.rank != 2 || out.rank != 2 || in.size != 4 ||
        memcmp(in.box, out.box, sizeof in.box) != 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    int64_t columns = (int64_t)launch->geometry->grid[0] * in.box[0];
    int64_t rows = (int64_t)launch->geometry->grid[1] * in.box[1];
    for (int64_t y = 0; y < rows; y++) {
        for (int64_t x = 0; x < columns; x++) {
            const float zero = 0.0f;
            const float *from =
                find(&in, (const int64_t[]){x + 4 + 4 * launch->function->module->table[1], y + 1});
            float *to = find(&out, (const int64_t[]){x, y});
            if (to != NULL)
                memcpy(to, from == NULL ? &zero : from, sizeof *to);
        }
    }
    return double_took(launch, 4.0);
}

CUresult double_tensor_reference(const struct double_launch *launch)
{
    const float *in = *(const float **)launch->parameters[0];
    float *out = *(float **)launch->parameters[1];
    int rows = *(const int *)launch->parameters[2];
    int columns = *(const int *)launch->parameters[3];
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            out[y * columns + x] =
                y + 1 < rows && x + 4 < columns ? in[(y + 1) * columns + x + 4] : 0.0f;
    return double_took_exactly(launch, 100.0);
}
