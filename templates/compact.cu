// SPDX-License-Identifier: MIT
// Copies the elements of `in` that are below a threshold to the front of `out`, fp32, and counts them: how threads agree
// on where each one goes (Adinets, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics"). One atomic an
// element, a warp or a block give an order that differs from run to run; look_back (single_pass.cuh) keeps that of `in`.
#include "fixed_width.cuh"

#ifndef KEEP // the part of elements between -1 and 1 that is kept
#define KEEP 0.5
#endif

#ifndef AGGREGATE // one atomic an element, which the compiler makes one a warp; one a warp; one a block; no atomic
#define AGGREGATE_compiler 1
#define AGGREGATE_warp 2
#define AGGREGATE_block 3
#define AGGREGATE_look_back 4
#define AGGREGATE AGGREGATE_look_back
#endif
#ifndef VECTOR // floats in a word
#define VECTOR 4
#endif
#ifndef ITEMS // words a thread
#define ITEMS 4
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef STAGE // 1: what a block keeps is gathered in shared memory and written as whole lines
#define STAGE 1
#endif
#ifndef REACH // tiles that each lane looks at in a step of looking back
#define REACH 1
#endif
#ifndef LOAD // cs: streaming, marked as not to be read again
#define LOAD_plain 1
#define LOAD_cs 2
#define LOAD LOAD_plain
#endif

#include "single_pass.cuh"
#include "vector.cuh"

#if LOAD == LOAD_cs
#define READ(pointer) __ldcs(pointer)
#else
#define READ(pointer) (*(pointer))
#endif

constexpr int tile_size = BLOCK * ITEMS * VECTOR, warps = BLOCK / 32;

union item {
    vector word;
    float value[VECTOR];
};

__device__ __forceinline__ bool keep(float value)
{
    return value < (float)(2 * KEEP - 1);
}

// The word at element i; infinity, which is not kept, stands for what lies behind the end.
__device__ __forceinline__ item load(const float *in, int64_t i, int64_t SIZE)
{
    item loaded;
    if (i + VECTOR <= SIZE)
        loaded.word = READ((const vector *)(in + i));
    else
        for (int j = 0; j < VECTOR; ++j)
            loaded.value[j] = i + j < SIZE ? in[i + j] : __int_as_float(0x7f800000);
    return loaded;
}

// How many elements of a warp's words are kept, and how many of them come before this lane's.
struct kept {
    unsigned all, before;
};

__device__ __forceinline__ kept count(const item &own)
{
    const unsigned lanes_before = (1u << threadIdx.x % 32) - 1;
    kept counts = {0, 0};
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) {
        const unsigned lanes = __ballot_sync(0xffffffff, keep(own.value[j]));
        counts.all += __popc(lanes);
        counts.before += __popc(lanes & lanes_before);
    }
    return counts;
}

__device__ __forceinline__ void store(const item &own, float *to)
{
#pragma unroll
    for (int j = 0; j < VECTOR; ++j)
        if (keep(own.value[j]))
            *to++ = own.value[j];
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    compact(const float *__restrict__ in, float *__restrict__ out, unsigned *length, int64_t SIZE,
            unsigned long long *ticket, tile_state *states)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#if AGGREGATE == AGGREGATE_look_back
    __shared__ tile_ticket drawn;
    if (threadIdx.x == 0)
        drawn = draw_ticket(ticket, gridDim.x);
    __syncthreads();
    const tile_ticket own = drawn;
#else
    const tile_ticket own = {blockIdx.x, 0};
#endif

    // A warp's words lie side by side, those of a lane 32 words apart.
    const int64_t first = (int64_t)own.tile * tile_size + (warp * (32 * ITEMS) + lane) * VECTOR;
    item word[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        word[k] = load(in, first + k * 32 * VECTOR, SIZE);

#if AGGREGATE == AGGREGATE_compiler
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
#pragma unroll
        for (int j = 0; j < VECTOR; ++j)
            if (keep(word[k].value[j]))
                out[atomicAdd(length, 1)] = word[k].value[j];

#elif AGGREGATE == AGGREGATE_warp
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const kept counts = count(word[k]);
        unsigned base = 0;
        if (lane == 0 && counts.all > 0)
            base = atomicAdd(length, counts.all);
        base = __shfl_sync(0xffffffff, base, 0);
        store(word[k], out + base + counts.before);
    }

#else
    __shared__ unsigned of_warp[warps], shared_base;
    unsigned before[ITEMS], kept_by_warp = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const kept counts = count(word[k]);
        before[k] = kept_by_warp + counts.before;
        kept_by_warp += counts.all;
    }
    if (lane == 0)
        of_warp[warp] = kept_by_warp;
    __syncthreads();

    unsigned before_warp = 0, sum = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) {
        before_warp += w < warp ? of_warp[w] : 0;
        sum += of_warp[w];
    }
    if (warp == 0) {
#if AGGREGATE == AGGREGATE_look_back
        const unsigned base = look_back<REACH>(states, own, sum);
        if (lane == 0 && own.tile == gridDim.x - 1)
            *length = base + sum;
        if (lane == 0)
            shared_base = base;
#else
        if (lane == 0)
            shared_base = atomicAdd(length, sum);
#endif
    }
#if STAGE
    extern __shared__ float staged[]; // tile_size
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        store(word[k], staged + before_warp + before[k]);
    __syncthreads();
    float *const to = out + shared_base;
    for (int i = threadIdx.x; i < sum; i += BLOCK)
        to[i] = staged[i];
#else
    __syncthreads();
    float *const to = out + shared_base + before_warp;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        store(word[k], to + before[k]);
#endif
#endif
}

// Before the variants that count by atomics.
extern "C" __global__ void compact_clear(unsigned *length)
{
    *length = 0;
}
