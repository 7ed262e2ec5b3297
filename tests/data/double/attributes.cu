// SPDX-License-Identifier: MIT
// Adds the number of blocks of its cluster to x, by blocks that use dynamic shared memory, and which wait for one another where
// the launch is cooperative.
#ifndef CLUSTER
#define CLUSTER 1
#define COOPERATIVE 0
#define SHARED 1024
#endif

extern "C" __device__ const int hone_double[] = {CLUSTER, COOPERATIVE, SHARED
#ifdef CARVEOUT
                                                   ,
                                                   CARVEOUT
#endif
};

__device__ unsigned int arrived;

extern "C" __global__ void attributes(const int *x, int *y, int n)
{
    extern __shared__ int shared[];
    unsigned int blocks = 1;
    unsigned int shared_bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
#endif
    shared[shared_bytes / 4 - 1] = n;
    __syncthreads();
#if COOPERATIVE
    /* Ends only when all blocks are there at once. */
    if (threadIdx.x == 0) {
        atomicAdd(&arrived, 1);
        while (*(volatile unsigned int *)&arrived % gridDim.x != 0) {
        }
    }
    __syncthreads();
#endif
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i] + (int)blocks + shared[shared_bytes / 4 - 1] - n;
}
