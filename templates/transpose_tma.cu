// SPDX-License-Identifier: MIT
// out = transpose of in, fp32, with tiles that the tensor memory accelerator brings and takes away: threads compute no
// address of global memory, and look at no edge. A block has STAGES tiles under way while it turns one.
//
// A tile is made of boxes of 32 floats, 128 bytes, in a line. In shared memory line r of a box holds its words of 16 bytes
// permuted: word w stands at w ^ (r % 8), as the swizzle of 128 bytes has it (CUDA C++ Programming Guide, "Shared Memory
// Bank Swizzling"), so that words below one another lie in different banks. A thread turns squares of 4 x 4 floats, which it
// reads from four lines and writes to four others. Eight neighbours take squares along a diagonal: words of eight lines and
// eight columns, which meet all banks both ways.

#ifndef TALL // squares of 32 x 32 floats in a tile, one below the other
#define TALL 2
#endif
#ifndef WIDE // and side by side
#define WIDE 2
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef STAGES // tiles that are read ahead, with the one that is turned
#define STAGES 2
#endif
#ifndef STORES // tiles that are written, with the one that is turned
#define STORES 1
#endif

#include "tensor_copy.cuh"

constexpr int SIDE = 32, LINE_BYTES = 4 * SIDE, TILE_BYTES = TALL * WIDE * SIDE * LINE_BYTES;

// Word `word` of line `line` of a box.
__device__ __forceinline__ float4 *word_of(unsigned char *box, int line, int word)
{
    return (float4 *)(box + line * LINE_BYTES + (word ^ line % 8) * 16);
}

// Turns a square of 32 x 32 floats, whose lines begin at `line` of one box, into lines of another box from `to_line` on.
__device__ __forceinline__ void turn_square(unsigned char *from, unsigned char *to)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int across = lane % 8, down = across ^ (lane / 8 + 4 * half);
        float4 line[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            line[i] = *word_of(from, 4 * down + i, across);
        *word_of(to, 4 * across + 0, down) = make_float4(line[0].x, line[1].x, line[2].x, line[3].x);
        *word_of(to, 4 * across + 1, down) = make_float4(line[0].y, line[1].y, line[2].y, line[3].y);
        *word_of(to, 4 * across + 2, down) = make_float4(line[0].z, line[1].z, line[2].z, line[3].z);
        *word_of(to, 4 * across + 3, down) = make_float4(line[0].w, line[1].w, line[2].w, line[3].w);
    }
}

// A tile of `in` is WIDE boxes of 32 * TALL lines; as one of `out` it is TALL boxes of 32 * WIDE lines.
__device__ __forceinline__ void load_tile(unsigned char *tile, const tensor_map *in, unsigned x, unsigned y, mbarrier *full)
{
    barrier_arrive_and_expect(full, TILE_BYTES);
    for (int i = 0; i < WIDE; ++i)
        load_box(tile + i * (TALL * SIDE * LINE_BYTES), in, (x * WIDE + i) * SIDE, y * TALL * SIDE, full);
}

__device__ __forceinline__ void store_tile(const unsigned char *tile, const tensor_map *out, unsigned x, unsigned y)
{
    for (int i = 0; i < TALL; ++i)
        store_box(tile + i * (WIDE * SIDE * LINE_BYTES), out, (y * TALL + i) * SIDE, x * WIDE * SIDE);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    transpose_tma(const __grid_constant__ tensor_map in_map, const __grid_constant__ tensor_map out_map, int ROWS, int COLUMNS)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char *const turned = shared + STAGES * TILE_BYTES;
    mbarrier *const full = (mbarrier *)(turned + STORES * TILE_BYTES);
    const unsigned across = (COLUMNS + SIDE * WIDE - 1) / (SIDE * WIDE), down = (ROWS + SIDE * TALL - 1) / (SIDE * TALL);
    const unsigned tiles = across * down, first = blockIdx.x, step = gridDim.x;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage)
            barrier_init(&full[stage], 1);
        barriers_are_ready();
        unsigned tile = first;
        for (int stage = 0; stage < STAGES && tile < tiles; ++stage, tile += step)
            load_tile(shared + stage * TILE_BYTES, &in_map, tile % across, tile / across, &full[stage]);
    }
    __syncthreads();

    int turn = 0;
    for (unsigned tile = first; tile < tiles; tile += step, ++turn) {
        const int stage = turn % STAGES;
        unsigned char *const from = shared + stage * TILE_BYTES, *const to = turned + turn % STORES * TILE_BYTES;
        if (threadIdx.x == 0)
            wait_for_reads_of_stores<(STORES - 1) * TALL>();
        barrier_wait(&full[stage], turn / STAGES % 2);
        __syncthreads(); // nothing is read from `to` any more
        for (int square = threadIdx.x / 32; square < TALL * WIDE; square += WARPS) {
            const int y = square / WIDE, x = square % WIDE;
            turn_square(from + (x * TALL + y) * (SIDE * LINE_BYTES), to + (y * WIDE + x) * (SIDE * LINE_BYTES));
        }
        make_visible_to_copies();
        __syncthreads(); // `to` is written, and nothing is read from `from` any more
        if (threadIdx.x != 0)
            continue;
        store_tile(to, &out_map, tile % across, tile / across);
        const unsigned next = tile + STAGES * step;
        if (next < tiles)
            load_tile(from, &in_map, next % across, next / across, &full[stage]);
    }
    if (threadIdx.x == 0)
        wait_for_reads_of_stores<0>();
}
