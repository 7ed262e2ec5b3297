/* SPDX-License-Identifier: MIT */
/* What a device can do at best, one kernel for each thing that it does. */

typedef unsigned long long u64;

/* A multiply-add is two operations; a thread has CHAINS of them under way, none of which waits for another. */
#define CHAINS 16

extern "C" __global__ void __launch_bounds__(256) hone_roof_fp32(float *sink, int rounds, float a, float b)
{
    float x[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(threadIdx.x + i);
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 4 * CHAINS; i++)
            x[i % CHAINS] = fmaf(x[i % CHAINS], a, b);
    }
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    /* Never true in practice; keeps the work. */
    if (sum == -1.0f)
        *sink = sum;
}

/* Reads `count` words of 16 bytes again and again, past the first cache. */
extern "C" __global__ void __launch_bounds__(256) hone_roof_l2(const uint4 *words, u64 count, int rounds, u64 *sink)
{
    unsigned int own = 0;
    u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (int round = 0; round < rounds; round++) {
#pragma unroll 4
        for (u64 i = first; i < count; i += stride) {
            uint4 word;
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                         : "l"(words + i));
            own += word.x ^ word.y ^ word.z ^ word.w;
        }
    }
    if (own == 0x5bd1e995u)
        *sink = own;
}

extern "C" __global__ void hone_roof_launch()
{
}
