/* SPDX-License-Identifier: MIT */
/* More live values than 32 registers hold: spills under --maxrregcount=32. */
extern "C" __global__ void spill(float *x)
{
    float held[96];
#pragma unroll
    for (int i = 0; i < 96; i++)
        held[i] = x[i * 32 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 96; i++)
        x[i * 32 + threadIdx.x] = held[(i * 7 + 5) % 96] * held[95 - i];
}
