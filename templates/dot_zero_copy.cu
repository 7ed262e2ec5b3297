// SPDX-License-Identifier: MIT
// dots[r] = the sum of x[i] y[i + r] for r = 0 to REUSE - 1, fp32, indices modulo SIZE, x and y in the host's memory: every
// element is read REUSE times. Copied first, it crosses the bus once, but nothing is computed meanwhile; mapped into the
// device's address space (zero copy) it comes when it is read, each time anew (CUDA C++ Best Practices Guide, "Zero Copy").
#include "fixed_width.cuh"

#ifndef BLOCK
#define BLOCK 256
#endif

#include "block_sum.cuh"

constexpr int items = 4; // elements of x, and of y, that a thread has on their way

extern "C" __global__ void __launch_bounds__(BLOCK)
    dot_zero_copy(const float *__restrict__ x, const float *__restrict__ y, float *partial, int64_t SIZE, int REUSE)
{
    const int64_t tile = (int64_t)BLOCK * items;
    for (int r = 0; r < REUSE; ++r) {
        float sum = 0;
        for (int64_t first = blockIdx.x * tile + threadIdx.x; first < SIZE; first += gridDim.x * tile) {
            float a[items], b[items];
#pragma unroll
            for (int item = 0; item < items; ++item) {
                const int64_t i = first + item * BLOCK, j = i + r;
                a[item] = i < SIZE ? x[i] : 0;
                b[item] = i < SIZE ? y[j < SIZE ? j : j - SIZE] : 0;
            }
#pragma unroll
            for (int item = 0; item < items; ++item)
                sum += a[item] * b[item];
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            partial[(int64_t)r * gridDim.x + blockIdx.x] = sum;
        __syncthreads(); // before the next sum
    }
}

// Adds up what the blocks found, a block for each r.
extern "C" __global__ void __launch_bounds__(BLOCK) dot_zero_copy_finish(const float *partial, float *dots, int blocks)
{
    float sum = 0;
    for (int i = threadIdx.x; i < blocks; i += BLOCK)
        sum += partial[(int64_t)blockIdx.x * blocks + i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        dots[blockIdx.x] = sum;
}
