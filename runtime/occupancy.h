/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_OCCUPANCY_H
#define HONE_RUNTIME_OCCUPANCY_H

#include "cache/record.h"
#include "runtime/device.h"

/* Theoretical occupancy of a kernel (resident warps of an SM over its limit, 0 to 1) by cuda_occupancy.h; 0 when not
 * one block fits. threads: of a block; dynamic_bytes: dynamic shared memory of a block. */
double hn_occupancy(const struct hn_device *device, const struct hn_resources *resources, int64_t threads,
                    int64_t dynamic_bytes);

#endif
