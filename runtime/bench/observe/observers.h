/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_OBSERVE_OBSERVERS_H
#define HONE_RUNTIME_BENCH_OBSERVE_OBSERVERS_H

#include "runtime/bench/bench.h"

/* All observers, up to a NULL, in the order in which they look at a variant. */
extern const struct hn_observer *const hn_observers[];

extern const struct hn_observer hn_audit_observer;
extern const struct hn_observer hn_clocks_observer;
extern const struct hn_observer hn_conditions_observer;
extern const struct hn_observer hn_counters_observer;
extern const struct hn_observer hn_energy_observer;
extern const struct hn_observer hn_staging_observer;

/* Of a list as hn_bench_request has it: HN_EUSAGE where it names somebody else. */
enum hn_status hn_observers_check(const char *observe, struct hn_error *err);

/* Takes another window of the same variant into account; one in which no energy was seen changes nothing. Sticky. */
void hn_energy_add(struct hn_bindings *observed, const struct hn_bindings *window, struct hn_error *err);

#endif
