// SPDX-License-Identifier: MIT
extern "C" __global__ void matmul_reference(float *C, const float *A, const float *B)
{
    __shared__ float a[16][16];
    __shared__ float b[16][16];
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    double sum = 0;
    for (int k = 0; k < WIDTH; k += 16) {
        a[threadIdx.y][threadIdx.x] = A[y * WIDTH + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * WIDTH + x];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += (double)a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    C[y * WIDTH + x] = (float)sum;
}
