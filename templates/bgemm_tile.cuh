// SPDX-License-Identifier: MIT
// The geometry of bgemm.cu: who computes which elements of C, in which order, and how tiles of A and B lie in shared memory.
#ifndef HONE_BGEMM_TILE_CUH
#define HONE_BGEMM_TILE_CUH

#include "stages.cuh"

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

struct sizes {
    int m, n, k;
};

constexpr int stage_depth = BK * 2 / WGMMA_BYTES; // steps of k

// An operand's tile in shared memory: `rows` of A, or columns of B, by the steps of k of a stage. It is cut into panels whose lines
// have 128 bytes, or what a stage has: lines along k, or across, where a line is a step of k.
template <int rows, bool lies_across> struct operand {
    static constexpr bool across = lies_across;
    static constexpr int line_bytes = across || BK >= 64 ? 128 : BK * 2, line = line_bytes / WGMMA_BYTES;
    static constexpr int lines = across ? stage_depth : rows, panels = across ? rows / line : stage_depth / line;
    static constexpr int panel_bytes = lines * line_bytes, bytes = panels * panel_bytes;
    // Of a row that begins a panel or a pattern of eight lines, and a step of k at which an instruction begins.
    __device__ static constexpr int offset(int row, int k)
    {
        return across ? row / line * panel_bytes + k * 128 : k / line * panel_bytes + row * line_bytes + k % line * WGMMA_BYTES;
    }
};
using operand_a = operand<BM, false>;
#if TRANS_B == TRANS_B_t
using operand_b = operand<BN, false>;
#else
using operand_b = operand<BN, true>;
#endif

// Warpgroups multiply a tall operand, 64 rows an instruction, by a wide one. These are A and B; or exchanged B^T and A^T,
// and their product is C^T: so tiles of a few rows of C are possible.
template <bool exchange, typename A, typename B> struct roles {
    using tall = A;
    using wide = B;
};
template <typename A, typename B> struct roles<true, A, B> {
    using tall = B;
    using wide = A;
};
using tall = roles<EXCHANGE, operand_a, operand_b>::tall;
using wide = roles<EXCHANGE, operand_a, operand_b>::wide;
constexpr int tall_rows = EXCHANGE ? BN : BM, wide_columns = EXCHANGE ? BM : BN;

// Consumers work on a tile together, or in turn on one each.
constexpr int sharing = SCHEDULE == SCHEDULE_pingpong ? 1 : CONSUMERS; // consumers of a tile
constexpr int parts_beside = PARTS == PARTS_beside ? sharing : 1;      // whose parts of it lie side by side
constexpr int tall_blocks = tall_rows * parts_beside / (64 * sharing); // instructions that a consumer's part is high
constexpr int part_columns = wide_columns / parts_beside;              // and how wide they are
constexpr int sums = part_columns / 2;                                 // of a thread and such a block

constexpr int producer_threads = PRODUCER_REGISTERS > 0 ? 128 : 32;
constexpr int threads = CONSUMERS * 128 + producer_threads;
// What the producer gives away of its registers, consumers take: of 65,536 a multiprocessor, by eights.
constexpr int given = (512 - PRODUCER_REGISTERS) / CONSUMERS / 8 * 8, consumer_registers = given < 240 ? given : 240;

constexpr int cluster_blocks = CLUSTER_M * CLUSTER_N;
constexpr int stage_bytes = operand_a::bytes + operand_b::bytes;
#if OUT == OUT_float
using c_type = float;
#else
using c_type = unsigned short; // the bits
#endif
constexpr int element_bytes = sizeof(c_type);
// Chunks of 64 x `chunk` elements go from registers through shared memory to C, a box each.
constexpr int chunk = part_columns % 64 == 0 && element_bytes == 2 ? 64 : part_columns >= 32 ? 32 : 16;
constexpr int chunk_bytes = 64 * chunk * element_bytes;
constexpr int chunks = STORE == STORE_tma ? CONSUMERS * C_BUFFERS : 0;

static_assert(tall_blocks * 64 * sharing == tall_rows * parts_beside, "a consumer's part is a multiple of 64 high");
static_assert(part_columns * parts_beside == wide_columns, "parts fill the tile");
static_assert(WGMMA_BYTES == 2 || (!tall::across && !wide::across), "lines of numbers of 8 bits go along k");
static_assert(BK >= 64 || !operand_b::across, "panels begin at multiples of 1024 bytes");
static_assert(!tall::across || tall_rows % 64 == 0, "panels fill the tile");
static_assert(!wide::across || part_columns % 64 == 0, "panels fill the tile");

// Shared memory, in this order.
constexpr int chunks_at = ceil_div(STAGES * stage_bytes, 1024) * 1024, barriers_at = chunks_at + chunks * chunk_bytes;
constexpr int flags_at = barriers_at + 2 * STAGES * 8, shared_bytes = flags_at + CONSUMERS * 4;

struct place {
    int m, n;         // the tile's first row and column
    int first, steps; // the first step of k, and how many stages of them
    int tile, split;  // numbers
};

// Of a tile a consumer's part, which begins so many rows and columns of its instructions further.
__device__ __forceinline__ place moved(place tile, int row, int column)
{
    tile.m += EXCHANGE ? column : row;
    tile.n += EXCHANGE ? row : column;
    return tile;
}

__device__ __forceinline__ int clusters_m(const sizes &all) { return ceil_div(all.m, BM * CLUSTER_M); }
__device__ __forceinline__ int clusters_n(const sizes &all) { return ceil_div(all.n, BN * CLUSTER_N); }

// The tile, with all its steps of k, of a block of such a rank in the cluster of such a row and column.
__device__ __forceinline__ place place_at(const sizes &all, int row, int column, int rank)
{
    const int tile_m = row * CLUSTER_M + rank / CLUSTER_N, tile_n = column * CLUSTER_N + rank % CLUSTER_N;
    const int steps = max(1, ceil_div(all.k, stage_depth));
    return {tile_m * BM, tile_n * BN, 0, steps, tile_m * clusters_n(all) * CLUSTER_N + tile_n, 0};
}

// The same by number: clusters go in groups of RASTER rows, column by column within a group, for the sake of the L2 cache.
__device__ __forceinline__ place place_of(const sizes &all, int number, int rank)
{
    const int group_tiles = RASTER * clusters_n(all), group = number / group_tiles, in_group = number % group_tiles;
    const int height = RASTER == 1 ? 1 : min(RASTER, clusters_m(all) - group * RASTER);
    return place_at(all, group * RASTER + in_group % height, in_group / height, rank);
}

#endif
