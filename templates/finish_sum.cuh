// SPDX-License-Identifier: MIT
// How the sums of all blocks become one number, by FINISH. What is kept between launches is left as it was found, so
// that nothing needs to be cleared before the next.
#ifndef HONE_FINISH_SUM_CUH
#define HONE_FINISH_SUM_CUH

#include "block_sum.cuh"

// Whether this block is the last of the grid to come here. What its threads wrote before is visible to the last one: a
// fence makes it so before the ticket is drawn. The counter wraps to 0.
__device__ __forceinline__ bool block_is_last(unsigned *done)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    return last;
}

// Adds up `count` partial sums with one block, into thread 0. They are read from the L2 cache: the L1 cache is not
// coherent with what other blocks wrote.
__device__ __forceinline__ float sum_partial(const float *partial, int count)
{
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += BLOCK)
        sum += __ldcg(&partial[i]);
    return block_sum(sum);
}

// `sum` is a thread's share. partial: one a block; total and done: 0 before the first launch.
__device__ __forceinline__ void finish_sum(float sum, float *out, float *partial, float *total, unsigned *done)
{
    if (FINISH != FINISH_two_pass && gridDim.x == 1) { // nothing to add to
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            *out = sum;
        return;
    }
#if FINISH == FINISH_warp_atomic
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, sum);
#else
    sum = block_sum(sum);
#if FINISH == FINISH_block_atomic
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
#else
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
#endif
#endif

#if FINISH == FINISH_threadfence
    if (block_is_last(done)) {
        sum = sum_partial(partial, gridDim.x);
        if (threadIdx.x == 0)
            *out = sum;
    }
#elif FINISH != FINISH_two_pass
    if (block_is_last(done) && threadIdx.x == 0)
        *out = atomicExch(total, 0);
#endif
}

#endif
