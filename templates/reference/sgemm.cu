// SPDX-License-Identifier: MIT
// C = A B, summed up in float64. A block computes 32 elements of a row; its threads' second index cuts k into slices.
#ifndef M
#define M 4096
#define N 4096
#define K 4096
#endif

extern "C" __global__ void sgemm_reference(const float *A, const float *B, float *C)
{
    __shared__ double sums[32][32];
    const int lane = threadIdx.x, part = threadIdx.y, row = blockIdx.y;
    const int column = min((int)blockIdx.x * 32 + lane, N - 1);
    double sum = 0;
    for (int k = part; k < K; k += 32)
        sum += (double)A[(size_t)row * K + k] * B[(size_t)k * N + column];
    sums[part][lane] = sum;
    __syncthreads();
    if (part == 0) {
        for (int i = 1; i < 32; ++i)
            sum += sums[i][lane];
        C[(size_t)row * N + column] = (float)sum;
    }
}
