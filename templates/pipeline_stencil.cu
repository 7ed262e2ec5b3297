// SPDX-License-Identifier: MIT
// out = in, each element replaced by the mean of the (2 RADIUS + 1)^2 around it, fp32, rows in the host's memory: a
// pipeline whose chunks need RADIUS rows of their neighbours. Nothing is copied twice for that: a chunk's kernel waits
// for the next one's rows, and reads before and behind its own. Beyond the edges the outermost elements count.
#include "fixed_width.cuh"

#ifndef RADIUS
#define RADIUS 1
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif

__device__ __forceinline__ int clamp(int i, int last)
{
    return i < 0 ? 0 : i > last ? last : i;
}

// in and out begin at the chunk's first row, which is row `begin` of HEIGHT.
extern "C" __global__ void __launch_bounds__(32 * BLOCK_Y)
    pipeline_stencil(const float *__restrict__ in, float *__restrict__ out, int WIDTH, int HEIGHT, int begin, int rows)
{
    const int x = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x >= WIDTH || row >= rows)
        return;
    float sum = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        const float *const line = in + (int64_t)(clamp(begin + row + dy, HEIGHT - 1) - begin) * WIDTH;
#pragma unroll
        for (int dx = -RADIUS; dx <= RADIUS; ++dx)
            sum += line[clamp(x + dx, WIDTH - 1)];
    }
    out[(int64_t)row * WIDTH + x] = sum * (1.0f / ((2 * RADIUS + 1) * (2 * RADIUS + 1)));
}
