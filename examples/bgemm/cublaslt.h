/* SPDX-License-Identifier: MIT */
#ifndef CUBLASLT_H
#define CUBLASLT_H

#include <cuda.h>
#include <stdint.h>

/* C = A B of bf16 by cublasLt, whose library is looked for when the program runs: A and C row-major, B column-major. */
struct cublaslt {
    int64_t m, n, k;
    CUdeviceptr a, b, c;

    void *handle, *product, *layout_a, *layout_b, *layout_c;
    uint64_t algorithm[8]; /* the first that its heuristics propose */
    CUdeviceptr workspace;
    int (*multiply)(void *handle, void *product, const void *alpha, const void *a, void *layout_a, const void *b, void *layout_b,
                    const void *beta, const void *c, void *layout_c, void *d, void *layout_d, const void *algorithm,
                    void *workspace, size_t workspace_bytes, CUstream stream);
};

/* 0: cublasLt is not there, or has no algorithm for it. */
int cublaslt_open(struct cublaslt *lt);
/* Queues one product. */
void cublaslt_launch(void *lt);

#endif
