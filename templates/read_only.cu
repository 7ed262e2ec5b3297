// SPDX-License-Identifier: MIT
// out[i] = scale[0] table[index[i]] + scale[1], fp32: what the read-only path gains, and what it gains to promise that
// pointers do not overlap (CUDA C++ Best Practices Guide and Programming Guide, __ldg() and __restrict__). As long as
// `out` might be `scale` or `index`, both have to be read again after every store, one item after the other.
#include "fixed_width.cuh"

#ifndef PATTERN // of the index: sequential, or random
#define PATTERN_sequential 1
#define PATTERN_random 2
#define PATTERN PATTERN_sequential
#endif

#ifndef LOAD // as the compiler likes; __ldg; by promising that nothing overlaps; both
#define LOAD_plain 1
#define LOAD_ldg 2
#define LOAD_restrict 3
#define LOAD_restrict_ldg 4
#define LOAD LOAD_plain
#endif
#ifndef ITEMS // elements a thread
#define ITEMS 4
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#if LOAD == LOAD_restrict || LOAD == LOAD_restrict_ldg
#define RESTRICT __restrict__
#else
#define RESTRICT
#endif
#if LOAD == LOAD_ldg || LOAD == LOAD_restrict_ldg
#define READ(pointer) __ldg(pointer)
#else
#define READ(pointer) (*(pointer))
#endif
extern "C" __global__ void __launch_bounds__(BLOCK)
    read_only(const float *RESTRICT table, const int *RESTRICT index, const float *RESTRICT scale, float *RESTRICT out,
              int SIZE)
{
    const int first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const int i = first + item * BLOCK;
        if (i < SIZE) {
#if PATTERN == PATTERN_random
            const int entry = READ(&index[i]);
#else
            const int entry = i;
#endif
            out[i] = READ(&scale[0]) * READ(&table[entry]) + READ(&scale[1]);
        }
    }
}
