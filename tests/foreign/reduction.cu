/* SPDX-License-Identifier: MIT */
/* The sum of an array; one kernel a type. */

__device__ __forceinline__ float add(float a, float b) { return a + b; }
__device__ __forceinline__ int add(int a, int b) { return a + b; }

template <typename T> __device__ void reduce_block(const T *in, T *sum, unsigned n, T *partial)
{
    T own = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own = add(own, in[i]);
    partial[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] = add(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, partial[0]);
}

__global__ void reduce(const float *in, float *sum, unsigned n)
{
    extern __shared__ float partial_floats[];
    reduce_block(in, sum, n, partial_floats);
}

__global__ void reduce(const int *in, int *sum, unsigned n)
{
    extern __shared__ int partial_ints[];
    reduce_block(in, sum, n, partial_ints);
}
