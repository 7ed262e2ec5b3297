/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_CONTEXT_H
#define HONE_RUNTIME_DEVICE_CONTEXT_H

#include <stdbool.h>

#include "runtime/device/driver.h"

/* What of the L2 cache is set aside, and for whom: runtime/device/l2_set_aside.h. */
struct hn_l2_state {
    const void *user;
    int64_t set_aside;
};

/* The device's primary context, made current, and the one stream that all work of a bench goes through. The stream
 * synchronises with the default stream, so that a plain cuMemcpy waits for what was launched before it. */
struct hn_context {
    const struct hn_driver *driver;
    const struct hn_device *device;
    CUdevice handle;
    CUcontext primary;
    CUstream stream;
    struct hn_l2_state l2;
    bool dead; /* a call returned what cuda.h calls the end of the process */
};

enum hn_status hn_context_init(struct hn_context *context, const struct hn_driver *driver,
                               const struct hn_device *device, struct hn_error *err);
void hn_context_finish(struct hn_context *context);

/* hn_driver_check that also remembers whether the context is dead. */
enum hn_status hn_context_check(struct hn_context *context, CUresult result, const char *what, struct hn_error *err);
enum hn_status hn_context_synchronize(struct hn_context *context, const char *what, struct hn_error *err);

#endif
