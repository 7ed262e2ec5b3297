// SPDX-License-Identifier: MIT
// out = transpose of in, fp32. Reading rows and writing columns touches a line of memory for every element written; a
// tile in shared memory turns both into whole lines (CUDA C++ Best Practices Guide, "Shared Memory in Matrix Transpose";
// Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA").
//
// A thread reads VECTOR words of VECTOR floats, one below the other, turns that square in registers and stores it in the
// tile, which holds the transpose: all accesses, to shared memory too, are of whole words. The squares of neighbouring
// threads go to tile rows VECTOR apart, into the same banks, unless PAD shifts them or SWIZZLE spreads them.
//
// Of a matrix with a side of at most 32 elements most of a tile would be empty. There a block takes a stretch of the long
// side, all of the other: in the matrix with short rows that is one piece of memory, read or written from end to end.

#ifndef VARIANT // naive: without shared memory; thin: for a side of at most 32 elements
#define VARIANT_naive 1
#define VARIANT_tiled 2
#define VARIANT_thin 3
#define VARIANT VARIANT_tiled
#endif
#ifndef TILE // side of a square; a tile is TALL squares high and WIDE squares wide
#define TILE 32
#endif
#ifndef TALL
#define TALL 1
#endif
#ifndef WIDE
#define WIDE 1
#endif
#ifndef BLOCK_ROWS // the block has TILE / VECTOR x BLOCK_ROWS threads
#define BLOCK_ROWS 8
#endif
#ifndef VECTOR // floats in a word; divides the number of rows and that of columns
#define VECTOR 1
#endif
#ifndef PAD // floats after every VECTOR rows of the tile; a multiple of VECTOR
#define PAD 1
#endif
#ifndef SWIZZLE // 1: the words of a tile row are permuted by an exclusive or
#define SWIZZLE 0
#endif
#ifndef ORDER // of the blocks: along the rows of tiles, or along their diagonals
#define ORDER_row 1
#define ORDER_diagonal 2
#define ORDER ORDER_row
#endif
#ifndef GROUP // rows of tiles that blocks go along together: down each column of the group, then on to the next
#define GROUP 1
#endif
#ifndef ACROSS // columns of a group that blocks go down side by side
#define ACROSS 1
#endif
#ifndef LOAD // cs: streaming, marked as not to be read again; once: past the L1 cache (load_once.cuh)
#define LOAD_plain 1
#define LOAD_cs 2
#define LOAD_once 3
#define LOAD LOAD_plain
#endif
#ifndef STORE // cs: as of LOAD
#define STORE_plain 1
#define STORE_cs 2
#define STORE STORE_plain
#endif

#include "load_once.cuh"
#include "vector.cuh"

#if LOAD == LOAD_cs
#define READ(pointer) __ldcs(pointer)
#elif LOAD == LOAD_once
#define READ(pointer) load_once(pointer)
#else
#define READ(pointer) (*(pointer))
#endif
#if STORE == STORE_cs
#define WRITE(pointer, value) __stcs(pointer, value)
#else
#define WRITE(pointer, value) (*(pointer) = (value))
#endif

constexpr int tile_rows = TILE * TALL, tile_columns = TILE * WIDE;

struct place_of_tile {
    unsigned x, y;
};

// In which order blocks take the tiles: those that start one after the other share lines of DRAM if they are neighbours.
__device__ __forceinline__ place_of_tile tile_of_block()
{
    // A grid has at most 65,535 blocks in y; what goes beyond is in z.
    const unsigned block_y = blockIdx.y + gridDim.y * blockIdx.z, grid_y = gridDim.y * gridDim.z;
    const unsigned block = blockIdx.x + gridDim.x * block_y;
    if (ORDER == ORDER_diagonal) {
        const unsigned y = block % grid_y;
        return {(block / grid_y + y) % gridDim.x, y};
    }
    if (GROUP == 1)
        return {blockIdx.x, block_y};
    const unsigned top = block / (gridDim.x * GROUP) * GROUP, rows = min((unsigned)GROUP, grid_y - top);
    const unsigned in_group = block % (gridDim.x * GROUP);
    const unsigned left = in_group / (rows * ACROSS) * ACROSS, columns = min((unsigned)ACROSS, gridDim.x - left);
    const unsigned in_strip = in_group % (rows * ACROSS);
    return {left + in_strip % columns, top + in_strip / columns};
}

// Where in the tile the word of `row` stands that has index `word`.
__device__ __forceinline__ int place(int row, int word)
{
    const int square = row / VECTOR;
    if (SWIZZLE)
        word ^= square % (32 / VECTOR);
    return row * tile_rows + square * PAD + word * VECTOR;
}

// Where element `i` of a piece of memory stands in shared memory, so that steps of any power of two meet all banks.
__device__ __forceinline__ int spread(int i)
{
    return i + i / 32;
}

extern "C" __global__ void __launch_bounds__((TILE / VECTOR) * BLOCK_ROWS)
    transpose(const float *__restrict__ in, float *__restrict__ out, int ROWS, int COLUMNS)
{
#if VARIANT == VARIANT_thin
    constexpr int length = TILE * TILE / 32, threads = TILE * BLOCK_ROWS;
    extern __shared__ float piece[];
    const bool short_rows = COLUMNS <= ROWS;
    const int thin = short_rows ? COLUMNS : ROWS, whole = short_rows ? ROWS : COLUMNS, first = blockIdx.x * length;
    const int here = min(length, whole - first), thread = threadIdx.x + threadIdx.y * TILE;

    if (short_rows) {
#pragma unroll 4
        for (int i = thread; i < here * thin; i += threads)
            piece[spread(i)] = READ(&in[(size_t)first * thin + i]);
    } else {
#pragma unroll 4
        for (int i = thread; i < length * thin; i += threads)
            if (i % length < here)
                piece[spread(i % length * thin + i / length)] = READ(&in[(size_t)(i / length) * whole + first + i % length]);
    }
    __syncthreads();
    if (short_rows) {
#pragma unroll 4
        for (int i = thread; i < length * thin; i += threads)
            if (i % length < here)
                WRITE(&out[(size_t)(i / length) * whole + first + i % length], piece[spread(i % length * thin + i / length)]);
    } else {
#pragma unroll 4
        for (int i = thread; i < here * thin; i += threads)
            WRITE(&out[(size_t)first * thin + i], piece[spread(i)]);
    }

#else
    const place_of_tile at = tile_of_block();
    const int left = at.x * tile_columns, top = at.y * tile_rows;
#if VARIANT == VARIANT_naive
    const int column = left + threadIdx.x;
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += BLOCK_ROWS) {
        const int row = top + y;
        if (row < ROWS && column < COLUMNS)
            WRITE(&out[(size_t)column * ROWS + row], READ(&in[(size_t)row * COLUMNS + column]));
    }

#else
    constexpr int squares = TILE * TALL * WIDE / VECTOR / BLOCK_ROWS; // of VECTOR x VECTOR floats, of one thread
    __align__(16) float square[squares][VECTOR][VECTOR];
    extern __shared__ __align__(16) float tile[];

    const int read_x = threadIdx.x + threadIdx.y % WIDE * (TILE / VECTOR), read_y = threadIdx.y / WIDE;
    const int column = left + read_x * VECTOR;
#pragma unroll
    for (int s = 0; s < squares; ++s) {
        const int row = top + (read_y + s * (BLOCK_ROWS / WIDE)) * VECTOR;
        const float *source = in + (size_t)row * COLUMNS + column;
        if (row >= ROWS || column >= COLUMNS)
            continue;
#pragma unroll
        for (int i = 0; i < VECTOR; ++i)
            *(vector *)square[s][i] = READ((const vector *)(source + (size_t)i * COLUMNS));
    }

#pragma unroll
    for (int s = 0; s < squares; ++s)
#pragma unroll
        for (int j = 0; j < VECTOR; ++j) {
            __align__(16) float turned[VECTOR];
#pragma unroll
            for (int i = 0; i < VECTOR; ++i)
                turned[i] = square[s][i][j];
            const int word = read_y + s * (BLOCK_ROWS / WIDE);
            *(vector *)&tile[place(read_x * VECTOR + j, word)] = *(vector *)turned;
        }
    __syncthreads();

    const int write_x = threadIdx.x + threadIdx.y % TALL * (TILE / VECTOR), write_y = threadIdx.y / TALL;
    const int row = top + write_x * VECTOR;
#pragma unroll
    for (int s = 0; s < squares * VECTOR; ++s) {
        const int y = write_y + s * (BLOCK_ROWS / TALL);
        if (row < ROWS && left + y < COLUMNS)
            WRITE((vector *)(out + (size_t)(left + y) * ROWS + row), *(const vector *)&tile[place(y, write_x)]);
    }
#endif
#endif
}
