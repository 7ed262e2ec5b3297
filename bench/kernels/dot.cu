// SPDX-License-Identifier: MIT
// The tuned dot product beside cublasSdot.
#include "cublas_peer.cuh"

#define HONE_DOT_APPLY
#include "dot_tuned.h"
#include "../../templates/dot.cu"

int main()
{
    const int64_t size = HONE_DOT_TUNED_SIZE;
    const hone_step step = hone_dot_step(HONE_DOT_CONFIG, 0, HONE_DOT_TUNED_PROBLEM);
    const dim3 grid = step.grid, block = step.block;
    auto *x = allocate<float>(size), *y = allocate<float>(size), *out = allocate<float>(1);
    auto *expected = allocate<float>(1), *partial = allocate<float>(grid.x), *total = allocate<float>(1);
    auto *done = allocate<unsigned>(1);
    fill_reals<<<1024, 256>>>(x, size);
    fill_reals<<<1024, 256>>>(y, size, size);

    auto tuned = [=] {
        dot<<<grid, block>>>(x, y, out, size, partial, total, done);
        if (FINISH == FINISH_two_pass)
            dot_partial<<<1, block>>>(partial, out, grid.x);
    };
    cublasHandle_t handle;
    check_cublas(cublasCreate(&handle));
    check_cublas(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    auto sdot = [=] { check_cublas(cublasSdot(handle, (int)size, x, 1, y, 1, expected)); };
    tuned();
    sdot();
    const double found = from_device(out, 1)[0], right = from_device(expected, 1)[0];
    require(std::fabs(found - right) <= 1e-5 * std::fabs(right) + 1e-5 * std::sqrt((double)size), "dot");

    char what[32];
    std::snprintf(what, sizeof what, "dot 2^%d f32", (int)std::lround(std::log2((double)size)));
    pairing().compare(what, cublas_name(handle, "cublasSdot"), 8.0 * size, 1.01, sdot, tuned);
    check_cublas(cublasDestroy(handle));
    return 0;
}
