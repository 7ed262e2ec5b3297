// SPDX-License-Identifier: MIT
// The sum of in, by one block of 1024 threads in float64.
extern "C" __global__ void reduce_reference(const float *in, float *out, long long SIZE)
{
    __shared__ double sums[1024];
    double sum = 0;
#pragma unroll 16
    for (long long i = threadIdx.x; i < SIZE; i += 1024)
        sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < 1024; ++i)
        sum += sums[i];
    *out = (float)sum;
}
