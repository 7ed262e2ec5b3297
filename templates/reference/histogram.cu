// SPDX-License-Identifier: MIT
// The histogram by one block: counters in shared memory, a value a step and thread.
#include "../fixed_width.cuh"

#ifndef VALUE_BYTES
#define VALUE_BYTES 1
#endif
#ifndef BINS
#define BINS 256
#endif

extern "C" __global__ void histogram_reference(const uint8_t *data, unsigned *histogram, int64_t SIZE)
{
    __shared__ unsigned counters[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        counters[bin] = 0;
    __syncthreads();
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < SIZE; i += blockDim.x) {
        const unsigned value = VALUE_BYTES == 1 ? data[i] : ((const uint16_t *)data)[i];
        atomicAdd(&counters[(uint64_t)value * BINS >> 8 * VALUE_BYTES], 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        histogram[bin] = counters[bin];
}
