// SPDX-License-Identifier: MIT
// Copies of boxes of a matrix between global and shared memory by the tensor memory accelerator (PTX cp.async.bulk.tensor,
// sm_90 and later). A tensor map, which the host makes, says where the matrix lies and how large a box is. One thread asks
// for a copy. What lies outside of the matrix is read as 0 and not written.
#ifndef HONE_TENSOR_COPY_CUH
#define HONE_TENSOR_COPY_CUH

#include "mbarrier.cuh"

struct __align__(64) tensor_map { // CUtensorMap
    unsigned long long opaque[16];
};

// The box whose first element is the x-th of line y. The barrier counts its bytes.
__device__ __forceinline__ void load_box(void *shared, const tensor_map *map, int x, int y, mbarrier *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
                 "[%4];" ::"r"(shared_address(shared)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

// The same of a stack of matrices, of the z-th.
__device__ __forceinline__ void load_box(void *shared, const tensor_map *map, int x, int y, int z, mbarrier *barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
                 "[%5];" ::"r"(shared_address(shared)),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
                 : "memory");
}

// A box of a matrix to the same place of all blocks of the cluster whose bit is set, whose barriers count their own bytes.
__device__ __forceinline__ void load_box_for(unsigned blocks, void *shared, const tensor_map *map, int x, int y,
                                             mbarrier *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(shared)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"((unsigned short)blocks)
                 : "memory");
}

__device__ __forceinline__ void store_box(const void *shared, const tensor_map *map, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
                 "r"(y), "r"(shared_address(shared))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ __forceinline__ void store_box(const void *shared, const tensor_map *map, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
                 "r"(y), "r"(z), "r"(shared_address(shared))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until all but `count` of this thread's last stores have read shared memory.
template <int count> __device__ __forceinline__ void wait_for_reads_of_stores()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(count) : "memory");
}

// What threads wrote to shared memory before is seen by copies after it.
__device__ __forceinline__ void make_visible_to_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void prefetch_map(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

#endif
