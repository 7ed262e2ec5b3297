// SPDX-License-Identifier: MIT
// Loads of what is read once, by words of 4, 8 or 16 bytes: past the L1 cache, and 256 bytes at a time into the L2 cache,
// so that DRAM is asked for two lines at once (PTX ld.global.nc.L1::no_allocate.L2::256B, sm_80 and later).
#ifndef HONE_LOAD_ONCE_CUH
#define HONE_LOAD_ONCE_CUH

__device__ __forceinline__ float load_once(const float *word)
{
    float value;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.f32 %0, [%1];" : "=f"(value) : "l"(word));
    return value;
}

__device__ __forceinline__ float2 load_once(const float2 *word)
{
    float2 value;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "l"(word));
    return value;
}

__device__ __forceinline__ float4 load_once(const float4 *word)
{
    float4 value;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "l"(word));
    return value;
}

#endif
