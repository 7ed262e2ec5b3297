/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_ROOFS_H
#define HONE_RUNTIME_BENCH_ROOFS_H

#include "cache/store/store_roofs.h"
#include "runtime/device/driver.h"
#include "runtime/compile/image.h"
#include "runtime/compile/source.h"

/* Measuring what a device can do at best: copying (the fastest of a device-to-device memcpy and two kernels), reads
 * that the L2 cache serves, multiply-adds, launches of nothing, and products on the tensor cores. Takes less than a
 * second. */

/* The kernels for it, to be compiled for what only the device's architecture has. */
extern const char hn_roofs_source[];
extern const struct hn_source hn_roofs_program;

/* Whether a device has tensor cores that multiply such numbers, and there is a kernel that shows it: of compute
 * capability 10 and 11 they are fed in a way that no kernel here knows. */
bool hn_roofs_have_pipe(int capability, enum hn_tensor_pipe pipe);

/* The median of several runs of each, on warm clocks. HN_ERUN: a driver error. */
enum hn_status hn_roofs_measure(struct hn_context *context, const struct hn_image *image, struct hn_roofs *roofs,
                                struct hn_error *err);

#endif
