// SPDX-License-Identifier: MIT
// Fills a tile of TILE_BYTES in shared memory from global memory and copies it out again; timed are the clocks of filling
// it (CUDA C++ Best Practices Guide, "Asynchronous Copy from Global Memory to Shared Memory"). A synchronous copy goes
// through registers, which hold what is in flight; cp.async passes by them, and 16-byte copies by the L1 cache too.
#ifndef TILE_BYTES // a block's
#define TILE_BYTES 4096
#endif

#ifndef MODE
#define MODE_sync 1
#define MODE_async 2
#define MODE MODE_sync
#endif
#ifndef ELEMENT // bytes of a copy: 4, 8 or 16
#define ELEMENT 4
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef UNROLL // copies between two turns of the loop
#define UNROLL 1
#endif

#include "async_copy.cuh"

#if ELEMENT == 4
typedef unsigned element;
#elif ELEMENT == 8
typedef uint2 element;
#else
typedef uint4 element;
#endif

constexpr int elements = TILE_BYTES / ELEMENT, copies = elements / BLOCK; // of a thread

extern "C" __global__ void __launch_bounds__(BLOCK)
    async_copy(const unsigned *__restrict__ in, unsigned *__restrict__ out, float *clocks)
{
    extern __shared__ __align__(16) element tile[];
    const element *const from = (const element *)in + (size_t)blockIdx.x * elements;
    element *const to = (element *)out + (size_t)blockIdx.x * elements;
    constexpr int unroll = UNROLL;

    __syncthreads();
    const long long start = clock64();
#pragma unroll unroll
    for (int copy = 0; copy < copies; ++copy) {
        const int i = copy * BLOCK + threadIdx.x;
#if MODE == MODE_async
        async_copy<ELEMENT>(&tile[i], &from[i]);
#else
        tile[i] = from[i];
#endif
    }
#if MODE == MODE_async
    async_copy_wait();
#endif
    __syncthreads();
    const long long stop = clock64();

#pragma unroll 1
    for (int i = threadIdx.x; i < elements; i += BLOCK)
        to[i] = tile[elements - 1 - i];
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = (float)(stop - start);
}
