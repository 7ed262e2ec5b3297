// SPDX-License-Identifier: MIT
// C = A A^T, summed up in float64.
#ifndef K
#define K 32
#endif

extern "C" __global__ void matmul_aat_reference(const float *A, float *C, int M)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= M)
        return;
    double sum = 0;
    for (int k = 0; k < K; ++k)
        sum += (double)A[(size_t)row * K + k] * A[(size_t)column * K + k];
    C[(size_t)row * M + column] = (float)sum;
}
