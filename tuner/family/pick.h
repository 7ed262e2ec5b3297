/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_PICK_H
#define HONE_TUNER_FAMILY_PICK_H

#include <stddef.h>

#include "base/error.h"

/* What several choices cost at many samples: costs[choice * samples + sample], INFINITY where it can not be used. */
struct hn_costs_table {
    size_t choices, samples;
    const double *costs;
    const double *weights; /* of the samples */
};

/* The choices that together lose least: choice 0 and up to `most` - 1 others, added one by one while each saves `gain` of a
 * sample of mean weight, then exchanged while that saves something. `picked` has room for `most`. HN_ENOMEM. */
enum hn_status hn_pick(const struct hn_costs_table *table, size_t most, double gain, size_t *picked, size_t *count,
                       struct hn_error *err);

#endif
