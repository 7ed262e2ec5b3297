/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_OCCUPANCY_H
#define HONE_RUNTIME_DEVICE_OCCUPANCY_H

#include "cache/record/record.h"
#include "runtime/device/device.h"

/* Theoretical occupancy of a kernel (resident warps of an SM over its limit, 0 to 1) by cuda_occupancy.h; 0 when not
 * one block fits. threads: of a block; dynamic_bytes: dynamic shared memory of a block. */
double hn_occupancy(const struct hn_device *device, const struct hn_resources *resources, int64_t threads,
                    int64_t dynamic_bytes);
/* The same with so many percent of the SM's memory as shared memory (0 to 100); -1: as many as are of use. */
double hn_occupancy_carved(const struct hn_device *device, const struct hn_resources *resources, int64_t threads,
                           int64_t dynamic_bytes, int64_t carveout);

/* Whether not one block of the kernel fits. Then `why` says which limit it exceeds and by how much, as "1024 threads of
 * 96 registers take 98304; NVIDIA H200 has 65536 for a block: 32768 too many". */
bool hn_occupancy_exceeds(const struct hn_device *device, const struct hn_resources *resources, int64_t threads,
                          int64_t dynamic_bytes, char *why, size_t size);

#endif
