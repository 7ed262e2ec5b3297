// SPDX-License-Identifier: MIT
// Words of 64 bits through which blocks talk to each other: read and written as a whole and past the L1 cache, but
// without an order among them (PTX ld.relaxed, st.relaxed).
#ifndef HONE_RELAXED_CUH
#define HONE_RELAXED_CUH

__device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long *word)
{
    unsigned long long value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(unsigned long long *word, unsigned long long value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

#endif
