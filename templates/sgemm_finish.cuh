// SPDX-License-Identifier: MIT
// How the sums of threads, of the WK warps of a part and of the SPLIT_K blocks of a tile become C, for sgemm.cu: alpha
// times them, and beta times what was there. Where beta is 0, C is not read.
#ifndef HONE_SGEMM_FINISH_CUH
#define HONE_SGEMM_FINISH_CUH

#include "cluster.cuh"

// Groups of blocks, each with a sum for the whole tile. With one there is nothing to add.
__device__ __forceinline__ int groups() { return splits() / CLUSTER; }
constexpr bool through_shared = WK * CLUSTER > 1;
__device__ __forceinline__ int tiles_c(const sizes &all) { return tiles_m(all) * tiles_n(all); }

__device__ __forceinline__ float4 operator+(const float4 &a, const float4 &b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <int count> __device__ __forceinline__ void add_atomically(float *at, const words<count> &value)
{
#if __CUDA_ARCH__ >= 900
    constexpr bool whole = count == 4;
    if (whole)
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at), "f"(value.value[0]),
                     "f"(value.value[1 % count]), "f"(value.value[2 % count]), "f"(value.value[3 % count])
                     : "memory");
#else
    constexpr bool whole = false;
#endif
#pragma unroll
    for (int i = 0; i < (whole ? 0 : count); ++i)
        atomicAdd(at + i, value.value[i]);
}

// Stores a word of C, alpha times these sums and beta times what was there, or adds it; beyond the edges there is
// nothing.
template <int count>
__device__ __forceinline__ void to_result(bool add, float alpha, float *C, const place &at, int row, int column,
                                          const words<count> &sums)
{
    const int m = at.m + row, n = at.n + column;
    if ((!FROZEN || at.all.m % BM != 0) && (row < at.new_m || m >= at.all.m))
        return;
    float *const to = C + (size_t)m * at.all.ldc + n;
    constexpr int step = align_c % count == 0 ? count : 1; // rows that are not aligned take single floats
#pragma unroll
    for (int i = 0; i < count; i += step) {
        words<step> part;
#pragma unroll
        for (int j = 0; j < step; ++j)
            part.value[j] = GENERAL ? alpha * sums.value[i + j] : sums.value[i + j];
        if ((!FROZEN || at.all.n % BN != 0) && (column + i < at.new_n || n + i >= at.all.n))
            continue;
#if GENERAL
        if (!add && at.all.beta != 0) {
            const words<step> before = *(const words<step> *)(to + i);
#pragma unroll
            for (int j = 0; j < step; ++j)
                part.value[j] += at.all.beta * before.value[j];
        }
#endif
        if (add)
            add_atomically(to + i, part);
        else
            *(words<step> *)(to + i) = part;
    }
}

// Where the sum of a group of blocks for an element is kept. Tiles lie one after the other, a group behind the other.
__device__ __forceinline__ size_t kept_at(const place &at, int group, int element)
{
    return ((size_t)group * tiles_c(at.all) + at.tile) * (BM * BN) + element;
}

template <int count>
__device__ __forceinline__ void put(bool add, float *C, float *partial, const place &at, int row, int column,
                                    const words<count> &value)
{
    if (FINISH == FINISH_last_block || FINISH == FINISH_second_step)
        *(words<count> *)&partial[kept_at(at, blockIdx.z / CLUSTER, row * BN + column)] = value;
    else
        to_result(add, at.all.alpha, C, at, row, column, value);
}

// Adds up what all groups kept for the four elements from `element` of a tile on.
__device__ __forceinline__ void sum_groups(const float *partial, float *C, const place &at, int element)
{
    float4 sum = __ldcg((const float4 *)&partial[kept_at(at, 0, element)]);
#pragma unroll 8
    for (int group = 1; group < groups(); ++group)
        sum = sum + __ldcg((const float4 *)&partial[kept_at(at, group, element)]);
    to_result(false, at.all.alpha, C, at, element / BN, element % BN, words<4>{sum.x, sum.y, sum.z, sum.w});
}

// Whether this block is the last of `blocks` that come here with the same counter, which it leaves at 0. What the
// others wrote before is visible to it.
__device__ __forceinline__ bool is_last(unsigned *counter, unsigned blocks)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(counter, blocks - 1) == blocks - 1;
    __syncthreads();
    __threadfence();
    return last;
}

// Blocks that add their sums up in one place: those of equal rank of a tile's clusters. They meet by counters, which are
// 0 before and after.
__device__ __forceinline__ int own_rank() { return CLUSTER > 1 ? cluster_rank() : 0; }
__device__ __forceinline__ unsigned *own_counter(unsigned *done, const place &at, int number)
{
    return done + (number * tiles_c(at.all) + at.tile) * CLUSTER + own_rank();
}

// The block's elements of its tile, by words of four: the thread's first, and from one to the next.
constexpr int element_step = 4 * CLUSTER * threads;
__device__ __forceinline__ int first_element() { return 4 * (own_rank() * threads + threadIdx.x); }

// The first block that is there makes C 0, or beta times what it was, and the others do not add to it before that is
// done. It has not long to wait for anything itself; so this ends, in whatever order blocks come.
__device__ __forceinline__ unsigned take_ticket(unsigned *done, const place &at)
{
    return threadIdx.x == 0 ? atomicInc(own_counter(done, at, 0), groups() - 1) : 1;
}

__device__ __forceinline__ void clear_if_first(unsigned ticket, float *C, unsigned *done, const place &at)
{
    __shared__ bool first;
    if (threadIdx.x == 0)
        first = ticket == 0;
    __syncthreads();
    if (!first)
        return;
    for (int element = first_element(); element < BM * BN; element += element_step)
        to_result(false, 1, C, at, element / BN, element % BN, words<4>{});
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch(own_counter(done, at, 1), 1);
}

__device__ __forceinline__ void wait_until_cleared(unsigned *done, const place &at)
{
    unsigned *const cleared = own_counter(done, at, 1);
    if (threadIdx.x == 0) {
        while (*(volatile unsigned *)cleared == 0)
            ;
        __threadfence();
        atomicInc(cleared, groups()); // the last one to see it makes it 0 again
    }
    __syncthreads();
}

__device__ __forceinline__ void finish(const float (&c)[TM][TN], float *shared, const place &at, float *C,
                                       float *partial, unsigned *done)
{
    // What the kernel before made of C is added to by a single group, too, where it may be more than zeros.
    const bool add = (FINISH == FINISH_atomic && (GENERAL || groups() > 1)) || (FINISH == FINISH_first_clears && groups() > 1);
    if (FINISH == FINISH_first_clears && add)
        wait_until_cleared(done, at);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; j += word_n) {
            const int row = row_of(at, i), column = column_of(at, j);
            words<word_n> sum;
#pragma unroll
            for (int l = 0; l < word_n; ++l)
                sum.value[l] = c[i][j + l];
            if (through_shared)
                *(words<word_n> *)&shared[at.slice / slice * (BM * BN) + row * BN + column] = sum;
            else
                put(add, C, partial, at, row, column, sum);
        }

#if WK * CLUSTER > 1 // each block of a cluster adds up its share of the elements
#if CLUSTER > 1
    cluster_synchronize();
#else
    __syncthreads();
#endif
    for (int element = first_element(); element < BM * BN; element += element_step) {
        float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < CLUSTER * WK; ++i) {
            const float *const from = shared + i % WK * (BM * BN) + element;
#if CLUSTER > 1
            sum = sum + read_of_rank(from, i / WK);
#else
            sum = sum + *(const float4 *)from;
#endif
        }
        put(add, C, partial, at, element / BN, element % BN, words<4>{sum.x, sum.y, sum.z, sum.w});
    }
#if CLUSTER > 1
    cluster_synchronize(); // none ends while another reads its shared memory
#endif
#endif

    if (FINISH == FINISH_last_block && is_last(own_counter(done, at, 0), groups()))
        for (int element = first_element(); element < BM * BN; element += element_step)
            sum_groups(partial, C, at, element);
}

// Floats in a word of C, which all of it consists of, or where rows may lie apart each row.
#if !FROZEN
constexpr int clear_word = ALIGN_B;
#elif GENERAL
constexpr int clear_word = align_c == 4 ? 4 : 1;
#else
constexpr int clear_word = (size_t)M * N % 4 == 0 ? 4 : 1;
#endif

// The steps before and after: C = beta C where blocks add to it, and the sums of the groups.
#if FINISH == FINISH_atomic
extern "C" __global__ void __launch_bounds__(256) sgemm_clear(float *C, int rows, int columns LAYOUT_PARAMETERS)
{
    const sizes all(rows, columns, 0 LAYOUT_VALUES);
    constexpr int count = clear_word;
    const size_t i = ((size_t)blockIdx.x * 256 + threadIdx.x) * count;
    if (i >= (size_t)all.m * all.n)
        return;
    words<count> *const to = (words<count> *)(C + (GENERAL ? i / all.n * all.ldc + i % all.n : i)), value = {};
    if (all.beta != 0)
#pragma unroll
        for (int j = 0; j < count; ++j)
            value.value[j] = all.beta * to->value[j];
    *to = value;
}
#elif FINISH == FINISH_second_step
extern "C" __global__ void __launch_bounds__(256)
    sgemm_sum(const float *partial, float *C, int rows, int columns LAYOUT_PARAMETERS)
{
    const sizes all(rows, columns, 0 LAYOUT_VALUES);
    const int word = blockIdx.x * 256 + threadIdx.x, tile = word / (BM * BN / 4);
    if (tile < tiles_c(all))
        sum_groups(partial, C, place_of(all, tile / tiles_n(all), tile % tiles_n(all)), word % (BM * BN / 4) * 4);
}
#endif

#endif
