/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_COMMON_H
#define HONE_TUNER_EXPLAIN_COMMON_H

#include "tuner/explain/evidence.h"

/* What the best points have in common: values that more of them have than of all measured points, more than chance would
 * give (hypergeometric, at most 1% over all parameters together, by Bonferroni), and more than half of them. */
struct hn_common_value {
    size_t parameter;
    uint16_t value;
    size_t among_best;
    size_t among_all;
    double chance; /* that as many of the best have it, were they drawn from all */
};

struct hn_common {
    size_t best; /* so many best points: 5% of all with a time, 5 at least; 0: fewer than 20 points */
    size_t all;
    double ratio; /* how many times worse than the best the worst of them is */
    struct hn_common_value *values; /* the surest first */
    size_t count;
};

void hn_common_find(const struct hn_evidence *evidence, struct hn_common *common);
void hn_common_finish(struct hn_common *common);
/* The chance of `hits` or more marked ones among `drawn`, of `all` of which `marked` are. */
double hn_common_chance(size_t hits, size_t drawn, size_t marked, size_t all);

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
