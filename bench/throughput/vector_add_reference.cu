// SPDX-License-Identifier: MIT
extern "C" __global__ void vector_add_reference(float *c, const float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = (float)((double)a[i] + b[i]);
}
