/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_VARIANCE_H
#define HONE_TUNER_EXPLAIN_VARIANCE_H

#include "tuner/explain/effects.h"

/* Points with their values, all of which count as much, and the shares of their variance. */
struct hn_sample {
    const struct hn_space *space;
    size_t parameters;
    size_t count;
    uint16_t *choices;
    double *values;
    bool drawn; /* from more: shares are freed of the bias of few points */
    double mean;
    double squares; /* the sum of squared differences from the mean */
};

/* Fills in share, means and counts of effect->parameter. */
enum hn_status hn_sample_main(const struct hn_sample *sample, struct hn_effect *effect, struct hn_error *err);
/* Fills in the share of pair->parameters; 0 where there are too many combinations. */
enum hn_status hn_sample_pair(const struct hn_sample *sample, struct hn_interaction *pair, struct hn_error *err);

#endif
