// SPDX-License-Identifier: MIT
extern "C" __global__ void windows_reference(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + 1;
}
