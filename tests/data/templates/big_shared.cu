/* SPDX-License-Identifier: MIT */
extern "C" __global__ void big_shared(float *x)
{
    __shared__ float tile[20000];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x + 1];
}
