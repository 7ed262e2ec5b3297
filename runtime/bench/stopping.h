/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_STOPPING_H
#define HONE_RUNTIME_BENCH_STOPPING_H

#include <stdbool.h>

#include "base/statistics.h"

/* When enough samples have been taken. Times are of one launch, in microseconds. */
struct hn_stopping_rule {
    double target;        /* relative half width of the interval to reach */
    double resolution_us; /* of a sample: an interval as narrow as this is narrow enough */
    double censor_us;     /* what there is to beat; 0: nothing */
    bool full;            /* never stop for being slower */
    bool clean;           /* the host is in none of the samples so far, even if there is but one */
    size_t min_samples;
    size_t max_samples;
    double budget_ms;
};

enum hn_stop {
    HN_STOP_NOT,
    HN_STOP_PRECISE,
    HN_STOP_SLOWER,
    HN_STOP_BOUND, /* out of samples or time: the interval is wider than the target */
};

/* The rule for samples of about `estimate_us`: at least 6 samples (3 of kernels beyond 100 ms), at most 200 and about
 * half a second. */
struct hn_stopping_rule hn_stopping_rule_for(double estimate_us, double target, double resolution_us);

/* interval: of the `count` samples so far, not widened. */
enum hn_stop hn_stopping_decide(const struct hn_stopping_rule *rule, const struct hn_interval *interval, size_t count,
                                double elapsed_ms);

/* Whether a race tells who is faster after these rounds, times[c][r] that of candidate c in round r: the time of the
 * leader, which has the lowest median, is known to half a percent, and every other is slower beyond doubt or within half a
 * percent of it, by the intervals of the paired differences. At most 101 rounds. */
bool hn_race_is_decided(const double *const *times, size_t count, size_t rounds, double resolution_us);

#endif
