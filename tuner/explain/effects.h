/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_EFFECTS_H
#define HONE_TUNER_EXPLAIN_EFFECTS_H

#include "tuner/explain/evidence.h"

/* Which parameters matter: a functional analysis of variance over the valid points (Hutter, Hoos and Leyton-Brown, "An
 * Efficient Approach for Assessing Hyperparameter Importance", 2014), which here are the points themselves and not the box
 * around them, so that nothing is said of what constraints rule out. Exact where every valid point was measured; else a
 * random forest stands in for the others, and of more than 20,000 points so many are drawn, with the bias that few points
 * a value have taken out (Kelley's epsilon squared, 1935). */

struct hn_effect {
    size_t parameter;
    double share;   /* of the variance: what the parameter alone decides, on average over the others */
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
};

enum { HN_EFFECTS_LEAST = 10 };

void hn_effects_find(const struct hn_evidence *evidence, uint64_t seed, struct hn_effects *effects);
void hn_effects_finish(struct hn_effects *effects);
/* That of a parameter. */
const struct hn_effect *hn_effects_of(const struct hn_effects *effects, size_t parameter);
/* What a parameter decides at most, alone or with one other. */
double hn_effects_most(const struct hn_effects *effects, size_t parameter);

/* A random forest over the measured points (Breiman, "Random Forests", 2001), for what was not measured, or stopped
 * early. A lower bound is replaced by the mean of the normal distribution that the forest states, cut off at the bound,
 * and the forest grown again, a few times (Schmee and Hahn, 1979; for forests Hutter, Hoos and Leyton-Brown, "Bayesian
 * Optimization With Censored Response Data", 2011). The same points and seed give the same forest. */
struct hn_forest;

struct hn_forest *hn_forest_grow(const struct hn_evidence *evidence, uint64_t seed);
void hn_forest_destroy(struct hn_forest *forest);

double hn_forest_predict(const struct hn_forest *forest, const uint16_t *choice);
/* The share of the variance of the points measured in full that is explained by the trees that did not see them. */
double hn_forest_explained(const struct hn_forest *forest);
/* What stands for the value of a timed point: itself, or for a lower bound what was put in its place. */
double hn_forest_value(const struct hn_forest *forest, size_t point);

#endif
