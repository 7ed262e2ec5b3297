/* SPDX-License-Identifier: MIT */
/* y = FACTOR * x through a helper that is not inlined, with a user constant and a counter in global memory. */
#ifndef NAME
#define NAME scale
#endif
#ifndef FACTOR
#define FACTOR 2.5f
#endif
#ifndef FIRST
#define FIRST 1.f
#endif
#ifndef LAUNCHES
#define LAUNCHES 7
#endif
#ifndef TILE
#define TILE 128
#endif
#ifndef BOUNDS
#define BOUNDS
#endif
#ifndef OTHER
#define OTHER 1.f
#endif

__constant__ float table[4] = {FIRST, 2.f, 3.f, 4.f};
__device__ int launches = LAUNCHES;

__noinline__ __device__ float helper(float x)
{
    return x * FACTOR;
}

extern "C" __global__ void BOUNDS NAME(float *x, int n)
{
    __shared__ float tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n)
        x[i] = helper(tile[threadIdx.x ^ 1]) + table[n & 3];
    if (i == 0)
        atomicAdd(&launches, 1);
}

extern "C" __global__ void unused(float *x)
{
    x[threadIdx.x] = OTHER;
}
