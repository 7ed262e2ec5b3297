// SPDX-License-Identifier: MIT
// C = A B, or alpha A B + beta C as in BLAS, summed up in float64. A block computes 32 elements of a row; its threads'
// second index cuts the sum into slices. Sizes are arguments, so that one program serves all of them.
#ifdef TRANS_A // BLAS in general
#define GENERAL 1
#define FACTORS , float alpha, float beta
#define LINES , int lda, int ldb, int ldc
#else
#define GENERAL 0
#define FACTORS
#define LINES
#define TRANS_A_n 1
#define TRANS_A_t 2
#define TRANS_A TRANS_A_n
#define TRANS_B_n 1
#define TRANS_B_t 2
#define TRANS_B TRANS_B_n
#endif

extern "C" __global__ void sgemm_reference(const float *A, const float *B, float *C FACTORS, int rows, int columns, int depth LINES)
{
#if !GENERAL
    const int lda = depth, ldb = columns, ldc = columns;
#endif
    __shared__ double sums[32][32];
    const int lane = threadIdx.x, part = threadIdx.y, row = blockIdx.y;
    const int column = min((int)blockIdx.x * 32 + lane, columns - 1);
    const size_t a = TRANS_A == TRANS_A_t ? row : (size_t)row * lda, a_step = TRANS_A == TRANS_A_t ? lda : 1;
    const size_t b = TRANS_B == TRANS_B_t ? (size_t)column * ldb : column, b_step = TRANS_B == TRANS_B_t ? 1 : ldb;
    double sum = 0;
    for (int k = part; k < depth; k += 32)
        sum += (double)A[a + k * a_step] * B[b + k * b_step];
    sums[part][lane] = sum;
    __syncthreads();
    if (part != 0 || (int)blockIdx.x * 32 + lane >= columns)
        return;
    for (int i = 1; i < 32; ++i)
        sum += sums[i][lane];
    float *const to = C + (size_t)row * ldc + column;
#if GENERAL
    sum = alpha * sum + (beta == 0 ? 0 : (double)beta * *to);
#endif
    *to = (float)sum;
}
