/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SIMULATE_MACHINE_CLOCK_H
#define HONE_TUNER_SIMULATE_MACHINE_CLOCK_H

#include <stddef.h>

#include "base/error.h"

/* When a session would have had its results: cores that compile side by side, oldest proposal first, one GPU that takes
 * what is compiled in the order proposed, and proposals that are made once all is there that they may know. What the
 * tuner itself takes is left out, and so are finals. */
struct hn_machine_job {
    size_t original; /* the first job of the same point, which may be this one; others wait for it and take nothing */
    double compile_ms;
    double evaluate_ms; /* 0: it does not get to the GPU */
};

/* ends_ms[i]: when job i was finished. HN_ENOMEM. */
enum hn_status hn_machine_clock(const struct hn_machine_job *jobs, size_t count, unsigned look_ahead, size_t cores,
                                double *ends_ms, struct hn_error *err);

#endif
