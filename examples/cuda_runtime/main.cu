// SPDX-License-Identifier: MIT
// y = a * x with the kernel that Hone tuned, beside kernels of one's own in <<<>>> on the same stream.
//
//   main CACHE [N]
//
// CACHE is what `hone tune ../c_driver_api/scale.yaml --cache CACHE` wrote.
#include <cstdio>
#include <cstdlib>
#include <hone.h>

__global__ void make_x(float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = static_cast<float>(i % 100) / 100;
}

__global__ void count_wrong(const float *x, const float *y, int n, float a, int *wrong)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !(fabsf(y[i] - a * x[i]) < 1e-5f))
        atomicAdd(wrong, 1);
}

static void check(hone_status status, const hone_error &err)
{
    if (status == HONE_OK)
        return;
    fprintf(stderr, "%s: %s\n", hone_status_name(status), err.message);
    exit(1);
}

static void check(cudaError_t result)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(result));
    exit(1);
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? atoi(argv[2]) : 65536;
    const float a = 3;
    if (argc < 2 || n < 1) {
        fprintf(stderr, "usage: %s CACHE [N]\n", argv[0]);
        return 2;
    }
    float *x, *y;
    int *wrong;
    cudaStream_t stream;
    check(cudaSetDevice(0));
    check(cudaMalloc(&x, n * sizeof(float)));
    check(cudaMalloc(&y, n * sizeof(float)));
    check(cudaMallocManaged(&wrong, sizeof(int)));
    check(cudaStreamCreate(&stream));
    *wrong = 0;

    // After the first call of the runtime its context is current, which is what the library works in.
    hone_error err;
    hone_cache *cache;
    hone_kernel *kernel;
    const hone_value problem[] = {hone_integer("n", n)};
    check(hone_open(argv[1], &cache, &err), err);
    check(hone_get(cache, "scale", problem, 1, nullptr, &kernel, &err), err);
    const hone_info *info = hone_kernel_info(kernel);
    printf("%s %s: %s\n", info->kernel, info->problem, info->point);

    make_x<<<(n + 255) / 256, 256, 0, stream>>>(x, n);
    const hone_argument arguments[] = {hone_buffer("x", reinterpret_cast<CUdeviceptr>(x)),
                                       hone_buffer("y", reinterpret_cast<CUdeviceptr>(y)), hone_float32("a", a)};
    check(hone_launch(kernel, stream, arguments, 3, &err), err);
    count_wrong<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, a, wrong);

    check(cudaStreamSynchronize(stream));
    const int found = *wrong;
    printf("%d of %d elements are wrong\n", found, n);
    hone_close(cache);
    check(cudaFree(x));
    check(cudaFree(y));
    check(cudaFree(wrong));
    check(cudaStreamDestroy(stream));
    return found != 0;
}
