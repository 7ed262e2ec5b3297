// SPDX-License-Identifier: MIT
// Rows offsets[g] to offsets[g + 1] of A times the transposed B[g], of bfloat16, summed up in float64. A block computes 64 x 64
// elements, each of 256 threads 16 of them, for one group after another that has rows there.
#include <cuda_bf16.h>

constexpr int tile = 64, depth_of_tile = 32;
using operand_tile = double[depth_of_tile][tile + 1];

// `first` + 0 to 63 of `count` lines of `depth` elements; what is beyond an edge is 0.
__device__ void load_tile(operand_tile &to, const __nv_bfloat16 *from, int first, int count, int k, int depth)
{
    for (int i = threadIdx.x; i < tile * depth_of_tile; i += 256) {
        const int x = i / depth_of_tile, z = i % depth_of_tile;
        const bool inside = first + x < count && k + z < depth;
        to[z][x] = inside ? (double)__bfloat162float(from[(size_t)(first + x) * depth + k + z]) : 0;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    grouped_reference(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, const int *offsets, int groups, int columns, int depth)
{
    __shared__ operand_tile a, b;
    const int first_row = blockIdx.y * tile, first_column = blockIdx.x * tile, down = threadIdx.x / 16, right = threadIdx.x % 16;
    for (int group = 0; group < groups; ++group) {
        const int begin = offsets[group], end = offsets[group + 1];
        if (end <= first_row || begin >= first_row + tile || begin == end)
            continue;
        double sums[4][4] = {};
        for (int k = 0; k < depth; k += depth_of_tile) {
            load_tile(a, A, first_row, end, k, depth);
            load_tile(b, B + (size_t)group * columns * depth, first_column, columns, k, depth);
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
                if (row >= begin && row < end && column < columns)
                    C[(size_t)row * columns + column] = __float2bfloat16((float)sums[i][j]);
            }
    }
}
