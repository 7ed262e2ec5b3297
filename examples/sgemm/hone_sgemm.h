/* SPDX-License-Identifier: MIT */
#ifndef HONE_SGEMM_H
#define HONE_SGEMM_H

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

/* BLAS's sgemm with the kernels that Hone tuned: C = alpha op(A) op(B) + beta C in fp32, with op(X) = X or X'. */

enum hone_order { HONE_ROW_MAJOR = 101, HONE_COLUMN_MAJOR = 102 }; /* as CBLAS numbers them */
enum hone_transpose { HONE_NO_TRANS = 111, HONE_TRANS = 112, HONE_CONJ_TRANS = 113 };

/* Kernels that were loaded, and the memory that they share: for one thread, of the context that was current then. All that
 * is called with it goes into one stream. */
struct hone_blas;

CUresult hone_blas_create(CUstream stream, struct hone_blas **blas);
void hone_blas_destroy(struct hone_blas *blas); /* waits for the stream; NULL is nothing to do */

/* Queues one product. A is m x k, or k x m where it is transposed; B is k x n, or n x k; C is m x n: in device memory,
 * rows (or columns) lda, ldb and ldc floats apart, from any float on. Where beta is 0, C is not read; where alpha or k is
 * 0, A and B are not; where m or n is 0, nothing is.
 *
 * 0: queued. Below 0: -i, the i-th argument is wrong, order being the first and ldc the 14th. Above 0: a CUresult;
 * CUDA_ERROR_NOT_SUPPORTED: there is no kernel for such a product, as for leading dimensions of A and B from 2^23 on;
 * CUDA_ERROR_NO_BINARY_FOR_GPU: there is none for this GPU. */
int hone_sgemm(struct hone_blas *blas, enum hone_order order, enum hone_transpose transa, enum hone_transpose transb,
               int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c,
               int ldc);

/* For tests: which of so many configurations is taken from now on where it can be used; -1: what the header chooses. */
int hone_blas_configurations(void);
void hone_blas_prefer(struct hone_blas *blas, int configuration);

#ifdef __cplusplus
}
#endif

#endif
