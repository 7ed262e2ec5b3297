// SPDX-License-Identifier: MIT
// A stencil that leaves the first and last element of y as they were, and every odd one of z. With faults to order: 1
// writes the border too; 2 leaves two elements of y out; 3 computes three elements wrong; 4 writes nothing; 5 leaves two
// elements out in all launches but the first; 6 leaves two elements of z out.
#ifndef FAULT
#define FAULT 0
#endif

extern "C" __device__ const int hone_double[] = {FAULT, ALLOWED, 0};
__device__ int launches; // 0 or 1; elements 5 and 6 are of one warp

extern "C" __global__ void border(const float *x, float *y, int *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool out = (i == 5 || i == 6) && (FAULT == 2 || (FAULT == 5 && launches > 0));
    if (i >= n || FAULT == 4)
        return;
    if (FAULT == 5 && i == 6 && launches == 0)
        launches = 1;
    if (i > 0 && i < n - 1 && !out)
        y[i] = x[i - 1] + x[i + 1] + (FAULT == 3 && i < 4);
    if (FAULT == 1 && (i == 0 || i == n - 1))
        y[i] = 7.0f;
    if (i % 2 == 0 && !(FAULT == 6 && (i == 8 || i == 10)))
        z[i] = i;
}
