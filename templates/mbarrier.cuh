// SPDX-License-Identifier: MIT
// Barriers in shared memory (PTX mbarrier, sm_90 and later). A phase of one ends when all that are expected have arrived
// and as many bytes as were announced have been copied. Who waits names the parity of the phase that is to end; so phases
// 0, 1, 2, 3 are waited for by 0, 1, 0, 1.
#ifndef HONE_MBARRIER_CUH
#define HONE_MBARRIER_CUH

using mbarrier = unsigned long long;

__device__ __forceinline__ unsigned shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

__device__ __forceinline__ void barrier_init(mbarrier *barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Barriers that were initialised before are known to the copy engine, and to the other blocks of the cluster.
__device__ __forceinline__ void barriers_are_ready()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(mbarrier *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// The same barrier of another block of the cluster. This orders what copies and products read, which has ended, but nothing
// else: an order among all blocks' accesses (release.cluster) would have to wait for all that is under way.
__device__ __forceinline__ void barrier_arrive_at_rank(mbarrier *barrier, unsigned rank)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(shared_address(barrier)),
                 "r"(rank)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive_and_expect(mbarrier *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ bool barrier_has_ended(mbarrier *barrier, int parity)
{
    int ended;
    asm volatile("{ .reg .pred ended; mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2; selp.s32 %0, 1, 0, ended; }"
                 : "=r"(ended)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
    return ended;
}

__device__ __forceinline__ void barrier_wait(mbarrier *barrier, int parity)
{
    while (!barrier_has_ended(barrier, parity))
        ;
}

#endif
