// SPDX-License-Identifier: MIT
// y = sqrt(1 + x^2), fp32, by two kernels, x and y in the host's memory: many small copies against one of everything
// packed together, and an intermediate result that stays on the device against one that goes through the host (CUDA C++
// Best Practices Guide, "Data Transfer Between Host and Device"). Both are choices of the plan, not of the kernels.
#include "fixed_width.cuh"

#ifndef BLOCK
#define BLOCK 256
#endif

extern "C" __global__ void __launch_bounds__(BLOCK) square(const float *x, float *squares, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        squares[i] = x[i] * x[i];
}

extern "C" __global__ void __launch_bounds__(BLOCK) root(const float *squares, float *y, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        y[i] = sqrtf(1 + squares[i]);
}
