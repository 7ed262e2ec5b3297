/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_SCORE_H
#define HONE_BENCH_SIMULATE_SCORE_H

#include "bench/search/simulate/run.h"
#include "bench/search/simulate/scale.h"

/* How well the runs of one strategy did on one space, by its scale: 0 as random search, 1 the optimum at once. Intervals
 * are 95% percentile bootstraps over the runs. Same definitions as bench/search/score.py. */
enum { HN_SCORE_RESAMPLES = 300 };

enum hn_score_axis { HN_SCORE_TIME, HN_SCORE_EVALUATIONS, HN_SCORE_AXES };

struct hn_score_value {
    double score;
    double low;
    double high;
    double resamples[HN_SCORE_RESAMPLES];
};

struct hn_score {
    struct hn_score_value axes[HN_SCORE_AXES];
    double median_evaluations; /* until within 5% of the optimum; INFINITY when half of the runs never were */
    double median_s;           /* the same on a machine whose clock was kept; else NAN */
    double reached;            /* part of the runs that came so near */
    double overhead_us;        /* of the search itself, an evaluation */
};

void hn_score_runs(const struct hn_recording_table *table, const struct hn_scale *scale, const struct hn_run *runs,
                   size_t count, uint64_t seed, struct hn_score *score);

/* The mean over spaces, whose resamples are averaged one by one. median_evaluations is the sum. */
void hn_score_mean(const struct hn_score *scores, size_t count, struct hn_score *mean);

#endif
