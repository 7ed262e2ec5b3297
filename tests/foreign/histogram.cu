// SPDX-License-Identifier: MIT
// Byte histograms with CUB, one block a slice, added up by atomics.
#include <cub/cub.cuh>

template <int Threads, int Items, cub::BlockHistogramAlgorithm Algorithm>
__global__ void histogram(const unsigned char *samples, unsigned *bins, int count)
{
    using Histogram = cub::BlockHistogram<unsigned char, Threads, Items, 256, Algorithm>;
    using Load = cub::BlockLoad<unsigned char, Threads, Items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    __shared__ union {
        typename Histogram::TempStorage histogram;
        typename Load::TempStorage load;
    } storage;
    __shared__ unsigned own[256];

    unsigned char items[Items];
    const int slice = Threads * Items;
    Histogram(storage.histogram).InitHistogram(own);
    for (int first = blockIdx.x * slice; first + slice <= count; first += gridDim.x * slice) {
        __syncthreads();
        Load(storage.load).Load(samples + first, items);
        __syncthreads();
        Histogram(storage.histogram).Composite(items, own);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += Threads)
        atomicAdd(&bins[bin], own[bin]);
}
