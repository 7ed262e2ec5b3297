// SPDX-License-Identifier: MIT
// C = A B of 16-bit numbers, summed up in float64. A block computes 32 elements of a row; its threads' second index cuts k
// into slices.
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
#endif

#if TYPE == TYPE_half
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

extern "C" __global__ void bgemm_reference(const element *A, const element *B, result *C, int rows, int columns, int depth)
{
    __shared__ double sums[32][33];
    const int lane = threadIdx.x, part = threadIdx.y, row = blockIdx.y;
    const int column = min((int)blockIdx.x * 32 + lane, columns - 1);
    const element *const a = A + (size_t)row * depth;
#if TRANS_B == TRANS_B_t
    const element *const b = B + (size_t)column * depth;
    const size_t step = 1;
#else
    const element *const b = B + column;
    const size_t step = columns;
#endif
    double sum = 0;
    for (int k = part; k < depth; k += 32)
        sum += (double)(float)a[k] * (double)(float)b[k * step];
    sums[part][lane] = sum;
    __syncthreads();
    if (part != 0 || row >= rows || (int)blockIdx.x * 32 + lane >= columns)
        return;
    for (int i = 1; i < 32; ++i)
        sum += sums[i][lane];
    C[(size_t)row * columns + column] = (result)(float)sum;
}
