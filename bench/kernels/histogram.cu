// SPDX-License-Identifier: MIT
// The tuned histogram beside CUB's, which is given the same values and as many even bins.
#include "cub_peer.cuh"

#define HONE_HISTOGRAM_APPLY
#include "histogram_tuned.h"
#include "../../templates/histogram.cu"

int main()
{
    const int64_t size = HONE_HISTOGRAM_TUNED_SIZE, sms = HONE_HISTOGRAM_TUNED_SM_COUNT;
    const size_t bytes = (size_t)size * VALUE_BYTES;
    auto *data = allocate<uint8_t>(bytes);
    auto *out = allocate<unsigned>(BINS), *expected = allocate<unsigned>(BINS);
    fill_words<<<1024, 256>>>((unsigned *)data, bytes / 4);

    const dim3 clear_grid = hone_histogram_step1_grid(size, VALUE_BYTES, BINS, HONE_HISTOGRAM_TUNED_SKEW, sms);
    const dim3 clear_block = hone_histogram_step1_block(size, VALUE_BYTES, BINS, HONE_HISTOGRAM_TUNED_SKEW, sms);
    const dim3 grid = hone_histogram_step2_grid(size, VALUE_BYTES, BINS, HONE_HISTOGRAM_TUNED_SKEW, sms);
    const dim3 block = hone_histogram_step2_block(size, VALUE_BYTES, BINS, HONE_HISTOGRAM_TUNED_SKEW, sms);
    const size_t shared = hone_histogram_step2_shared_bytes(size, VALUE_BYTES, BINS, HONE_HISTOGRAM_TUNED_SKEW, sms);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    auto tuned = [=] {
        histogram_clear<<<clear_grid, clear_block>>>(out);
        histogram<<<grid, block, shared>>>(data, out, size);
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
