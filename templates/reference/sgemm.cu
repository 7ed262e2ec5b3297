// SPDX-License-Identifier: MIT
// C = A B, or alpha A B + beta C as in BLAS, summed up in float64. A block computes 32 elements of a row; its threads'
// second index cuts k into slices.
#ifndef M
#define M 4096
#define N 4096
#define K 4096
#endif
#ifdef TRANS_A // BLAS in general
#define GENERAL 1
#define FACTORS , float alpha, float beta
#else
#define GENERAL 0
#define FACTORS
#define TRANS_A_n 1
#define TRANS_A_t 2
#define TRANS_A TRANS_A_n
#define TRANS_B_n 1
#define TRANS_B_t 2
#define TRANS_B TRANS_B_n
#define GAP_A 0
#define GAP_B 0
#define GAP_C 0
#endif

extern "C" __global__ void sgemm_reference(const float *A, const float *B, float *C FACTORS)
{
    __shared__ double sums[32][32];
    const int lane = threadIdx.x, part = threadIdx.y, row = blockIdx.y;
    const int column = min((int)blockIdx.x * 32 + lane, N - 1);
    const size_t a = TRANS_A == TRANS_A_t ? row : (size_t)row * (K + GAP_A), a_step = TRANS_A == TRANS_A_t ? M + GAP_A : 1;
    const size_t b = TRANS_B == TRANS_B_t ? (size_t)column * (K + GAP_B) : column, b_step = TRANS_B == TRANS_B_t ? 1 : N + GAP_B;
    double sum = 0;
    for (int k = part; k < K; k += 32)
        sum += (double)A[a + k * a_step] * B[b + k * b_step];
    sums[part][lane] = sum;
    __syncthreads();
    if (part != 0 || (int)blockIdx.x * 32 + lane >= N)
        return;
    for (int i = 1; i < 32; ++i)
        sum += sums[i][lane];
    float *const to = C + (size_t)row * (N + GAP_C) + column;
#if GENERAL
    sum = alpha * sum + (beta == 0 ? 0 : (double)beta * *to);
#endif
    *to = (float)sum;
}
