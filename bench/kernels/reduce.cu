// SPDX-License-Identifier: MIT
// The tuned reduction beside CUB's.
#include "cub_peer.cuh"

#define HONE_REDUCE_APPLY
#include "reduce_tuned.h"
#include "../../templates/reduce.cu"

int main()
{
    const int64_t size = HONE_REDUCE_TUNED_SIZE;
    const hone_step step = hone_reduce_step(HONE_REDUCE_CONFIG, 0, HONE_REDUCE_TUNED_PROBLEM);
    const dim3 grid = step.grid, block = step.block;
    auto *in = allocate<float>(size), *out = allocate<float>(1), *expected = allocate<float>(1);
    auto *partial = allocate<float>(grid.x), *total = allocate<float>(1);
    auto *done = allocate<unsigned>(1);
    fill_reals<<<1024, 256>>>(in, size);

    auto tuned = [=] {
        reduce<<<grid, block>>>(in, out, size, partial, total, done);
        if (FINISH == FINISH_two_pass)
            reduce_partial<<<1, block>>>(partial, out, grid.x);
    };
    auto cub_sum = with_storage(
        [=](void *storage, size_t &bytes) { return cub::DeviceReduce::Sum(storage, bytes, in, expected, size); });
    tuned();
    cub_sum();
    require(std::fabs(from_device(out, 1)[0] - from_device(expected, 1)[0]) <= 1e-5 * std::sqrt((double)size), "reduce");

    char what[32];
    std::snprintf(what, sizeof what, "reduce 2^%d f32", (int)std::lround(std::log2((double)size)));
    pairing().compare(what, cub_name("DeviceReduce::Sum"), 4.0 * size, 1.01, cub_sum, tuned);
    return 0;
}
