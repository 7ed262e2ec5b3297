// SPDX-License-Identifier: MIT
// Blocks of a cluster (PTX, sm_90 and later): they run at once and reach each other's shared memory.
#ifndef HONE_CLUSTER_CUH
#define HONE_CLUSTER_CUH

// This block's number in its cluster.
__device__ __forceinline__ unsigned cluster_rank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// All threads of the cluster; what they wrote before is visible to all after it.
__device__ __forceinline__ void cluster_synchronize()
{
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The word at the same place of another block's shared memory.
__device__ __forceinline__ float4 read_of_rank(const float *shared, unsigned rank)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(shared);
    float4 word;
    asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %4, %5; ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [a]; }"
                 : "=f"(word.x), "=f"(word.y), "=f"(word.z), "=f"(word.w)
                 : "r"(address), "r"(rank)
                 : "memory");
    return word;
}

#endif
