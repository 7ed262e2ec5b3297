/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_REQUEST_H
#define HONE_RUNTIME_BENCH_REQUEST_H

#include "cache/record/record.h"

/* What is asked of a bench. The structures say how it travels to the process that has the GPU. */
enum { HN_MOST_REPEATS = 500, HN_OBSERVE_SIZE = 64 };
struct hn_bench_request {
    bool verify, measure;
    bool full;        /* no early stop */
    char observe[HN_OBSERVE_SIZE]; /* who else looks at it: "energy=2.5,counters", observers and amounts */
    enum hn_suspicion trial; /* holds the trial that decides, beside a control (trial.h); in a process of its own */
    double repeat_ms; /* launch and compare it again and again for so long, HN_MOST_REPEATS times at most; 0: not */
    double censor_us; /* stop early once the variant's lower end is clearly above this; 0: nothing to beat yet */
    double censor_clock_mhz; /* the SM clock that this was measured at; 0: not known */
    double target;    /* relative half width of the interval to reach, 0: the default of 0.005 */
};
extern const struct hn_structure hn_bench_request_structure;
/* The amount that an observer is asked for, 1 where none is said; 0: it is not asked for. */
double hn_bench_asked(const char *observe, const char *observer);

#define HN_RACE_MOST_ROUNDS 101

/* A race ends when it is decided or budget_ms is used up, but has min_rounds; or after max_rounds. */
struct hn_race_rules {
    int min_rounds;
    int max_rounds; /* 1 to HN_RACE_MOST_ROUNDS */
    double budget_ms;
};
extern const struct hn_structure hn_race_rules_structure;

#endif
