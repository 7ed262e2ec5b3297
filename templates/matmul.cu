// SPDX-License-Identifier: MIT
// C = A B in fp32, M x K times K x N, one thread an element of C: the three steps of the CUDA C++ Best Practices
// Guide ("Shared Memory in Matrix Multiplication (C=AB)") and of PMPP, chapter 5, with corner turning for a
// column-major B. Every element of A is read N times and every element of B M times; a tile in shared memory divides
// that by its width.
#include "async_copy.cuh"

#ifndef K
#define K 32
#endif
#ifndef B_LAYOUT // row: B(k, n) is B[k * N + n]; column: B[n * K + k]
#define B_LAYOUT_row 1
#define B_LAYOUT_column 2
#define B_LAYOUT B_LAYOUT_row
#endif

#ifndef VARIANT // what is staged in shared memory: nothing, a tile of A, tiles of A and B
#define VARIANT_simple 1
#define VARIANT_tile_a 2
#define VARIANT_tile_ab 3
#define VARIANT VARIANT_tile_ab
#endif
#ifndef TILE_WIDTH // the block has TILE_WIDTH x TILE_WIDTH threads
#define TILE_WIDTH 16
#endif
#ifndef PAD // floats after each row of a tile, against bank conflicts
#define PAD 0
#endif
#ifndef UNROLL // of the loop over k
#define UNROLL 4
#endif
#ifndef LOAD // from global memory: as the compiler likes, __ldg, or by promising that C overlaps neither A nor B
#define LOAD_plain 1
#define LOAD_ldg 2
#define LOAD_restrict 3
#define LOAD LOAD_plain
#endif
#ifndef ASYNC_BYTES // 0: through registers; otherwise cp.async of so many bytes
#define ASYNC_BYTES 0
#endif
#ifndef SYNC // warp: enough for tile_a, whose rows are filled and read by one warp (TILE_WIDTH divides 32)
#define SYNC_block 1
#define SYNC_warp 2
#define SYNC SYNC_block
#endif
#ifndef CORNER_TURN // column-major B: 1 reads along k, in whole lines, and turns the tile on its way into shared memory
#define CORNER_TURN 0
#endif

#if LOAD == LOAD_restrict
#define RESTRICT __restrict__
#else
#define RESTRICT
#endif
#if LOAD == LOAD_ldg
#define READ(pointer) __ldg(pointer)
#else
#define READ(pointer) (*(pointer))
#endif
#if SYNC == SYNC_warp
#define SYNCHRONIZE() __syncwarp()
#else
#define SYNCHRONIZE() __syncthreads()
#endif
#if B_LAYOUT == B_LAYOUT_column
#define B_INDEX(k, n) ((size_t)(n) * K + (k))
#else
#define B_INDEX(k, n) ((size_t)(k) * N + (n))
#endif

typedef float tile[TILE_WIDTH][TILE_WIDTH + PAD];

// Steps of k in the tile that starts at k0: a constant where tiles divide K.
__device__ __forceinline__ int depth(int k0)
{
    return K % TILE_WIDTH == 0 ? TILE_WIDTH : min(TILE_WIDTH, K - k0);
}

__device__ __forceinline__ void copy_element(float *shared, const float *global)
{
#if ASYNC_BYTES > 0
    async_copy<4>(shared, global);
#else
    *shared = READ(global);
#endif
}

#if ASYNC_BYTES > 4
// Fills a tile in words of ASYNC_BYTES from a row-major matrix, the block's first threads one word each.
__device__ __forceinline__ void copy_tile(tile shared, const float *matrix, int rows, int columns, int row0,
                                          int column0)
{
    const int word = ASYNC_BYTES / 4, words = TILE_WIDTH / word;
    const int thread = threadIdx.y * TILE_WIDTH + threadIdx.x;
    const int row = thread / words, column = thread % words * word;
    if (row < TILE_WIDTH)
        async_copy<ASYNC_BYTES>(&shared[row][column], matrix + (size_t)min(row0 + row, rows - 1) * columns +
                                                          min(column0 + column, columns - word));
}
#endif

extern "C" __global__ void matmul(const float *RESTRICT A, const float *RESTRICT B, float *RESTRICT C, int M, int N)
{
    const int x = threadIdx.x, y = threadIdx.y;
    const int row0 = blockIdx.y * TILE_WIDTH, column0 = blockIdx.x * TILE_WIDTH;
    // Threads beyond the edge of C read what the last row or column does, and write nothing.
    const int row = min(row0 + y, M - 1), column = min(column0 + x, N - 1);
    constexpr int unroll = UNROLL; // nvcc expands no macro in a pragma
    float sum = 0;

#if VARIANT == VARIANT_simple
#pragma unroll unroll
    for (int k = 0; k < K; ++k)
        sum += READ(&A[(size_t)row * K + k]) * READ(&B[B_INDEX(k, column)]);

#elif VARIANT == VARIANT_tile_a
    __shared__ __align__(16) tile a;
    for (int k0 = 0; k0 < K; k0 += TILE_WIDTH) {
        copy_element(&a[y][x], &A[(size_t)row * K + min(k0 + x, K - 1)]);
        SYNCHRONIZE();
#pragma unroll unroll
        for (int k = 0; k < depth(k0); ++k)
            sum += a[y][k] * READ(&B[B_INDEX(k0 + k, column)]);
        SYNCHRONIZE();
    }

#elif VARIANT == VARIANT_tile_ab
    __shared__ __align__(16) tile a, b;
    for (int k0 = 0; k0 < K; k0 += TILE_WIDTH) {
#if ASYNC_BYTES > 4
        copy_tile(a, A, M, K, row0, k0);
        copy_tile(b, B, K, N, k0, column0);
#else
        copy_element(&a[y][x], &A[(size_t)row * K + min(k0 + x, K - 1)]);
#if CORNER_TURN
        copy_element(&b[x][y], &B[B_INDEX(min(k0 + x, K - 1), min(column0 + y, N - 1))]);
#else
        copy_element(&b[y][x], &B[B_INDEX(min(k0 + y, K - 1), column)]);
#endif
#endif
#if ASYNC_BYTES > 0
        async_copy_wait();
#endif
        SYNCHRONIZE();
#pragma unroll unroll
        for (int k = 0; k < depth(k0); ++k)
            sum += a[y][k] * b[k][x];
        SYNCHRONIZE();
    }
#endif

    if (row0 + y < M && column0 + x < N)
        C[(size_t)row * N + column] = sum;
}
