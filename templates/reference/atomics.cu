// SPDX-License-Identifier: MIT
// How often each counter is hit, a counter a thread.
#ifndef TARGETS
#define TARGETS 1
#endif

extern "C" __global__ void atomics_reference(unsigned *counters, int SIZE)
{
    __shared__ unsigned counts[1024];
    counts[threadIdx.x] = 0;
    const unsigned target = blockIdx.x;
    for (unsigned i = threadIdx.x; i < SIZE; i += blockDim.x)
        counts[threadIdx.x] += (i * 2654435769u >> 12) % TARGETS == target;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    unsigned sum = 0;
    for (int thread = 0; thread < blockDim.x; ++thread)
        sum += counts[thread];
    counters[target] = sum;
}
