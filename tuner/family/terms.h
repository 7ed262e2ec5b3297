/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_TERMS_H
#define HONE_TUNER_FAMILY_TERMS_H

#include "tuner/family/places.h"

/* What a time is a sum of: a launch; blocks, waves of blocks; products of sizes (what is moved, what is computed); and what
 * each block, or each block of a wave, does with a size, with its part of a size where a side of the grid divides it, or
 * with its part of all. Few of these matter to a kernel, and they are the same for all of its configurations: they are
 * chosen for all together, as those that best predict times at sizes that were left out. */

enum {
    HN_TERMS_FACTORS = 4, /* of so many sizes */
    HN_TERMS_MOST = 12,   /* are chosen */
};

struct hn_time_terms {
    size_t factors[HN_TERMS_FACTORS]; /* features that are logarithms of sizes */
    size_t factor_count;
    size_t chosen[HN_TERMS_MOST]; /* places among the candidates; the first is the launch */
    size_t count;
};

/* Times of one point at places, and which part of the places each is left out with; `usable` times only. */
struct hn_time_terms_of {
    size_t point;
    const size_t *at;
    const double *logarithms;
    size_t count;
};

/* HN_ENOMEM. */
enum hn_status hn_terms_choose(const struct hn_family *family, const struct hn_places *places,
                               const struct hn_time_terms_of *times, size_t count, struct hn_time_terms *terms,
                               struct hn_error *err);
/* Coefficients of the chosen terms, in microseconds of one of each, none below 0: least squares of relative errors. */
void hn_terms_fit(const struct hn_time_terms *terms, const struct hn_places *places, const struct hn_time_terms_of *times,
                  double coefficients[HN_TERMS_MOST]);
/* The logarithm of their sum. */
double hn_terms_sum(const struct hn_time_terms *terms, const struct hn_places *places, size_t point, size_t place,
                    const double coefficients[HN_TERMS_MOST]);

#endif
