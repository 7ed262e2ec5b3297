// SPDX-License-Identifier: MIT
// C = alpha A B + beta D + bias of 16-bit numbers, or of 8 bits, summed up in float64. A block computes 64 x 64 elements, each of 256 threads 16 of
// them, from tiles of A and B in shared memory, which are converted as they come.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef TYPE
#define TYPE___nv_bfloat16 1
#define TYPE_half 2
#define TYPE TYPE___nv_bfloat16
#define OUT___nv_bfloat16 1
#define OUT_half 2
#define OUT_float 3
#define OUT OUT___nv_bfloat16
#define TRANS_B_t 2
#define TRANS_B TRANS_B_t
#define BIAS_columns 2
#define BIAS 1
#endif

#if defined TYPE___nv_fp8_e4m3 && TYPE == TYPE___nv_fp8_e4m3
struct element {
    unsigned char bits; // sign, exponent of 4 bits, fraction of 3
    __device__ explicit operator float() const
    {
        const int exponent = bits >> 3 & 15, fraction = bits & 7;
        const float magnitude = exponent > 0 ? ldexpf((float)(8 + fraction), exponent - 10) : ldexpf((float)fraction, -9);
        return bits & 0x80 ? -magnitude : magnitude;
    }
};
#elif TYPE == TYPE_half
using element = __half;
#else
using element = __nv_bfloat16;
#endif
#if OUT == OUT_float
using result = float;
#elif OUT == OUT_half
using result = __half;
#else
using result = __nv_bfloat16;
#endif

constexpr int tile = 64, depth_of_tile = 32;
using operand_tile = double[depth_of_tile][tile + 1];

// `first` + 0 to 63 of a matrix's `count` lines, steps of k from `k` on; what is beyond an edge is 0. Lines are `line` elements
// apart, steps of k `step`; threads that are neighbours read along `along_k` or across.
template <bool along_k>
__device__ void load_tile(operand_tile &to, const element *from, int first, int count, int k, int depth, size_t line, size_t step)
{
    for (int i = threadIdx.x; i < tile * depth_of_tile; i += 256) {
        const int x = along_k ? i / depth_of_tile : i % tile, z = along_k ? i % depth_of_tile : i / tile;
        const bool inside = first + x < count && k + z < depth;
        to[z][x] = inside ? (double)(float)from[(first + x) * line + (k + z) * step] : 0;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    bgemm_reference(const element *A, const element *B, result *C, const result *D, const result *bias, float alpha, float beta, int rows,
                    int columns, int depth)
{
    __shared__ operand_tile a, b;
    constexpr bool transposed = TRANS_B == TRANS_B_t;
    const int first_row = blockIdx.y * tile, first_column = blockIdx.x * tile, down = threadIdx.x / 16, right = threadIdx.x % 16;
    double sums[4][4] = {};
    for (int k = 0; k < depth; k += depth_of_tile) {
        load_tile<true>(a, A, first_row, rows, k, depth, depth, 1);
        load_tile<transposed>(b, B, first_column, columns, k, depth, transposed ? depth : 1, transposed ? 1 : columns);
        __syncthreads();
        for (int z = 0; z < depth_of_tile; ++z)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sums[i][j] += a[z][down + 16 * i] * b[z][right + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = first_row + down + 16 * i, column = first_column + right + 16 * j;
            if (row >= rows || column >= columns)
                continue;
            double sum = alpha * sums[i][j];
            if (beta != 0)
                sum += (double)beta * (float)D[(size_t)row * columns + column];
            if (BIAS == BIAS_columns)
                sum += (float)bias[column];
            C[(size_t)row * columns + column] = (result)(float)sum;
        }
}
