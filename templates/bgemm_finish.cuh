// SPDX-License-Identifier: MIT
// From the sums in registers to C, for bgemm.cu: added up over the blocks that share a tile; with beta D and the bias added;
// then stored by the threads themselves, or by way of shared memory in boxes.
#ifndef HONE_BGEMM_FINISH_CUH
#define HONE_BGEMM_FINISH_CUH

#include "halves.cuh"
#include "tensor_copy.cuh"

__device__ __forceinline__ unsigned packed(float first, float second)
{
#if OUT == OUT_half
    return packed_as<true>(first, second);
#else
    return packed_as<false>(first, second);
#endif
}

// Without a branch.
__device__ __forceinline__ void store_if(bool wanted, void *to, unsigned short bits)
{
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %0, 0; @wanted st.global.u16 [%1], %2; }" ::"r"((int)wanted),
                 "l"(to), "h"(bits)
                 : "memory");
}
__device__ __forceinline__ void store_if(bool wanted, void *to, unsigned bits)
{
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %0, 0; @wanted st.global.u32 [%1], %2; }" ::"r"((int)wanted),
                 "l"(to), "r"(bits)
                 : "memory");
}

// An element as a number, or 0. Without a branch.
__device__ __forceinline__ float load_if(bool wanted, const c_type *from)
{
#if OUT == OUT_float
    float number;
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %1, 0; mov.f32 %0, 0f00000000; @wanted ld.global.f32 %0, [%2]; }"
                 : "=f"(number)
                 : "r"((int)wanted), "l"(from)
                 : "memory");
    return number;
#else
    unsigned short bits;
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %1, 0; mov.u16 %0, 0; @wanted ld.global.u16 %0, [%2]; }"
                 : "=h"(bits)
                 : "r"((int)wanted), "l"(from)
                 : "memory");
#if OUT == OUT_half
    float number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(bits));
    return number;
#else
    return __uint_as_float((unsigned)bits << 16);
#endif
#endif
}

// What C has beside the sums: C = alpha A B + beta D + bias. D may be C.
struct addends {
    const c_type *D, *bias;
    float alpha;
};

// A thread's four sums of 8 columns.
__device__ __forceinline__ void finish_four(float *sum, const addends &added, const sizes &size, const place &tile,
                                            int row, int column)
{
    constexpr float beta = BETA;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int down = row + sum_row(j), right = column + sum_column(j);
        const int m = tile.m + (EXCHANGE ? right : down), n = tile.n + (EXCHANGE ? down : right);
        sum[j] *= added.alpha;
        if (beta != 0)
            sum[j] += beta * load_if(m < size.m && n < size.n, added.D + (size_t)m * size.n + n);
        if (BIAS == BIAS_columns)
            sum[j] += load_if(n < size.n, added.bias + n);
    }
}

// Of 64 x chunk sums, as far as there are so many columns left, a thread's part, so that what is added is there for all of
// them at once, and takes few registers.
__device__ __forceinline__ void finish_chunk(float *sum, const addends &added, const sizes &size, const place &tile, int row,
                                             int column, int left)
{
#pragma unroll
    for (int j = 0; j < chunk / 2; j += 4)
        if (2 * j < left)
            finish_four(sum + j, added, size, tile, row, column + 2 * j);
}

// Two sums: neighbours, or `apart` elements; where lines have an odd length, no two lie in one word.
template <bool even>
__device__ __forceinline__ void store_two(bool first_wanted, bool second_wanted, c_type *to, int apart, float first,
                                          float second)
{
#if OUT == OUT_float
    store_if(first_wanted, to, __float_as_uint(first));
    store_if(second_wanted, to + apart, __float_as_uint(second));
#else
    const unsigned both = packed(first, second); // one alone makes ptxas serialise the products
    if (even && !EXCHANGE) {
        store_if(first_wanted, to, both);
    } else {
        store_if(first_wanted, to, (unsigned short)both);
        store_if(second_wanted, to + apart, (unsigned short)(both >> 16));
    }
#endif
}

// The warpgroup's threads meet.
__device__ __forceinline__ void meet(int consumer)
{
    asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
}

// Lines of a chunk in shared memory, and where a word of 16 bytes is found in it: swizzled, so that eight lines' words lie
// in different banks.
constexpr int chunk_line_bytes = (EXCHANGE ? 64 : chunk) * element_bytes;
__device__ __forceinline__ int in_chunk(int line, int x)
{
    const int offset = line * chunk_line_bytes + x * element_bytes;
    return chunk_line_bytes > 128 ? offset : offset ^ ((offset >> 3) & (chunk_line_bytes - 16));
}

// Where a chunk does not divide the part the last begins earlier, and stores again what the one before it has.
__device__ constexpr int chunk_from(int column) { return min(column, part_columns - chunk); }

// A thread's part of a chunk, to shared memory.
__device__ __forceinline__ void write_chunk(unsigned char *buffer, const float *sum)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#if OUT != OUT_float
    const int down = warp * 16 + lane / 8 % 2 * 8, right = lane / 16 * 8; // of this lane's matrix
#pragma unroll
    for (int column = 0; column < chunk; column += 16, sum += 8) {
        const int at = EXCHANGE ? in_chunk(column + right + lane % 8, down) : in_chunk(down + lane % 8, column + right);
        store_matrices<EXCHANGE>(buffer + at, packed(sum[0], sum[1]), packed(sum[2], sum[3]), packed(sum[4], sum[5]),
                                 packed(sum[6], sum[7]));
    }
#else
#pragma unroll
    for (int i = 0; i < chunk / 2; i += 2) {
        const int down = sum_row(i), right = sum_column(i);
#if EXCHANGE
        *(float *)(buffer + in_chunk(right, down)) = sum[i];
        *(float *)(buffer + in_chunk(right + 1, down)) = sum[i + 1];
#else
        *(float2 *)(buffer + in_chunk(down, right)) = make_float2(sum[i], sum[i + 1]);
#endif
    }
#endif
}

__device__ __forceinline__ void store_chunk_as_box(const unsigned char *buffer, const tensor_map *C_map, int m, int n)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(C_map), "r"(n),
                 "r"(m), "r"(shared_address(buffer))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Chunk by chunk through shared memory; the copy engine leaves out what is beyond the edges. `next` is the buffer whose turn
// it is.
__device__ __forceinline__ void store_by_boxes(float (&all)[tall_blocks][sums], unsigned char *buffers, int &next,
                                               const tensor_map *C_map, const addends &added, const sizes &size,
                                               const place &tile, int consumer)
{
#pragma unroll
    for (int i = 0; i < tall_blocks; ++i)
#pragma unroll
        for (int column = 0; column < part_columns; column += chunk) {
            const int from = chunk_from(column);
            const place at = moved(tile, i * 64, from);
            unsigned char *const buffer = buffers + next * chunk_bytes;
            finish_chunk(&all[i][column / 2], added, size, tile, i * 64, column, part_columns - column);
            if (threadIdx.x % 128 == 0)
                wait_for_reads_of_stores<C_BUFFERS - 1>();
            meet(consumer);
            write_chunk(buffer, &all[i][from / 2]);
            make_visible_to_copies();
            meet(consumer);
            if (threadIdx.x % 128 == 0)
                store_chunk_as_box(buffer, C_map, at.m, at.n);
            next = (next + 1) % C_BUFFERS;
        }
}

// A thread's four sums of 8 columns, two neighbours of a row at a time.
template <bool even>
__device__ __forceinline__ void store_four(c_type *C, const sizes &size, const place &tile, int row, int column,
                                           const float *sum)
{
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
        const int down = row + sum_row(j), right = column + sum_column(j);
        const int m = tile.m + (EXCHANGE ? right : down), n = tile.n + (EXCHANGE ? down : right);
        c_type *const to = C + (size_t)m * size.n + n;
        store_two<even>(m < size.m && n < size.n, m + EXCHANGE < size.m && n + !EXCHANGE < size.n, to,
                        EXCHANGE ? size.n : 1, sum[j], sum[j + 1]);
    }
}

template <bool even>
__device__ __forceinline__ void store_chunk(const float *sum, c_type *C, const sizes &size, const place &tile, int row,
                                            int column, int left)
{
#pragma unroll
    for (int j = 0; j < chunk / 2; j += 4)
        if (2 * j < left)
            store_four<even>(C, size, tile, row, column + 2 * j, sum + j);
}

__device__ __forceinline__ void store_directly(float (&all)[tall_blocks][sums], c_type *C, const addends &added,
                                               const sizes &size, const place &tile)
{
#pragma unroll
    for (int i = 0; i < tall_blocks; ++i)
#pragma unroll
        for (int column = 0; column < part_columns; column += chunk) {
            const int left = part_columns - column;
            float *const sum = &all[i][column / 2];
            finish_chunk(sum, added, size, tile, i * 64, column, left);
            if (size.n % 2 == 0)
                store_chunk<true>(sum, C, size, tile, i * 64, column, left);
            else
                store_chunk<false>(sum, C, size, tile, i * 64, column, left);
        }
}

__device__ __forceinline__ float4 operator+(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Whether this is the last of so many blocks, what all of which have stored is there then. Counters are 0 before and after.
__device__ __forceinline__ bool is_last_of(int blocks, unsigned *done, int *flag, int consumer)
{
    __threadfence();
    meet(consumer);
    if (threadIdx.x % 128 == 0)
        *flag = atomicInc(done, blocks - 1) == blocks - 1;
    meet(consumer);
    const bool last = *(volatile int *)flag;
    meet(consumer);
    if (last)
        __threadfence();
    return last;
}

// Blocks that share a tile leave their sums in `partial`, in the order of the threads; the last one adds up all of them,
// always in the same order. Returns whether this is the last.
__device__ __forceinline__ bool add_up_splits(float (&all)[tall_blocks][sums], float *partial, unsigned *done, int *flag,
                                              const place &tile, int splits, int part, int consumer)
{
    constexpr int words = tall_blocks * sums / 4, at_once = words < 8 ? 8 / words : 1;
    float4 *const kept = (float4 *)partial + (size_t)tile.tile * splits * sharing * words * 128 + threadIdx.x % 128;
    const auto of_split = [&](int split) { return kept + (split * sharing + part) * words * 128; };
#pragma unroll
    for (int i = 0; i < tall_blocks; ++i)
#pragma unroll
        for (int j = 0; j < sums; j += 4)
            __stcg(of_split(tile.split) + (i * sums + j) / 4 * 128,
                   make_float4(all[i][j], all[i][j + 1], all[i][j + 2], all[i][j + 3]));
    if (!is_last_of(splits, done + tile.tile * sharing + part, flag, consumer))
        return false;
#pragma unroll
    for (int i = 0; i < tall_blocks; ++i)
#pragma unroll
        for (int j = 0; j < sums; ++j)
            all[i][j] = 0;
#pragma unroll at_once
    for (int split = 0; split < splits; ++split)
#pragma unroll
        for (int i = 0; i < tall_blocks; ++i)
#pragma unroll
            for (int j = 0; j < sums; j += 4) {
                const float4 one = __ldcg(of_split(split) + (i * sums + j) / 4 * 128);
                all[i][j] += one.x, all[i][j + 1] += one.y, all[i][j + 2] += one.z, all[i][j + 3] += one.w;
            }
    return true;
}

// Blocks of a cluster that share a tile add up, each a part of the words, from each other's shared memory, where stages were
// before; then, where several clusters share it, the last of them for each part by way of `partial`, always in the same
// order. Who has found sums stores them.
#if BY_CLUSTERS
__device__ __forceinline__ void add_up_clusters(const float (&all)[tall_blocks][sums], unsigned char *shared,
                                                float *partial, unsigned *done, c_type *C, const addends &added,
                                                const sizes &size, const place &tile, int splits, int part)
{
    constexpr int ranks = FINISH == FINISH_cluster2 ? 2 : FINISH == FINISH_cluster4 ? 4 : 8;
    constexpr int words = tall_blocks * sums / 4, share = ceil_div(words, ranks);
    static_assert(words * 128 * sharing * 16 <= STAGES * stage_bytes, "sums fit where stages were");
    float4 *const kept = (float4 *)shared + part * words * 128 + threadIdx.x % 128;
    asm volatile("bar.sync %0, %1;" ::"n"(CONSUMERS + 1), "n"(CONSUMERS * 128) : "memory"); // all have read the stages
#pragma unroll
    for (int i = 0; i < tall_blocks; ++i)
#pragma unroll
        for (int j = 0; j < sums; j += 4)
            kept[(i * sums + j) / 4 * 128] = make_float4(all[i][j], all[i][j + 1], all[i][j + 2], all[i][j + 3]);
    cluster_synchronize();
    const int rank = tile.split % ranks, first = rank * share;
    const auto has = [&](int i) { return words % ranks == 0 || first + i < words; };
    float4 total[share];
#pragma unroll
    for (int i = 0; i < share; ++i) {
        if (!has(i))
            break;
        total[i] = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int other = 0; other < ranks; ++other)
            total[i] = total[i] + read_of_rank((const float *)(kept + (first + i) * 128), other);
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); // it has read
    bool found = true;
    if (FINISH == FINISH_cluster8 && splits > ranks) {
        float4 *const left = (float4 *)partial + threadIdx.x % 128;
        const auto of_split = [&](int split) {
            return left + (((size_t)tile.tile * splits + split) * sharing + part) * share * 128;
        };
#pragma unroll
        for (int i = 0; i < share; ++i)
            if (has(i))
                __stcg(of_split(tile.split) + i * 128, total[i]);
        found = is_last_of(splits / ranks, done + (tile.tile * ranks + rank) * sharing + part,
                           (int *)(shared + flags_at) + part, part);
#pragma unroll
        for (int i = 0; i < share; ++i) {
            if (!found || !has(i))
                break;
            total[i] = make_float4(0, 0, 0, 0);
#pragma unroll 4
            for (int split = rank; split < splits; split += ranks)
                total[i] = total[i] + __ldcg(of_split(split) + i * 128);
        }
    }
#pragma unroll
    for (int i = 0; i < share; ++i) {
        if (!found || !has(i))
            break;
        const int down = (first + i) / (sums / 4) * 64, right = (first + i) % (sums / 4) * 8;
        float sum[4] = {total[i].x, total[i].y, total[i].z, total[i].w};
        finish_four(sum, added, size, tile, down, right);
        if (size.n % 2 == 0)
            store_four<true>(C, size, tile, down, right, sum);
        else
            store_four<false>(C, size, tile, down, right, sum);
    }
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); // none ends while another reads its shared memory
}
#endif

#endif
