// SPDX-License-Identifier: MIT
extern "C" __global__ void matvec_reference(const float *a, const float *x, float *y, int rows, int columns)
{
    __shared__ double sums[256];
    double sum = 0;
    for (int i = threadIdx.x; i < columns; i += 256)
        sum += (double)a[(size_t)blockIdx.x * columns + i] * x[i];
    sums[threadIdx.x] = sum;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            sums[threadIdx.x] += sums[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = (float)sums[0];
}
