// SPDX-License-Identifier: MIT
// C = A B, or alpha A B + beta C as in BLAS, summed up in float64. A block computes 64 x 64 elements, each of 256 threads 16 of
// them, from tiles of A and B in shared memory. Sizes are arguments, so that one program serves all of them.
#ifdef TRANS_A // BLAS in general
#define GENERAL 1
#define FACTORS , float alpha, float beta
#define LINES , int lda, int ldb, int ldc
#else
#define GENERAL 0
#define FACTORS
#define LINES
#define TRANS_A_n 1
#define TRANS_A_t 2
#define TRANS_A TRANS_A_n
#define TRANS_B_n 1
#define TRANS_B_t 2
#define TRANS_B TRANS_B_n
#endif

namespace reference
{

constexpr int tile = 64, depth_of_tile = 32;
using operand_tile = double[depth_of_tile][tile + 1];

// `first` + 0 to 63 of a matrix's `count` lines, steps of k from `k` on; what is beyond an edge is 0. Lines are `line` elements
// apart, steps of k `step`; threads that are neighbours read along `along_k` or across.
template <bool along_k>
__device__ void load_tile(operand_tile &to, const float *from, int first, int count, int k, int depth, size_t line, size_t step)
{
    for (int i = threadIdx.x; i < tile * depth_of_tile; i += 256) {
        const int x = along_k ? i / depth_of_tile : i % tile, z = along_k ? i % depth_of_tile : i / tile;
        const bool inside = first + x < count && z < depth - k;
        to[z][x] = inside ? from[(first + x) * line + (size_t)(k + z) * step] : 0;
    }
}

} // namespace reference

extern "C" __global__ void __launch_bounds__(256)
    sgemm_reference(const float *A, const float *B, float *C FACTORS, int rows, int columns, int depth LINES)
{
    using namespace reference;
#if !GENERAL
    const int lda = depth, ldb = columns, ldc = columns;
#endif
    __shared__ operand_tile a, b;
    constexpr bool trans_a = TRANS_A == TRANS_A_t, trans_b = TRANS_B == TRANS_B_t;
    const int first_row = blockIdx.y * tile, first_column = blockIdx.x * tile, down = threadIdx.x / 16, right = threadIdx.x % 16;
    double sums[4][4] = {};
    for (int k = 0; k < depth; k += depth_of_tile) {
        load_tile<!trans_a>(a, A, first_row, rows, k, depth, trans_a ? 1 : lda, trans_a ? lda : 1);
        load_tile<trans_b>(b, B, first_column, columns, k, depth, trans_b ? ldb : 1, trans_b ? 1 : ldb);
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
            double sum = sums[i][j];
            float *const to = C + (size_t)row * ldc + column;
#if GENERAL
            sum = alpha * sum + (beta == 0 ? 0 : (double)beta * *to);
#endif
            *to = (float)sum;
        }
}
