// SPDX-License-Identifier: MIT
// out[i] = c[0] in[i] + the sum over d = 1 to RADIUS of c[d] (in[i - d] + in[i + d]), fp32: where coefficients that all
// threads share should live (CUDA C++ Best Practices Guide, "Constant Memory"; PMPP, chapters 5, 7 and 8). Neighbours
// come through the L1 cache: a thread reads a window of whole words and keeps it in registers.
#include "fixed_width.cuh"

#ifndef RADIUS // 1 to 8
#define RADIUS 4
#endif
#ifndef MARGIN // floats before the first and behind the last element of `in`; a multiple of 4, RADIUS at least
#define MARGIN 8
#endif

#ifndef COEFFICIENTS // where they live; literal: the formula that they are filled by
#define COEFFICIENTS_constant 1
#define COEFFICIENTS_argument 2
#define COEFFICIENTS_global 3
#define COEFFICIENTS_ldg 4
#define COEFFICIENTS_restrict 5
#define COEFFICIENTS_shared 6
#define COEFFICIENTS_literal 7
#define COEFFICIENTS COEFFICIENTS_constant
#endif
#ifndef VECTOR // floats in a word
#define VECTOR 1
#endif
#ifndef ITEMS // words a thread
#define ITEMS 1
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef UNROLL // of the loop over d; 0: all of it
#define UNROLL 0
#endif
#ifndef STORE // cs: streaming, marked as not to be read again
#define STORE_plain 1
#define STORE_cs 2
#define STORE STORE_plain
#endif

#include "vector.cuh"

#if COEFFICIENTS == COEFFICIENTS_restrict
#define RESTRICT __restrict__
#else
#define RESTRICT
#endif
#if STORE == STORE_cs
#define WRITE(pointer, value) __stcs(pointer, value)
#else
#define WRITE(pointer, value) (*(pointer) = (value))
#endif

// All three ways in hold 1, 15/16, 14/16, ...: a buffer, an argument by value, and constant memory.
struct coefficient_values {
    float value[9];
};
__constant__ float constant_coefficients[9];

#if COEFFICIENTS == COEFFICIENTS_constant
#define COEFFICIENT(d) constant_coefficients[d]
#elif COEFFICIENTS == COEFFICIENTS_argument
#define COEFFICIENT(d) values.value[d]
#elif COEFFICIENTS == COEFFICIENTS_ldg
#define COEFFICIENT(d) __ldg(&coefficients[d])
#elif COEFFICIENTS == COEFFICIENTS_shared
#define COEFFICIENT(d) shared_coefficients[d]
#elif COEFFICIENTS == COEFFICIENTS_literal
#define COEFFICIENT(d) (1 - (d) * 0.0625f)
#else
#define COEFFICIENT(d) coefficients[d]
#endif

extern "C" __global__ void __launch_bounds__(BLOCK)
    stencil_1d(const float *RESTRICT in, float *RESTRICT out, int64_t SIZE, const float *RESTRICT coefficients,
               coefficient_values values)
{
#if COEFFICIENTS == COEFFICIENTS_shared
    __shared__ float shared_coefficients[RADIUS + 1];
    if (threadIdx.x <= RADIUS)
        shared_coefficients[threadIdx.x] = coefficients[threadIdx.x];
    __syncthreads();
#endif
    const int64_t first = (int64_t)blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const int64_t i = first + item * BLOCK;
        if (i >= SIZE / VECTOR)
            break;
        const float *const centre = in + MARGIN + i * VECTOR;
        union {
            vector word;
            float value[VECTOR];
        } result;

#if VECTOR == 1
        constexpr int unroll = UNROLL > 0 ? UNROLL : RADIUS; // nvcc expands no macro in a pragma
        float sum = COEFFICIENT(0) * centre[0];
#pragma unroll unroll
        for (int d = 1; d <= RADIUS; ++d)
            sum += COEFFICIENT(d) * (centre[-d] + centre[d]);
        result.value[0] = sum;
#else
        constexpr int reach = (RADIUS + VECTOR - 1) / VECTOR; // words to either side
        union {
            vector word[2 * reach + 1];
            float value[(2 * reach + 1) * VECTOR];
        } window;
#pragma unroll
        for (int w = 0; w < 2 * reach + 1; ++w)
            window.word[w] = ((const vector *)centre)[w - reach];
#pragma unroll
        for (int j = 0; j < VECTOR; ++j)
            result.value[j] = COEFFICIENT(0) * window.value[reach * VECTOR + j];
#pragma unroll
        for (int d = 1; d <= RADIUS; ++d)
#pragma unroll
            for (int j = 0; j < VECTOR; ++j)
                result.value[j] += COEFFICIENT(d) * (window.value[reach * VECTOR + j - d] +
                                                     window.value[reach * VECTOR + j + d]);
#endif
        WRITE((vector *)out + i, result.word);
    }
#if VECTOR > 1
    // What fills no word, by the block that has least to do.
    const int64_t last = SIZE / VECTOR * VECTOR + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && last < SIZE) {
        const float *const centre = in + MARGIN + last;
        float sum = COEFFICIENT(0) * centre[0];
#pragma unroll
        for (int d = 1; d <= RADIUS; ++d)
            sum += COEFFICIENT(d) * (centre[-d] + centre[d]);
        out[last] = sum;
    }
#endif
}
