// SPDX-License-Identifier: MIT
// O = softmax(scale Q K^T / log2(e)) V, summed up in float64. A block computes one row of O: for 128 keys after the other their
// scores, a thread each, which become weights beside the largest score so far, and then the sums, an element each.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef TYPE
#define TYPE___nv_bfloat16 1
#define TYPE_half 2
#define TYPE TYPE___nv_bfloat16
#define WIDTH 128
#define GROUP 8
#define QUERIES 1
#endif

#if TYPE == TYPE_half
using element = __half;
#else
using element = __nv_bfloat16;
#endif

// Row blockIdx.y of a head of K and V of a sequence.
extern "C" __global__ void __launch_bounds__(128)
    decode_reference(const element *Q, const element *K, const element *V, element *O, const int *lengths, int heads, int room,
                     float scale)
{
    __shared__ double scores[128];
    const size_t row = (size_t)blockIdx.x * GROUP * QUERIES + blockIdx.y, first = (size_t)blockIdx.x * room;
    const int seen = lengths[blockIdx.x / heads] - (QUERIES - 1) + (int)blockIdx.y % QUERIES, own = threadIdx.x;
    double top = -1.0e300, total = 0, sum = 0;

    for (int at = 0; at < seen; at += 128) {
        double score = 0, largest = top;
        if (at + own < seen)
            for (int i = 0; i < WIDTH; ++i)
                score += (double)(float)Q[row * WIDTH + i] * (double)(float)K[(first + at + own) * WIDTH + i];
        scores[own] = at + own < seen ? score * scale : -1.0e300;
        __syncthreads();
        for (int i = 0; i < 128; ++i)
            largest = fmax(largest, scores[i]);
        __syncthreads();
        scores[own] = exp2(scores[own] - largest);
        __syncthreads();
        const double shrink = exp2(top - largest);
        top = largest;
        total *= shrink;
        sum *= shrink;
        for (int i = 0; i < min(128, seen - at); ++i) {
            total += scores[i];
            if (own < WIDTH)
                sum += scores[i] * (double)(float)V[(first + at + i) * WIDTH + own];
        }
        __syncthreads();
    }
    if (own < WIDTH)
        O[row * WIDTH + own] = (element)(float)(sum / total);
}
