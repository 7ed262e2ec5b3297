// SPDX-License-Identifier: MIT
// The tuned transpose beside cublasSgeam and a device-to-device cudaMemcpy of the same size. Needs transpose_tuned.h
// (hone export transpose -o transpose_tuned.h).
//   nvcc -O3 -std=c++17 -arch=native -I. bench/kernels/transpose.cu -lcublas -o transpose && ./transpose [rows columns]
#include <cublas_v2.h>

#include "cold.cuh"

#define HONE_TRANSPOSE_APPLY
#include "transpose_tuned.h"
#include "../../templates/transpose.cu"

static void check_cublas(cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    std::fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
    std::exit(1);
}

int main(int argc, char **argv)
{
    const int rows = argc > 2 ? std::atoi(argv[1]) : HONE_TRANSPOSE_TUNED_ROWS;
    const int columns = argc > 2 ? std::atoi(argv[2]) : HONE_TRANSPOSE_TUNED_COLUMNS;
    const size_t size = (size_t)rows * columns, bytes = size * sizeof(float);
    if (rows % VECTOR != 0 || columns % VECTOR != 0) {
        std::fprintf(stderr, "rows and columns must be multiples of %d, the word of the tuned transpose\n", VECTOR);
        return 2;
    }
    float *in, *out, *expected;
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMalloc(&expected, bytes));
    fill<<<1024, 256>>>(in, size);
    CHECK(cudaMemset(out, 0xff, bytes));

    const dim3 grid = hone_transpose_grid(rows, columns), block = hone_transpose_block(rows, columns);
    const size_t shared = hone_transpose_shared_bytes(rows, columns);
    CHECK(cudaFuncSetAttribute(transpose, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    auto tuned = [=] { transpose<<<grid, block, shared>>>(in, out, rows, columns); };

    cublasHandle_t handle;
    const float one = 1, zero = 0;
    check_cublas(cublasCreate(&handle));
    auto geam = [&] { // cuBLAS is column-major: our `in` is its columns x rows
        check_cublas(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, columns, &one, in, columns, &zero, expected,
                                 rows, expected, rows));
    };
    tuned();
    geam();
    CHECK(cudaDeviceSynchronize());
    if (!equal(expected, out, size)) {
        std::fprintf(stderr, "the tuned transpose is wrong\n");
        return 1;
    }

    auto copy_all = [=] { CHECK(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice)); };
    const std::vector<double> us = cold_medians(31, copy_all, geam, tuned);
    std::printf("transpose of %d x %d floats, cold L2, medians of 31\n", rows, columns);
    print_bandwidth("cudaMemcpy", 2.0 * bytes, us[0], us[0]);
    print_bandwidth("cublasSgeam", 2.0 * bytes, us[1], us[0]);
    print_bandwidth("tuned", 2.0 * bytes, us[2], us[0]);
    check_cublas(cublasDestroy(handle));
    return 0;
}
