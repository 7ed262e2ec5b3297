// SPDX-License-Identifier: MIT
// Who computes which tile of C, for grouped.cu: groups of rows have tiles of their own, as many as each needs, and their works,
// each a cluster of tiles, are numbered group by group.
#ifndef HONE_GROUPED_WORKS_CUH
#define HONE_GROUPED_WORKS_CUH

#include "bgemm_tile.cuh"

struct start {
    int work, row; // a group's first; behind the last group, how many there are
};

// By a warp, for its block.
__device__ __forceinline__ void find_starts(start *starts, const int *offsets, int groups, const sizes &all)
{
    const int lane = threadIdx.x % 32;
    int before = 0;
#pragma unroll 4
    for (int group = lane; group - lane < groups; group += 32) {
        const int row = __ldg(offsets + min(group, groups)), end = __ldg(offsets + min(group + 1, groups));
        const int own = clusters_m({end - row, all.n, all.k}) * clusters_n(all);
        int sum = own;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int below = __shfl_up_sync(~0u, sum, step);
            sum += lane >= step ? below : 0;
        }
        if (group < groups)
            starts[group] = {before + sum - own, row};
        before += __shfl_sync(~0u, sum, 31);
    }
    starts[groups] = {before, __ldg(offsets + groups)};
}

// A warp's way through the works, in ascending order.
struct works_of_groups {
    const start *starts;
    int groups, group; // of the last work
    sizes all;

    __device__ __forceinline__ int count() const { return starts[groups].work; }

    // Its block's tile, by all lanes.
    __device__ __forceinline__ place find(int work, int rank)
    {
        unsigned ended;
        do {
            const int next = group + 1 + threadIdx.x % 32;
            ended = __ballot_sync(~0u, next <= groups && starts[next].work <= work);
            group += __popc(ended);
        } while (ended == ~0u);
        const start own = starts[group];
        place tile = place_of({limits().m - own.row, all.n, all.k}, work - own.work, rank);
        tile.m += own.row;
        return tile;
    }

    // C ends for a tile where its group ends.
    __device__ __forceinline__ sizes limits() const { return {starts[group + 1].row, all.n, all.k}; }
};

#endif
