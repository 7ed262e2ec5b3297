/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_LAUNCH_PROGRAM_H
#define HONE_RUNTIME_PLAN_LAUNCH_PROGRAM_H

#include "base/expression/expression_terms.h"
#include "base/memory.h"
#include "runtime/plan/launch.h"

/* A plan's launches at one point, for problems that come as they come: what differs from one to another, and whether the launch is
 * valid, as hn_launch_try tells it. */
struct hn_launch_program {
    struct hn_program program;
    struct hn_blocks blocks; /* of the lists */
    int (*grids)[3]; /* of each step that is launched, terms of the program */
    int *arguments;  /* of each argument: of its value, or of its count; -1: the same for all */
    int *aligns;     /* of each buffer: of its align; -1: the same for all */
    int *constraints; /* of each constraint of the plan: that it holds */
    int limits;       /* that the device and the types of arguments can hold it: all else that makes it valid */
};

/* For all problems from `low` to `high`, which differ in integers only; `launch` is that of one of them. False: something
 * else than grids, integers, counts and aligns differs, or expressions can not be compiled. To be finished, whatever comes back. */
bool hn_launch_program_make(struct hn_launch_program *made, const struct hn_plan *plan, const struct hn_device *device,
                            const struct hn_bindings *point, const struct hn_bindings *low,
                            const struct hn_bindings *high, const struct hn_launch *launch);
void hn_launch_program_finish(struct hn_launch_program *made);

#endif
