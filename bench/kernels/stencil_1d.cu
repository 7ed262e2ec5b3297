// SPDX-License-Identifier: MIT
// The tuned stencil beside a device-to-device cudaMemcpy of as many elements.
#include "paired.cuh"

#define HONE_STENCIL_1D_APPLY
#include "stencil_1d_tuned.h"
#include "../../templates/stencil_1d.cu"

int main()
{
    const int64_t size = HONE_STENCIL_1D_TUNED_SIZE;
    const size_t bytes = (size_t)size * sizeof(float);
    auto *in = allocate<float>(size + 2 * MARGIN), *out = allocate<float>(size), *coefficients = allocate<float>(9);
    fill_reals<<<1024, 256>>>(in, size + 2 * MARGIN);
    coefficient_values values;
    for (int d = 0; d < 9; ++d)
        values.value[d] = 1 - d * 0.0625f;
    CHECK(cudaMemcpy(coefficients, &values, sizeof values, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(constant_coefficients, &values, sizeof values));

    const hone_step step = hone_stencil_1d_step(HONE_STENCIL_1D_CONFIG, 0, HONE_STENCIL_1D_TUNED_PROBLEM);
    auto tuned = [=] { stencil_1d<<<step.grid, step.block>>>(in, out, size, coefficients, values); };
    tuned();
    const std::vector<float> first = from_device(in, 1 << 16), result = from_device(out, 1 << 12);
    for (size_t i = 0; i < result.size(); ++i) {
        double expected = values.value[0] * (double)first[i + MARGIN];
        for (int d = 1; d <= RADIUS; ++d)
            expected += values.value[d] * ((double)first[i + MARGIN - d] + first[i + MARGIN + d]);
        require(std::fabs(result[i] - expected) < 1e-5, "stencil_1d");
    }

    char what[32];
    std::snprintf(what, sizeof what, "stencil_1d 2^28 f32, radius %d", RADIUS);
    pairing().compare(what, "cudaMemcpy device to device", 2.0 * bytes, 1 / 0.95,
                      [=] { CHECK(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice)); }, tuned);
    return 0;
}
