// SPDX-License-Identifier: MIT
// How the sums of threads, of the WK warps of a part and of the SPLIT_K blocks of a tile become C, for sgemm.cu.
#ifndef HONE_SGEMM_FINISH_CUH
#define HONE_SGEMM_FINISH_CUH

#include "cluster.cuh"

constexpr int groups = SPLIT_K / CLUSTER; // of blocks, each with a sum for the whole tile
constexpr int tiles_c = tiles_m * tiles_n;
constexpr bool through_shared = WK * CLUSTER > 1;

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

// Stores a word of C, or adds it; beyond the edges there is nothing.
template <int count>
__device__ __forceinline__ void to_result(bool add, float *C, const place &at, int row, int column,
                                          const words<count> &value)
{
    const int m = at.m + row, n = at.n + column;
    if (M % BM != 0 && m >= M)
        return;
    float *const to = C + (size_t)m * N + n;
    constexpr int step = N % count == 0 ? count : 1; // rows that are not aligned take single floats
#pragma unroll
    for (int i = 0; i < count; i += step) {
        words<step> part;
#pragma unroll
        for (int j = 0; j < step; ++j)
            part.value[j] = value.value[i + j];
        if (N % BN != 0 && n + i >= N)
            continue;
        if (add)
            add_atomically(to + i, part);
        else
            *(words<step> *)(to + i) = part;
    }
}

// Where the sum of a group of blocks for an element is kept. Tiles lie one after the other, a group behind the other.
__device__ __forceinline__ size_t kept_at(int group, int tile, int element)
{
    return ((size_t)group * tiles_c + tile) * (BM * BN) + element;
}

template <int count>
__device__ __forceinline__ void put(bool add, float *C, float *partial, const place &at, int row, int column,
                                    const words<count> &value)
{
    if (FINISH == FINISH_last_block || FINISH == FINISH_second_step)
        *(words<count> *)&partial[kept_at(blockIdx.z / CLUSTER, at.tile, row * BN + column)] = value;
    else
        to_result(add, C, at, row, column, value);
}

// Adds up what all groups kept for the four elements from `element` of a tile on.
__device__ __forceinline__ void sum_groups(const float *partial, float *C, const place &at, int element)
{
    float4 sum = __ldcg((const float4 *)&partial[kept_at(0, at.tile, element)]);
#pragma unroll 8
    for (int group = 1; group < groups; ++group)
        sum = sum + __ldcg((const float4 *)&partial[kept_at(group, at.tile, element)]);
    to_result(false, C, at, element / BN, element % BN, words<4>{sum.x, sum.y, sum.z, sum.w});
}

// Whether this block is the last of `blocks` that come here with the same counter, which it leaves at 0. What the others
// wrote before is visible to it.
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

// Whether this block has to add to what the first of `groups` blocks with the same counters stored: that one does not,
// all others wait until it has. Both counters are 0 before and after.
__device__ __forceinline__ bool comes_later(unsigned *tickets, unsigned *stored)
{
    __shared__ bool later;
    if (threadIdx.x == 0) {
        later = atomicInc(tickets, groups - 1) != 0;
        if (later) {
            while (*(volatile unsigned *)stored == 0)
                ;
            __threadfence();
            atomicInc(stored, groups - 1); // the last to see it makes it 0 again
        }
    }
    __syncthreads();
    return later;
}

__device__ __forceinline__ void tell_stored(unsigned *stored)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch(stored, 1);
}

__device__ __forceinline__ void finish(const float (&c)[TM][TN], float *shared, const place &at, float *C, float *partial,
                                       unsigned *done)
{
    const int rank = CLUSTER > 1 ? cluster_rank() : 0;
    [[maybe_unused]] const int first = 4 * (rank * threads + threadIdx.x);
    unsigned *const tickets = done + at.tile * CLUSTER + rank, *const stored = tickets + tiles_c * CLUSTER;
    bool add = FINISH == FINISH_atomic;
    if (!through_shared && FINISH == FINISH_first_stores)
        add = comes_later(tickets, stored);
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
    if (FINISH == FINISH_first_stores)
        add = comes_later(tickets, stored);
    for (int element = first; element < BM * BN; element += 4 * CLUSTER * threads) {
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

    if (FINISH == FINISH_first_stores && !add)
        tell_stored(stored);
    if (FINISH == FINISH_last_block && is_last(tickets, groups))
        for (int element = first; element < BM * BN; element += 4 * CLUSTER * threads)
            sum_groups(partial, C, at, element);
}

// The steps before and after: C = 0 where blocks add to it, and the sums of the groups.
#if FINISH == FINISH_atomic
extern "C" __global__ void __launch_bounds__(256) sgemm_clear(float *C)
{
    constexpr int count = (size_t)M * N % 4 == 0 ? 4 : 1;
    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i < (size_t)M * N / count)
        ((words<count> *)C)[i] = words<count>{};
}
#elif FINISH == FINISH_second_step
extern "C" __global__ void __launch_bounds__(256) sgemm_sum(const float *partial, float *C)
{
    const int word = blockIdx.x * 256 + threadIdx.x, tile = word / (BM * BN / 4);
    if (tile < tiles_c)
        sum_groups(partial, C, {tile, tile / tiles_n * BM, tile % tiles_n * BN}, word % (BM * BN / 4) * 4);
}
#endif

#endif
