/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COUNTERS_METRICS_H
#define HONE_RUNTIME_COUNTERS_METRICS_H

#include "cache/record/counters.h"

/* What CUPTI calls each counter. */
extern const char *const hn_counter_metrics[HN_COUNTER_COUNT];

#endif
