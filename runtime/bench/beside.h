/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_BESIDE_H
#define HONE_RUNTIME_BENCH_BESIDE_H

#include "runtime/bench/bench.h"
#include "base/statistics.h"

/* A variant beside the reference of its point: both are launched in turn in this process, as the finalists of a search
 * are raced, and compared as they are. */
struct hn_beside {
    int rounds; /* 0: there was none */
    struct hn_interval variant_us; /* of one launch */
    struct hn_interval reference_us;
    struct hn_interval speedup; /* reference / variant in one round, so that what slows both down does not count */
};

/* The record's outcome changes when the variant fails in a round; then there are no times. HN_ERUN: the reference
 * failed, or the bench. */
enum hn_status hn_bench_beside(struct hn_bench *bench, const struct hn_image *image, struct hn_record *record,
                               struct hn_beside *beside, struct hn_error *err);

/* Why this plan's reference says nothing of a speedup; NULL when it does. */
const char *hn_beside_obstacle(const struct hn_plan *plan);

/* Of `count` rounds, at least one; the resolutions are the timer's. HN_ENOMEM. */
enum hn_status hn_beside_judge(const double *variant_us, const double *reference_us, size_t count,
                               double variant_resolution_us, double reference_resolution_us,
                               struct hn_beside *beside, struct hn_error *err);

#endif
