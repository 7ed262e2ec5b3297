// SPDX-License-Identifier: MIT
// y[i] = the value after WORK steps of v = a v + x[i], fp32, for x and y in the host's memory: the more steps, the more
// computing there is for each byte that is copied (CUDA C++ Best Practices Guide, "Asynchronous and Overlapping Transfers
// with Computation"). Tuned is the way from host to host: the kernel is given one chunk after another, through several
// streams, so that one chunk is computed while others are copied up and down.
#include "fixed_width.cuh"

#ifndef BLOCK
#define BLOCK 256
#endif

constexpr int items = 4; // elements a thread, for independent steps

extern "C" __global__ void __launch_bounds__(BLOCK)
    pipeline(const float *__restrict__ x, float *__restrict__ y, int64_t n, int WORK)
{
    const int64_t first = (int64_t)blockIdx.x * (BLOCK * items) + threadIdx.x;
    float term[items], value[items] = {};

#pragma unroll
    for (int item = 0; item < items; ++item) {
        const int64_t i = first + item * BLOCK;
        term[item] = i < n ? x[i] : 0;
    }
#pragma unroll 16
    for (int step = 0; step < WORK; ++step)
#pragma unroll
        for (int item = 0; item < items; ++item)
            value[item] = 0.9995f * value[item] + term[item];
#pragma unroll
    for (int item = 0; item < items; ++item) {
        const int64_t i = first + item * BLOCK;
        if (i < n)
            y[i] = value[item];
    }
}
