/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "calls.h"

/* Kernels of templates/ in C, for programs that use them. A kernel that finishes what another one
 * began does nothing: that one has done it all. */

#define TAKE(type, index) (*(type *)parameters[index])

CUresult double_nothing(struct double_device *device, struct double_function *function,
                        const struct double_geometry *geometry, void **parameters)
{
    (void)function;
    (void)geometry;
    (void)parameters;
    device->now_us += 1.5 * double_noise(device);
    return CUDA_SUCCESS;
}

/* reduce.cu */
CUresult double_reduce(struct double_device *device, struct double_function *function,
                       const struct double_geometry *geometry, void **parameters)
{
    const float *in = TAKE(const float *, 0);
    double sum = 0;
    (void)function;
    (void)geometry;
    for (int64_t i = 0; i < TAKE(int64_t, 2); i++)
        sum += in[i];
    *TAKE(float *, 1) = (float)sum;
    device->now_us += 20.0 * double_noise(device);
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

/* sgemm.cu and matmul.cu with a row-major B, where sizes are constants: they follow from those of
 * the buffers. */
CUresult double_sgemm(struct double_device *device, struct double_function *function,
                      const struct double_geometry *geometry, void **parameters)
{
    const float *a = TAKE(const float *, 0);
    const float *b = TAKE(const float *, 1);
    float *c = TAKE(float *, 2);
    double mk = extent(a);
    double kn = extent(b);
    double mn = extent(c);
    size_t m = (size_t)(sqrt(mk * mn / kn) + 0.5);
    size_t n = (size_t)(mn / (double)m + 0.5);
    size_t k = (size_t)(mk / (double)m + 0.5);
    (void)function;
    (void)geometry;
    for (size_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += (double)a[i / n * k + j] * b[j * n + i % n];
        c[i] = (float)sum;
    }
    device->now_us += 50.0 * double_noise(device);
    return CUDA_SUCCESS;
}
