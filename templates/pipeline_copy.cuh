// SPDX-License-Identifier: MIT
// Copies from global to shared memory by cp.async (PTX, sm_80 and later) in groups, several of which are on their way
// at once: a thread waits until at most so many of its youngest groups are outstanding. The L2 cache is asked to fetch
// whole lines of 128 bytes.
#ifndef HONE_PIPELINE_COPY_CUH
#define HONE_PIPELINE_COPY_CUH

// Starts a copy of 4, 8 or 16 bytes where `wanted` holds; both addresses are multiples of that. The test is a predicate
// of the instruction, no branch.
template <int bytes> __device__ __forceinline__ void copy_if(bool wanted, float *shared, const float *global)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(shared);
    if (bytes == 16)
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0;"
                     "@p cp.async.cg.shared.global.L2::128B [%0], [%1], 16; }" ::"r"(address),
                     "l"(global), "r"((int)wanted)
                     : "memory");
    else
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0;"
                     "@p cp.async.ca.shared.global.L2::128B [%0], [%1], %3; }" ::"r"(address),
                     "l"(global), "r"((int)wanted), "n"(bytes)
                     : "memory");
}

// Copies so many of the `bytes`, and puts zeros behind them.
template <int bytes> __device__ __forceinline__ void copy_or_zero(int copied, float *shared, const float *global)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(shared);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(copied)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %3, %2;" ::"r"(address), "l"(global), "r"(copied),
                     "n"(bytes)
                     : "memory");
}

// What was started since the last one becomes a group.
__device__ __forceinline__ void end_copy_group()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int groups> __device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

#endif
