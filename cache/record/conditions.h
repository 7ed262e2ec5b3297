/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_CONDITIONS_H
#define HONE_CACHE_RECORD_CONDITIONS_H

#include "base/schema.h"
#include "base/text.h"

/* What NVML said of a GPU at the end of a measurement, or less than a tenth of a second before. 0: it did not say. */
struct hn_conditions {
    int sm_mhz;
    int memory_mhz;
    double power_w; /* the mean of the last second, as NVML has it from Ampere on */
    int temperature_c;
    unsigned held_down; /* what held the clocks down: the bits of NVML's clocks event reasons that take speed away */
};
extern const struct hn_structure hn_conditions_structure;

/* Of NVML's clocks event reasons those that take speed away; being idle, and clocks that somebody set, do not. */
unsigned hn_slowdowns_of(unsigned long long reasons);
/* "the power cap, the temperature": what held the clocks down, in words; "" for nothing. */
void hn_slowdowns_describe(unsigned slowdowns, char *text, size_t size);

bool hn_conditions_are_known(const struct hn_conditions *conditions);
/* "SM at 1980 MHz, memory at 3201 MHz, 412 W, 54 °C; held down by the power cap": what is known of them. */
void hn_conditions_append(struct hn_text *text, const struct hn_conditions *conditions);

#endif
