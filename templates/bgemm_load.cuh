// SPDX-License-Identifier: MIT
// Tiles of A and B on their way from global to shared memory, for bgemm.cu: what the producer does.
#ifndef HONE_BGEMM_LOAD_CUH
#define HONE_BGEMM_LOAD_CUH

#include "cluster.cuh"
#include "tensor_copy.cuh"

// What the kernel before this one in the stream wrote is there, where this one may have begun before the other's end.
__device__ __forceinline__ void wait_for_step_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Each of `blocks` that need the same tile fetches a share of each panel's lines for all of them, in boxes of 256 at most.
// Boxes that do not divide the panel end with it: the last begin earlier, and bring some lines again.
template <typename operand, int blocks> struct shares {
    static constexpr int boxes = ceil_div(operand::lines, 256 * blocks);            // of a block
    static constexpr int lines = ceil_div(operand::lines, 8 * boxes * blocks) * 8;  // of a box
    static constexpr int bytes = operand::panels * boxes * blocks * lines * operand::line_bytes; // that arrive in a stage
};
template <typename operand, int blocks>
__device__ __forceinline__ void load_operand(unsigned char *stage, const tensor_map *map, int row, int k, int share,
                                             unsigned receivers, mbarrier *full)
{
    constexpr int boxes = shares<operand, blocks>::boxes, lines = shares<operand, blocks>::lines;
#pragma unroll
    for (int i = 0; i < operand::panels * boxes; ++i) {
        const int panel = i / boxes, from = min((share * boxes + i % boxes) * lines, operand::lines - lines);
        unsigned char *const to = stage + panel * operand::panel_bytes + from * operand::line_bytes;
        const int x = (operand::across ? row : k) + panel * operand::line, y = (operand::across ? k : row) + from;
        if (blocks > 1)
            load_box_for(receivers, to, map, x, y, full);
        else
            load_box(to, map, x, y, full);
    }
}
constexpr int arriving_bytes = shares<operand_a, CLUSTER_N>::bytes + shares<operand_b, CLUSTER_M>::bytes;

// Blocks of a cluster in a row of tiles need the same rows of A, those in a column the same columns of B.
__device__ constexpr unsigned row_of_cluster(int rank) { return ((1u << CLUSTER_N) - 1) << rank / CLUSTER_N * CLUSTER_N; }
__device__ constexpr unsigned column_of_cluster(int rank)
{
    unsigned ranks = 0;
    for (int m = 0; m < CLUSTER_M; ++m)
        ranks |= 1u << (m * CLUSTER_N + rank % CLUSTER_N);
    return ranks;
}

// True for one lane of a warp, all of which ask. As the compiler knows that, what the lane then asks copies for stays in
// registers of the warp.
__device__ __forceinline__ bool is_elected()
{
    unsigned is_it;
    asm volatile("{\n.reg .pred one;\nelect.sync _|one, -1;\nselp.u32 %0, 1, 0, one;\n}" : "=r"(is_it));
    return is_it;
}

// Into the next stage as soon as all who read it are done with it. The whole warp waits, one lane asks.
__device__ __forceinline__ void load_stage(unsigned char *shared, mbarrier *full, mbarrier *empty, const ring &at,
                                           const tensor_map *A_map, const tensor_map *B_map, const place &tile, int k,
                                           int rank)
{
    unsigned char *const stage = shared + at.stage * stage_bytes;
    barrier_wait(&empty[at.stage], at.parity ^ 1);
    if (!is_elected())
        return;
    barrier_arrive_and_expect(&full[at.stage], arriving_bytes);
    load_operand<operand_a, CLUSTER_N>(stage, A_map, tile.m, k, rank % CLUSTER_N, row_of_cluster(rank), &full[at.stage]);
    load_operand<operand_b, CLUSTER_M>(stage + operand_a::bytes, B_map, tile.n, k, rank / CLUSTER_N,
                                       column_of_cluster(rank), &full[at.stage]);
}

// A warp has read a stage: it says so to all blocks that load into it.
__device__ __forceinline__ void release_stage(mbarrier *empty, int stage, int rank)
{
    const int lane = threadIdx.x % 32;
    if (cluster_blocks == 1) {
        if (lane == 0)
            barrier_arrive(&empty[stage]);
    } else if (lane < cluster_blocks && ((row_of_cluster(rank) | column_of_cluster(rank)) >> lane & 1)) {
        barrier_arrive_at_rank(&empty[stage], lane);
    }
}
// Until all blocks have read the last stages: none ends while another still writes to its shared memory.
__device__ __forceinline__ void wait_for_readers(mbarrier *empty, ring &at)
{
    if (cluster_blocks > 1)
        for (int stage = 0; stage < STAGES; ++stage, at.advance())
            barrier_wait(&empty[at.stage], at.parity ^ 1);
}
constexpr int releases = 4 * sharing * (CLUSTER_M + CLUSTER_N - 1); // of a stage

#endif
