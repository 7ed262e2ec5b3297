/* SPDX-License-Identifier: MIT */
#include "runtime/device/device.h"

#include <cuda_occupancy.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/schema.h"
#include "base/text.h"

/* What differs between architectures: the CUDA C++ Programming Guide's table "Technical
 * Specifications per Compute Capability", shared memory in KiB. Registers are 64 Ki a block and an
 * SM, a block has at most 1024 threads, and from 8.0 on the driver keeps 1 KiB of shared memory of
 * each block, on all of them. */
static const struct architecture {
    int capability;
    int threads_per_sm;
    int blocks_per_sm;
    int shared_per_sm;
    int shared_per_block_optin;
} architectures[] = {
    {75, 1024, 16, 64, 64},    {80, 2048, 32, 164, 163},  {86, 1536, 16, 100, 99},
    {87, 1536, 16, 164, 163},  {88, 1536, 16, 100, 99},   {89, 1536, 24, 100, 99},
    {90, 2048, 32, 228, 227},  {100, 2048, 32, 228, 227}, {103, 2048, 32, 228, 227},
    {110, 1536, 24, 228, 227}, {120, 1536, 24, 100, 99},  {121, 1536, 24, 100, 99},
};
enum { ARCHITECTURE_COUNT = sizeof architectures / sizeof *architectures };

/* "sm_90a" has the limits of sm_90: the suffix only opens instructions to the compiler. */
static const struct architecture *find_architecture(const char *text, const char **suffix)
{
    if (strncmp(text, "sm_", 3) == 0 || strncmp(text, "SM_", 3) == 0)
        text += 3;
    if (!hn_is_digit(*text))
        return NULL;
    char *end = NULL;
    long capability = strtol(text, &end, 10);
    if (strcmp(end, "") != 0 && strcmp(end, "a") != 0 && strcmp(end, "f") != 0)
        return NULL;
    *suffix = end;
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
        if (architectures[i].capability == capability)
            return &architectures[i];
    return NULL;
}

enum hn_status hn_device_for_architecture(const char *architecture, struct hn_device *device,
                                          struct hn_error *err)
{
    const char *suffix = "";
    const struct architecture *found = find_architecture(architecture, &suffix);
    if (found == NULL) {
        struct hn_text known HN_ENDED_BY(hn_text_finish) = {0};
        for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
            hn_text_printf(&known, "%ssm_%d", i > 0 ? " " : "", architectures[i].capability);
        hn_fail(err, HN_EUSAGE, "unknown architecture '%.40s'; known are %s", architecture,
                known.data != NULL ? known.data : "");
        return HN_EUSAGE;
    }
    /* A matter of the chip, not of the architecture: those of an A100 and an H200 as they say of
     * themselves, and for the others what rules nothing out. */
    int persisting_mib = found->capability == 80 ? 30 : found->capability == 90 ? 37 : 128;
    *device = (struct hn_device){
        .identity.capability = found->capability,
        .ordinal = -1,
        .warp_size = 32,
        .max_threads_per_block = 1024,
        .max_block = {1024, 1024, 64},
        .max_grid = {INT_MAX, 65535, 65535},
        .max_threads_per_sm = found->threads_per_sm,
        .max_blocks_per_sm = found->blocks_per_sm,
        .registers_per_block = 65536,
        .registers_per_sm = 65536,
        .shared_per_block = 48 * 1024,
        .shared_per_block_optin = found->shared_per_block_optin * 1024,
        .shared_per_sm = found->shared_per_sm * 1024,
        .shared_reserved_per_block = found->capability >= 80 ? 1024 : 0,
        .max_persisting_l2_bytes = found->capability >= 80 ? persisting_mib << 20 : 0,
        .max_access_window_bytes = found->capability >= 80 ? 128 << 20 : 0,
        .cluster_launch = found->capability >= 90,
    };
    snprintf(device->identity.name, sizeof device->identity.name, "sm_%d%s", found->capability,
             suffix);
    return HN_OK;
}

void hn_architecture_name(const char *architecture, bool specific, char name[HN_ARCHITECTURE_SIZE])
{
    const char *number = strncmp(architecture, "sm_", 3) == 0 ? architecture + 3 : architecture;
    bool plain = number[strspn(number, "0123456789")] == '\0';
    snprintf(name, HN_ARCHITECTURE_SIZE, "sm_%.8s%s", number,
             specific && plain && atoi(number) >= 90 ? "a" : "");
}

#define STRING(name, member) HN_NEEDED(name), HN_CHARS(hn_device, member)
#define NUMBER(name, member) HN_NEEDED(name), .kind = HN_FIELD_COUNT, HN_AT(hn_device, member)
#define FLAG(name, member) HN_NEEDED(name), .kind = HN_FIELD_FLAG, HN_AT(hn_device, member)

static const struct hn_field fields[] = {
    {STRING("name", identity.name)},
    {STRING("mig_profile", identity.mig_profile)},
    {STRING("uuid", uuid)},
    {STRING("driver", driver)},
    {NUMBER("compute_capability", identity.capability)},
    {NUMBER("sm_count", identity.sm_count)},
    {NUMBER("ordinal", ordinal), .least = -1},
#define X(key, member, attribute) {NUMBER(key, member)},
    HN_DEVICE_NUMBERS(X)
#undef X
        {HN_NEEDED("memory_bytes"), .kind = HN_FIELD_INDEX, HN_AT(hn_device, memory_bytes)},
    {FLAG("cluster_launch", cluster_launch)},
    {FLAG("integrated", integrated)},
};
const struct hn_structure hn_device_structure = HN_STRUCTURE(hn_device, fields, NULL);

const char *const hn_device_limit_names[HN_DEVICE_LIMITS] = {"sm_count", "max_threads",
                                                             "shared_bytes", "l2_bytes"};

int64_t hn_device_limit(const struct hn_device *device, size_t limit)
{
    const int64_t limits[HN_DEVICE_LIMITS] = {device->identity.sm_count,
                                              device->max_threads_per_block,
                                              device->shared_per_block_optin, device->l2_bytes};
    return limits[limit];
}

/* Occupancy. */

double hn_occupancy(const struct hn_device *device, const struct hn_resources *resources,
                    int64_t threads, int64_t dynamic_bytes, int64_t carveout)
{
    if (threads < 1 || threads > device->max_threads_per_block || dynamic_bytes < 0 ||
        dynamic_bytes > device->shared_per_block_optin - resources->shared_bytes)
        return 0;

    cudaOccDeviceProp properties = {
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

bool hn_occupancy_exceeds(const struct hn_device *device, const struct hn_resources *resources,
                          int64_t threads, int64_t dynamic_bytes, char *why, size_t size)
{
    const char *name = device->identity.name;
    /* every warp is a whole one, and a thread's registers come in portions of 8 */
    int64_t warps = (threads + device->warp_size - 1) / device->warp_size;
    long long registers = (resources->registers + 7) / 8 * 8 * warps * device->warp_size;
    long long shared = resources->shared_bytes + dynamic_bytes;
    if (resources->max_threads > 0 && threads > resources->max_threads)
        snprintf(why, size,
                 "a block of %lld threads; the kernel is compiled for %d at most "
                 "(__launch_bounds__): %lld too many",
                 (long long)threads, resources->max_threads,
                 (long long)threads - resources->max_threads);
    else if (hn_occupancy(device, resources, threads, dynamic_bytes, SHAREDMEM_CARVEOUT_DEFAULT) >
             0)
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
