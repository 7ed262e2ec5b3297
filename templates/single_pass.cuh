// SPDX-License-Identifier: MIT
// Prefix sums across the blocks of one launch by decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix
// Scan with Decoupled Look-back"). A block publishes the sum of its tile, walks back over the tiles before it until it
// meets one that knows the sum of all before it, and publishes that of its own.
//
// A tile's state is one word: a flag in the high half, the sum in the low half. Nothing has to be ordered between the
// two, and so no fence is needed. Nothing has to be cleared between launches either: tickets are drawn from a counter
// that is never reset, so that a state tells by its flag of which launch it is. Ticket and states are 0 before the first.
#ifndef HONE_SINGLE_PASS_CUH
#define HONE_SINGLE_PASS_CUH

#include "relaxed.cuh"

typedef unsigned long long tile_state;

struct tile_ticket {
    unsigned tile; // in the order in which blocks start: those that a block waits for are running
    unsigned flag; // of a tile's own sum in this launch; one more: of the sum of it and all before it
};

// By one thread.
__device__ __forceinline__ tile_ticket draw_ticket(unsigned long long *ticket, unsigned tiles)
{
    const unsigned long long drawn = atomicAdd(ticket, 1ull);
    return {(unsigned)(drawn % tiles), 2 * (unsigned)(drawn / tiles) + 2};
}

// Before the first tile there is nothing to add, which is known.
__device__ __forceinline__ tile_state state_of(const tile_state *states, int tile, tile_ticket own)
{
    return tile >= 0 ? load_relaxed(&states[tile]) : (tile_state)(own.flag + 1) << 32;
}

// The sum of all tiles before this one, whose own is `sum`, in all lanes. All lanes of one warp call it. Each looks at
// `reach` tiles at a time: how far sums get in the time that a word takes from one block to another is 32 times that.
template <int reach> __device__ __forceinline__ unsigned look_back(tile_state *states, tile_ticket own, unsigned sum)
{
    const unsigned lane = threadIdx.x % 32, everybody = 0xffffffff;
    unsigned before = 0, known = own.tile == 0; // the lanes whose tile knows the sum of it and all before it
    if (lane == 0)
        store_relaxed(&states[own.tile], (tile_state)(own.flag + known) << 32 | sum);

    for (int nearest = (int)own.tile - 1 - (int)lane; !known; nearest -= 32 * reach) {
        tile_state state[reach];
#pragma unroll
        for (int i = 0; i < reach; ++i)
            state[i] = state_of(states, nearest - 32 * i, own);
#pragma unroll
        for (int i = 0; i < reach && !known; ++i) {
            unsigned missing = 0; // nothing behind the nearest tile that knows has to be waited for
            do {
                if (missing)
                    state[i] = state_of(states, nearest - 32 * i, own);
                known = __ballot_sync(everybody, (unsigned)(state[i] >> 32) > own.flag);
                missing = __ballot_sync(everybody, (unsigned)(state[i] >> 32) < own.flag);
            } while (missing && !(known && __ffs(known) < __ffs(missing)));
            const bool counts = known == 0 || lane < __ffs(known);
            before += __reduce_add_sync(everybody, counts ? (unsigned)state[i] : 0);
        }
    }
    if (lane == 0 && own.tile > 0)
        store_relaxed(&states[own.tile], (tile_state)(own.flag + 1) << 32 | (before + sum));
    return before;
}

#endif
