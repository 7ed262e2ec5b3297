// SPDX-License-Identifier: MIT
extern "C" __global__ void transfer_batch_reference(const float *x, float *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (float)sqrt(1 + (double)x[i] * x[i]);
}
