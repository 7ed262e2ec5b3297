// SPDX-License-Identifier: MIT
// Adds 1 to x. What its window of the L2 cache is to be stands in a table, so that all points have their own code.
#ifndef WINDOW_BYTES
#define WINDOW_BYTES 0
#define SET_ASIDE 0
#define HIT_PERCENT 100
#define HIT_persisting 1
#define HIT_normal 2
#define HIT HIT_persisting
#define MISS_normal 1
#define MISS_streaming 2
#define MISS_persisting 3
#define MISS MISS_streaming
#endif

extern "C" __device__ const int hone_double[] = {WINDOW_BYTES, HIT_PERCENT, HIT == HIT_persisting, MISS == MISS_streaming,
                                                 SET_ASIDE};

extern "C" __global__ void windows(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + 1;
}
