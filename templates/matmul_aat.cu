// SPDX-License-Identifier: MIT
// C = A A^T in fp32, A being M x K, one thread an element of C (CUDA C++ Best Practices Guide, "Shared Memory in Matrix
// Multiplication (C=AAT)"). The second operand is read down columns of A^T, which are rows of A: without a tile a warp
// touches 32 lines at each step; with one, written across, all 32 lanes write into one bank unless PAD shifts the rows.
#ifndef K
#define K 32
#endif

#ifndef VARIANT // simple: without shared memory; tile: a tile of A, and one of A^T that is turned on its way in
#define VARIANT_simple 1
#define VARIANT_tile 2
#define VARIANT VARIANT_tile
#endif
#ifndef TILE_WIDTH // the block has TILE_WIDTH x TILE_WIDTH threads
#define TILE_WIDTH 32
#endif
#ifndef PAD // floats after each row of the turned tile
#define PAD 0
#endif
#ifndef UNROLL // of the loop over k
#define UNROLL 4
#endif
#ifndef LOAD // restrict: by promising that C does not overlap A
#define LOAD_plain 1
#define LOAD_restrict 2
#define LOAD LOAD_plain
#endif

#if LOAD == LOAD_restrict
#define RESTRICT __restrict__
#else
#define RESTRICT
#endif

extern "C" __global__ void matmul_aat(const float *RESTRICT A, float *RESTRICT C, int M)
{
    const int x = threadIdx.x, y = threadIdx.y;
    const int row0 = blockIdx.y * TILE_WIDTH, column0 = blockIdx.x * TILE_WIDTH;
    // Threads beyond the edge of C read what the last row or column does, and write nothing.
    const int row = min(row0 + y, M - 1), column = min(column0 + x, M - 1);
    constexpr int unroll = UNROLL; // nvcc expands no macro in a pragma
    float sum = 0;

#if VARIANT == VARIANT_simple
#pragma unroll unroll
    for (int k = 0; k < K; ++k)
        sum += A[(size_t)row * K + k] * A[(size_t)column * K + k];

#else
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], turned[TILE_WIDTH][TILE_WIDTH + PAD];
    const int other_row = min(column0 + y, M - 1);
    for (int k0 = 0; k0 < K; k0 += TILE_WIDTH) {
        const int k_own = min(k0 + x, K - 1), depth = K % TILE_WIDTH == 0 ? TILE_WIDTH : min(TILE_WIDTH, K - k0);
        a[y][x] = A[(size_t)row * K + k_own];
        turned[x][y] = A[(size_t)other_row * K + k_own];
        __syncthreads();
#pragma unroll unroll
        for (int k = 0; k < depth; ++k)
            sum += a[y][k] * turned[k][x];
        __syncthreads();
    }
#endif

    if (row0 + y < M && column0 + x < M)
        C[(size_t)row * M + column] = sum;
}
