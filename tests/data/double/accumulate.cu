// SPDX-License-Identifier: MIT
// y += x, wrong unless y is restored and the counter zeroed before each launch.
#ifndef SCRATCH
#define SCRATCH 1024
#endif

extern "C" __device__ const int hone_double[] = {SCRATCH};

extern "C" __global__ void accumulate(const float *x, float *y, int *counter, unsigned int *metric,
                                      unsigned char *scratch, long long n)
{
    int start = *(volatile int *)counter;
    for (long long i = threadIdx.x; i < n; i += blockDim.x)
        y[i] += x[i] + start;
    for (int i = threadIdx.x; i < SCRATCH; i += blockDim.x)
        scratch[i] = 1;
    if (threadIdx.x < 4)
        metric[threadIdx.x] += threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        *counter = start + 1;
}
