// SPDX-License-Identifier: MIT
// Attention for decoding: O = softmax(scale Q K^T) V of one query or a few for each head, beside many keys. K and V are read
// once, and nothing else costs much: all queries that share a head of K and V, GROUP * QUERIES rows, are the narrow operand
// of products on the tensor cores. The keys of all heads and sequences form one list, of which each block has an equal part;
// the last block that has keys of a head puts together what all found (Dao et al., "Flash-Decoding"; Sanovar et al., "Lean
// Attention"). Tuned: how many bytes are under way, and in how many warps and blocks.
#ifndef TYPE // of Q, K, V and O
#define TYPE___nv_bfloat16 1
#define TYPE_half 2
#define TYPE TYPE___nv_bfloat16
#endif
#ifndef WIDTH // of a head: elements of a query
#define WIDTH 128
#endif
#ifndef GROUP // heads of Q that share one of K and V
#define GROUP 8
#endif
#ifndef QUERIES // of a sequence, its last ones: none sees keys behind its own
#define QUERIES 1
#endif

#ifndef WARPS // of a block, which take turns in its keys
#define WARPS 4
#endif
#ifndef KEYS // that a warp has in registers, and as many values
#define KEYS 16
#endif
#ifndef AHEAD // 1: the next keys and values are loaded while the last ones are used
#define AHEAD 0
#endif
#ifndef BLOCKS_PER_SM // that a multiprocessor is to have room for; the fewer, the more registers has a thread
#define BLOCKS_PER_SM 1
#endif

#include "halves.cuh"
#include "mma.cuh"

typedef unsigned short element; // its bits
constexpr int rows = GROUP * QUERIES, tiles = (rows + 7) / 8; // of Q, 8 rows a tile
constexpr int threads = WARPS * 32, step_keys = WARPS * KEYS;

__device__ __forceinline__ unsigned packed(float first, float second)
{
    return packed_as<TYPE == TYPE_half>(first, second);
}
#include "decode_shares.cuh"
#include "decode_tile.cuh"

// The keys of a head of K and V of a sequence, in the list of all.
struct place {
    int head, first, steps, length; // where it begins and how long it is, in steps; of the sequence, in keys
};

// Until the end of each sequence, as many steps as there are for one head. One warp counts.
__device__ __forceinline__ void count_steps(int *ends, const int *lengths, int batch)
{
    for (int first = 0, before = 0; threadIdx.x < 32 && first < batch; first += 32) {
        const int i = first + threadIdx.x;
        int sum = i < batch ? (lengths[i] + step_keys - 1) / step_keys : 0;
#pragma unroll
        for (int lanes = 1; lanes < 32; lanes *= 2) {
            const int other = __shfl_up_sync(~0u, sum, lanes);
            sum += (int)threadIdx.x >= lanes ? other : 0;
        }
        if (i < batch)
            ends[i] = before + sum;
        before += __shfl_sync(~0u, sum, 31);
    }
    __syncthreads();
}

__device__ __forceinline__ place place_of(int step, int length, const int *ends, const int *lengths, int batch, int heads)
{
    int sequence = 0, before = 0, steps = (length + step_keys - 1) / step_keys;
    if (length == 0) {
        for (int last = batch - 1; sequence < last;) {
            const int middle = (sequence + last) / 2;
            if (heads * ends[middle] > step)
                last = middle;
            else
                sequence = middle + 1;
        }
        before = sequence > 0 ? heads * ends[sequence - 1] : 0;
        steps = ends[sequence] - before / heads;
        length = lengths[sequence];
    }
    const int head = (step - before) / steps;
    return {sequence * heads + head, before + head * steps, steps, length};
}

// lengths: of each sequence, QUERIES at least; unused where all have `length`, which is not 0. K and V have room for as many
// of each. partial: a share for each block and each head; done: one of each head, 0 before the first launch.
extern "C" __global__ void __launch_bounds__(threads, BLOCKS_PER_SM)
    decode(const element *__restrict__ Q, const element *__restrict__ K, const element *__restrict__ V, element *O,
           const int *lengths, float *partial, unsigned *done, int batch, int heads, int length, int room, float scale)
{
    extern __shared__ __align__(16) float shared[]; // a share of each warp, and the ends
    int *const ends = (int *)(shared + WARPS * share_floats);
    const int warp = threadIdx.x / 32;
    if (length == 0)
        count_steps(ends, lengths, batch);
    const int all = heads * (length == 0 ? ends[batch - 1] : batch * ((length + step_keys - 1) / step_keys));
    const int each = (all + gridDim.x - 1) / gridDim.x, stop = min(all, (int)(blockIdx.x + 1) * each);

    for (int step = blockIdx.x * each; step < stop;) {
        const place at = place_of(step, length, ends, lengths, batch, heads);
        const int next = min(stop, at.first + at.steps), end = min(at.length, (next - at.first) * step_keys);
        const size_t cache = (size_t)at.head * room * WIDTH, own_rows = (size_t)at.head * rows * WIDTH;
        const int key = (step - at.first) * step_keys + warp * KEYS;
        if (threadIdx.x == 0)
            (void)*(volatile unsigned *)&done[at.head]; // comes from DRAM while keys do, not when it is counted up
        attend(shared + warp * share_floats, Q + own_rows, K + cache, V + cache, key, end, at.length, scale);
        __syncthreads();

        const int first = at.first / each, parts = (at.first + at.steps - 1) / each - first + 1;
        int shares = WARPS;
        if (parts > 1) {
            float *const all_parts = partial + (size_t)(at.head + first) * share_floats; // nobody else's, as both only grow
            for (int i = threadIdx.x; i < fours; i += threads)
                put(all_parts + (blockIdx.x - first) * share_floats, i, merged<WARPS>(shared, WARPS, share_floats, i, scale));
            shares = is_last(&done[at.head], parts) ? sets : 0;
            for (int i = threadIdx.x; i < shares * fours; i += threads) {
                const int set = i / fours, count = (parts - set + sets - 1) / sets;
                put(shared + set * share_floats, i % fours,
                    merged<16>(all_parts + set * share_floats, count, sets * share_floats, i % fours, scale));
            }
            __syncthreads();
        }
        if (shares > 0)
            store(O + own_rows, shared, shares, scale);
        __syncthreads();
        step = next;
    }
}
