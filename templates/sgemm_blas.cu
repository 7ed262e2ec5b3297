// SPDX-License-Identifier: MIT
// BLAS's sgemm, row-major: C = alpha op(A) op(B) + beta C in fp32, with op(X) = X or X' and lines that lie apart. The
// kernel is that of sgemm.cu, in general: factors and leading dimensions are arguments. A caller whose matrices are
// column-major swaps A and B, M and N, since C' = op(B)' op(A)'.
#ifndef TRANS_A // t: A lies in memory as K x M, B as N x K
#define TRANS_A_n 1
#define TRANS_A_t 2
#define TRANS_A TRANS_A_n
#endif
#ifndef TRANS_B
#define TRANS_B_n 1
#define TRANS_B_t 2
#define TRANS_B TRANS_B_n
#endif
#ifndef FROZEN
#define FROZEN 0
#endif
#ifndef SMALL
#define SMALL 1
#endif
#ifdef ALIGN // of all three matrices
#define ALIGN_A ALIGN
#define ALIGN_B ALIGN
#endif
#define GENERAL 1
#include "sgemm.cu"
