/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_REQUEST_H
#define HONE_RUNTIME_BENCH_REQUEST_H

#include <stdbool.h>

/* What is to be done with a variant. */

#define HN_MOST_REPEATS 500

struct hn_bench_request {
    bool verify;
    bool measure;
    bool full;        /* no early stop */
    bool audit;       /* whether it does all of its work in every launch: runtime/bench/audit.h */
    double repeat_ms; /* launch and compare it again and again for so long, HN_MOST_REPEATS times at most; 0: not */
    bool parts;       /* of a plan with a pipeline, what its parts take alone; nothing for others */
    double censor_us; /* stop early once the variant's lower end is clearly above this; 0: nothing to beat yet */
    double censor_clock_mhz; /* the SM clock that this was measured at; 0: not known */
    double target;    /* relative half width of the interval to reach, 0: the default of 0.005 */
};

#endif
