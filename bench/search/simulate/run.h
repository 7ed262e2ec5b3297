/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_RUN_H
#define HONE_BENCH_SIMULATE_RUN_H

#include "bench/search/simulate/priors.h"

/* One strategy, once, against one recorded space. A session's rules hold: tickets are numbered, and the strategy
 * is told of them as schedule.h says. What was recorded is the measurement. */
struct hn_run_options {
    const struct hn_recorded *recorded;
    const struct hn_strategy_kind *strategy;
    const struct hn_priors *priors; /* may be NULL */
    uint64_t seed;
    unsigned look_ahead; /* from 1 */
    size_t cores;        /* of a machine whose clock is to be kept; 0: none */
    /* The run goes on until both are reached, or the space or the strategy is exhausted. */
    uint64_t budget_count; /* distinct points */
    double budget_ms;      /* recorded cost of them */
    bool ask_chance;
};

/* What the strategy said, after so many evaluations, of the chance that a point better by 2% exists. */
struct hn_run_chance {
    size_t count;
    double chance;
};

struct hn_run {
    uint32_t *rows; /* of the recording, in the order evaluated, each once */
    size_t count;
    double *ends_ms;    /* with cores: by row as above, when a session would have had its result */
    size_t declined;    /* compiled, but not measured because the strategy said so: not among rows */
    struct hn_run_chance *chances; /* with ask_chance: at 16 evaluations and whenever they grew by a fifth */
    size_t chance_count;
    double overhead_ms; /* processor time of the search itself for each of the rows */
};

/* HN_EINTERRUPTED after a signal. The run is empty then, and after any failure. */
enum hn_status hn_run_make(const struct hn_run_options *options, struct hn_run *run, struct hn_error *err);
void hn_run_finish(struct hn_run *run);

#endif
