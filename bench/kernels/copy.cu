// SPDX-License-Identifier: MIT
// The tuned copy beside a device-to-device cudaMemcpy of as much.
#include "paired.cuh"

#define HONE_COPY_APPLY
#include "copy_tuned.h"
#include "../../templates/copy.cu"

#if PATTERN != PATTERN_plain
#error "copy_tuned.h was tuned for another pattern than plain"
#endif

int main()
{
    const int64_t size = HONE_COPY_TUNED_SIZE;
    const size_t bytes = (size_t)size * sizeof(float);
    auto *in = allocate<float>(size), *out = allocate<float>(size);
    fill_reals<<<1024, 256>>>(in, size);

    const hone_step step = hone_copy_step(HONE_COPY_CONFIG, 0, HONE_COPY_TUNED_PROBLEM);
    auto tuned = [=] { copy<<<step.grid, step.block>>>(in, out, size); };
    tuned();
    require(equal(in, out, size), "copy");

    pairing().compare("copy 2^28 f32", "cudaMemcpy device to device", 2.0 * bytes, 1 / 0.98,
                      [=] { CHECK(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice)); }, tuned);
    return 0;
}
