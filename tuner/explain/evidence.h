/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_EVIDENCE_H
#define HONE_TUNER_EXPLAIN_EVIDENCE_H

#include "cache/store/store.h"
#include "tuner/space/space.h"

/* What a tuning measured, as numbers: the points of the space that have a time, with the logarithm of what is compared.
 * What was stopped early is a lower bound; failures have no time and are kept apart. Borrows space and records. */
struct hn_evidence {
    const struct hn_space *space;
    const struct hn_records *records;
    size_t parameters;
    size_t count;       /* points with a time, lower bounds among them */
    size_t bounded;     /* of them, lower bounds */
    size_t failed;      /* points of the space without a time */
    size_t foreign;     /* records that are no points of the space as it is now */
    uint16_t *choices;  /* a point's value indices, `parameters` for each; behind the timed ones the failed ones */
    double *values;     /* of the timed ones: lower is better */
    bool *lower_bounds; /* of the timed ones */
    uint32_t *numbers;  /* of the timed and the failed ones: which record */
    uint32_t *sorted;   /* the timed and the failed ones by their value indices */
    size_t best;        /* of the timed ones; SIZE_MAX: none */
    bool logarithmic;   /* differences of values are logarithms of ratios; not so for a metric that changes its sign */
};

/* The same of what compiling took, in milliseconds: of all points that were compiled, whatever came of them. None of them failed
 * then, and the best compiled most quickly. */
void hn_evidence_of_compiling(const struct hn_space *space, const struct hn_records *records, struct hn_evidence *evidence);
void hn_evidence_make(const struct hn_space *space, const struct hn_records *records, struct hn_evidence *evidence);
void hn_evidence_finish(struct hn_evidence *evidence);

const uint16_t *hn_evidence_choice(const struct hn_evidence *evidence, size_t point);
const struct hn_record *hn_evidence_record(const struct hn_evidence *evidence, size_t point);
/* How many times worse a value is than another: 1.25 for 25% more time. Of values that are not logarithmic, their
 * difference. */
double hn_evidence_ratio(const struct hn_evidence *evidence, double value, double other);
/* Finds the timed or failed point with these value indices; SIZE_MAX when it was not looked at. */
size_t hn_evidence_find(const struct hn_evidence *evidence, const uint16_t *choice);

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
