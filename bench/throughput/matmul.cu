// SPDX-License-Identifier: MIT
// C = A B, square, a tile of C a block and tile_size_x x tile_size_y elements of it a thread: the classic tiling of
// textbooks, with the parameters and the space of Kernel Tuner's matmul example, so that both tuners take this file.
// block_size_x == block_size_y * tile_size_y.
#ifndef WIDTH
#define WIDTH 4096 // a multiple of block_size_x
#endif
#ifndef block_size_x
#define block_size_x 32
#endif
#ifndef block_size_y
#define block_size_y 8
#endif
#ifndef tile_size_x
#define tile_size_x 4
#endif
#ifndef tile_size_y
#define tile_size_y 4
#endif
#ifndef unroll_k
#define unroll_k block_size_x
#endif

extern "C" __global__ void matmul(float *C, const float *A, const float *B)
{
    __shared__ float a[block_size_y * tile_size_y][block_size_x];
    __shared__ float b[block_size_x][block_size_x * tile_size_x];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int x = blockIdx.x * block_size_x * tile_size_x + tx;
    const int y = blockIdx.y * block_size_y * tile_size_y + ty;
    float sum[tile_size_y][tile_size_x] = {};

    for (int k = 0; k < WIDTH; k += block_size_x) {
#pragma unroll
        for (int i = 0; i < tile_size_y; i++) {
            const int row = ty + i * block_size_y;
            a[row][tx] = A[(y + i * block_size_y) * WIDTH + k + tx];
#pragma unroll
            for (int j = 0; j < tile_size_x; j++) {
                const int column = x + j * block_size_x;
                b[row][tx + j * block_size_x] = column < WIDTH ? B[(k + row) * WIDTH + column] : 0.0f;
            }
        }
        __syncthreads();
#pragma unroll unroll_k
        for (int kb = 0; kb < block_size_x; kb++) {
#pragma unroll
            for (int i = 0; i < tile_size_y; i++)
#pragma unroll
                for (int j = 0; j < tile_size_x; j++)
                    sum[i][j] += a[ty + i * block_size_y][kb] * b[kb][tx + j * block_size_x];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < tile_size_y; i++)
#pragma unroll
        for (int j = 0; j < tile_size_x; j++)
            if (x + j * block_size_x < WIDTH)
                C[(y + i * block_size_y) * WIDTH + x + j * block_size_x] = sum[i][j];
}
