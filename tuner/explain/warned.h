/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_WARNED_H
#define HONE_TUNER_EXPLAIN_WARNED_H

#include "tuner/explain/evidence.h"

/* What the device's compiler warned of, and what points with it take. */
struct hn_warned {
    struct {
        size_t points;  /* with a record */
        size_t refused; /* of them, skipped because the config refuses it */
        double ratio;   /* how many times worse than the best the best with it is; 0: none of them has a time */
    } of[HN_WARNING_COUNT];
};

/* refused: what the plan refuses. */
void hn_warned_find(const struct hn_evidence *evidence, unsigned refused, struct hn_warned *warned);

#endif
