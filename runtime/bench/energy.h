/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_ENERGY_H
#define HONE_RUNTIME_BENCH_ENERGY_H

#include "cache/record/energy.h"
#include "runtime/bench/measure.h"
#include "runtime/device/energy_meter.h"

/* One window of so many seconds: the work is launched back to back, as the sampler's regime has it but without flushes
 * (cold: over sets of the arguments that do not fit the L2 cache together), while the meter runs. *idle_w is what the idle
 * GPU takes, measured first where it is 0. energy is left as it is where launches can not follow one another. */
enum hn_status hn_energy_measure(struct hn_sampler *sampler, const struct hn_work *work, struct hn_energy_meter *meter,
                                 double seconds, double *idle_w, struct hn_energy *energy, struct hn_error *err);

#endif
