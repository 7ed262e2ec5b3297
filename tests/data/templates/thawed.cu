// SPDX-License-Identifier: MIT
extern "C" __global__ void thawed(float *x, int count)
{
#if FROZEN
    count = N;
#endif
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count)
        x[i] *= 2;
}
