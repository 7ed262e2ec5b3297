/* SPDX-License-Identifier: MIT */
/* Adds up numbers with the reduction that Hone tuned, from machine code that is part of this
 * program: it needs neither NVRTC nor a toolkit nor libhone when it runs, only the driver. Then it
 * does so again and again, kernel by kernel and as a graph, and tells both times.
 * usage: sum [how many] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
struct buffers {
    CUdeviceptr in, out, partial, total, done;
};

static struct buffers make_buffers(const struct hone_reduce_kernel *kernel, const float *numbers,
                                   struct hone_reduce_problem problem)
{
    struct hone_reduce_sizes size = hone_reduce_size(kernel->config, problem);
    struct buffers made = {allocate(size.in_size), allocate(size.out_size),
                           allocate(size.partial_size), allocate(size.total_size),
                           allocate(size.done_size)};
    check(cuMemsetD8Async(made.total, 0, size.total_size, 0), "cuMemsetD8Async");
    check(cuMemsetD8Async(made.done, 0, size.done_size, 0), "cuMemsetD8Async");
    check(cuMemcpyHtoD(made.in, numbers, size.in_size), "cuMemcpyHtoD");
    return made;
}

static void free_buffers(const struct buffers *b)
{
    const CUdeviceptr all[] = {b->in, b->out, b->partial, b->total, b->done};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check(cuMemFree(all[i]), "cuMemFree");
}

static void launch(const struct hone_reduce_kernel *kernel, struct hone_reduce_problem problem,
                   const struct buffers *b)
{
    check(hone_reduce_launch(kernel->functions, kernel->config, 0, problem, b->in, b->out,
                             b->partial, b->total, b->done),
          "hone_reduce_launch");
}

static float read_sum(const struct buffers *b)
{
    float sum = 0;
    check(cuMemcpyDtoH(&sum, b->out, sizeof sum), "the kernel");
    return sum;
}

static double now_us(void)
{
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* Microseconds a launch, host and device together: kernel by kernel, and as a graph. */
static void time_launches(const struct hone_reduce_kernel *kernel,
                          struct hone_reduce_problem problem, const struct buffers *b, int count)
{
    double plain_us = 0, graph_us = 0;
    CUgraphExec graph;
    check(hone_reduce_graph(kernel->functions, kernel->config, &graph, problem, b->in, b->out,
                            b->partial, b->total, b->done),
          "hone_reduce_graph");
    for (int round = 0; round < 2; round++) { /* the first one warms up */
        double start = now_us();
        for (int i = 0; i < count; i++)
            launch(kernel, problem, b);
        check(cuCtxSynchronize(), "the kernels");
        plain_us = (now_us() - start) / count;
        start = now_us();
        for (int i = 0; i < count; i++)
            check(cuGraphLaunch(graph, 0), "cuGraphLaunch");
        check(cuCtxSynchronize(), "the graphs");
        graph_us = (now_us() - start) / count;
    }
    printf("%.3f us a launch, %.3f us as a graph\n", plain_us, graph_us);
    check(cuMemsetD8Async(b->out, 0, sizeof(float), 0), "cuMemsetD8Async");
    check(cuGraphLaunch(graph, 0), "cuGraphLaunch");
    check(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
}

/* 1 for a wrong sum. */
static int judge(const char *what, float sum, double expected, long long size)
{
    double error = sum > expected ? sum - expected : expected - sum;
    int right = error <= 1e-5 * (double)size;
    printf("%s %.9g, expected %.9g: %s\n", what, sum, expected, right ? "right" : "WRONG");
    return !right;
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
    struct buffers buffers = make_buffers(&kernel, numbers, problem);
    launch(&kernel, problem, &buffers);
    int wrong = judge("sum", read_sum(&buffers), expected, size);
    time_launches(&kernel, problem, &buffers, 1000);
    wrong += judge("sum of the last graph", read_sum(&buffers), expected, size);
    free_buffers(&buffers);

    check(hone_reduce_unload(&kernel), "hone_reduce_unload");
    check(cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
    free(numbers);
    return wrong > 0;
}
