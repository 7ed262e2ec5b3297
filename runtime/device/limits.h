/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_LIMITS_H
#define HONE_RUNTIME_DEVICE_LIMITS_H

#include "runtime/device/device.h"

/* What configs may name of the device: "sm_count" multiprocessors, "max_threads" of a block, "shared_bytes" that a block
 * may have, static and dynamic, and "l2_bytes" of the L2 cache. */
enum { HN_DEVICE_LIMITS = 4 };
extern const char *const hn_device_limit_names[HN_DEVICE_LIMITS];

/* The place of a name in the list; HN_DEVICE_LIMITS: it is none. */
size_t hn_device_find_limit(const char *name);
/* Of a device; 0 where it is not known, as of one from the table of architectures. */
int64_t hn_device_limit(const struct hn_device *device, size_t limit);

#endif
