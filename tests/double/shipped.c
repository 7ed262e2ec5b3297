/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "calls.h"

/* Kernels of templates/ in C, for programs that use them. A kernel that finishes what another one
 * began does nothing: that one has done it all. */

enum { PLAIN_BYTES = 5 * 8 + 3 * 4 }; /* of the parameters of sgemm.cu */

CUresult double_nothing(const struct double_launch *launch)
{
    launch->device->now_us += 1.5 * double_noise(launch->device);
    return CUDA_SUCCESS;
}

/* reduce.cu */
CUresult double_reduce(const struct double_launch *launch)
{
    const float *in = TAKE(const float *, 0);
    double sum = 0;
    for (int64_t i = 0; i < TAKE(int64_t, 2); i++)
        sum += in[i];
    *TAKE(float *, 1) = (float)sum;
    launch->device->now_us += 20.0 * double_noise(launch->device);
    return CUDA_SUCCESS;
}

/* How many floats there are behind an address. */
static double extent(const float *first)
{
    size_t low = 0;
    size_t high = (size_t)1 << 40;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (double_is_valid((CUdeviceptr)(uintptr_t)first, middle))
            low = middle;
        else
            high = middle;
    }
    return (double)(low / sizeof *first);
}

/* sgemm_blas.cu. What is transposed is part of the program, which is not known here: it follows
 * from the leading dimensions where k is more than rows and columns, gaps included. */
static CUresult product(const struct double_launch *launch)
{
    const float *a = TAKE(const float *, 0);
    const float *b = TAKE(const float *, 1);
    float *c = TAKE(float *, 2);
    const size_t m = (size_t)TAKE(int, 5), n = (size_t)TAKE(int, 6), k = (size_t)TAKE(int, 7);
    const size_t lda = (size_t)TAKE(int, 8), ldb = (size_t)TAKE(int, 9);
    const size_t ldc = (size_t)TAKE(int, 10);
    const float alpha = TAKE(float, 11), beta = TAKE(float, 12);
    const bool trans_a = lda < k, trans_b = ldb >= k;
    for (size_t i = 0; i < m * n; i++) {
        const size_t row = i / n, column = i % n;
        float *to = &c[row * ldc + column];
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += (double)a[trans_a ? j * lda + row : row * lda + j] *
                   b[trans_b ? column * ldb + j : j * ldb + column];
        *to = (float)(alpha * sum + (beta == 0 ? 0.0 : (double)beta * *to));
    }
    launch->device->now_us += 50.0 * double_noise(launch->device);
    return CUDA_SUCCESS;
}

/* sgemm.cu and matmul.cu with a row-major B, where sizes are constants: they follow from those of
 * the buffers. */
CUresult double_sgemm(const struct double_launch *launch)
{
    if (launch->function->parameter_bytes > PLAIN_BYTES)
        return product(launch);
    const float *a = TAKE(const float *, 0);
    const float *b = TAKE(const float *, 1);
    float *c = TAKE(float *, 2);
    double mk = extent(a);
    double kn = extent(b);
    double mn = extent(c);
    size_t m = (size_t)(sqrt(mk * mn / kn) + 0.5);
    size_t n = (size_t)(mn / (double)m + 0.5);
    size_t k = (size_t)(mk / (double)m + 0.5);
    for (size_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += (double)a[i / n * k + j] * b[j * n + i % n];
        c[i] = (float)sum;
    }
    launch->device->now_us += 50.0 * double_noise(launch->device);
    return CUDA_SUCCESS;
}
