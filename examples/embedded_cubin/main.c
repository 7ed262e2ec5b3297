/* SPDX-License-Identifier: MIT */
/* Adds up numbers with the reduction that Hone tuned, from machine code that is part of this
 * program: it needs neither NVRTC nor a toolkit nor libhone when it runs, only the driver.  usage:
 * sum [how many] */
#include <stdio.h>
#include <stdlib.h>

#include "reduce_embedded.h" /* hone export reduce --format cubin-header; includes cuda.h */

static void check(CUresult result, const char *what)
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
    check(cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr buffer = 0;
    check(cuMemAlloc(&buffer, bytes > 0 ? bytes : 1), "cuMemAlloc");
    return buffer;
}

struct gpu {
    char name[256];
    int capability; /* 90 for 9.0 */
    int sms;
};

/* The first device, its primary context made current. */
static void open_device(struct gpu *gpu)
{
    CUdevice device;
    CUcontext context;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDeviceGetName(gpu->name, sizeof gpu->name, device), "cuDeviceGetName");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    gpu->sms = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    gpu->capability = 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                      attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* Of all that was tuned, what serves this device and problem best. */
static void load(const struct gpu *gpu, struct hone_reduce_problem problem,
                 struct hone_reduce_kernel *kernel)
{
    struct hone_match match = hone_reduce_lookup(gpu->name, gpu->capability, gpu->sms, 1, problem);
    if (match.config < 0) {
        fprintf(stderr, "no tuned configuration can add up %lld numbers\n",
                (long long)problem.SIZE);
        exit(1);
    }
    check(hone_reduce_load(match.config, kernel), "hone_reduce_load");
    printf("configuration %d, tuned on %s for %lld numbers\n", match.config,
           hone_reduce_results[match.result].device,
           (long long)hone_reduce_results[match.result].problem.SIZE);
}

/* How large the buffers have to be depends on the configuration. */
static float add_up(const struct hone_reduce_kernel *kernel, const float *numbers,
                    struct hone_reduce_problem problem)
{
    struct hone_reduce_sizes size = hone_reduce_size(kernel->config, problem);
    float sum = 0;
    CUdeviceptr in = allocate(size.in_size), out = allocate(size.out_size);
    CUdeviceptr partial = allocate(size.partial_size), total = allocate(size.total_size);
    CUdeviceptr done = allocate(size.done_size);
    const CUdeviceptr buffers[] = {in, out, partial, total, done};
    check(cuMemcpyHtoD(in, numbers, size.in_size), "cuMemcpyHtoD");
    check(hone_reduce_launch(kernel->functions, kernel->config, 0, problem, in, out, partial, total,
                             done),
          "hone_reduce_launch");
    check(cuMemcpyDtoH(&sum, out, sizeof sum), "the kernel");
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        check(cuMemFree(buffers[i]), "cuMemFree");
    return sum;
}

int main(int argc, char **argv)
{
    struct gpu gpu;
    struct hone_reduce_kernel kernel;
    long long size = argc > 1 ? atoll(argv[1]) : 1 << 20;
    float *numbers = size < 1 ? NULL : malloc((size_t)size * sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "expected how many numbers to add up, as many as there is memory for\n");
        return 2;
    }
    double expected = 0;
    for (long long i = 0; i < size; i++) {
        numbers[i] = (float)(i % 7) - 2.5f;
        expected += numbers[i];
    }

    open_device(&gpu);
    struct hone_reduce_problem problem = {.SIZE = size, .SM_COUNT = gpu.sms};
    load(&gpu, problem, &kernel);
    float sum = add_up(&kernel, numbers, problem);
    double error = sum > expected ? sum - expected : expected - sum;
    int right = error <= 1e-5 * (double)size;
    printf("sum %.9g, expected %.9g: %s\n", sum, expected, right ? "right" : "WRONG");

    check(hone_reduce_unload(&kernel), "hone_reduce_unload");
    check(cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
    free(numbers);
    return right ? 0 : 1;
}
