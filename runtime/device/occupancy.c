/* SPDX-License-Identifier: MIT */
#include "runtime/device/occupancy.h"

#include <cuda_occupancy.h>
#include <stdio.h>

static cudaOccDeviceProp properties_of(const struct hn_device *device)
{
    return (cudaOccDeviceProp){
        .computeMajor = device->identity.capability / 10,
        .computeMinor = device->identity.capability % 10,
        .maxThreadsPerBlock = device->max_threads_per_block,
        .maxThreadsPerMultiprocessor = device->max_threads_per_sm,
        .regsPerBlock = device->registers_per_block,
        .regsPerMultiprocessor = device->registers_per_sm,
        .warpSize = device->warp_size,
        .sharedMemPerBlock = (size_t)device->shared_per_block,
        .sharedMemPerMultiprocessor = (size_t)device->shared_per_sm,
        .numSms = device->identity.sm_count > 0 ? device->identity.sm_count : 1,
        .sharedMemPerBlockOptin = (size_t)device->shared_per_block_optin,
        .reservedSharedMemPerBlock = (size_t)device->shared_reserved_per_block,
    };
}

double hn_occupancy(const struct hn_device *device, const struct hn_resources *resources,
                    int64_t threads, int64_t dynamic_bytes)
{
    return hn_occupancy_carved(device, resources, threads, dynamic_bytes,
                               SHAREDMEM_CARVEOUT_DEFAULT);
}

double hn_occupancy_carved(const struct hn_device *device, const struct hn_resources *resources,
                           int64_t threads, int64_t dynamic_bytes, int64_t carveout)
{
    if (threads < 1 || threads > device->max_threads_per_block || dynamic_bytes < 0 ||
        dynamic_bytes > device->shared_per_block_optin - resources->shared_bytes)
        return 0;

    cudaOccDeviceProp properties = properties_of(device);
    cudaOccFuncAttributes attributes = {
        .maxThreadsPerBlock = device->max_threads_per_block,
        .numRegs = resources->registers,
        .sharedSizeBytes = (size_t)resources->shared_bytes,
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = (size_t)dynamic_bytes,
        .numBlockBarriers = 1,
    };
    cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE, .carveoutConfig = (int)carveout};
    cudaOccResult result = {.activeBlocksPerMultiprocessor = 0};
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                (int)threads,
                                                (size_t)dynamic_bytes) != CUDA_OCC_SUCCESS)
        return 0;

    int warps_per_block = ((int)threads + device->warp_size - 1) / device->warp_size;
    int warps_per_sm = device->max_threads_per_sm / device->warp_size;
    return (double)(result.activeBlocksPerMultiprocessor * warps_per_block) / warps_per_sm;
}

/* Every warp is a whole one, and a thread's registers come in portions of 8. */
static int64_t registers_of(const struct hn_device *device, int registers, int64_t threads)
{
    int64_t warps = (threads + device->warp_size - 1) / device->warp_size;
    return (registers + 7) / 8 * 8 * warps * device->warp_size;
}

bool hn_occupancy_exceeds(const struct hn_device *device, const struct hn_resources *resources,
                          int64_t threads, int64_t dynamic_bytes, char *why, size_t size)
{
    const char *name = device->identity.name;
    long long registers = registers_of(device, resources->registers, threads);
    long long shared = resources->shared_bytes + dynamic_bytes;
    if (resources->max_threads > 0 && threads > resources->max_threads)
        snprintf(why, size,
                 "a block of %lld threads; the kernel is compiled for %d at most "
                 "(__launch_bounds__): %lld too many",
                 (long long)threads, resources->max_threads,
                 (long long)threads - resources->max_threads);
    else if (hn_occupancy(device, resources, threads, dynamic_bytes) > 0)
        return false;
    else if (registers > device->registers_per_block)
        snprintf(why, size,
                 "%lld threads of %d registers take %lld; %s has %d for a block: %lld too many",
                 (long long)threads, resources->registers, registers, name,
                 device->registers_per_block, registers - device->registers_per_block);
    else if (shared > device->shared_per_block_optin)
        snprintf(why, size,
                 "%d bytes of static and %lld of dynamic shared memory are %lld; %s has %d for a "
                 "block: %lld too many",
                 resources->shared_bytes, (long long)dynamic_bytes, shared, name,
                 device->shared_per_block_optin, shared - device->shared_per_block_optin);
    else
        snprintf(why, size,
                 "not one block of %lld threads with %d registers each and %lld bytes of shared "
                 "memory fits on %s",
                 (long long)threads, resources->registers, shared, name);
    return true;
}
