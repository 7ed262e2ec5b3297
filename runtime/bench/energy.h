/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_ENERGY_H
#define HONE_RUNTIME_BENCH_ENERGY_H

#include "runtime/bench/measure.h"
#include "runtime/device/energy_meter.h"

/* A record's "energy": what launches of it cost, one behind the other for some seconds, by the GPU's own counter.
 *   joules         a launch, on the average of the windows
 *   spread         half of what the windows differ by, over the average; 0 of one
 *   power_w        of the GPU meanwhile
 *   launch_us      from one launch to the next meanwhile
 *   idle_w         of the GPU with nothing to do, a second after it had
 *   seconds        that were measured, in all windows together
 *   windows
 *   temperature_c  at the end; 0: not known */

/* Takes another window of the same variant into account. Sticky. */
void hn_energy_add(struct hn_bindings *observed, const struct hn_bindings *window, struct hn_error *err);

/* One window of so many seconds: the work is launched back to back, as the sampler's regime has it but without flushes
 * (cold: over sets of the arguments that do not fit the L2 cache together), while the meter runs. *idle_w is what the idle
 * GPU takes, measured first where it is 0. Nothing is observed where launches can not follow one another. */
enum hn_status hn_energy_measure(struct hn_sampler *sampler, const struct hn_work *work, struct hn_energy_meter *meter,
                                 double seconds, double *idle_w, struct hn_bindings *observed, struct hn_error *err);

#endif
