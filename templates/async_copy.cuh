// SPDX-License-Identifier: MIT
// Copies from global to shared memory that pass by the registers (PTX cp.async, sm_80 and later). Inline PTX, because
// the toolkit's headers for the same take longer to compile than a kernel does.
#ifndef HONE_ASYNC_COPY_CUH
#define HONE_ASYNC_COPY_CUH

// Starts a copy of 4, 8 or 16 bytes; both addresses are multiples of that. 16-byte copies leave the L1 cache alone.
template <int bytes> __device__ __forceinline__ void async_copy(void *shared, const void *global)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(shared);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(global), "n"(bytes)
                     : "memory");
}

// Waits for all copies that this thread has started. Others see them after a barrier.
__device__ __forceinline__ void async_copy_wait()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif
