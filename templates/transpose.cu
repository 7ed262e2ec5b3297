// SPDX-License-Identifier: MIT
// out = transpose of in, fp32. Reading rows and writing columns touches a line of memory for every element written; a
// tile in shared memory turns both into whole lines (CUDA C++ Best Practices Guide, "Shared Memory in Matrix Transpose";
// Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA").
//
// A thread reads VECTOR words of VECTOR floats, one below the other, turns that square in registers and stores it in the
// tile, which holds the transpose: all accesses, to shared memory too, are of whole words. The squares of neighbouring
// threads go to tile rows VECTOR apart, into the same banks, unless PAD shifts them or SWIZZLE spreads them.

#ifndef VARIANT // naive: without shared memory
#define VARIANT_naive 1
#define VARIANT_tiled 2
#define VARIANT VARIANT_tiled
#endif
#ifndef TILE // rows and columns of a tile
#define TILE 32
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
#ifndef GROUP // rows of tiles that blocks go along together, so that those that run at a time form a square; 1: one row
#define GROUP 1
#endif
#ifndef STORE // cs: streaming, marked as not to be read again
#define STORE_plain 1
#define STORE_cs 2
#define STORE STORE_plain
#endif

#include "vector.cuh"

#if STORE == STORE_cs
#define WRITE(pointer, value) __stcs(pointer, value)
#else
#define WRITE(pointer, value) (*(pointer) = (value))
#endif

// Where in the tile the word of `row` stands that has index `word`.
__device__ __forceinline__ int place(int row, int word)
{
    const int square = row / VECTOR;
    if (SWIZZLE)
        word ^= square % (32 / VECTOR);
    return row * TILE + square * PAD + word * VECTOR;
}

extern "C" __global__ void __launch_bounds__((TILE / VECTOR) * BLOCK_ROWS)
    transpose(const float *__restrict__ in, float *__restrict__ out, int ROWS, int COLUMNS)
{
    int tile_x = blockIdx.x, tile_y = blockIdx.y;
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    if (ORDER == ORDER_diagonal) {
        tile_y = block % gridDim.y;
        tile_x = (block / gridDim.y + tile_y) % gridDim.x;
    } else if (GROUP > 1) {
        const unsigned first = block / (gridDim.x * GROUP) * GROUP, rows = min((unsigned)GROUP, gridDim.y - first);
        tile_y = first + block % (gridDim.x * GROUP) % rows;
        tile_x = block % (gridDim.x * GROUP) / rows;
    }

#if VARIANT == VARIANT_naive
    const int column = tile_x * TILE + threadIdx.x;
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += BLOCK_ROWS) {
        const int row = tile_y * TILE + y;
        if (row < ROWS && column < COLUMNS)
            WRITE(&out[(size_t)column * ROWS + row], in[(size_t)row * COLUMNS + column]);
    }

#else
    constexpr int squares = TILE / VECTOR / BLOCK_ROWS; // of one thread
    __align__(16) float square[squares][VECTOR][VECTOR];
    extern __shared__ __align__(16) float tile[];

    const int column = tile_x * TILE + threadIdx.x * VECTOR;
#pragma unroll
    for (int s = 0; s < squares; ++s) {
        const int row = tile_y * TILE + (threadIdx.y + s * BLOCK_ROWS) * VECTOR;
        const float *source = in + (size_t)row * COLUMNS + column;
        if (row >= ROWS || column >= COLUMNS)
            continue;
#pragma unroll
        for (int i = 0; i < VECTOR; ++i)
            *(vector *)square[s][i] = *(const vector *)(source + (size_t)i * COLUMNS);
    }

#pragma unroll
    for (int s = 0; s < squares; ++s)
#pragma unroll
        for (int j = 0; j < VECTOR; ++j) {
            __align__(16) float turned[VECTOR];
#pragma unroll
            for (int i = 0; i < VECTOR; ++i)
                turned[i] = square[s][i][j];
            const int word = threadIdx.y + s * BLOCK_ROWS;
            *(vector *)&tile[place(threadIdx.x * VECTOR + j, word)] = *(vector *)turned;
        }
    __syncthreads();

    const int row = tile_y * TILE + threadIdx.x * VECTOR;
#pragma unroll
    for (int s = 0; s < squares * VECTOR; ++s) {
        const int y = threadIdx.y + s * BLOCK_ROWS;
        if (row < ROWS && tile_x * TILE + y < COLUMNS)
            WRITE((vector *)(out + (size_t)(tile_x * TILE + y) * ROWS + row),
                  *(const vector *)&tile[place(y, threadIdx.x)]);
    }
#endif
}
