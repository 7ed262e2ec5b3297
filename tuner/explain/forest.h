/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_FOREST_H
#define HONE_TUNER_EXPLAIN_FOREST_H

#include "tuner/explain/evidence.h"

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
