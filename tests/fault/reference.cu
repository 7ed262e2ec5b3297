// SPDX-License-Identifier: MIT
extern "C" __global__ void fault_reference(const float *x, float *y, float *scratch, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (float)((double)a * (double)x[i]);
}
