// SPDX-License-Identifier: MIT
// Two sums as numbers of 16 bits in a word, and matrices of such words to shared memory (PTX stmatrix, sm_90 and later).
#ifndef HONE_HALVES_CUH
#define HONE_HALVES_CUH

#include "mbarrier.cuh"

// Two neighbours of 16 bits, the first in the lower half.
template <bool is_half> __device__ __forceinline__ unsigned packed_as(float first, float second)
{
    unsigned both;
    if (is_half)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

// Four matrices of 8 x 8 elements of 16 bits, two neighbours of a row a lane, to shared memory: lane i says where line i % 8
// of matrix i / 8 lies. Exchanged, what were columns are lines.
template <bool exchanged>
__device__ __forceinline__ void store_matrices(void *line, unsigned a, unsigned b, unsigned c, unsigned d)
{
    if (exchanged)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(line)),
                     "r"(a), "r"(b), "r"(c), "r"(d)
                     : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(line)), "r"(a),
                     "r"(b), "r"(c), "r"(d)
                     : "memory");
}

#endif
