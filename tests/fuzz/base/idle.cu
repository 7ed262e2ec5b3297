// SPDX-License-Identifier: MIT
__constant__ int weights[4];
__device__ unsigned int turns;

extern "C" __global__ void sgemm_clear(float *partial, unsigned int *done) { partial[0] = *done; }
extern "C" __global__ void sgemm_sum(const float *x, const float *partial, float *y, float a, int n)
{
    y[BLOCK < n] = a * x[weights[turns & 3]] + partial[0] * WIDE;
}
