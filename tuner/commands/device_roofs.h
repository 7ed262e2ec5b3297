/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_DEVICE_ROOFS_H
#define HONE_TUNER_COMMANDS_DEVICE_ROOFS_H

#include "cache/store/store_roofs.h"
#include "runtime/device/driver.h"

/* Measures in this very process what the device can do at best, in turn with tuners that work on it. HN_ERUN. */
enum hn_status hn_device_measure_roofs(const struct hn_driver *driver, const struct hn_device *device,
                                       struct hn_roofs *roofs, struct hn_error *err);

#endif
