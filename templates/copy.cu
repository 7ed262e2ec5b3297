// SPDX-License-Identifier: MIT
// out = in, fp32, by an access pattern that is part of the problem: what misaligned, strided, permuted and same-address
// access costs, on the side of the loads or of the stores (CUDA C++ Best Practices Guide, "Coalesced Access to Global
// Memory"). Tuned: the word, and how many of them a thread has in flight before it waits for the first.
#include "fixed_width.cuh"

#ifndef PATTERN // plain; offset and strided addresses; permuted in, or the same for, each 32 neighbours
#define PATTERN_plain 1
#define PATTERN_offset 2
#define PATTERN_stride 3
#define PATTERN_permuted 4
#define PATTERN_same 5
#define PATTERN PATTERN_plain
#endif
#ifndef SIDE // which addresses follow the pattern; the others are consecutive
#define SIDE_load 1
#define SIDE_store 2
#define SIDE SIDE_load
#endif
#ifndef OFFSET // floats; the array's end wraps round to its start
#define OFFSET 0
#endif
#ifndef STRIDE // floats; so many passes (gridDim.y) together cover the array
#define STRIDE 1
#endif

#ifndef VECTOR // floats in a word; more than 1 for plain, or an offset and an array in whole words
#define VECTOR 1
#endif
#ifndef ITEMS // words a thread
#define ITEMS 1
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef LOAD // as the compiler likes, __ldg, or by promising that in and out do not overlap
#define LOAD_plain 1
#define LOAD_ldg 2
#define LOAD_restrict 3
#define LOAD LOAD_plain
#endif
#ifndef L1 // cg: loads are cached in L2 only
#define L1_ca 1
#define L1_cg 2
#define L1 L1_ca
#endif
#ifndef STORE // cs: streaming, marked as not to be read again
#define STORE_plain 1
#define STORE_cs 2
#define STORE STORE_plain
#endif

#include "vector.cuh"

#if LOAD == LOAD_restrict
#define RESTRICT __restrict__
#else
#define RESTRICT
#endif
#if LOAD == LOAD_ldg
#define READ(pointer) __ldg(pointer)
#elif L1 == L1_cg
#define READ(pointer) __ldcg(pointer)
#else
#define READ(pointer) (*(pointer))
#endif
#if STORE == STORE_cs
#define WRITE(pointer, value) __stcs(pointer, value)
#else
#define WRITE(pointer, value) (*(pointer) = (value))
#endif
#if SIDE == SIDE_store
#define SOURCE(i) consecutive(i, length)
#define TARGET(i) patterned(i, length)
#else
#define SOURCE(i) patterned(i, length)
#define TARGET(i) consecutive(i, length)
#endif

// The word that is the i-th of this pass; length words a pass.
__device__ __forceinline__ int64_t consecutive(int64_t i, int64_t length)
{
    return STRIDE > 1 ? blockIdx.y * length + i : i;
}

__device__ __forceinline__ int64_t patterned(int64_t i, int64_t length)
{
#if PATTERN == PATTERN_offset
    const int64_t moved = i + OFFSET / VECTOR;
    return moved < length ? moved : moved - length;
#elif PATTERN == PATTERN_stride
    return i * STRIDE + blockIdx.y;
#elif PATTERN == PATTERN_permuted
    return (i | 31) < length ? i ^ 21 : i;
#elif PATTERN == PATTERN_same
    return i / 32 * 32;
#else
    return i;
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    copy(const float *RESTRICT in, float *RESTRICT out, int64_t SIZE)
{
    const int64_t length = SIZE / STRIDE / VECTOR;
    const int64_t first = (int64_t)blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
    vector word[ITEMS];

#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const int64_t i = first + item * BLOCK;
        if (i < length)
            word[item] = READ((const vector *)in + SOURCE(i));
    }
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const int64_t i = first + item * BLOCK;
        if (i < length)
            WRITE((vector *)out + TARGET(i), word[item]);
    }
#if VECTOR > 1 && PATTERN == PATTERN_plain
    // What fills no word, by the block that has least to do.
    const int64_t last = length * VECTOR + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && last < SIZE)
        out[last] = in[last];
#endif
}
