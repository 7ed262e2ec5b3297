/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_FORMAT_H
#define HONE_TUNER_REPORT_FORMAT_H

#include "cache/record/record.h"
#include "runtime/plan/plan.h"

/* Figures as people read them, in buffers of the caller. */
enum { HN_FORMAT_SIZE = 64 };

/* "12.34 us", "1.234 ms", "2.1 s": four significant digits. */
void hn_format_time(double us, char text[HN_FORMAT_SIZE]);
/* "42 s", "3 min 20 s", "1 h 05 min". */
void hn_format_duration(double seconds, char text[HN_FORMAT_SIZE]);
/* "12.4 mJ"; "" for none. */
void hn_format_energy(double joules, char text[HN_FORMAT_SIZE]);
/* "cold L2"; "L2 state not recorded". */
void hn_format_regime(const char *regime, char text[HN_FORMAT_SIZE]);
/* Half the interval over the median: "0.3%"; "?" when there is none. */
void hn_format_spread(const struct hn_timing *timing, char text[HN_FORMAT_SIZE]);
/* "12.34 us ±0.3%". */
void hn_format_timing(const struct hn_timing *timing, char text[HN_FORMAT_SIZE]);
/* A share as a whole number of percent, halves up as in the page of the report: 0.125 is 13. */
int hn_format_percent(double share);
/* "12.3 KiB". */
void hn_format_bytes(double bytes, char text[HN_FORMAT_SIZE]);

/* The figure of merit of a plan: its objective when that is a metric, else its last metric; NULL when it has none. */
const char *hn_format_merit_name(const struct hn_plan *plan);
/* "gflops 5432.1"; "" when there is none. */
void hn_format_merit(const struct hn_plan *plan, const struct hn_record *record, char text[HN_FORMAT_SIZE]);
double hn_format_merit_value(const struct hn_plan *plan, const struct hn_record *record); /* NaN when there is none */

#endif
