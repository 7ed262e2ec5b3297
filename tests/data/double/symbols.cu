// SPDX-License-Identifier: MIT
// y = scale * weights + offsets, with tables and scale in variables of the module: wrong unless each is set, and unless
// `turns`, to which every launch adds, is zero again before the next.
#ifndef MEMORY
#define MEMORY_constant 1
#define MEMORY MEMORY_constant
#define MISSING 0
#endif

extern "C" __device__ const int hone_double[] = {MEMORY == MEMORY_constant};

#if MEMORY == MEMORY_constant
__constant__ int constant_weights[16];
#endif
#if MISSING == 0
__constant__ int offsets[4];
#elif MISSING == 1
__device__ int other_offsets[4];
#define offsets other_offsets
#else
__constant__ int offsets[2];
#endif
__constant__ int scale;
__device__ unsigned int turns;

extern "C" __global__ void look_up(const int *x, const int *weights, int *y, int n)
{
    const int turn = *(volatile unsigned int *)&turns;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
#if MEMORY == MEMORY_constant
        const int weight = constant_weights[x[i] & 15];
#else
        const int weight = weights[x[i] & 15];
#endif
        y[i] = scale * weight + offsets[x[i] & 3] + turn;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        turns = turn + 1;
}
