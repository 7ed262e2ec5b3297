/* SPDX-License-Identifier: MIT */
/* y = a * x with the kernel that Hone tuned, in C on the driver API.
 *
 *   main CACHE [N]
 *
 * CACHE is what `hone tune scale.yaml --cache CACHE` wrote. Any N works: one that was not tuned
 * takes the nearest that was. */
#include <hone.h>
#include <stdio.h>
#include <stdlib.h>

static void check(enum hone_status status, const struct hone_error *err)
{
    if (status == HONE_OK)
        return;
    fprintf(stderr, "%s: %s\n", hone_status_name(status), err->message);
    exit(1);
}

static void check_cuda(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
    exit(1);
}

static void print_info(const struct hone_kernel *kernel)
{
    static const char *const grades[] = {
        [HONE_GRADE_DEFAULT] = "the default point",
        [HONE_GRADE_ANY] = "tuned on another architecture",
        [HONE_GRADE_ARCHITECTURE] = "tuned on another device of this architecture",
        [HONE_GRADE_PROBLEM] = "tuned on this device for another problem",
        [HONE_GRADE_FAMILY] = "chosen by the rule of its family",
        [HONE_GRADE_EXACT] = "tuned for this"};
    const struct hone_info *info = hone_kernel_info(kernel);
    printf("%s %s: %s, %s\n", info->kernel, info->problem, info->point, grades[info->grade]);
    if (info->median_us > 0)
        printf("recorded %.2f us for %s on %s%s%s\n", info->median_us, info->tuned_problem,
               info->device, info->stale ? "; stale: " : "", info->stale_because);
}

/* Counts the elements that are not a * x. */
static int count_wrong(const float *x, const float *y, int n, float a)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += !(y[i] - a * x[i] < 1e-5f && a * x[i] - y[i] < 1e-5f);
    return wrong;
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? atoi(argv[2]) : 65536;
    const float a = 3;
    const size_t bytes = (size_t)n * sizeof(float);
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr device_x, device_y;
    if (argc < 2 || n < 1) {
        fprintf(stderr, "usage: %s CACHE [N]\n", argv[0]);
        return 2;
    }
    float *x = malloc(bytes), *y = malloc(bytes);
    if (x == NULL || y == NULL)
        return 1;
    for (int i = 0; i < n; i++)
        x[i] = (float)(i % 100) / 100;

    check_cuda(cuInit(0), "cuInit");
    check_cuda(cuDeviceGet(&device, 0), "cuDeviceGet");
    check_cuda(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check_cuda(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check_cuda(cuStreamCreate(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
    check_cuda(cuMemAlloc(&device_x, bytes), "cuMemAlloc");
    check_cuda(cuMemAlloc(&device_y, bytes), "cuMemAlloc");
    check_cuda(cuMemcpyHtoD(device_x, x, bytes), "cuMemcpyHtoD");

    struct hone_error err;
    struct hone_cache *cache;
    struct hone_kernel *kernel;
    const struct hone_value problem[] = {hone_integer("n", n)};
    check(hone_open(argv[1], &cache, &err), &err);
    check(hone_get(cache, "scale", problem, 1, NULL, &kernel, &err), &err);
    print_info(kernel);

    /* The grid, and n itself, follow from the problem. */
    const struct hone_argument arguments[] = {hone_buffer("x", device_x),
                                              hone_buffer("y", device_y), hone_float32("a", a)};
    check(hone_launch(kernel, stream, arguments, 3, &err), &err);

    check_cuda(cuStreamSynchronize(stream), "cuStreamSynchronize");
    check_cuda(cuMemcpyDtoH(y, device_y, bytes), "cuMemcpyDtoH");
    int wrong = count_wrong(x, y, n, a);
    printf("%d of %d elements are wrong\n", wrong, n);
    hone_close(cache);
    cuMemFree(device_x);
    cuMemFree(device_y);
    cuStreamDestroy(stream);
    cuDevicePrimaryCtxRelease(device);
    free(x);
    free(y);
    return wrong != 0;
}
