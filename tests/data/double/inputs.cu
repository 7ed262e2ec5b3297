// SPDX-License-Identifier: MIT
// Sums what comes from fills, from files, and by value: the weights as one structure.
#ifndef BLOCK
#define BLOCK 128
#endif

extern "C" __device__ const int hone_double[] = {BLOCK};

struct weights {
    int w[8];
};

extern "C" __global__ void inputs(const int *order, const float *array, const short *bytes, weights by_value, int *y,
                                  int n)
{
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        y[i] = by_value.w[order[i] & 7] + (int)array[order[i] % 6] + bytes[i & 3] + order[i];
}
