// SPDX-License-Identifier: MIT
// The tuned histogram beside CUB's, which is given the same values and as many even bins.
#include "cub_peer.cuh"

#define HONE_HISTOGRAM_APPLY
#include "histogram_tuned.h"
#include "../../templates/histogram.cu"

int main()
{
    const int64_t size = HONE_HISTOGRAM_TUNED_SIZE;
    const size_t bytes = (size_t)size * VALUE_BYTES;
    auto *data = allocate<uint8_t>(bytes);
    auto *out = allocate<unsigned>(BINS), *expected = allocate<unsigned>(BINS);
    fill_words<<<1024, 256>>>((unsigned *)data, bytes / 4);

    const hone_step clear = hone_histogram_step(HONE_HISTOGRAM_CONFIG, 0, HONE_HISTOGRAM_TUNED_PROBLEM);
    const hone_step step = hone_histogram_step(HONE_HISTOGRAM_CONFIG, 1, HONE_HISTOGRAM_TUNED_PROBLEM);
    const size_t shared = step.shared_bytes;
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    auto tuned = [=] {
        histogram_clear<<<clear.grid, clear.block>>>(out);
        histogram<<<step.grid, step.block, shared>>>(data, out, size);
    };
    auto cub_histogram = with_storage([=](void *storage, size_t &storage_bytes) {
        return cub::DeviceHistogram::HistogramEven(storage, storage_bytes, (const value_type *)data, expected, BINS + 1, 0,
                                                   1 << 8 * VALUE_BYTES, size);
    });
    tuned();
    cub_histogram();
    require(equal(out, expected, BINS), "histogram");

    char what[40];
    std::snprintf(what, sizeof what, "histogram 2^%d u%d, %d bins", (int)std::lround(std::log2((double)size)),
                  8 * VALUE_BYTES, BINS);
    pairing().compare(what, cub_name("DeviceHistogram::HistogramEven"), (double)bytes, BINS <= 256 ? 1 / 1.1 : 1 / 2.0,
                      cub_histogram, tuned);
    return 0;
}
