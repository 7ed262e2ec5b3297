// SPDX-License-Identifier: MIT
// C = A B of 16-bit numbers, or of 8 bits, summed in fp32 by the tensor cores of Hopper (sm_90a): A is M x K, row-major, B is K x N, row-
// major or column-major. A warp of the block, the producer, has tiles of A and B copied into stages in shared memory;
// warpgroups, the consumers, multiply what is there. Both meet by barriers alone. Tuned: the tile and its stages, who works
// on what and in which order, what blocks share, and how the sums come to C = alpha A B + beta D + bias.
#ifndef TYPE // of A and B
#define TYPE___nv_bfloat16 1
#define TYPE_half 2
#define TYPE___nv_fp8_e4m3 3
#define TYPE TYPE___nv_bfloat16
#endif
#ifndef OUT // of C
#define OUT___nv_bfloat16 1
#define OUT_half 2
#define OUT_float 3
#define OUT OUT___nv_bfloat16
#endif
#ifndef TRANS_B // n: row-major, t: column-major
#define TRANS_B_n 1
#define TRANS_B_t 2
#define TRANS_B TRANS_B_t
#endif
#ifndef BETA
#define BETA 0.0
#endif
#ifndef BIAS // one for each column of C
#define BIAS_none 1
#define BIAS_columns 2
#define BIAS BIAS_none
#endif

#ifndef BM // the tile: BM x BN of C, BK steps of k a stage; of 8 bits twice as many
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
#ifndef PARTS // of a tile that consumers multiply together: above each other or, as instructions see them, side by side
#define PARTS_above 1
#define PARTS_beside 2
#define PARTS PARTS_above
#endif
#ifndef EXCHANGE // 1: C^T = B^T A^T is computed
#define EXCHANGE 0
#endif
#ifndef CLUSTER_M // so many blocks above each other share columns of B, so many in a row share rows of A
#define CLUSTER_M 1
#define CLUSTER_N 1
#endif
#ifndef RASTER // rows of tiles, or of clusters of them, that are gone through together
#define RASTER 1
#endif
#ifndef PERSISTENT // blocks stay and take tiles by number; or their place in the grid says which, without a division
#define PERSISTENT 0
#endif
#ifndef FINISH // what is found is C; or blocks that share a tile add up: the last of them does, or clusters of so many
#define FINISH_store 1
#define FINISH_last_block 2
#define FINISH_cluster2 3
#define FINISH_cluster4 4
#define FINISH_cluster8 5
#define FINISH FINISH_store
#endif
#define BY_CLUSTERS (FINISH != FINISH_store && FINISH != FINISH_last_block)
#ifndef STORE // by threads, or through C_BUFFERS of shared memory each consumer by tensor maps
#define STORE_direct 1
#define STORE_tma 2
#define STORE STORE_direct
#endif
#ifndef C_BUFFERS
#define C_BUFFERS 1
#endif
#ifndef PRODUCER_REGISTERS // that the producer keeps of its share, a warpgroup then; 0: it is a single warp and keeps all
#define PRODUCER_REGISTERS 0
#endif
#ifndef MIN_BLOCKS // that a multiprocessor is to have room for
#define MIN_BLOCKS 1
#endif

// Words that the config's problems do not have are not defined.
#if defined TYPE___nv_fp8_e4m3 && TYPE == TYPE___nv_fp8_e4m3
#define WGMMA_BYTES 1
#define WGMMA_TYPE "e4m3"
#elif TYPE == TYPE_half
#define WGMMA_TYPE "f16"
#else
#define WGMMA_TYPE "bf16"
#endif
#include "wgmma.cuh"
#include "wgmma_eights.cuh"
#include "bgemm_tile.cuh"
#include "bgemm_load.cuh"
#include "bgemm_finish.cuh"
#include "bgemm_lines.cuh"

// `splits` blocks, which the launch says, share the steps of k of a tile.
__device__ __forceinline__ int works(const sizes &all, int splits)
{
    return PERSISTENT ? clusters_m(all) * clusters_n(all) * splits : splits;
}
__device__ __forceinline__ int over_splits(int number, int splits)
{
    return BY_CLUSTERS ? number >> __popc(splits - 1) : number / splits; // by clusters a power of two
}
__device__ __forceinline__ place work_of(const sizes &all, int splits, int work, int rank)
{
    const int number = PERSISTENT ? over_splits(work, splits) : 0;
    place tile = PERSISTENT ? place_of(all, number, rank) : place_at(all, blockIdx.z, blockIdx.y, rank);
    const int share = over_splits(tile.steps, splits), more = tile.steps - splits * share;
    tile.split = work - number * splits;
    tile.first = (tile.split * share + min(tile.split, more)) * stage_depth;
    tile.steps = share + (tile.split < more);
    return tile;
}

// What the producer has initialised. It goes on at once.
__device__ __forceinline__ void wait_for_barriers(bool is_producer)
{
    if (is_producer)
        asm volatile("bar.arrive 7, %0;" ::"n"(threads) : "memory");
    else
        asm volatile("bar.sync 7, %0;" ::"n"(threads) : "memory");
}

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
__device__ __forceinline__ void multiply(float (&all)[tall_blocks][sums], unsigned long long tall_matrix,
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
                wgmma<tall::across, wide::across>(all[i], tall_matrix + stage + tall::offset(i * 64, k) / 16,
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
        sums_are_there(all[i]);
}

extern "C" __global__ void __launch_bounds__(threads, MIN_BLOCKS)
    bgemm(const __grid_constant__ tensor_map A_map, const __grid_constant__ tensor_map B_map,
          const __grid_constant__ tensor_map C_map, c_type *C, const c_type *D, const c_type *bias, float alpha,
          float *partial, unsigned *done, int rows, int columns, int depth, int shared_by)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    mbarrier *const full = (mbarrier *)(shared + barriers_at), *const empty = full + STAGES;
    const sizes all = {rows, columns, depth};
    const int splits = FINISH == FINISH_store ? 1 : shared_by;
    const addends added = {D, bias, alpha};
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
    __syncwarp();
    if (cluster_blocks > 1)
        cluster_synchronize();
    else
        wait_for_barriers(consumer == CONSUMERS);

#if PRODUCER_REGISTERS > 0
    if (consumer == CONSUMERS)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
#endif
    ring at;
    // In front of what consumers do, who wait for it: its code is fetched with what comes before.
    if (warp == CONSUMERS * 4) {
        wait_for_step_before(); // it may still be copying lines
        for (int work = first; work < works(all, splits); work += clusters) {
            const place tile = work_of(all, splits, work, rank);
#pragma unroll 1
            for (int step = 0; step < tile.steps; ++step) {
                load_stage(shared, full, empty, at, &A_map, &B_map, tile, tile.first + step * stage_depth, rank);
                at.advance();
            }
        }
        wait_for_readers(empty, at);
    }
    if (consumer == CONSUMERS) {
        __syncwarp();
        if (BY_CLUSTERS) { // when the consumers' sums are there, and when all have been read
            cluster_synchronize();
            cluster_synchronize();
        }
    } else {
#if PRODUCER_REGISTERS > 0
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(consumer_registers));
#endif
        const int part = consumer % sharing, row = part / parts_beside * 64 * tall_blocks;
        const int column = part % parts_beside * part_columns;
        const unsigned a = shared_address(shared), b = a + operand_a::bytes;
        const unsigned long long tall_matrix =
            wgmma_matrix<tall::line_bytes>((EXCHANGE ? b : a) + tall::offset(row, 0), tall::panel_bytes);
        const unsigned long long wide_matrix =
            wgmma_matrix<wide::line_bytes>((EXCHANGE ? a : b) + wide::offset(column, 0), wide::panel_bytes);
        int next = 0, turn = 0;
        for (int work = first; work < works(all, splits); work += clusters) {
            const place tile = moved(work_of(all, splits, work, rank), row, column);
            if (SCHEDULE == SCHEDULE_pingpong) {
                const bool own = turn % CONSUMERS == consumer;
                if (!own) {
                    at.advance(tile.steps);
                    ++turn;
                    continue;
                }
                if (turn > 0)
                    wait_for_turn(consumer);
                ++turn;
            }
            float found[tall_blocks][sums];
            multiply(found, tall_matrix, wide_matrix, at, tile.steps, full, empty, rank, consumer,
                     work + clusters < works(all, splits));
#if BY_CLUSTERS
            add_up_clusters(found, shared, partial, done, C, added, all, tile, splits, part);
#else
            if (FINISH == FINISH_last_block &&
                !add_up_splits(found, partial, done, (int *)(shared + flags_at) + consumer, tile, splits, part, consumer))
                continue;
#if STORE == STORE_tma
            store_by_boxes(found, shared + chunks_at + consumer * (C_BUFFERS * chunk_bytes), next, &C_map, added, all,
                           tile, consumer);
#else
            store_directly(found, C, added, all, tile);
#endif
#endif
        }
        if (STORE == STORE_tma && threadIdx.x % 128 == 0)
            wait_for_reads_of_stores<0>();
        __syncwarp();
    }
}
