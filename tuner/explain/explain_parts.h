/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_EXPLAIN_PARTS_H
#define HONE_TUNER_EXPLAIN_EXPLAIN_PARTS_H

#include "runtime/device/device.h"
#include "tuner/explain/effects.h"
#include "tuner/explain/explain.h"
#include "tuner/report/findings.h"

/* What bounds a point: its place under the device's roofs, and what holds its occupancy. */

enum hn_limiter {
    HN_LIMITER_NONE,      /* all warps fit */
    HN_LIMITER_REGISTERS,
    HN_LIMITER_SHARED,
    HN_LIMITER_BOTH,      /* either of the two would do */
    HN_LIMITER_BLOCK,     /* the number of blocks an SM takes, or that blocks do not fill it evenly */
};

struct hn_bounds {
    /* Of a launch, by the metrics named so; 0: not said. */
    double bytes;
    double flops;
    double gb_per_s;
    double gflops;
    double flops_rate; /* the roof of what computes them, in GFLOP/s; 0: not known */
    /* The time that its roof alone would take over the time it took; 0: not known. */
    double bytes_share;
    double flops_share;
    double launch_share;
    const char *bound; /* as hn_roof names it; NULL: no roof is known */
    double share;      /* the largest of the three */

    bool launch_known;
    int64_t threads;   /* of a block of the step with the most threads */
    int64_t blocks;    /* of its grid */
    int64_t shared_bytes; /* static and dynamic, of a block */
    double occupancy;
    enum hn_limiter limiter;
    int64_t resident;  /* blocks that the device holds at once; 0: not known */
    struct hn_resources resources;
};

/* Below this share of the nearest roof, the roofs do not explain the time. */
#define HN_FAR_FROM_ROOF 0.6

/* roofs may be NULL. */
void hn_bounds_find(const struct hn_task *task, const struct hn_device *device, const struct hn_roofs *roofs,
                    const struct hn_record *record, struct hn_bounds *bounds);
const char *hn_limiter_name(enum hn_limiter limiter);

/* All that is found out of one tuning, before it is said. Private to this room. */
struct hn_explanation {
    const struct hn_explain_input *input;
    struct hn_device device;
    struct hn_evidence evidence;
    struct hn_effects effects;
    struct hn_evidence compiling; /* what compiling took, */
    struct hn_effects compile_effects; /* and what it goes with */
    struct hn_common common;
    struct hn_bounds bounds; /* of the best */
    struct hn_findings findings; /* what its counters say, if they were read */
    struct hn_warned warned;
    struct hn_edges edges;
};

/* What to try next, each with what speaks for it: [{"kind", "text"}, ...]. */
json_t *hn_explain_advise(const struct hn_explanation *explanation);

#endif
