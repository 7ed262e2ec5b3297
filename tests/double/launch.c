/* SPDX-License-Identifier: MIT */
/* Attributes of functions, and launches. */
#include <string.h>

#include "calls.h"

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    ENTER();
    const struct double_function *own = (const struct double_function *)(void *)function;
    *value =
        attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? own->max_shared_bytes : 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    ENTER();
    struct double_function *own = (struct double_function *)(void *)function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 &&
        value <= 232448)
        own->max_shared_bytes = value;
    else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
             value <= 100)
        own->carveout = value;
    else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
        own->large_clusters = value != 0;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction function)
{
    ENTER();
    *name = ((const struct double_function *)(void *)function)->name;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
                                    size_t *bytes)
{
    ENTER();
    const struct double_function *own = (const struct double_function *)(void *)function;
    if (index >= (size_t)own->parameter_count || index >= DOUBLE_MAX_PARAMETERS)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = own->parameters[index].offset;
    *bytes = own->parameters[index].bytes;
    return CUDA_SUCCESS;
}

/* As on a real device, a few multiprocessors are of no use to larger clusters. */
CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                              const CUlaunchConfig *config)
{
    ENTER();
    unsigned int blocks = 0;
    int multiprocessors = 0;
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            blocks = config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
                     config->attrs[i].value.clusterDim.z;
    if (function == NULL || blocks == 0 || blocks > 16 ||
        !double_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors))
        return CUDA_ERROR_INVALID_VALUE;
    *clusters = multiprocessors / (int)blocks - (blocks > 2 ? 2 : 0);
    return CUDA_SUCCESS;
}

uint64_t hone_double_launches;
uint64_t hone_double_threads; /* of a block of the last launch */

void double_values_keep(struct double_values *values, const struct double_function *function,
                        void **parameters)
{
    for (int i = 0; i < DOUBLE_KEPT_PARAMETERS && i < function->parameter_count; i++) {
        size_t bytes = function->parameters[i].bytes;
        memcpy(values->words[i], parameters[i],
               bytes < sizeof values->words[i] ? bytes : sizeof values->words[i]);
    }
}

void double_values_point(struct double_values *values, void *parameters[DOUBLE_KEPT_PARAMETERS])
{
    for (int i = 0; i < DOUBLE_KEPT_PARAMETERS; i++)
        parameters[i] = values->words[i];
}

static CUresult launch(CUstream stream, CUfunction function, const struct double_geometry *geometry,
                       void **parameters)
{
    struct double_function *own = (struct double_function *)(void *)function;
    const unsigned int *grid = geometry->grid;
    const unsigned int *cluster = geometry->cluster;
    uint64_t threads = (uint64_t)geometry->block[0] * geometry->block[1] * geometry->block[2];
    if (threads == 0 || threads > 1024 || grid[0] == 0 || grid[1] == 0 || grid[2] == 0 ||
        (int)geometry->shared_bytes > own->max_shared_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned int blocks = cluster[0] * cluster[1] * cluster[2];
    if (blocks == 0 || blocks > (own->large_clusters ? 16 : 8) || grid[0] % cluster[0] != 0 ||
        grid[1] % cluster[1] != 0 || grid[2] % cluster[2] != 0)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    /* 16 SMs, whatever the blocks take. */
    if (geometry->cooperative && (uint64_t)grid[0] * grid[1] * grid[2] > 16 * (2048 / threads))
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    struct double_device *device = double_the_device();
    if (device->pending != CUDA_SUCCESS || device->hangs)
        return CUDA_SUCCESS;
    if (double_graph_takes_kernel(stream, own, geometry, parameters))
        return CUDA_SUCCESS;
    if (double_stream_defer(stream, own, geometry, parameters))
        return CUDA_SUCCESS;
    double_stream_begin(stream);
    hone_double_launches++;
    hone_double_threads = threads;
    CUresult result = double_kernel_run(&(struct double_launch){device, own, geometry, parameters});
    double_stream_end(stream);
    return result;
}

/* Parameters in one piece, each where it lies. */
static void **unpack(CUfunction function, void **extra, void *room[DOUBLE_MAX_PARAMETERS + 1])
{
    const struct double_function *own = (const struct double_function *)(void *)function;
    char *packed = NULL;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            packed = extra[1];
    for (int i = 0; i < own->parameter_count && i < DOUBLE_MAX_PARAMETERS; i++)
        room[i] = packed + own->parameters[i].offset;
    return room;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                void **parameters, void **extra)
{
    ENTER();
    void *room[DOUBLE_MAX_PARAMETERS + 1] = {NULL};
    parameters = parameters == NULL && extra != NULL ? unpack(function, extra, room) : parameters;
    const struct double_geometry geometry = {.grid = {grid_x, grid_y, grid_z},
                                             .block = {block_x, block_y, block_z},
                                             .shared_bytes = shared_bytes,
                                             .cluster = {1, 1, 1}};
    return launch(stream, function, &geometry, parameters);
}

static bool is_window(const CUaccessPolicyWindow *window)
{
    return double_is_valid((CUdeviceptr)(uintptr_t)window->base_ptr, window->num_bytes) &&
           window->hitRatio >= 0.0f && window->hitRatio <= 1.0f &&
           window->missProp != CU_ACCESS_PROPERTY_PERSISTING;
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                  void **parameters, void **extra)
{
    ENTER();
    void *room[DOUBLE_MAX_PARAMETERS + 1] = {NULL};
    parameters = parameters == NULL && extra != NULL ? unpack(function, extra, room) : parameters;
    struct double_geometry geometry = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .shared_bytes = config->sharedMemBytes,
        .cluster = {1, 1, 1}};
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
            geometry.cooperative = attribute->value.cooperative != 0;
        } else if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            geometry.cluster[0] = attribute->value.clusterDim.x;
            geometry.cluster[1] = attribute->value.clusterDim.y;
            geometry.cluster[2] = attribute->value.clusterDim.z;
        } else if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            geometry.programmatic = attribute->value.programmaticStreamSerializationAllowed != 0;
        } else if (attribute->id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) {
            geometry.window = attribute->value.accessPolicyWindow;
            if (!is_window(&geometry.window))
                return CUDA_ERROR_INVALID_VALUE;
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return launch(config->hStream, function, &geometry, parameters);
}
