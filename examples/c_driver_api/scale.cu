// SPDX-License-Identifier: MIT
// y = a * x: BLOCK threads of a block compute ITEMS elements each.
#ifndef BLOCK
#define BLOCK 128
#define ITEMS 1
#endif

extern "C" __global__ void __launch_bounds__(BLOCK) scale(const float *x, float *y, float a, int n)
{
    const int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const int i = first + item * BLOCK;
        if (i < n)
            y[i] = a * x[i];
    }
}
