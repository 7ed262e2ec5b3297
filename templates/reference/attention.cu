// SPDX-License-Identifier: MIT
// O = softmax(scale Q K^T / log2(e)) V, summed up in float64. A block computes a row of one head: its scores, then its sums.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef TYPE
#define TYPE___nv_bfloat16 1
#define TYPE_half 2
#define TYPE TYPE___nv_bfloat16
#define WIDTH 128
#define CAUSAL 0
#endif

#if TYPE == TYPE_half
using element = __half;
#else
using element = __nv_bfloat16;
#endif

template <typename Combine> __device__ double over_block(double own, Combine combine)
{
    __shared__ double of_warps[8];
    for (int step = 16; step > 0; step /= 2)
        own = combine(own, __shfl_xor_sync(~0u, own, step));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = own;
    __syncthreads();
    double all = of_warps[0];
    for (int warp = 1; warp < 8; ++warp)
        all = combine(all, of_warps[warp]);
    return all;
}

extern "C" __global__ void attention_reference(const element *Q, const element *K, const element *V, element *O, int length,
                                               float scale)
{
    extern __shared__ double weights[];
    __shared__ double halves[WIDTH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, seen = CAUSAL ? blockIdx.x + 1 : length;
    const size_t head = (size_t)blockIdx.y * length * WIDTH;
    const element *const query = Q + head + (size_t)blockIdx.x * WIDTH;

    for (int key = warp; key < seen; key += 8) {
        double score = 0;
        for (int i = lane; i < WIDTH; i += 32)
            score += (double)(float)query[i] * (double)(float)K[head + (size_t)key * WIDTH + i];
        for (int step = 16; step > 0; step /= 2)
            score += __shfl_xor_sync(~0u, score, step);
        if (lane == 0)
            weights[key] = score * scale;
    }
    __syncthreads();

    double own = -1.0e300;
    for (int key = threadIdx.x; key < seen; key += 256)
        own = fmax(own, weights[key]);
    const double top = over_block(own, [](double a, double b) { return fmax(a, b); });
    own = 0;
    for (int key = threadIdx.x; key < seen; key += 256)
        own += weights[key] = exp2(weights[key] - top);
    const double total = over_block(own, [](double a, double b) { return a + b; });

    const int column = threadIdx.x % WIDTH, parts = 2; // of the keys
    double sum = 0;
    if (threadIdx.x < parts * WIDTH)
        for (int key = threadIdx.x / WIDTH; key < seen; key += parts)
            sum += weights[key] * (double)(float)V[head + (size_t)key * WIDTH + column];
    if (threadIdx.x >= WIDTH && threadIdx.x < parts * WIDTH)
        halves[column] = sum;
    __syncthreads();
    if (threadIdx.x < WIDTH)
        O[head + (size_t)blockIdx.x * WIDTH + column] = (element)(float)((sum + halves[column]) / total);
}
