// SPDX-License-Identifier: MIT
extern "C" __global__ void window_sum(const float *x, float *y, int radius, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0.0f;
    for (int d = 0; d <= radius; d++)
        sum += x[i + d];
    y[i] = sum;
}
