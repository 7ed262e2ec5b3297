// SPDX-License-Identifier: MIT
// From scores to weights, for attention.cu: exp2(scale (score - maximum of its row)), where the maximum is of what has been
// seen so far. A thread has parts of two rows (wgmma.cuh), four neighbours have all of both.
#ifndef HONE_ATTENTION_WEIGHTS_CUH
#define HONE_ATTENTION_WEIGHTS_CUH

// A number for each of a thread's two rows: every third and fourth of four sums is of the lower one.
struct row_pair {
    float upper, lower;
};

__device__ __forceinline__ float exp2_of(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

__device__ __forceinline__ float largest_of_row(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

struct row_sums {
    row_pair top = {minus_infinity(), minus_infinity()}; // the largest score
    row_pair total = {0, 0};               // of the weights in this thread

    // 1 / the sum of all weights.
    __device__ __forceinline__ row_pair inverse() const
    {
        return {1 / sum_of_row(total.upper), 1 / sum_of_row(total.lower)};
    }
};

// Keys that queries see: `length`, and where attention is causal none behind their own.
struct limits {
    int length, first_query; // of the warpgroup

    __device__ __forceinline__ int of_sum(int sum) const
    {
        return CAUSAL ? min(length, first_query + sum_row(sum) + 1) : length;
    }
};

// `key` is the tile's first one.
__device__ __forceinline__ void mask_scores(float (&scores)[KEYS / 2], int key, const limits &seen)
{
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i)
        if (key + sum_column(i) >= seen.of_sum(i))
            scores[i] = minus_infinity();
}

// Every row has seen a key that it may see, the first, so that its maximum is a number. Returns by what sums of earlier
// weights are too large.
__device__ __forceinline__ row_pair find_weights(float (&scores)[KEYS / 2], row_sums &rows, float scale)
{
    row_pair top = rows.top;
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i)
        (i / 2 % 2 ? top.lower : top.upper) = fmaxf(i / 2 % 2 ? top.lower : top.upper, scores[i]);
    top = {largest_of_row(top.upper), largest_of_row(top.lower)};
    const row_pair factor = {exp2_of((rows.top.upper - top.upper) * scale), exp2_of((rows.top.lower - top.lower) * scale)};
    const row_pair base = {top.upper * scale, top.lower * scale};
    rows.top = top;
    rows.total.upper *= factor.upper;
    rows.total.lower *= factor.lower;
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i) {
        scores[i] = exp2_of(fmaf(scores[i], scale, -(i / 2 % 2 ? base.lower : base.upper)));
        (i / 2 % 2 ? rows.total.lower : rows.total.upper) += scores[i];
    }
    return factor;
}

// As the next product's tall operand: what a thread has of the sums of 16 columns is what it has to have of it.
__device__ __forceinline__ void pack_weights(unsigned (&weights)[KEYS / 4], const float (&scores)[KEYS / 2])
{
#pragma unroll
    for (int i = 0; i < KEYS / 4; ++i)
        weights[i] = packed(scores[2 * i], scores[2 * i + 1]);
}

#endif
