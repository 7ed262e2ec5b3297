/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_SCALE_H
#define HONE_BENCH_SIMULATE_SCALE_H

#include "bench/search/simulate/recording_table.h"

/* What searches of a recorded space are judged by: budgets and baselines of the autotuning methodology (Willemsen et
 * al., "A methodology for comparing optimization algorithms for auto-tuning", Future Generation Computer Systems 159,
 * 2024). The baseline is what random search is expected to reach, which scores 0; the optimum scores 1. The definitions
 * are those of bench/search/score.py, step for step. */
enum { HN_SCALE_TIME_POINTS = 1000 };

struct hn_scale {
    size_t count;     /* rows, N */
    size_t valid;     /* of them with a time, Nv */
    double *values;   /* the valid times in ms, worst first */
    double *ranks;    /* by row: index in values, of equal ones the last; NAN for failures */
    double optimum;
    double median;
    double cost_ms;   /* median cost of a row */
    /* time axis */
    double time_start_ms;
    double time_end_ms; /* the budget */
    double time_grid[HN_SCALE_TIME_POINTS];
    double time_baseline[HN_SCALE_TIME_POINTS];
    /* evaluations axis: 1 .. budget */
    uint64_t budget;
    double *baseline;
};

/* HN_ENOTFOUND when no row has a time. */
enum hn_status hn_scale_make(const struct hn_recording_table *table, struct hn_scale *scale, struct hn_error *err);
void hn_scale_finish(struct hn_scale *scale);

/* Draws without replacement that random search needs on average to come within `part` (0.05) of the optimum. */
double hn_scale_random_draws(const struct hn_scale *scale, double part);

#endif
