// SPDX-License-Identifier: MIT
extern "C" __global__ void inputs_reference(const int *order, const float *array, const short *bytes,
                                            const int *weights, int *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = weights[order[i] & 7] + (int)array[order[i] % 6] + bytes[i & 3] + order[i];
}
