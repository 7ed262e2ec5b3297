/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_REQUEST_H
#define HONE_RUNTIME_BENCH_REQUEST_H

#include "cache/record/record.h"

/* What is asked of a bench. The structures say how it travels to the process that has the GPU. */

#define HN_MOST_REPEATS 500

struct hn_bench_request {
    bool verify;
    bool measure;
    bool full;        /* no early stop */
    bool audit;       /* whether it does all of its work in every launch: runtime/bench/audit.h */
    bool audit_memory; /* of an audit: between the launches of a pair come more and more on the same inputs, for who
                        * remembers what he has often seen. Of a pipeline always */
    enum hn_suspicion trial; /* holds the trial that decides, beside a control (runtime/bench/trial.h); in a process of its own */
    double repeat_ms; /* launch and compare it again and again for so long, HN_MOST_REPEATS times at most; 0: not */
    double energy_s; /* what launches of it consume, in a window of so many seconds; 0: not asked for */
    bool parts;       /* of a plan with a pipeline, what its parts take alone; nothing for others */
    bool counters;    /* what the GPU counts of a launch, into the record; where it can not be had, the message says why */
    double censor_us; /* stop early once the variant's lower end is clearly above this; 0: nothing to beat yet */
    double censor_clock_mhz; /* the SM clock that this was measured at; 0: not known */
    double target;    /* relative half width of the interval to reach, 0: the default of 0.005 */
};
extern const struct hn_structure hn_bench_request_structure;

#define HN_RACE_MOST_ROUNDS 101

/* A race ends when it is decided or budget_ms is used up, but has min_rounds; or after max_rounds. */
struct hn_race_rules {
    int min_rounds;
    int max_rounds; /* 1 to HN_RACE_MOST_ROUNDS */
    double budget_ms;
};
extern const struct hn_structure hn_race_rules_structure;

#endif
