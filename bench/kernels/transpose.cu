// SPDX-License-Identifier: MIT
// The tuned transpose beside cublasSgeam and a device-to-device cudaMemcpy of as much.
#include "cublas_peer.cuh"

#define HONE_TRANSPOSE_APPLY
#include "transpose_tuned.h"
#include "../../templates/transpose.cu"

int main()
{
    const int rows = HONE_TRANSPOSE_TUNED_ROWS, columns = HONE_TRANSPOSE_TUNED_COLUMNS;
    const size_t size = (size_t)rows * columns, bytes = size * sizeof(float);
    auto *in = allocate<float>(size), *out = allocate<float>(size), *expected = allocate<float>(size);
    fill_reals<<<1024, 256>>>(in, size);

    const hone_step step = hone_transpose_step(HONE_TRANSPOSE_CONFIG, 0, HONE_TRANSPOSE_TUNED_PROBLEM);
    const size_t shared = step.shared_bytes;
    CHECK(cudaFuncSetAttribute(transpose, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    auto tuned = [=] { transpose<<<step.grid, step.block, shared>>>(in, out, rows, columns); };

    cublasHandle_t handle;
    const float one = 1, zero = 0;
    check_cublas(cublasCreate(&handle));
    auto geam = [&] { // cuBLAS is column-major: our `in` is its columns x rows
        check_cublas(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, columns, &one, in, columns, &zero, expected,
                                 rows, expected, rows));
    };
    tuned();
    geam();
    require(equal(expected, out, size), "transpose");

    char what[32];
    std::snprintf(what, sizeof what, "transpose %d x %d f32", rows, columns);
    pairing pairs;
    pairs.compare(what, "cudaMemcpy device to device", 2.0 * bytes, 1 / 0.97,
                  [=] { CHECK(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice)); }, tuned);
    pairs.compare(what, cublas_name(handle, "cublasSgeam"), 2.0 * bytes, 1, geam, tuned);
    check_cublas(cublasDestroy(handle));
    return 0;
}
