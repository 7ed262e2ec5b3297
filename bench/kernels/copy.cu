// SPDX-License-Identifier: MIT
// The tuned copy beside a device-to-device cudaMemcpy of the same size. Needs copy_tuned.h
// (hone export copy -o copy_tuned.h).
//   nvcc -O3 -std=c++17 -arch=native -I. bench/kernels/copy.cu -o copy && ./copy [floats]
#include "cold.cuh"

#define HONE_COPY_APPLY
#include "copy_tuned.h"
#include "../../templates/copy.cu"

#if PATTERN != PATTERN_plain
#error "copy_tuned.h was tuned for another pattern than plain"
#endif

int main(int argc, char **argv)
{
    const size_t size = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : HONE_COPY_TUNED_SIZE;
    const size_t bytes = size * sizeof(float);
    float *in, *out;
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));
    fill<<<1024, 256>>>(in, size);
    CHECK(cudaMemset(out, 0xff, bytes));

    const dim3 grid = hone_copy_grid(size, PATTERN, SIDE, OFFSET, STRIDE);
    const dim3 block = hone_copy_block(size, PATTERN, SIDE, OFFSET, STRIDE);
    auto tuned = [=] { copy<<<grid, block>>>(in, out, (int64_t)size); };
    tuned();
    CHECK(cudaDeviceSynchronize());
    if (!equal(in, out, size)) {
        std::fprintf(stderr, "the tuned copy is wrong\n");
        return 1;
    }

    auto copy_all = [=] { CHECK(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice)); };
    const std::vector<double> us = cold_medians(31, copy_all, tuned);
    std::printf("copy of %zu floats, cold L2, medians of 31\n", size);
    print_bandwidth("cudaMemcpy", 2.0 * bytes, us[0], us[0]);
    print_bandwidth("tuned", 2.0 * bytes, us[1], us[0]);
    return 0;
}
