/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_LAUNCH_STEP_H
#define HONE_RUNTIME_PLAN_LAUNCH_STEP_H

#include "cache/record/record.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"

/* A window with all expressions evaluated. */
struct hn_l2_window {
    int64_t bytes;         /* from the buffer's beginning; 0: no window */
    double hit_ratio;      /* 1 */
    enum hn_access hit;    /* persisting */
    enum hn_access miss;   /* streaming; never persisting */
    int64_t set_aside;     /* bytes of the L2 cache for persisting accesses; 0: none */
};

/* HN_EVALUE for a part without a value, or with one that is no number or no property. */
enum hn_status hn_l2_window_evaluate(const struct hn_window_plan *plan, const struct hn_value *values,
                                     struct hn_l2_window *window, struct hn_error *err);

/* True when the device can do that, and false with the outcome invalid_launch and the message where it can not, as "a
 * set-aside of 41943040 bytes of L2 cache; NVIDIA H200 takes 0 to 39321600". */
bool hn_l2_window_check(const struct hn_l2_window *window, const struct hn_device *device, struct hn_record *record);

/* Whether it makes a difference to a launch. */
bool hn_l2_window_counts(const struct hn_l2_window *window);
/* " window 20971520 0.6 persisting streaming 31457280"; nothing where it makes no difference. */
void hn_l2_window_append(struct hn_text *text, const struct hn_l2_window *window);

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
