/* SPDX-License-Identifier: MIT */
/* y = alpha A x, in several ways: -Dblock_size=128 -Dvariant=2 -Duse_shared [-Dunroll=4] */
#include <stddef.h>
#include <string.h>

#ifndef unroll
#define unroll 1
#endif
#define min_of(a, b) ((a) < (b) ? (a) : (b))

#if variant == 1
#define row_of(thread, block) ((block) * block_size + (thread))
#elif variant == 2
#define row_of(thread, block) (block)
#else
#error "variant is 1 or 2"
#endif

__global__ void __launch_bounds__(block_size) gemv(const float *a, const float *x, float *y, float alpha, int rows, int columns)
{
    const int row = row_of(threadIdx.x, blockIdx.x);
    float sum = 0.f;
#if use_shared
    __shared__ float part[block_size];
#endif
#if variant == 1
    for (int first = 0; first < columns; first += block_size) {
#if use_shared
        __syncthreads();
        part[threadIdx.x] = first + (int)threadIdx.x < columns ? x[first + threadIdx.x] : 0.f;
        __syncthreads();
#else
        const float *part = x + first;
#endif
        if (row < rows)
#pragma unroll unroll
            for (int j = 0; j < min_of(block_size, columns - first); j++)
                sum += a[(size_t)row * columns + first + j] * part[j];
    }
    if (row < rows)
        y[row] = alpha * sum;
#else
#pragma unroll unroll
    for (int j = threadIdx.x; j < columns; j += block_size)
        sum += a[(size_t)row * columns + j] * x[j];
#if use_shared
    part[threadIdx.x] = sum;
    for (int half = block_size / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    sum = part[0];
#else
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
#endif
    if (threadIdx.x == 0)
        memcpy(&y[row], &(sum *= alpha), sizeof sum);
#endif
}
