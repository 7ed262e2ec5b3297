/* SPDX-License-Identifier: MIT */
/* What every kernel is made of: how it is declared, what of it is compiled, the part of a grid that a thread is. */

#ifdef __CUDACC_RTC__
#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#define DEVICE static __device__ __forceinline__
#define STOP() __trap()
#define ROLLED _Pragma("unroll 1") /* compiled in a fraction of the time */
#endif

#define THREADS 256
#define NOWHERE 0xffffffffffffffffull

/* Bits of the element types and of the fills that a plan uses, whether it compares multisets, and whether a comparison
 * leaves elements out or lets some differ: the rest is left out, because every tune waits for these kernels to be
 * compiled. */
#ifndef ELEMENTS
#define ELEMENTS 0xffffffffu
#endif
#ifndef FILLS
#define FILLS 0xffffffffu
#endif
#ifndef MULTISETS
#define MULTISETS 1
#endif
#ifndef LOOSE
#define LOOSE 1
#endif
#define USES(set, member) ((set) >> (member) & 1u)

typedef unsigned long long u64;

DEVICE u64 first_index(void)
{
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

DEVICE u64 index_stride(void)
{
    return (u64)gridDim.x * blockDim.x;
}
