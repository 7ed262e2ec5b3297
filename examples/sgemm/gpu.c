/* SPDX-License-Identifier: MIT */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 15 };

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

static double time_us(const struct gpu *gpu, const struct gpu_work *work)
{
    float milliseconds = 0;
    gpu_check(cuMemsetD8Async(gpu->flush, 0, gpu->flush_size, NULL), "cuMemsetD8Async");
    gpu_check(cuEventRecord(gpu->start, NULL), "cuEventRecord");
    work->launch(work->context);
    gpu_check(cuEventRecord(gpu->stop, NULL), "cuEventRecord");
    gpu_check(cuEventSynchronize(gpu->stop), "cuEventSynchronize");
    gpu_check(cuEventElapsedTime(&milliseconds, gpu->start, gpu->stop), "cuEventElapsedTime");
    return milliseconds * 1000.0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void gpu_measure(const struct gpu *gpu, struct gpu_work *own, struct gpu_work *other)
{
    struct gpu_work *both[] = {own, other};
    double samples[2][SAMPLES] = {{0}};
    for (int i = 0; i < SAMPLES; i++)
        for (int w = 0; w < 2; w++)
            if (both[w]->context != NULL)
                samples[w][i] = time_us(gpu, both[w]);
    for (int w = 0; w < 2; w++) {
        qsort(samples[w], SAMPLES, sizeof **samples, compare_doubles);
        both[w]->us = samples[w][SAMPLES / 2];
    }
}
