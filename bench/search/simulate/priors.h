/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_PRIORS_H
#define HONE_BENCH_SIMULATE_PRIORS_H

#include "bench/search/simulate/recorded.h"

/* What earlier tunings tell of a space: the rows of other recordings that are points of it. Read-only once made. */
struct hn_priors {
    struct hn_prior *items; /* by source, then in the order of its file */
    size_t count;
    uint16_t *choices;
};

/* sources[i] becomes source i. One of the space's own name is left out, so that a space never knows itself, and so is
 * one that has another parameter of several values or lacks one. */
void hn_priors_make(const struct hn_recorded *recorded, const struct hn_recorded *sources, size_t count,
                    struct hn_priors *priors);
void hn_priors_finish(struct hn_priors *priors);

#endif
