// SPDX-License-Identifier: MIT
// O = softmax(scale Q K^T / log2(e)) V, summed up in float64. A block computes 32 rows of one head, eight threads a row: for 32 keys
// after the other their scores, which become weights beside the largest score so far, and then the sums.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef TYPE
#define TYPE___nv_bfloat16 1
#define TYPE_half 2
#define TYPE TYPE___nv_bfloat16
#define WIDTH 128
#define CAUSAL 0
#endif

#if TYPE == TYPE_half
using element = __half;
#else
using element = __nv_bfloat16;
#endif

constexpr int rows = 32, keys = 32, row_threads = 8; // of a block, of a tile, of a row
constexpr int own_keys = keys / row_threads, own_columns = WIDTH / row_threads;
using lines = double[32][WIDTH + 1];

// 32 lines of a head from `first` on, as float64; beyond the end, 0.
__device__ void load_lines(lines &to, const element *from, int first, int length)
{
    for (int i = threadIdx.x; i < 32 * WIDTH; i += 256)
        to[i / WIDTH][i % WIDTH] = first + i / WIDTH < length ? (double)(float)from[(size_t)first * WIDTH + i] : 0;
}

template <typename Combine> __device__ double over_row(double own, Combine combine)
{
    for (int step = row_threads / 2; step > 0; step /= 2)
        own = combine(own, __shfl_xor_sync(~0u, own, step));
    return own;
}

extern "C" __global__ void __launch_bounds__(256)
    attention_reference(const element *Q, const element *K, const element *V, element *O, int length, float scale)
{
    extern __shared__ double shared[];
    lines &queries = *(lines *)shared, &tile = *((lines *)shared + 1); // the tile has keys, then values
    auto &weights = *(double(*)[rows][keys + 1])((lines *)shared + 2);
    const int first = blockIdx.x * rows, own = threadIdx.x / row_threads, part = threadIdx.x % row_threads, row = first + own;
    const size_t head = (size_t)blockIdx.y * length * WIDTH;
    const int seen = CAUSAL ? min(length, row + 1) : length, most_seen = CAUSAL ? min(length, first + rows) : length;
    double top = -1.0e300, total = 0, sums[own_columns] = {};

    load_lines(queries, Q + head, first, length);
    for (int at = 0; at < most_seen; at += keys) {
        load_lines(tile, K + head, at, length);
        __syncthreads();
        double scores[own_keys] = {};
        for (int i = 0; i < WIDTH; ++i)
            for (int j = 0; j < own_keys; ++j)
                scores[j] += queries[own][i] * tile[part + row_threads * j][i];
        double largest = top;
        for (int j = 0; j < own_keys; ++j) {
            scores[j] = at + part + row_threads * j < seen ? scores[j] * scale : -1.0e300;
            largest = fmax(largest, scores[j]);
        }
        largest = over_row(largest, [](double a, double b) { return fmax(a, b); });
        const double shrink = exp2(top - largest);
        top = largest;
        total *= shrink;
        for (int j = 0; j < own_keys; ++j)
            total += weights[own][part + row_threads * j] = exp2(scores[j] - top);
        for (int j = 0; j < own_columns; ++j)
            sums[j] *= shrink;
        __syncthreads();
        load_lines(tile, V + head, at, length);
        __syncthreads();
        for (int key = 0; key < keys; ++key)
            for (int j = 0; j < own_columns; ++j)
                sums[j] += weights[own][key] * tile[key][part + row_threads * j];
        __syncthreads();
    }
    total = over_row(total, [](double a, double b) { return a + b; });
    for (int j = 0; j < own_columns; ++j)
        if (row < length)
            O[head + (size_t)row * WIDTH + part + row_threads * j] = (element)(float)(sums[j] / total);
}
