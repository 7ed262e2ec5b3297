/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_OUTCOME_H
#define HONE_CACHE_RECORD_OUTCOME_H

#include <stdbool.h>

/* What became of a variant: X(identifier, name, meaning). The names are written to caches and files: never change one.
 * docs/outcomes.md says more of each. */
#define HN_OUTCOMES(X) \
    X(HN_OUTCOME_OK, "ok", "verified and measured")                                                         \
    X(HN_OUTCOME_SLOWER, "slower", "stopped early, since it can not win: its time is a lower bound")        \
    X(HN_OUTCOME_DUPLICATE, "duplicate", "the same machine code and launch as another point")               \
    X(HN_OUTCOME_SKIPPED, "skipped", "compiled, and not worth measuring")                                   \
    X(HN_OUTCOME_COMPILE_STOPPED, "compile_stopped", "stopped compiling: that took longer than it is worth") \
    X(HN_OUTCOME_INVALID_LAUNCH, "invalid_launch", "beyond a limit of the device, known before any launch") \
    X(HN_OUTCOME_COMPILE_ERROR, "compile_error", "did not compile")                                         \
    X(HN_OUTCOME_COMPILE_TIMEOUT, "compile_timeout", "compiling took too long")                             \
    X(HN_OUTCOME_COMPILE_CRASH, "compile_crash", "the compiler crashed")                                    \
    X(HN_OUTCOME_LAUNCH_ERROR, "launch_error", "the driver refused to launch it")                           \
    X(HN_OUTCOME_WRONG_RESULT, "wrong_result", "computed something else than the reference")                \
    X(HN_OUTCOME_OUT_OF_BOUNDS, "out_of_bounds", "wrote where it must not")                                 \
    X(HN_OUTCOME_DEVICE_FAULT, "device_fault", "an illegal address or the like")                            \
    X(HN_OUTCOME_RUN_TIMEOUT, "run_timeout", "did not end in time")                                         \
    X(HN_OUTCOME_OUT_OF_MEMORY, "out_of_memory", "memory ran out")                                          \
    X(HN_OUTCOME_WORKER_CRASH, "worker_crash", "ended the process that ran it")

enum hn_outcome {
#define X(identifier, name, meaning) identifier,
    HN_OUTCOMES(X)
#undef X
        HN_OUTCOME_COUNT
};

extern const char *const hn_outcome_names[HN_OUTCOME_COUNT];
const char *hn_outcome_name(enum hn_outcome outcome);
/* Whether it says neither how fast the variant is nor that it fails. */
bool hn_outcome_is_open(enum hn_outcome outcome);
/* What it means, in some words. */
const char *hn_outcome_meaning(enum hn_outcome outcome);

#endif
