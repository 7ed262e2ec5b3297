/* SPDX-License-Identifier: MIT */
#include "runtime/module/module.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int64_t hn_module_shared_bytes(const struct hn_launch *launch, const struct hn_image *image,
                               size_t step)
{
    int64_t most = 0;
    for (size_t i = 0; i < image->entry_count; i++)
        if (strcmp(image->entries[i], image->entries[step]) == 0 &&
            launch->steps[i].shared_bytes > most)
            most = launch->steps[i].shared_bytes;
    return most;
}

CUresult hn_module_find(const struct hn_driver *driver, CUmodule module, const char *entry,
                        const struct hn_launch_step *shape, int64_t shared_bytes,
                        CUfunction *function, char what[96])
{
    int64_t blocks = shape->cluster[0] * shape->cluster[1] * shape->cluster[2];
    const struct {
        CUfunction_attribute attribute;
        int64_t value;
        bool needed;
        const char *what;
    } attributes[] = {
        /* Has to be asked for where static and dynamic together exceed 48 KiB, and never harms. */
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes, shared_bytes > 0,
         "bytes of dynamic shared memory"},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, shape->carveout,
         shape->carveout != HN_NO_CARVEOUT, "percent of carve-out"},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, blocks > HN_PORTABLE_CLUSTER,
         "cluster of more than 8 blocks"},
    };
    snprintf(what, 96, "%.90s", entry);
    CUresult result = driver->p_cuModuleGetFunction(function, module, entry);
    for (size_t i = 0; result == CUDA_SUCCESS && i < sizeof attributes / sizeof *attributes; i++) {
        if (!attributes[i].needed)
            continue;
        snprintf(what, 96, "asking for %lld %s", (long long)attributes[i].value,
                 attributes[i].what);
        result = driver->p_cuFuncSetAttribute(*function, attributes[i].attribute,
                                              (int)attributes[i].value);
    }
    return result;
}

static CUlaunchAttribute cluster_of(const struct hn_launch_step *step)
{
    return (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                               .value.clusterDim = {(unsigned int)step->cluster[0],
                                                    (unsigned int)step->cluster[1],
                                                    (unsigned int)step->cluster[2]}};
}

struct hn_module_step hn_module_step_of(const struct hn_launch_step *step)
{
    struct hn_module_step made = {
        .config = {.gridDimX = (unsigned int)step->grid[0],
                   .gridDimY = (unsigned int)step->grid[1],
                   .gridDimZ = (unsigned int)step->grid[2],
                   .blockDimX = (unsigned int)step->block[0],
                   .blockDimY = (unsigned int)step->block[1],
                   .blockDimZ = (unsigned int)step->block[2],
                   .sharedMemBytes = (unsigned int)step->shared_bytes},
        .window = SIZE_MAX,
    };
    unsigned int count = 0;
    if (hn_launch_step_has_clusters(step))
        made.attributes[count++] = cluster_of(step);
    if (step->cooperative)
        made.attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    if (step->programmatic)
        made.attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1};
    if (step->window.bytes > 0) {
        made.window = count;
        CUlaunchAttribute *window = &made.attributes[count++];
        window->id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
        window->value.accessPolicyWindow = (CUaccessPolicyWindow){
            .num_bytes = (size_t)step->window.bytes,
            .hitRatio = (float)step->window.hit_ratio,
            .hitProp = (CUaccessProperty)step->window.hit,
            .missProp = (CUaccessProperty)step->window.miss,
        };
    }
    made.config.numAttrs = count;
    return made;
}

CUresult hn_module_active_clusters(const struct hn_driver *driver,
                                   const struct hn_launch_step *step, CUfunction function,
                                   int *clusters)
{
    CUlaunchAttribute cluster = cluster_of(step);
    CUlaunchConfig config = hn_module_step_of(step).config;
    *clusters = 0;
    if (driver->p_cuOccupancyMaxActiveClusters == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    config.attrs = &cluster;
    config.numAttrs = 1;
    return driver->p_cuOccupancyMaxActiveClusters(clusters, function, &config);
}

/* Clusters, cooperation, early begins and windows are attributes of a launch; all others go the
 * older way. */
CUresult hn_module_launch(const struct hn_module_step *step, const unsigned int *grid,
                          const struct hn_driver *driver, CUfunction function, CUstream stream,
                          CUdeviceptr window_base, void **parameters)
{
    const CUlaunchConfig *config = &step->config;
    const unsigned int usual[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    grid = grid != NULL ? grid : usual;
    if (config->numAttrs == 0)
        return driver->p_cuLaunchKernel(function, grid[0], grid[1], grid[2], config->blockDimX,
                                        config->blockDimY, config->blockDimZ,
                                        config->sharedMemBytes, stream, parameters, NULL);
    struct hn_module_step own = *step;
    own.config.gridDimX = grid[0];
    own.config.gridDimY = grid[1];
    own.config.gridDimZ = grid[2];
    if (own.window != SIZE_MAX)
        own.attributes[own.window].value.accessPolicyWindow.base_ptr =
            (void *)(uintptr_t)window_base;
    own.config.attrs = own.attributes;
    own.config.hStream = stream;
    return driver->p_cuLaunchKernelEx(&own.config, function, parameters, NULL);
}

/* Whether bytes have a sign is nothing to a copy. */
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

/* CUDA's number of a swizzle, a promotion or an interleave: 0 for none, then one more for each
 * doubling of the smallest. */
static int number_of(int64_t bytes, int64_t smallest)
{
    int number = 0;
    for (; smallest <= bytes; smallest *= 2)
        number++;
    return number;
}
_Static_assert((int)CU_TENSOR_MAP_SWIZZLE_128B == 3 && (int)CU_TENSOR_MAP_INTERLEAVE_32B == 2 &&
                   (int)CU_TENSOR_MAP_L2_PROMOTION_L2_256B == 3,
               "each follows the one before");

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
        map, types[tensor->element], (cuuint32_t)tensor->rank, (void *)(uintptr_t)address, dims,
        strides, box, element_strides,
        (CUtensorMapInterleave)number_of(tensor->settings[HN_TENSOR_INTERLEAVE], 16),
        (CUtensorMapSwizzle)number_of(tensor->settings[HN_TENSOR_SWIZZLE], 32),
        (CUtensorMapL2promotion)number_of(tensor->settings[HN_TENSOR_PROMOTION], 64),
        tensor->settings[HN_TENSOR_FILL] == HN_TENSOR_NAN
            ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
            : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
