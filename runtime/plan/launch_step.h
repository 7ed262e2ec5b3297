/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_LAUNCH_STEP_H
#define HONE_RUNTIME_PLAN_LAUNCH_STEP_H

#include "runtime/plan/plan.h"

/* One kernel launch, with all expressions evaluated. */
struct hn_launch_step {
    const struct hn_step *step; /* borrowed from the plan */
    int64_t grid[3];
    int64_t block[3];
    int64_t cluster[3];
    int64_t shared_bytes; /* dynamic */
    int64_t carveout;     /* percent; HN_NO_CARVEOUT: as the driver likes */
    bool cooperative;
    bool programmatic; /* it may begin before the step before it has ended */
    struct hn_l2_window window;
};

#define HN_NO_CARVEOUT (-1)
/* Blocks of the largest cluster; from HN_PORTABLE_CLUSTER on a kernel has to be allowed it. */
#define HN_MAX_CLUSTER 16
#define HN_PORTABLE_CLUSTER 8

/* Whether its blocks are launched in clusters of more than one. */
bool hn_launch_step_has_clusters(const struct hn_launch_step *step);

/* A step for these values of the plan's names. */
enum hn_status hn_launch_evaluate_step(const struct hn_step *step, const struct hn_value *values,
                                       struct hn_launch_step *launch, struct hn_error *err);
/* The grid alone, again. */
enum hn_status hn_launch_evaluate_grid(const struct hn_value *values, struct hn_launch_step *launch, struct hn_error *err);

#endif
