// SPDX-License-Identifier: MIT
// The gather, an element a thread.
#ifndef PATTERN
#define PATTERN_sequential 1
#define PATTERN_random 2
#define PATTERN PATTERN_sequential
#endif

extern "C" __global__ void read_only_reference(const float *table, const int *index, const float *scale, float *out,
                                               int SIZE)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < SIZE)
        out[i] = (float)((double)scale[0] * table[PATTERN == PATTERN_random ? index[i] : i] + scale[1]);
}
