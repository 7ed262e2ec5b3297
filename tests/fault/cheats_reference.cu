// SPDX-License-Identifier: MIT
// x + x^2 + x^3 and so on, as it is known to be; of x within a half, 512 terms are all of it.
__device__ double limit(float x)
{
    return (double)x / (1.0 - (double)x);
}

extern "C" __global__ void cheats_reference(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (float)limit(x[i]);
}

extern "C" __global__ void cheats_add_reference(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (float)((double)y[i] + limit(x[i]));
}

extern "C" __global__ void cheats_square_reference(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (float)(limit(x[i]) * limit(x[i]));
}
