// SPDX-License-Identifier: MIT
// The copy by each access pattern, an element a thread; one block row a pass of the strided pattern.
#ifndef PATTERN
#define PATTERN_plain 1
#define PATTERN_offset 2
#define PATTERN_stride 3
#define PATTERN_permuted 4
#define PATTERN_same 5
#define PATTERN PATTERN_plain
#endif
#ifndef SIDE
#define SIDE_load 1
#define SIDE_store 2
#define SIDE SIDE_load
#endif
#ifndef OFFSET
#define OFFSET 0
#endif
#ifndef STRIDE
#define STRIDE 1
#endif

extern "C" __global__ void copy_reference(const float *in, float *out, long long SIZE)
{
    const long long length = SIZE / STRIDE, i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length)
        return;
    const long long consecutive = blockIdx.y * length + i;
    long long patterned = consecutive;
#if PATTERN == PATTERN_offset
    patterned = (i + OFFSET) % length;
#elif PATTERN == PATTERN_stride
    patterned = i * STRIDE + blockIdx.y;
#elif PATTERN == PATTERN_permuted
    patterned = i / 32 * 32 + 32 <= length ? i ^ 21 : i;
#elif PATTERN == PATTERN_same
    patterned = i - i % 32;
#endif
#if SIDE == SIDE_store
    out[patterned] = in[consecutive];
#else
    out[consecutive] = in[patterned];
#endif
}
