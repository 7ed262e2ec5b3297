// SPDX-License-Identifier: MIT
__device__ int offsets[4];

extern "C" __global__ void look_up_reference(const int *x, const int *weights, int *y, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = 3 * weights[x[i] & 15] + offsets[x[i] & 3];
}
