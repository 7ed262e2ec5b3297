/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_POWER_MODEL_H
#define HONE_TUNER_SESSION_POWER_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/record/record.h"

/* What a GPU draws while a variant runs, by what the variant achieves: a line through the power of a few that was measured.
 * Where such a line tells less than the mean of the others does, it is the mean. */

/* Gigabytes and gigaflops a second, by the metrics bytes and flops and the time; warps, by the theoretical occupancy. */
enum { HN_POWER_FEATURES = 3, HN_POWER_MOST_SAMPLES = 16 };

struct hn_power_sample {
    double features[HN_POWER_FEATURES];
    double watts;
};

struct hn_power_model {
    size_t samples; /* 0: nothing is known */
    double watts;   /* their mean */
    double low;     /* and the least and the most of them */
    double high;
    double center[HN_POWER_FEATURES];
    double slope[HN_POWER_FEATURES]; /* watts for one more; all 0: it is the mean */
    double error; /* relative: how far off it was, in the mean, of each sample by the others; 0 of fewer than 3 */
};

void hn_power_features(const struct hn_record *record, double features[HN_POWER_FEATURES]);

/* Of HN_POWER_MOST_SAMPLES at most. */
void hn_power_model_fit(struct hn_power_model *model, const struct hn_power_sample *samples, size_t count);

/* Never far outside of what was measured. 0 where nothing is known. */
double hn_power_model_watts(const struct hn_power_model *model, const double features[HN_POWER_FEATURES]);

#endif
