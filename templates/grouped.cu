// SPDX-License-Identifier: MIT
// A product for each of some groups of rows, as mixtures of experts have them: rows offsets[g] to offsets[g + 1] of A, M x K,
// times B[g], N x K and transposed, are the same rows of C, of bfloat16 and summed in fp32 by the tensor cores of Hopper
// (sm_90a). Only the device knows the offsets: blocks that stay count the tiles of all groups and take theirs of them. A
// producer and consumers work as in bgemm.cu. Tuned: the tile and its stages, who works on what and in which order, what
// blocks share, and how the sums come to C, of which a group's last tile must leave the next one's rows alone.
#ifndef BM // the tile: BM x BN of C, BK steps of k a stage
#define BM 64
#define BN 64
#define BK 64
#endif
#ifndef STAGES // tiles of A and B in shared memory
#define STAGES 4
#endif
#ifndef CONSUMERS // warpgroups that multiply: together, each a part of the tile, or in turn each a tile of its own
#define CONSUMERS 1
#endif
#ifndef SCHEDULE
#define SCHEDULE_cooperative 1
#define SCHEDULE_pingpong 2
#define SCHEDULE SCHEDULE_cooperative
#endif
#ifndef EXCHANGE // 1: C^T = B A^T is computed, with tiles of few rows of A
#define EXCHANGE 0
#endif
#ifndef CLUSTER_M // so many blocks above each other share columns of B, so many in a row share rows of A
#define CLUSTER_M 1
#define CLUSTER_N 1
#endif
#ifndef RASTER // rows of tiles, or of clusters of them, that are gone through together
#define RASTER 1
#endif
#ifndef C_BUFFERS // of shared memory each consumer, through which sums go to C
#define C_BUFFERS 1
#endif
#ifndef PRODUCER_REGISTERS // that the producer keeps of its share, a warpgroup then; 0: it is a single warp and keeps all
#define PRODUCER_REGISTERS 0
#endif
#ifndef MIN_BLOCKS // that a multiprocessor is to have room for
#define MIN_BLOCKS 1
#endif

// The one way of what bgemm's parts have several ways of.
#define WGMMA_TYPE "bf16"
#define OUT 1
#define TRANS_B 1
#define TRANS_B_t 1
#define BETA 0
#define BIAS 0
#define BIAS_columns 1
#define PARTS 0
#define PARTS_beside 1
#define STORE 1
#define STORE_tma 1
#include "wgmma.cuh"
#include "grouped_works.cuh"
#include "bgemm_load.cuh"
#include "bgemm_finish.cuh"

// Consumers in turn: one begins to read stages when the one before has seen the last of its own arrive. Else it could take
// an end of the same parity, two phases before, for that of its own.
__device__ __forceinline__ void wait_for_turn(int consumer)
{
    asm volatile("bar.sync %0, 256;" ::"r"(8 + consumer) : "memory");
}
__device__ __forceinline__ void pass_turn(int consumer, bool more)
{
    if (more)
        asm volatile("bar.arrive %0, 256;" ::"r"(8 + (consumer + 1) % CONSUMERS) : "memory");
}

// A consumer's sums over a tile's steps of k.
__device__ __forceinline__ void multiply(float (&found)[tall_blocks][sums], unsigned long long tall_matrix,
                                         unsigned long long wide_matrix, ring &at, int steps, mbarrier *full,
                                         mbarrier *empty, int rank, int consumer, bool more)
{
    int before = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const unsigned long long stage = at.stage * (stage_bytes / 16);
        barrier_wait(&full[at.stage], at.parity);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < stage_depth; k += wgmma_depth)
#pragma unroll
            for (int i = 0; i < tall_blocks; ++i)
                wgmma<false, false>(found[i], tall_matrix + stage + tall::offset(i * 64, k) / 16,
                                    wide_matrix + stage + wide::offset(0, k) / 16, step + k);
        wgmma_end_group();
        wgmma_wait<1>(); // the stage before has been read
        if (step > 0)
            release_stage(empty, before, rank);
        before = at.stage;
        at.advance();
    }
    if (SCHEDULE == SCHEDULE_pingpong)
        pass_turn(consumer, more);
    wgmma_wait<0>();
    release_stage(empty, before, rank);
#pragma unroll
    for (int i = 0; i < tall_blocks; ++i)
        sums_are_there(found[i]);
}

// What a consumer does whose part of the tile has none of the group's rows.
__device__ __forceinline__ void pass_by(ring &at, int steps, mbarrier *full, mbarrier *empty, int rank)
{
    for (int step = 0; step < steps; ++step, at.advance()) {
        barrier_wait(&full[at.stage], at.parity);
        release_stage(empty, at.stage, rank);
    }
}

// Of a chunk in shared memory the rows that are the group's, in words of 16 bytes.
__device__ __forceinline__ void store_chunk_by_threads(const unsigned char *buffer, c_type *C, const sizes &limits,
                                                       const place &at)
{
    constexpr int lines = EXCHANGE ? chunk : 64, words = (EXCHANGE ? 64 : chunk) / 8;
#pragma unroll
    for (int i = 0; i < lines * words; i += 128) {
        const int word = i + threadIdx.x % 128, line = word / words, x = word % words * 8, m = at.m + line, n = at.n + x;
        if (word < lines * words && m < limits.m && n < limits.n)
            *(uint4 *)(C + (size_t)m * limits.n + n) = *(const uint4 *)(buffer + in_chunk(line, x));
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // an empty one: buffers count them
}

// Chunk by chunk through shared memory: by the copy engine, which knows no groups, where all rows are the tile's own.
__device__ __forceinline__ void store_by_rows(const float (&found)[tall_blocks][sums], unsigned char *buffers, int &next,
                                              const tensor_map *C_map, c_type *C, const sizes &limits, const place &tile,
                                              int consumer)
{
#pragma unroll
    for (int i = 0; i < tall_blocks; ++i)
#pragma unroll
        for (int column = 0; column < part_columns; column += chunk) {
            const int from = chunk_from(column);
            const place at = moved(tile, i * 64, from);
            unsigned char *const buffer = buffers + next * chunk_bytes;
            if (at.m >= limits.m)
                continue;
            if (threadIdx.x % 128 == 0)
                wait_for_reads_of_stores<C_BUFFERS - 1>();
            meet(consumer);
            write_chunk(buffer, &found[i][from / 2]);
            make_visible_to_copies();
            meet(consumer);
            if (at.m + (EXCHANGE ? chunk : 64) > limits.m)
                store_chunk_by_threads(buffer, C, limits, at);
            else if (threadIdx.x % 128 == 0)
                store_chunk_as_box(buffer, C_map, at.m, at.n);
            next = (next + 1) % C_BUFFERS;
        }
}

extern "C" __global__ void __launch_bounds__(threads, MIN_BLOCKS)
    grouped(const __grid_constant__ tensor_map A_map, const __grid_constant__ tensor_map B_map,
            const __grid_constant__ tensor_map C_map, c_type *C, const int *offsets, int groups, int columns, int depth)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    mbarrier *const full = (mbarrier *)(shared + barriers_at), *const empty = full + STAGES;
    start *const starts = (start *)(shared + flags_at);
    works_of_groups works = {starts, groups, 0, {0, columns, depth}};
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), consumer = warp / 4;
    const int rank = cluster_blocks > 1 ? cluster_rank() : 0;
    const int first = blockIdx.x / cluster_blocks, clusters = gridDim.x / cluster_blocks;

    if (threadIdx.x == CONSUMERS * 128) {
        prefetch_map(&A_map);
        prefetch_map(&B_map);
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], releases);
        }
        barriers_are_ready();
    }
    if (warp == 0)
        find_starts(starts, offsets, groups, works.all);
    __syncwarp();
    if (cluster_blocks > 1)
        cluster_synchronize();
    else
        __syncthreads();

    ring at;
    if (consumer == CONSUMERS) {
#if PRODUCER_REGISTERS > 0
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
#endif
        for (int work = first; warp == CONSUMERS * 4 && work < works.count(); work += clusters) {
            place tile = works.find(work, rank);
            tile.n += works.group * columns; // as B has them
#pragma unroll 1
            for (int step = 0; step < tile.steps; ++step, at.advance())
                load_stage(shared, full, empty, at, &A_map, &B_map, tile, step * stage_depth, rank);
        }
        if (warp == CONSUMERS * 4)
            wait_for_readers(empty, at);
    } else {
#if PRODUCER_REGISTERS > 0
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(consumer_registers));
#endif
        const int row = consumer % sharing * 64 * tall_blocks;
        const unsigned a = shared_address(shared), b = a + operand_a::bytes;
        const unsigned long long tall_matrix = wgmma_matrix((EXCHANGE ? b : a) + tall::offset(row, 0), tall::panel_bytes);
        const unsigned long long wide_matrix = wgmma_matrix(EXCHANGE ? a : b, wide::panel_bytes);
        int next = 0;
        for (int work = first, turn = 0; work < works.count(); work += clusters, ++turn) {
            const place tile = moved(works.find(work, rank), row, 0);
            if (SCHEDULE == SCHEDULE_pingpong) {
                if (turn % CONSUMERS != consumer) {
                    at.advance(tile.steps);
                    continue;
                }
                if (turn > 0)
                    wait_for_turn(consumer);
            }
            if (SCHEDULE == SCHEDULE_cooperative && tile.m >= works.limits().m) {
                pass_by(at, tile.steps, full, empty, rank);
                continue;
            }
            float found[tall_blocks][sums];
            multiply(found, tall_matrix, wide_matrix, at, tile.steps, full, empty, rank, consumer,
                     work + clusters < works.count());
            store_by_rows(found, shared + chunks_at + consumer * (C_BUFFERS * chunk_bytes), next, &C_map, C, works.limits(),
                          tile, consumer);
        }
        if (threadIdx.x % 128 == 0)
            wait_for_reads_of_stores<0>();
        __syncwarp();
    }
}
