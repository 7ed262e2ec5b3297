/* SPDX-License-Identifier: MIT */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

void gpu_check(CUresult result, const char *what)
{
    const char *text = "unknown error";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

static int attribute(CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    gpu_check(cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
}

void gpu_open(struct gpu *gpu)
{
    CUdevice device;
    CUcontext context;
    gpu_check(cuInit(0), "cuInit");
    gpu_check(cuDeviceGet(&device, 0), "cuDeviceGet");
    gpu_check(cuDeviceGetName(gpu->name, sizeof gpu->name, device), "cuDeviceGetName");
    gpu->capability = 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                      attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    gpu->sm_count = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    gpu_check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    gpu_check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    gpu_check(cuEventCreate(&gpu->start, CU_EVENT_DEFAULT), "cuEventCreate");
    gpu_check(cuEventCreate(&gpu->stop, CU_EVENT_DEFAULT), "cuEventCreate");
    gpu->flush_size = 2 * (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    gpu->flush = gpu_upload(NULL, gpu->flush_size);
}

CUdeviceptr gpu_upload(const void *data, size_t bytes)
{
    CUdeviceptr buffer;
    gpu_check(cuMemAlloc(&buffer, bytes > 0 ? bytes : 1), "cuMemAlloc");
    if (data != NULL)
        gpu_check(cuMemcpyHtoD(buffer, data, bytes), "cuMemcpyHtoD");
    else
        gpu_check(cuMemsetD8Async(buffer, 0, bytes, NULL), "cuMemsetD8Async");
    return buffer;
}

double gpu_time_us(const struct gpu *gpu, void (*launch)(void *context), void *context)
{
    float milliseconds = 0;
    gpu_check(cuMemsetD8Async(gpu->flush, 0, gpu->flush_size, NULL), "cuMemsetD8Async");
    gpu_check(cuEventRecord(gpu->start, NULL), "cuEventRecord");
    launch(context);
    gpu_check(cuEventRecord(gpu->stop, NULL), "cuEventRecord");
    gpu_check(cuEventSynchronize(gpu->stop), "cuEventSynchronize");
    gpu_check(cuEventElapsedTime(&milliseconds, gpu->start, gpu->stop), "cuEventElapsedTime");
    return milliseconds * 1000.0;
}
