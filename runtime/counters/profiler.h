/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COUNTERS_PROFILER_H
#define HONE_RUNTIME_COUNTERS_PROFILER_H

#include "runtime/counters/counters.h"
#include "runtime/device/driver.h"

/* Reads the GPU's counters of what is launched. It has room for a few at a time, so that the same has to be launched again
 * for each of several laps, by whoever knows how to make the launch start from the same state:
 *
 *   begin; do { prepare and wait; start_lap; launch; end_lap } while it wants more; read; stop
 *
 * Between begin and stop the device counts, which slows launches: nothing is timed then. */
struct hn_profiler;

/* Loads CUPTI and chooses, of HN_COUNTERS, what the context's device can tell. Borrows the context. All of these are
 * sticky. HN_ERUN says in one line what is missing and how it is got: the library, a permission, a device that can be
 * counted. */
void hn_profiler_create(struct hn_context *context, struct hn_profiler **profiler, struct hn_error *err);
void hn_profiler_destroy(struct hn_profiler *profiler);

/* Takes hold of the device's counters, until hn_profiler_stop. */
void hn_profiler_begin(struct hn_profiler *profiler, struct hn_error *err);
void hn_profiler_start_lap(struct hn_profiler *profiler, struct hn_error *err);
/* Waits for what was launched. True: do another lap. */
bool hn_profiler_end_lap(struct hn_profiler *profiler, struct hn_error *err);
/* What was counted in all laps, by hn_counter_names. */
void hn_profiler_read(struct hn_profiler *profiler, struct hn_bindings *observed, struct hn_error *err);
/* Lets go of the device, also after a failure. */
void hn_profiler_stop(struct hn_profiler *profiler);

#endif
