/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_DEVICE_WATCH_H
#define HONE_TUNER_COMMANDS_DEVICE_WATCH_H

#include <stdbool.h>

#include "runtime/device/driver.h"

/* Prints a line a second for each GPU: clocks, power, temperature and what holds the clocks down, as NVML says; with json a
 * JSON object a line. Ends after so many seconds (0: never), and HN_EINTERRUPTED at a signal. HN_ERUN: no NVML. */
enum hn_status hn_device_watch(const struct hn_driver *driver, double seconds, bool json, struct hn_error *err);

#endif
