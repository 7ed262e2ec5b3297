/* SPDX-License-Identifier: MIT */
#ifndef CUBLAS_H
#define CUBLAS_H

#include "gpu.h"

/* The same product by cuBLAS, whose library is looked for when the program runs. */
struct cublas {
    int m, n, k;
    CUdeviceptr a, b, c; /* row-major */
    void *handle;
    int (*sgemm)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                 const float *b, int ldb, const float *beta, float *c, int ldc);
};

/* 0: cuBLAS is not there. */
int cublas_open(struct cublas *cublas);
/* Queues one product: cuBLAS is column-major, so that it computes the transposed one, B' A'. */
void cublas_launch(void *cublas);

#endif
