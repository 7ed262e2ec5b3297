/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_VARIANCE_H
#define HONE_TUNER_EXPLAIN_VARIANCE_H

#include "tuner/explain/evidence.h"

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

/* Fills in share, means and counts of effect->parameter. */
enum hn_status hn_sample_main(const struct hn_sample *sample, struct hn_effect *effect, struct hn_error *err);
/* Fills in the share of pair->parameters; 0 where there are too many combinations. */
enum hn_status hn_sample_pair(const struct hn_sample *sample, struct hn_interaction *pair, struct hn_error *err);

#endif
