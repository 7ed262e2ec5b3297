/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_L2_WINDOW_H
#define HONE_RUNTIME_PLAN_L2_WINDOW_H

#include "base/expression/expression.h"
#include "base/text.h"
#include "cache/record/record.h"
#include "runtime/device/device.h"

/* A window over a buffer, through which a launch tells the L2 cache what is worth keeping (CUDA C++ Programming Guide,
 * "Device Memory L2 Access Management"): a share of the accesses that fall into it has the property `hit`, the rest
 * `miss`. What persists is kept in a part of the cache that is set aside for it. */

/* As the driver's CUaccessProperty counts them. */
enum hn_access {
    HN_ACCESS_NORMAL,
    HN_ACCESS_STREAMING,
    HN_ACCESS_PERSISTING,
    HN_ACCESS_COUNT,
};
extern const char *const hn_access_names[HN_ACCESS_COUNT];

enum hn_window_part {
    HN_WINDOW_BYTES,
    HN_WINDOW_HIT_RATIO,
    HN_WINDOW_HIT,
    HN_WINDOW_MISS,
    HN_WINDOW_SET_ASIDE,
    HN_WINDOW_PARTS,
};
/* Their keys in configs and plans. */
extern const char *const hn_window_keys[HN_WINDOW_PARTS];

/* As a plan has it: no window where there is no expression for the bytes; the others may be NULL. */
struct hn_window_plan {
    size_t argument; /* the buffer: its place among the plan's arguments */
    struct hn_expression *parts[HN_WINDOW_PARTS];
};

/* With all expressions evaluated. */
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

#endif
