// SPDX-License-Identifier: MIT
// y = a * x with the kernel that Hone tuned, beside kernels of one's own in <<<>>> on the same stream.
//
//   main CACHE [N]
//
// CACHE is what `hone tune ../c_driver_api/scale.yaml --cache CACHE` wrote.
#include <cstdio>
#include <cstdlib>
#include <hone.hpp>

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

static void check(cudaError_t result)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(result));
    exit(1);
}

static int run(const char *path, int n)
{
    const float a = 3;
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
    const hone::cache cache(path);
    const hone::kernel scale = cache.kernel("scale", {{"n", n}});
    printf("%s %s: %s\n", scale.info().kernel, scale.info().problem, scale.info().point);

    make_x<<<(n + 255) / 256, 256, 0, stream>>>(x, n);
    scale(stream, x, y, a);
    count_wrong<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, a, wrong);

    check(cudaStreamSynchronize(stream));
    const int found = *wrong;
    printf("%d of %d elements are wrong\n", found, n);
    check(cudaFree(x));
    check(cudaFree(y));
    check(cudaFree(wrong));
    check(cudaStreamDestroy(stream));
    return found != 0;
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? atoi(argv[2]) : 65536;
    if (argc < 2 || n < 1) {
        fprintf(stderr, "usage: %s CACHE [N]\n", argv[0]);
        return 2;
    }
    try {
        return run(argv[1], n);
    } catch (const hone::error &error) {
        fprintf(stderr, "%s: %s\n", hone_status_name(error.status()), error.what());
        return 1;
    }
}
