// SPDX-License-Identifier: MIT
// out[i] = in[i] * table[i % the table's length], fp32: a table that is read from beginning to end again and again, while
// a stream that is read and written once passes through the L2 cache and would push it out (CUDA C++ Best Practices
// Guide, "L2 Persisting Access Window", with its sliding-window experiment). What is tuned is not in the code: the window
// over the table, the share of its accesses that persist, and how much of the cache is set aside for them. Only STREAM
// is: accesses of the stream that are marked as not to be repeated, for comparison.
#include "fixed_width.cuh"

#ifndef STREAM // cs: marked as not to be read again
#define STREAM_plain 1
#define STREAM_cs 2
#define STREAM STREAM_plain
#endif

#if STREAM == STREAM_cs
#define READ(pointer) __ldcs(pointer)
#define WRITE(pointer, value) __stcs(pointer, value)
#else
#define READ(pointer) (*(pointer))
#define WRITE(pointer, value) (*(pointer) = (value))
#endif

// Lengths in words of 16 bytes. Blocks are begun in order, so that at any time the grid reads one stretch of the table.
extern "C" __global__ void l2_window(const float *__restrict__ in, const float *__restrict__ table,
                                     float *__restrict__ out, uint32_t words, uint32_t table_words)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    const float4 a = READ((const float4 *)in + i), b = ((const float4 *)table)[i % table_words];
    WRITE((float4 *)out + i, make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w));
}
