// SPDX-License-Identifier: MIT
// The dot products in float64, a block of 256 threads for each.
extern "C" __global__ void dot_zero_copy_reference(const float *x, const float *y, float *dots, long long SIZE)
{
    __shared__ double sums[256];
    double sum = 0;
    for (long long i = threadIdx.x; i < SIZE; i += 256)
        sum += (double)x[i] * y[(i + blockIdx.x) % SIZE];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < 256; ++i)
        sum += sums[i];
    dots[blockIdx.x] = (float)sum;
}
