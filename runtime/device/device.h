/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_DEVICE_H
#define HONE_RUNTIME_DEVICE_DEVICE_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "cache/record/record.h"

/* A GPU's identity and limits, read from the driver or, for compiling without a GPU, from the table of architectures
 * (name "sm_90", memory and clocks 0). */
struct hn_device {
    struct hn_device_identity identity;
    int ordinal;       /* -1 when it comes from the table */
    char uuid[48];     /* "GPU-…", as nvidia-smi writes it */
    char driver[32];   /* the driver's version, "580.159.04" where /proc/driver/nvidia/version tells, else "CUDA 13.0" */
    int warp_size;
    int max_threads_per_block;
    int max_block[3];
    int max_grid[3];
    int max_threads_per_sm;
    int max_blocks_per_sm;
    int registers_per_block;
    int registers_per_sm;
    int shared_per_block;       /* static, bytes */
    int shared_per_block_optin; /* static + dynamic, bytes */
    int shared_per_sm;
    int shared_reserved_per_block;
    int l2_bytes;
    int64_t memory_bytes;
    int clock_khz;        /* SM, maximum */
    int memory_clock_khz;
    int memory_bus_bits;
    int copy_engines;
    int max_persisting_l2_bytes;
    int max_access_window_bytes;
    bool cluster_launch;
    bool integrated;
};

/* Its numbers that the driver tells: X(key in JSON, member, CU_DEVICE_ATTRIBUTE_…) */
#define HN_DEVICE_NUMBERS(X)                                                                                           \
    X("warp_size", warp_size, WARP_SIZE)                                                                               \
    X("max_threads_per_block", max_threads_per_block, MAX_THREADS_PER_BLOCK)                                           \
    X("max_block_x", max_block[0], MAX_BLOCK_DIM_X)                                                                    \
    X("max_block_y", max_block[1], MAX_BLOCK_DIM_Y)                                                                    \
    X("max_block_z", max_block[2], MAX_BLOCK_DIM_Z)                                                                    \
    X("max_grid_x", max_grid[0], MAX_GRID_DIM_X)                                                                       \
    X("max_grid_y", max_grid[1], MAX_GRID_DIM_Y)                                                                       \
    X("max_grid_z", max_grid[2], MAX_GRID_DIM_Z)                                                                       \
    X("max_threads_per_sm", max_threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR)                                        \
    X("max_blocks_per_sm", max_blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR)                                           \
    X("registers_per_block", registers_per_block, MAX_REGISTERS_PER_BLOCK)                                             \
    X("registers_per_sm", registers_per_sm, MAX_REGISTERS_PER_MULTIPROCESSOR)                                          \
    X("shared_per_block", shared_per_block, MAX_SHARED_MEMORY_PER_BLOCK)                                               \
    X("shared_per_block_optin", shared_per_block_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                             \
    X("shared_per_sm", shared_per_sm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                                            \
    X("shared_reserved_per_block", shared_reserved_per_block, RESERVED_SHARED_MEMORY_PER_BLOCK)                        \
    X("l2_bytes", l2_bytes, L2_CACHE_SIZE)                                                                             \
    X("clock_khz", clock_khz, CLOCK_RATE)                                                                              \
    X("memory_clock_khz", memory_clock_khz, MEMORY_CLOCK_RATE)                                                         \
    X("memory_bus_bits", memory_bus_bits, GLOBAL_MEMORY_BUS_WIDTH)                                                     \
    X("copy_engines", copy_engines, ASYNC_ENGINE_COUNT)                                                                \
    X("max_persisting_l2_bytes", max_persisting_l2_bytes, MAX_PERSISTING_L2_CACHE_SIZE)                                \
    X("max_access_window_bytes", max_access_window_bytes, MAX_ACCESS_POLICY_WINDOW_SIZE)

/* "sm_90", "90", "sm_90a": fills in the limits of that architecture. HN_EUSAGE lists the known ones. */
enum hn_status hn_device_for_architecture(const char *architecture, struct hn_device *device, struct hn_error *err);

/* "sm_90" of "sm_90" or "90"; with `specific` "sm_90a", which opens to the compiler what no other architecture has. There
 * is no such thing before compute capability 9.0, and a suffix that is there stays. */
#define HN_ARCHITECTURE_SIZE 16
void hn_architecture_name(const char *architecture, bool specific, char name[HN_ARCHITECTURE_SIZE]);

extern const struct hn_structure hn_device_structure;

/* What configs may name of the device: "sm_count" multiprocessors, "max_threads" of a block, "shared_bytes" that a block
 * may have, static and dynamic, and "l2_bytes" of the L2 cache. */
enum { HN_DEVICE_LIMITS = 4 };
extern const char *const hn_device_limit_names[HN_DEVICE_LIMITS];

/* Of a device; 0 where it is not known, as of one from the table of architectures. */
int64_t hn_device_limit(const struct hn_device *device, size_t limit);

/* Theoretical occupancy of a kernel (resident warps of an SM over its limit, 0 to 1) by the toolkit's cuda_occupancy.h; 0
 * when not one block fits. threads: of a block; dynamic_bytes: dynamic shared memory of a block; carveout: so many percent
 * of the SM's memory are shared memory (0 to 100), -1: as many as are of use. */
double hn_occupancy(const struct hn_device *device, const struct hn_resources *resources, int64_t threads,
                    int64_t dynamic_bytes, int64_t carveout);

/* Whether not one block of the kernel fits. Then `why` says which limit it exceeds and by how much, as "1024 threads of
 * 96 registers take 98304; NVIDIA H200 has 65536 for a block: 32768 too many". */
bool hn_occupancy_exceeds(const struct hn_device *device, const struct hn_resources *resources, int64_t threads,
                          int64_t dynamic_bytes, char *why, size_t size);

#endif
