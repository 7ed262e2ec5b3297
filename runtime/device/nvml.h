/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_NVML_H
#define HONE_RUNTIME_DEVICE_NVML_H

/* What NVML says of the GPUs before the driver is up, which takes ten times as long: a guess, by which work can begin
 * that is thrown away if it turns out wrong. */

/* The compute capability (90) of the device that hn_driver_select would choose; 0 when NVML is not there or leaves it
 * open: GPUs that differ, of which none is named by its UUID. */
int hn_nvml_capability(const char *selector);

#endif
