/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_OUTCOME_H
#define HONE_CACHE_RECORD_OUTCOME_H

#include <stdbool.h>

/* What became of a variant: X(identifier, name). The names are written to caches and files: never change one. */
#define HN_OUTCOMES(X)                                                                                                 \
    X(HN_OUTCOME_OK, "ok")                         /* verified and measured */                                         \
    X(HN_OUTCOME_SLOWER, "slower")                 /* stopped early: no chance to win; the time is a lower bound */    \
    X(HN_OUTCOME_DUPLICATE, "duplicate")           /* same machine code and launch as another point */                 \
    X(HN_OUTCOME_SKIPPED, "skipped")               /* compiled, not worth measuring */                                 \
    X(HN_OUTCOME_INVALID_LAUNCH, "invalid_launch") /* known before any launch: a limit, or its arguments */            \
    X(HN_OUTCOME_COMPILE_ERROR, "compile_error")                                                                       \
    X(HN_OUTCOME_COMPILE_TIMEOUT, "compile_timeout")                                                                   \
    X(HN_OUTCOME_COMPILE_CRASH, "compile_crash")                                                                       \
    X(HN_OUTCOME_LAUNCH_ERROR, "launch_error")                                                                         \
    X(HN_OUTCOME_WRONG_RESULT, "wrong_result")                                                                         \
    X(HN_OUTCOME_OUT_OF_BOUNDS, "out_of_bounds") /* a guard zone or an input changed */                                \
    X(HN_OUTCOME_DEVICE_FAULT, "device_fault")   /* illegal address and other errors that end the context */           \
    X(HN_OUTCOME_RUN_TIMEOUT, "run_timeout")                                                                           \
    X(HN_OUTCOME_OUT_OF_MEMORY, "out_of_memory")                                                                       \
    X(HN_OUTCOME_WORKER_CRASH, "worker_crash")

enum hn_outcome {
#define X(identifier, name) identifier,
    HN_OUTCOMES(X)
#undef X
        HN_OUTCOME_COUNT
};

extern const char *const hn_outcome_names[HN_OUTCOME_COUNT];
const char *hn_outcome_name(enum hn_outcome outcome);
/* False when there is no such outcome. */
bool hn_outcome_parse(const char *name, enum hn_outcome *outcome);

#endif
