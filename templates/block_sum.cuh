// SPDX-License-Identifier: MIT
// The sum of a value over the threads of a warp and of a block. STEP says how a block does it: a tree in shared memory
// with a barrier a level, or shuffles, which need a barrier once.
#ifndef HONE_BLOCK_SUM_CUH
#define HONE_BLOCK_SUM_CUH

// In lane 0; all lanes of the warp call it.
__device__ __forceinline__ float warp_sum(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffff, value, distance);
    return value;
}

// In thread 0; all threads of a block of BLOCK threads call it, a power of two and a warp at least.
__device__ __forceinline__ float block_sum(float value)
{
#if STEP == STEP_shared
    __shared__ float tree[BLOCK];
    tree[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int distance = BLOCK / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance)
            tree[threadIdx.x] += tree[threadIdx.x + distance];
        __syncthreads();
    }
    return tree[0];
#else
    __shared__ float of_warp[32];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x >= 32)
        return 0;
    return warp_sum(threadIdx.x < BLOCK / 32 ? of_warp[threadIdx.x] : 0);
#endif
}

#endif
