// SPDX-License-Identifier: MIT
// c = a + b, each thread several words: the smallest kernel that has something to tune, for the throughput bench. The
// parameters are spelled as Kernel Tuner does, so that both tuners take this file.
#ifndef block_size_x
#define block_size_x 256
#endif
#ifndef items
#define items 1 // words a thread
#endif
#ifndef vector
#define vector 1 // floats a word: 1 or 4
#endif
#ifndef load_hint
#define load_hint 0 // 1: loads are streamed
#endif
#ifndef store_hint
#define store_hint 0 // 1: stores are streamed
#endif

#if vector == 4
typedef float4 word;
__device__ static inline word sum(word a, word b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
#else
typedef float word;
__device__ static inline word sum(word a, word b)
{
    return a + b;
}
#endif

__device__ static inline word load(const word *from)
{
    return load_hint ? __ldcs(from) : *from;
}

__device__ static inline void store(word *to, word value)
{
    if (store_hint)
        __stcs(to, value);
    else
        *to = value;
}

// n: a multiple of vector.
extern "C" __global__ void vector_add(float *c, const float *a, const float *b, int n)
{
    int first = blockIdx.x * block_size_x * items + threadIdx.x;
#pragma unroll
    for (int k = 0; k < items; k++) {
        int i = first + k * block_size_x;
        if (i < n / vector)
            store((word *)c + i, sum(load((const word *)a + i), load((const word *)b + i)));
    }
}
