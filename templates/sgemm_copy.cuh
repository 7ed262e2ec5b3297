// SPDX-License-Identifier: MIT
// Tiles of A and B on their way from global to shared memory, for sgemm.cu: which words a thread copies, and when.
#ifndef HONE_SGEMM_COPY_CUH
#define HONE_SGEMM_COPY_CUH

#include "pipeline_copy.cuh"

// Whether a word of memory is one in shared memory, too: else the tile is transposed on the way.
constexpr bool straight_a = trans_a == transposed, straight_b = !trans_b;
// Floats in a word: what the alignment of lines allows; single ones where cp.async transposes.
constexpr int word_a = LOAD == LOAD_async4 || (!straight_a && LOAD == LOAD_async16) ? 1 : align_a;
constexpr int word_b = LOAD == LOAD_async4 || (!straight_b && LOAD == LOAD_async16) ? 1 : align_b;

// An element of A or B, as a tile of it lies in memory: in which of the tile's lines, and where in that.
struct cell {
    int line, at;
};

// The cells of a matrix of `width` columns, dealt out row by row to so many hands: the i-th of each. Where the deal
// comes out even, each hand's i-th is as far from its first as any other's: a constant.
template <int hands, int width> struct deal {
    static constexpr bool even = hands % width == 0 || width % hands == 0;
    __device__ static constexpr cell step(int i)
    {
        return hands % width == 0 ? cell{i * (hands / width), 0} : cell{i * hands / width, i * hands % width};
    }
    __device__ static constexpr cell of(int hand, int i)
    {
        return even ? cell{hand / width + step(i).line, hand % width + step(i).at}
                    : cell{(hand + i * hands) / width, (hand + i * hands) % width};
    }
};

// The words of a tile of so many lines, dealt out to the threads: the first element of a thread's i-th word, and how far
// that is from its first word's, if it is known. Transposing by single floats, eight lanes read along a line and store
// to eight different banks.
template <int lines, int length, int word, bool straight> struct dealt {
    static constexpr bool turning = !straight && word == 1;
    static constexpr int items = ceil_div(lines * length, threads * word);
    using as_is = deal<threads, length / word>;
    using turned = deal<threads / 8, lines>;
    static constexpr bool step_known = turning ? turned::even : as_is::even;
    __device__ static constexpr cell step(int i)
    {
        return turning ? cell{turned::step(i).at, 8 * turned::step(i).line}
                       : cell{as_is::step(i).line, as_is::step(i).at * word};
    }
    __device__ static __forceinline__ cell of(int i)
    {
        const cell across = turned::of(threadIdx.x / 8, i), along = as_is::of(threadIdx.x, i);
        return turning ? cell{across.at, (int)threadIdx.x % 8 + 8 * across.line} : cell{along.line, along.at * word};
    }
    __device__ static __forceinline__ bool exists(const cell &w)
    {
        return lines * length % (threads * word) == 0 || (turning ? w.at < length : w.line < lines);
    }
};
using dealt_a = dealt<trans_a ? BK : BM, trans_a ? BM : BK, word_a, straight_a>;
using dealt_b = dealt<trans_b ? BN : BK, trans_b ? BK : BN, word_b, straight_b>;
constexpr int items_a = dealt_a::items, items_b = dealt_b::items;

// A cell's row in A, or column in B; its step of k; and where that lies in the tile in shared memory.
__device__ constexpr int row_of_a(const cell &w) { return trans_a ? w.at : w.line; }
__device__ constexpr int step_of_a(const cell &w) { return trans_a ? w.line : w.at; }
__device__ constexpr int column_of_b(const cell &w) { return trans_b ? w.line : w.at; }
__device__ constexpr int step_of_b(const cell &w) { return trans_b ? w.at : w.line; }
__device__ __forceinline__ int index_of_a(const cell &w) { return a_index(row_of_a(w), step_of_a(w)); }
__device__ constexpr int index_of_b(const cell &w) { return step_of_b(w) * b_pitch + column_of_b(w); }

class tile_copy
{
  public:
    // Tiles that are on their way while one is computed.
    static constexpr int ahead = LOAD == LOAD_plain ? 1 : STAGES - 1;

    __device__ tile_copy(const float *A, const float *B, float *shared, const place &at, int first)
        : all(at.all), own_a(dealt_a::of(0)), own_b(dealt_b::of(0)),
          a(A + (size_t)((trans_a ? first : at.m) + own_a.line) * all.lda + (trans_a ? at.m : first) + own_a.at),
          b(B + (size_t)((trans_b ? at.n : first) + own_b.line) * all.ldb + (trans_b ? first : at.n) + own_b.at),
          to_a(shared + index_of_a(own_a)), to_b(shared + a_floats + step_of_b(own_b) * b_pitch + column_of_b(own_b)), first(first)
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
        a += trans_a ? (size_t)steps * all.lda : steps;
        b += trans_b ? steps : (size_t)steps * all.ldb;
    }
    __device__ __forceinline__ bool has_a(int i)
    {
        const cell w = dealt_a::of(i);
        return dealt_a::exists(w) && (!may_be_small(all.m, BM) || row_of_a(w) < all.m);
    }
    __device__ __forceinline__ bool has_b(int i)
    {
        const cell w = dealt_b::of(i);
        return dealt_b::exists(w) && (!may_be_small(all.n, BN) || column_of_b(w) < all.n);
    }
    __device__ __forceinline__ const float *source_a(int i)
    {
        const cell w = dealt_a::of(i), step = dealt_a::step(i);
        return a + (dealt_a::step_known ? step.line * all.lda + step.at
                                        : (w.line - own_a.line) * all.lda + w.at - own_a.at);
    }
    __device__ __forceinline__ const float *source_b(int i)
    {
        const cell w = dealt_b::of(i), step = dealt_b::step(i);
        return b + (dealt_b::step_known ? step.line * all.ldb + step.at
                                        : (w.line - own_b.line) * all.ldb + w.at - own_b.at);
    }
    __device__ __forceinline__ float *place_a(int i, int stage)
    {
        if (dealt_a::step_known && !SWIZZLE)
            return bytes_on(to_a, stage) + index_of_a(dealt_a::step(i));
        return bytes_on(to_a, stage) + (index_of_a(dealt_a::of(i)) - index_of_a(own_a));
    }
    __device__ __forceinline__ float *place_b(int i, int stage)
    {
        return bytes_on(to_b, stage) + (dealt_b::step_known ? index_of_b(dealt_b::step(i))
                                                            : index_of_b(dealt_b::of(i)) - index_of_b(own_b));
    }

#if LOAD == LOAD_plain
    words<word_a> held_a[items_a]; // on their way through registers
    words<word_b> held_b[items_b];

    __device__ __forceinline__ void short_a(int i, int steps)
    {
        held_a[i] = {};
        copy_a(i, 0, step_of_a(dealt_a::of(i)) < steps);
    }
    __device__ __forceinline__ void short_b(int i, int steps)
    {
        held_b[i] = {};
        copy_b(i, 0, step_of_b(dealt_b::of(i)) < steps);
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
            if (has_a(i) && straight_a)
                *(words<word_a> *)place_a(i, stage) = held_a[i];
            else if (has_a(i))
#pragma unroll
                for (int j = 0; j < word_a; ++j)
                    place_a(i, stage)[index_of_a({0, j})] = held_a[i].value[j];
#pragma unroll
        for (int i = 0; i < items_b; ++i)
            if (has_b(i) && straight_b)
                *(words<word_b> *)place_b(i, stage) = held_b[i];
            else if (has_b(i))
#pragma unroll
                for (int j = 0; j < word_b; ++j)
                    place_b(i, stage)[index_of_b({0, j})] = held_b[i].value[j];
    }
#else
    __device__ __forceinline__ void short_a(int i, int steps)
    {
        if (has_a(i))
            copy_or_zero<4 * word_a>(step_of_a(dealt_a::of(i)) < steps ? 4 * word_a : 0, place_a(i, 0), source_a(i));
    }
    __device__ __forceinline__ void short_b(int i, int steps)
    {
        if (has_b(i))
            copy_or_zero<4 * word_b>(step_of_b(dealt_b::of(i)) < steps ? 4 * word_b : 0, place_b(i, 0), source_b(i));
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
