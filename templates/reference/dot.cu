// SPDX-License-Identifier: MIT
// The dot product of x and y, by one block of 1024 threads in float64.
extern "C" __global__ void dot_reference(const float *x, const float *y, float *out, long long SIZE)
{
    __shared__ double sums[1024];
    double sum = 0;
#pragma unroll 8
    for (long long i = threadIdx.x; i < SIZE; i += 1024)
        sum += (double)x[i] * y[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < 1024; ++i)
        sum += sums[i];
    *out = (float)sum;
}
