/* SPDX-License-Identifier: MIT */
#include "runtime/device/limits.h"

#include <string.h>

const char *const hn_device_limit_names[HN_DEVICE_LIMITS] = {"sm_count", "max_threads",
                                                             "shared_bytes", "l2_bytes"};

size_t hn_device_find_limit(const char *name)
{
    size_t i = 0;
    while (i < HN_DEVICE_LIMITS && strcmp(hn_device_limit_names[i], name) != 0)
        i++;
    return i;
}

int64_t hn_device_limit(const struct hn_device *device, size_t limit)
{
    const int64_t limits[HN_DEVICE_LIMITS] = {device->identity.sm_count,
                                              device->max_threads_per_block,
                                              device->shared_per_block_optin, device->l2_bytes};
    return limits[limit];
}
