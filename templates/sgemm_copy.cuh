// SPDX-License-Identifier: MIT
// Tiles of A and B on their way from global to shared memory, for sgemm.cu: which words a thread copies, and when.
#ifndef HONE_SGEMM_COPY_CUH
#define HONE_SGEMM_COPY_CUH

#include "pipeline_copy.cuh"

// Floats in a word: what the alignment of rows allows; single ones where A is transposed on the way by cp.async.
constexpr int word_b = LOAD == LOAD_async4 ? 1 : align_n;
constexpr int word_a = LOAD == LOAD_async4 || (transposed && LOAD == LOAD_async16) ? 1 : align_k;
constexpr int items_a = ceil_div(BM * BK, threads * word_a), items_b = ceil_div(BK * BN, threads * word_b);
// Transposing by single floats, eight lanes read along k and store to eight different banks.
constexpr bool turning = transposed && word_a == 1;

struct cell {
    int row, column;
};

// The cells of a matrix of `width` columns, dealt out row by row to so many hands: the i-th of each. Where the deal
// comes out even, each hand's i-th is as far from its first as any other's: a constant.
template <int hands, int width> struct deal {
    static constexpr bool even = hands % width == 0 || width % hands == 0;
    __device__ static constexpr cell step(int i)
    {
        return hands % width == 0 ? cell{i * (hands / width), 0} : cell{i * hands / width, i * hands % width};
    }
    __device__ static constexpr cell at(int hand, int i)
    {
        return even ? cell{hand / width + step(i).row, hand % width + step(i).column}
                    : cell{(hand + i * hands) / width, (hand + i * hands) % width};
    }
};
using deal_b = deal<threads, BN / word_b>;
using deal_a = deal<threads, BK / word_a>;
using deal_turned = deal<threads / 8, BM>;

// The first element of a thread's i-th word in A's and B's tile, and how far it is from its first word's, if that is
// known.
__device__ __forceinline__ cell word_of_a(int i)
{
    const cell turned = deal_turned::at(threadIdx.x / 8, i), as_is = deal_a::at(threadIdx.x, i);
    return turning ? cell{turned.column, (int)threadIdx.x % 8 + 8 * turned.row}
                   : cell{as_is.row, as_is.column * word_a};
}
__device__ __forceinline__ cell word_of_b(int i)
{
    const cell at = deal_b::at(threadIdx.x, i);
    return {at.row, at.column * word_b};
}
__device__ constexpr cell step_of_a(int i)
{
    return turning ? cell{deal_turned::step(i).column, 8 * deal_turned::step(i).row}
                   : cell{deal_a::step(i).row, deal_a::step(i).column * word_a};
}
__device__ constexpr cell step_of_b(int i) { return {deal_b::step(i).row, deal_b::step(i).column * word_b}; }
constexpr bool steps_known_a = turning ? deal_turned::even : deal_a::even;

class tile_copy
{
  public:
    // Tiles that are on their way while one is computed.
    static constexpr int ahead = LOAD == LOAD_plain ? 1 : STAGES - 1;

    __device__ tile_copy(const float *A, const float *B, float *shared, const place &at, int first)
        : all(at.all), own_a(word_of_a(0)), own_b(word_of_b(0)),
          a(A + (size_t)(at.m + own_a.row) * all.k + first + own_a.column),
          b(B + (size_t)(first + own_b.row) * all.n + at.n + own_b.column), to_a(shared + a_index(own_a.row, own_a.column)),
          to_b(shared + a_floats + own_b.row * BN + own_b.column), first(first)
    {
    }

    // The first tiles, the short one among them, into the first stages.
    __device__ void begin(int tiles)
    {
        const int steps = all.k == 0 ? 0 : first == 0 ? short_tile(all) : BK;
#pragma unroll
        for (int i = 0; i < items_a; ++i)
            short_a(i, steps);
#pragma unroll
        for (int i = 0; i < items_b; ++i)
            short_b(i, steps);
        advance(steps);
#pragma unroll
        for (int tile = 1; tile < ahead; ++tile) {
            end_copy_group();
#pragma unroll
            for (int k = 0; k < parts; ++k)
                part(k, tile * stage_bytes, tile < tiles);
        }
    }

    // A share of the next tile's words, into the stage at this offset: step k's, so that copies come between
    // multiply-adds.
    __device__ __forceinline__ void part(int k, int stage, bool wanted)
    {
        if (k >= parts)
            return;
#pragma unroll
        for (int i = 0; i < items_a; ++i)
            if (i * parts / items_a == k)
                copy_a(i, stage, wanted);
#pragma unroll
        for (int i = 0; i < items_b; ++i)
            if (i * parts / items_b == k)
                copy_b(i, stage, wanted);
        if (k == parts - 1)
            advance(BK);
    }

    // Until the oldest tile on its way is there for all threads, at this offset, and all have read the one before.
    __device__ __forceinline__ void arrive(int stage)
    {
#if LOAD == LOAD_plain
        if (STAGES == 1)
            __syncthreads();
        put(stage);
#else
        end_copy_group();
        wait_for_copies<ahead - 1>();
#endif
        __syncthreads();
    }

    // Nothing is on its way and shared memory is free.
    __device__ void end()
    {
        if (LOAD != LOAD_plain)
            wait_for_copies<0>();
        __syncthreads();
    }

  private:
    // Steps over which a tile's copies are spread: before the last one, in which the next tile is waited for.
    static constexpr int last_part = FRAGMENTS == 2 ? slice - 1 : slice;
    static constexpr int parts = LOAD == LOAD_plain ? 1 : SPREAD < last_part ? SPREAD : last_part;
    const sizes all;
    const cell own_a, own_b; // the thread's first words
    const float *a, *b;      // where they are copied from and to
    float *const to_a, *const to_b;
    const int first; // step of k

    __device__ __forceinline__ void advance(int steps)
    {
        a += steps;
        b += (size_t)steps * all.n;
    }
    __device__ __forceinline__ bool has_a(int i)
    {
        const cell w = word_of_a(i);
        return (BM * BK % (threads * word_a) == 0 || (w.row < BM && w.column < BK)) && (!may_be_small(all.m, BM) || w.row < all.m);
    }
    __device__ __forceinline__ bool has_b(int i)
    {
        const cell w = word_of_b(i);
        return (BK * BN % (threads * word_b) == 0 || w.row < BK) && (!may_be_small(all.n, BN) || w.column < all.n);
    }
    __device__ __forceinline__ const float *source_a(int i)
    {
        const cell w = word_of_a(i);
        return a + (steps_known_a ? step_of_a(i).row * all.k + step_of_a(i).column
                                  : (w.row - own_a.row) * all.k + w.column - own_a.column);
    }
    __device__ __forceinline__ const float *source_b(int i)
    {
        const cell w = word_of_b(i);
        return b + (deal_b::even ? step_of_b(i).row * all.n + step_of_b(i).column
                                 : (w.row - own_b.row) * all.n + w.column - own_b.column);
    }
    __device__ __forceinline__ float *place_a(int i, int stage)
    {
        const cell w = word_of_a(i);
        if (steps_known_a && !SWIZZLE)
            return bytes_on(to_a, stage) + a_index(step_of_a(i).row, step_of_a(i).column);
        return bytes_on(to_a, stage) + (a_index(w.row, w.column) - a_index(own_a.row, own_a.column));
    }
    __device__ __forceinline__ float *place_b(int i, int stage)
    {
        const cell w = word_of_b(i);
        return bytes_on(to_b, stage) + (deal_b::even ? step_of_b(i).row * BN + step_of_b(i).column
                                    : (w.row - own_b.row) * BN + w.column - own_b.column);
    }

#if LOAD == LOAD_plain
    words<word_a> held_a[items_a]; // on their way through registers
    words<word_b> held_b[items_b];

    __device__ __forceinline__ void short_a(int i, int steps)
    {
        held_a[i] = {};
        copy_a(i, 0, word_of_a(i).column < steps);
    }
    __device__ __forceinline__ void short_b(int i, int steps)
    {
        held_b[i] = {};
        copy_b(i, 0, word_of_b(i).row < steps);
    }
    __device__ __forceinline__ void copy_a(int i, int stage, bool wanted)
    {
        if (has_a(i) && wanted)
            held_a[i] = *(const words<word_a> *)source_a(i);
    }
    __device__ __forceinline__ void copy_b(int i, int stage, bool wanted)
    {
        if (has_b(i) && wanted)
            held_b[i] = *(const words<word_b> *)source_b(i);
    }
    __device__ __forceinline__ void put(int stage)
    {
#pragma unroll
        for (int i = 0; i < items_a; ++i)
            if (has_a(i) && !transposed)
                *(words<word_a> *)place_a(i, stage) = held_a[i];
            else if (has_a(i))
#pragma unroll
                for (int j = 0; j < word_a; ++j)
                    place_a(i, stage)[a_index(0, j)] = held_a[i].value[j];
#pragma unroll
        for (int i = 0; i < items_b; ++i)
            if (has_b(i))
                *(words<word_b> *)place_b(i, stage) = held_b[i];
    }
#else
    __device__ __forceinline__ void short_a(int i, int steps)
    {
        if (has_a(i))
            copy_or_zero<4 * word_a>(word_of_a(i).column < steps ? 4 * word_a : 0, place_a(i, 0), source_a(i));
    }
    __device__ __forceinline__ void short_b(int i, int steps)
    {
        if (has_b(i))
            copy_or_zero<4 * word_b>(word_of_b(i).row < steps ? 4 * word_b : 0, place_b(i, 0), source_b(i));
    }
    __device__ __forceinline__ void copy_a(int i, int stage, bool wanted)
    {
        copy_if<4 * word_a>(has_a(i) && wanted, place_a(i, stage), source_a(i));
    }
    __device__ __forceinline__ void copy_b(int i, int stage, bool wanted)
    {
        copy_if<4 * word_b>(has_b(i) && wanted, place_b(i, stage), source_b(i));
    }
#endif
};

#endif
