/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_HEALTH_H
#define HONE_RUNTIME_DEVICE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/schema.h"
#include "base/text.h"
#include "cache/record/record.h"

/* NVML's clocks event reasons as far as they take speed away: being idle, and clocks that somebody set, do not. Sets of them
 * are bits. Described, they are "the power cap, the temperature"; "" for none. */
void hn_slowdowns_describe(unsigned slowdowns, char *text, size_t size);

/* A record's "conditions": what NVML said of the GPU at the end of its measurement, or less than a tenth of a second before.
 * They have sm_mhz, memory_mhz, temperature_c, power_w (the mean of the last second, as NVML has it from Ampere on) and
 * held_down_by (a set), each where it is known. */
unsigned hn_conditions_held_down(const struct hn_bindings *observed);
/* "SM at 1980 MHz, memory at 3201 MHz, 412 W, 54 °C; held down by the power cap": what is known of them. */
void hn_conditions_append(struct hn_text *text, const struct hn_bindings *observed);

/* What else is going on with the GPU while we measure, as NVML tells: clocks held down, and other processes on it. NVML
 * (libnvidia-ml.so.1) is loaded at run time; without it nothing is watched, which `watching` says. */
struct hn_health {
    bool watching;
    unsigned checks;
    unsigned held_down;      /* checks in which a cap or a slowdown held the clocks down */
    unsigned reasons;        /* all slowdowns that were seen */
    unsigned other_processes; /* most seen at once */
    char process[128];       /* one of them: "python3 (pid 1234)" */
};

/* The compute capability (90) of the device that hn_driver_select would choose, before the driver is up, which takes ten
 * times as long: a guess, by which work can begin that is thrown away if it turns out wrong. 0 when NVML is not there or
 * leaves it open: GPUs that differ, of which none is named by its UUID. */
int hn_health_capability(const char *selector);

/* Reads what NVML says of one device. */
struct hn_health_watch;

/* NULL where there is no NVML, or it does not know the device. uuid: "GPU-…". */
struct hn_health_watch *hn_health_watch_create(const char *uuid);
void hn_health_watch_destroy(struct hn_health_watch *watch);

/* Adds a look at the clocks, and now and then at the processes, to health. A look costs some driver calls, so that looks
 * come 100 ms apart at least: more often the call does nothing. Returns the temperature by the last look; 0: not known. */
int hn_health_look(struct hn_health_watch *watch, struct hn_health *health);
/* Notes what the last look saw in place of a record's "conditions"; nothing where there was none, or watch is NULL. Sticky. */
void hn_health_note(const struct hn_health_watch *watch, struct hn_bindings *observed, struct hn_error *err);

/* Watts that the GPU may draw; 0: not known, or watch is NULL. */
double hn_health_power_limit(const struct hn_health_watch *watch);
/* What the GPU has consumed since the driver was loaded, a driver call of 2 to 15 ms; false where that is not counted. May be
 * called by another thread than looks. */
bool hn_health_energy(const struct hn_health_watch *watch, double *joules);

/* All but whether it was watched, which was so where somebody tells it. */
extern const struct hn_structure hn_health_structure;

/* Adds what another process has seen. */
void hn_health_add(struct hn_health *health, const struct hn_health *more);

#endif
