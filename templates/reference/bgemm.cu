// SPDX-License-Identifier: MIT
// C = alpha A B + beta D + bias of 16-bit numbers, summed up in float64. A block computes 32 elements of a row; 32 threads share the steps of k of
// each.
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

extern "C" __global__ void bgemm_reference(const element *A, const element *B, result *C, const result *D,
                                           const result *bias, float alpha, float beta, int rows, int columns, int depth)
{
    __shared__ double sums[32][33];
#if TRANS_B == TRANS_B_t // neighbouring threads read neighbours
    const int part = threadIdx.x, in_block = threadIdx.y;
    const size_t apart = depth, step = 1;
#else
    const int part = threadIdx.y, in_block = threadIdx.x;
    const size_t apart = 1, step = columns;
#endif
    const int row = blockIdx.y, first = blockIdx.x * 32;
    const element *const a = A + (size_t)row * depth;
    const element *const b = B + min(first + in_block, columns - 1) * apart;
    double sum = 0;
    for (int k = part; k < depth; k += 32)
        sum += (double)(float)a[k] * (double)(float)b[k * step];
    sums[part][in_block] = sum;
    __syncthreads();
    const int lane = threadIdx.x;
    if (threadIdx.y != 0 || row >= rows || first + lane >= columns)
        return;
    sum = 0;
    for (int i = 0; i < 32; ++i)
        sum += sums[i][lane];
    sum *= alpha;
    if (beta != 0)
        sum += (double)beta * (float)D[(size_t)row * columns + first + lane];
    if (BIAS == BIAS_columns)
        sum += (float)bias[first + lane];
    C[(size_t)row * columns + first + lane] = (result)(float)sum;
}
