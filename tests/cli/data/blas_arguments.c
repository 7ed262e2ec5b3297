/* SPDX-License-Identifier: MIT */
/* hone_sgemm with arguments that are wrong, and with products that need no kernel, or no A and B:
 * prints what is not as it should be. */
#include "hone_sgemm.h"

#include <stdint.h>
#include <stdio.h>

enum { R = HONE_ROW_MAJOR, C = HONE_COLUMN_MAJOR, N = HONE_NO_TRANS, T = HONE_TRANS };

static CUdeviceptr buffer; /* of floats that are 1 */

static float *at(int element)
{
    return (float *)(uintptr_t)buffer + element;
}

static const struct {
    int order, transa, transb, m, n, k, lda, ldb, ldc;
    int a, b, c; /* elements of the buffer; -1: NULL */
    int result;
} cases[] = {
    {R, N, N, 2, 3, 4, 4, 3, 3, 0, 0, 0, 0},
    {100, N, N, 2, 3, 4, 4, 3, 3, 0, 0, 0, -1},
    {R, 110, N, 2, 3, 4, 4, 3, 3, 0, 0, 0, -2},
    {R, N, 114, 2, 3, 4, 4, 3, 3, 0, 0, 0, -3},
    {R, N, N, -1, 3, 4, 4, 3, 3, 0, 0, 0, -4},
    {R, N, N, 2, -1, 4, 4, 3, 3, 0, 0, 0, -5},
    {R, N, N, 2, 3, -1, 4, 3, 3, 0, 0, 0, -6},
    {R, N, N, 2, 3, 4, 4, 3, 3, -1, 0, 0, -8},
    {R, N, N, 2, 3, 4, 3, 3, 3, 0, 0, 0, -9},
    {R, T, N, 5, 3, 4, 4, 3, 3, 0, 0, 0, -9},
    {C, N, N, 5, 3, 4, 4, 4, 5, 0, 0, 0, -9},
    {C, T, N, 5, 3, 4, 3, 4, 5, 0, 0, 0, -9},
    {R, N, N, 2, 3, 4, 4, 3, 3, 0, -1, 0, -10},
    {R, N, N, 2, 3, 4, 4, 2, 3, 0, 0, 0, -11},
    {R, N, T, 2, 3, 4, 4, 3, 3, 0, 0, 0, -11},
    {C, N, N, 2, 3, 4, 2, 3, 2, 0, 0, 0, -11},
    {C, N, T, 2, 3, 4, 2, 2, 2, 0, 0, 0, -11},
    {R, N, N, 2, 3, 4, 4, 3, 3, 0, 0, -1, -13},
    {R, N, N, 2, 3, 4, 4, 3, 2, 0, 0, 0, -14},
    {C, N, N, 3, 2, 4, 3, 4, 2, 0, 0, 0, -14},
    {R, N, N, 0, 3, 4, 4, 3, 3, -1, -1, -1, 0},
    {R, N, N, 2, 0, 4, 4, 1, 1, -1, -1, -1, 0},
    {R, N, N, 0, 0, 0, 1, 1, 1, -1, -1, -1, 0},
    {R, N, N, 0, 0, 0, 0, 1, 1, -1, -1, -1, -9},
    {R, N, N, 2, 3, 4, 1 << 23, 3, 3, 0, 0, 0, CUDA_ERROR_NOT_SUPPORTED},
};

static int check_results(struct hone_blas *blas)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int result =
            hone_sgemm(blas, (enum hone_order)cases[i].order, (enum hone_transpose)cases[i].transa,
                       (enum hone_transpose)cases[i].transb, cases[i].m, cases[i].n, cases[i].k, 1,
                       cases[i].a < 0 ? NULL : at(cases[i].a), cases[i].lda,
                       cases[i].b < 0 ? NULL : at(cases[i].b), cases[i].ldb, 0,
                       cases[i].c < 0 ? NULL : at(64 + cases[i].c), cases[i].ldc);
        if (result != cases[i].result) {
            printf("case %zu: %d, expected %d\n", i, result, cases[i].result);
            failed = 1;
        }
    }
    return failed;
}

/* C = beta C where there are no steps of k, with whatever A and B. */
static int check_scaled(struct hone_blas *blas, int k, float alpha, float beta, float expected)
{
    float c[4] = {0};
    for (int i = 0; i < 4; i++)
        c[i] = 2;
    if (cuMemcpyHtoD((CUdeviceptr)(uintptr_t)at(65), c, sizeof c) != CUDA_SUCCESS ||
        hone_sgemm(blas, HONE_COLUMN_MAJOR, HONE_TRANS, HONE_NO_TRANS, 1, 2, k, alpha, NULL, k + 1,
                   NULL, k + 1, beta, at(65), 2) != 0 ||
        cuMemcpyDtoH(c, (CUdeviceptr)(uintptr_t)at(65), sizeof c) != CUDA_SUCCESS)
        return 1;
    if (c[0] == expected && c[1] == 2 && c[2] == expected && c[3] == 2)
        return 0;
    printf("k %d, alpha %g, beta %g: %g %g %g %g\n", k, (double)alpha, (double)beta, (double)c[0],
           (double)c[1], (double)c[2], (double)c[3]);
    return 1;
}

int main(void)
{
    float ones[128];
    CUcontext context;
    struct hone_blas *blas;
    for (int i = 0; i < 128; i++)
        ones[i] = 1;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        cuMemAlloc(&buffer, sizeof ones) != CUDA_SUCCESS ||
        cuMemcpyHtoD(buffer, ones, sizeof ones) != CUDA_SUCCESS ||
        hone_blas_create(NULL, &blas) != CUDA_SUCCESS)
        return 2;
    int failed = check_results(blas);
    failed |= check_scaled(blas, 0, 1, 0.5f, 1);
    failed |= check_scaled(blas, 0, 1, 0, 0);
    failed |= check_scaled(blas, 0, 1, 1, 2);
    failed |= check_scaled(blas, 0, 1.0f / 0.0f, 0.5f, 1);
    failed |= check_scaled(blas, 3, 0, -1, -2);
    hone_blas_destroy(blas);
    hone_blas_destroy(NULL);
    return failed || cuMemFree(buffer) != CUDA_SUCCESS;
}
