/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_EXPLAIN_PARTS_H
#define HONE_TUNER_EXPLAIN_EXPLAIN_PARTS_H

#include "base/hash.h"
#include "base/memory.h"
#include "cache/store/store.h"
#include "tuner/explain/explain.h"
#include "tuner/space/space.h"

/* What a tuning measured, as numbers: the points of the space that have a time, with the logarithm of what is compared.
 * Of energy that is the time, and the best is the one of the finalists, whose energy alone was measured.
 * What was stopped early is a lower bound; failures have no time and are kept apart. Borrows space and records. */
struct hn_evidence {
    const struct hn_space *space;
    const struct hn_records *records;
    size_t parameters;
    size_t count;       /* points with a time, lower bounds among them */
    size_t bounded;     /* of them, lower bounds */
    size_t failed;      /* points of the space without a time */
    size_t foreign;     /* records that are no points of the space as it is now */
    struct hn_keys points; /* their value indices, those of the failed ones behind the timed ones: to be finished */
    double *values;     /* of the timed ones: lower is better */
    bool *lower_bounds; /* of the timed ones */
    uint32_t *numbers;  /* of the timed and the failed ones: which record */
    size_t best;        /* of the timed ones; SIZE_MAX: none */
    struct hn_blocks memory; /* of the arrays: to be finished */
    bool logarithmic;   /* differences of values are logarithms of ratios; not so for a metric that changes its sign */
};

/* compiling: the same of what compiling took, in milliseconds: of all points that were compiled, whatever came of them. None of
 * them failed then, and the best compiled most quickly. */
void hn_evidence_make(const struct hn_task *task, const struct hn_records *records, bool compiling,
                      struct hn_evidence *evidence);

const uint16_t *hn_evidence_choice(const struct hn_evidence *evidence, size_t point);
const struct hn_record *hn_evidence_record(const struct hn_evidence *evidence, size_t point);
/* How many times worse a value is than another: 1.25 for 25% more time. Of values that are not logarithmic, their
 * difference. */
double hn_evidence_ratio(const struct hn_evidence *evidence, double value, double other);

/* What the best points have in common: values that more of them have than of all measured points, more than chance would
 * give (hypergeometric, at most 1% over all parameters together, by Bonferroni), and more than half of them.
 * {"best": so many best points: 5% of all with a time, 5 at least; 0: fewer than 20 points, "all", "ratio": how many times worse than
 * the best the worst of them is, "values": [{"name", "value", "among_best", "among_all", "chance": that as many of the best have it, were
 * they drawn from all}, …], the surest first}. */
json_t *hn_common_find(const struct hn_evidence *evidence);

/* Which parameters matter: a functional analysis of variance over the valid points (Hutter, Hoos and Leyton-Brown, "An
 * Efficient Approach for Assessing Hyperparameter Importance", 2014), which here are the points themselves and not the box
 * around them, so that nothing is said of what constraints rule out. Exact where every valid point was measured; else a
 * random forest stands in for the others, and of more than 20,000 points so many are drawn, with the bias that few points
 * a value have taken out (Kelley's epsilon squared, 1935). */

struct hn_effect {
    size_t parameter;
    double share;   /* of the variance: what the parameter alone decides, on average over the others */
    double most;    /* what it decides at most, alone or with one other */
    double *means;  /* of the values by value index; NAN: no point has it */
    size_t *counts; /* points behind each */
    /* Measured points that differ from the best in this parameter alone: how many, and how many times worse the worst is. */
    size_t alone;
    double worst_alone;
};

struct hn_interaction {
    size_t parameters[2];
    double share; /* beyond what the two decide each on its own */
};

struct hn_effects {
    bool known;     /* false: fewer than 10 points measured in full, or all equal; then nothing else counts */
    bool exact;     /* every valid point was measured; else by a forest */
    bool sampled;   /* of all valid points */
    size_t points;  /* that the shares are of */
    double explained; /* by the forest, of points that it did not see */
    size_t parameter_count;
    struct hn_effect *mains; /* largest first */
    size_t pair_count;
    struct hn_interaction *pairs; /* largest first */
    /* Of the valid points that were not measured, or in the sample not: how many, and what the forest expects of the best
     * of them against the best measured (1.1: 10% worse). */
    size_t unmeasured;
    double promise;
    uint16_t *promising;
    struct hn_blocks memory; /* of the arrays: to be finished */
};

enum { HN_EFFECTS_LEAST = 10 };

void hn_effects_find(const struct hn_evidence *evidence, uint64_t seed, struct hn_effects *effects);

#endif
