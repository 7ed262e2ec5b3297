// SPDX-License-Identifier: MIT
// out[0] = the sum of in, fp32. A sum is bound by memory if enough loads are in flight and the threads' shares are put
// together cheaply (Harris, "Optimizing Parallel Reduction in CUDA"; CUDA C++ Programming Guide, the sample of
// __threadfence()). Tuned: the word, the words in flight, the size of the grid, and how warps, blocks and the grid add up.
#include "fixed_width.cuh"

#ifndef VECTOR // floats in a word
#define VECTOR 4
#endif
#ifndef ITEMS // words that a thread has in flight
#define ITEMS 4
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef BLOCKS_PER_SM // of the grid, for each multiprocessor; the fewer, the more registers a thread may use for loads
#define BLOCKS_PER_SM 8
#endif
#ifndef STEP // within a block: a tree in shared memory, or shuffles
#define STEP_shared 1
#define STEP_shuffle 2
#define STEP STEP_shuffle
#endif
#ifndef FINISH // across blocks: a second kernel, an atomic a block or a warp, or the last block after a fence
#define FINISH_two_pass 1
#define FINISH_block_atomic 2
#define FINISH_warp_atomic 3
#define FINISH_threadfence 4
#define FINISH FINISH_threadfence
#endif
#ifndef LOAD // cs: streaming, marked as not to be read again
#define LOAD_plain 1
#define LOAD_cs 2
#define LOAD LOAD_plain
#endif

#include "finish_sum.cuh"
#include "vector.cuh"

#if LOAD == LOAD_cs
#define READ(pointer) __ldcs(pointer)
#else
#define READ(pointer) (*(pointer))
#endif

// Blocks that a multiprocessor has room for.
constexpr int resident = BLOCK * BLOCKS_PER_SM <= 2048 ? BLOCKS_PER_SM : 2048 / BLOCK;

extern "C" __global__ void __launch_bounds__(BLOCK, resident)
    reduce(const float *__restrict__ in, float *out, int64_t SIZE, float *partial, float *total, unsigned *done)
{
    const int64_t tile = (int64_t)BLOCK * ITEMS, tiles = SIZE / VECTOR / tile;
    float sum[VECTOR] = {};

    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const vector *first = (const vector *)in + t * tile + threadIdx.x;
        union {
            vector word;
            float value[VECTOR];
        } item[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            item[i].word = READ(first + i * BLOCK);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
#pragma unroll
            for (int j = 0; j < VECTOR; ++j)
                sum[j] += item[i].value[j];
    }
    // What fills no tile, an element a thread, as many in flight: of a short array that is all.
    const int64_t step = (int64_t)gridDim.x * BLOCK;
    for (int64_t i = tiles * tile * VECTOR + blockIdx.x * BLOCK + threadIdx.x; i < SIZE; i += step * ITEMS) {
        float item[ITEMS];
#pragma unroll
        for (int j = 0; j < ITEMS; ++j)
            item[j] = i + j * step < SIZE ? in[i + j * step] : 0.0f;
#pragma unroll
        for (int j = 0; j < ITEMS; ++j)
            sum[0] += item[j];
    }

#pragma unroll
    for (int j = 1; j < VECTOR; ++j)
        sum[0] += sum[j];
    finish_sum(sum[0], out, partial, total, done);
}

// The second pass, of one block of BLOCK threads.
extern "C" __global__ void __launch_bounds__(BLOCK) reduce_partial(const float *partial, float *out, int count)
{
    const float sum = sum_partial(partial, count);
    if (threadIdx.x == 0)
        *out = sum;
}
