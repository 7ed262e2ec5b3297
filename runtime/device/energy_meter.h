/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_ENERGY_METER_H
#define HONE_RUNTIME_DEVICE_ENERGY_METER_H

#include <stdbool.h>

/* The GPU's energy counter (Volta and later), read by a thread beside whatever keeps the GPU busy. The counter moves in
 * steps, of 100 ms on an H100 and an H200, and reading it takes 2 to 15 ms: what counts is from step to step, whose moment is known
 * to the time of a reading. */
struct hn_energy_meter;

/* NULL where NVML is not there or the GPU (or a part of it, with MIG) has no counter. uuid: "GPU-…". */
struct hn_energy_meter *hn_energy_meter_create(const char *uuid);
/* NULL is fine. */
void hn_energy_meter_destroy(struct hn_energy_meter *meter);

/* False where no thread can be started. */
bool hn_energy_meter_start(struct hn_energy_meter *meter);
/* For how long it has measured, in seconds: from the first step behind the start to the last one. */
double hn_energy_meter_seconds(struct hn_energy_meter *meter);
/* Ends the thread; the mean power over those seconds, 0 where there are none. */
double hn_energy_meter_stop(struct hn_energy_meter *meter);
int hn_energy_meter_temperature(struct hn_energy_meter *meter);

#endif
