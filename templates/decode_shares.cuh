// SPDX-License-Identifier: MIT
// Shares of a result, each of some keys, for decode.cu: of every row WIDTH sums of weighed values, then the largest score, beside which
// the weights are, and their sum. They lie in shared memory, one of each warp, or in global memory, one of each block.
#ifndef HONE_DECODE_SHARES_CUH
#define HONE_DECODE_SHARES_CUH

constexpr int pitch = WIDTH + 4; // of a row
constexpr int share_floats = rows * pitch, fours = rows * WIDTH / 4;
constexpr float lowest = -1.0e30f; // no score is

// Four sums of a row.
struct share {
    float top = lowest, total = 0;
    float4 sum = {};

    __device__ __forceinline__ void add(const float *row, int column, float scale)
    {
        const float4 more = *(const float4 *)(row + column);
        const float2 weighed = *(const float2 *)(row + WIDTH); // largest score, sum of weights
        const float most = fmaxf(top, weighed.x);
        const float own = exp2f((top - most) * scale), its = exp2f((weighed.x - most) * scale);
        top = most;
        total = total * own + weighed.y * its;
        sum = {sum.x * own + more.x * its, sum.y * own + more.y * its, sum.z * own + more.z * its, sum.w * own + more.w * its};
    }
};

// The i-th four sums of `count` shares together, which are so many floats apart.
__device__ __forceinline__ share merged(const float *first, int count, int apart, int i, float scale)
{
    share all;
#pragma unroll 4
    for (int number = 0; number < count; ++number)
        all.add(first + number * apart + i / (WIDTH / 4) * pitch, i % (WIDTH / 4) * 4, scale);
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

// The result, of the shares of all warps.
__device__ __forceinline__ void store(element *O, const float *shares, float scale)
{
    for (int i = threadIdx.x; i < fours; i += WARPS * 32) {
        const share all = merged(shares, WARPS, share_floats, i, scale);
        const float factor = 1 / all.total;
        *(uint2 *)(O + 4 * i) = {packed(all.sum.x * factor, all.sum.y * factor), packed(all.sum.z * factor, all.sum.w * factor)};
    }
}

#endif
