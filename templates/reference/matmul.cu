// SPDX-License-Identifier: MIT
// C = A B, summed up in float64.
#ifndef K
#define K 32
#endif
#ifndef B_LAYOUT
#define B_LAYOUT_row 1
#define B_LAYOUT_column 2
#define B_LAYOUT B_LAYOUT_row
#endif

extern "C" __global__ void matmul_reference(const float *A, const float *B, float *C, int M, int N)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N)
        return;
    double sum = 0;
    for (int k = 0; k < K; ++k) {
#if B_LAYOUT == B_LAYOUT_column
        const float b = B[(size_t)column * K + k];
#else
        const float b = B[(size_t)k * N + column];
#endif
        sum += (double)A[(size_t)row * K + k] * b;
    }
    C[(size_t)row * N + column] = (float)sum;
}
