// SPDX-License-Identifier: MIT
// Shares of a result, each of some keys, for decode.cu: of every row WIDTH sums of weighed values, then the largest score,
// beside which the weights are, and their sum. They lie in shared memory, one of each warp, or in global memory, one of each
// block.
#ifndef HONE_DECODE_SHARES_CUH
#define HONE_DECODE_SHARES_CUH

constexpr int pitch = WIDTH + 4; // of a row
constexpr int share_floats = rows * pitch, fours = rows * WIDTH / 4;
// Where a share has fewer fours than a block has threads, other threads put other shares together.
constexpr int spare = threads / fours < WARPS ? threads / fours : WARPS, sets = spare > 1 ? spare : 1;
constexpr float lowest = -1.0e30f; // no score is

// Four sums of a row.
struct share {
    float top = lowest, total = 0;
    float4 sum = {0, 0, 0, 0};

    __device__ __forceinline__ void add(const share &other, float factor)
    {
        total += other.total * factor;
        sum = {sum.x + other.sum.x * factor, sum.y + other.sum.y * factor, sum.z + other.sum.z * factor,
               sum.w + other.sum.w * factor};
    }
};

// The i-th four sums of `count` shares, which are so many floats apart, as one. Some are read at a time, so that they are
// waited for once.
template <int together>
__device__ __forceinline__ share merged(const float *first, int count, int apart, int i, float scale)
{
    const float *const row = first + i / (WIDTH / 4) * pitch;
    share all;
    for (int number = 0; number < count; number += together) {
        share read[together], before = all;
#pragma unroll
        for (int j = 0; j < together; ++j)
            if (number + j < count) {
                const float2 weights = *(const float2 *)(row + (number + j) * apart + WIDTH);
                read[j] = {weights.x, weights.y, *(const float4 *)(row + (number + j) * apart + i % (WIDTH / 4) * 4)};
            }
        all = {};
        all.top = before.top;
#pragma unroll
        for (int j = 0; j < together; ++j)
            all.top = fmaxf(all.top, read[j].top);
        all.add(before, exp2f((before.top - all.top) * scale));
#pragma unroll
        for (int j = 0; j < together; ++j)
            all.add(read[j], exp2f((read[j].top - all.top) * scale));
    }
    return all;
}

__device__ __forceinline__ void put(float *shares, int i, const share &all)
{
    float *const row = shares + i / (WIDTH / 4) * pitch;
    *(float4 *)(row + i % (WIDTH / 4) * 4) = all.sum;
    if (i % (WIDTH / 4) == 0)
        *(float2 *)(row + WIDTH) = {all.top, all.total};
}

// Whether this is the last of `parts` blocks to come here. It sees what the others wrote before.
__device__ __forceinline__ bool is_last(unsigned *done, int parts)
{
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(done, parts - 1) == parts - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// The result of so many shares.
__device__ __forceinline__ void store(element *O, const float *shares, int count, float scale)
{
    for (int i = threadIdx.x; i < fours; i += threads) {
        const share all = merged<WARPS>(shares, count, share_floats, i, scale);
        const float factor = 1 / all.total;
        *(uint2 *)(O + 4 * i) = {packed(all.sum.x * factor, all.sum.y * factor),
                                 packed(all.sum.z * factor, all.sum.w * factor)};
    }
}

#endif
