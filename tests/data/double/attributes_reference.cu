// SPDX-License-Identifier: MIT
extern "C" __device__ const int hone_double[] = {CLUSTER};

extern "C" __global__ void attributes_reference(const int *x, int *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i] + CLUSTER;
}
