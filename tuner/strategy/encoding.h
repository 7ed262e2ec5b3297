/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_ENCODING_H
#define HONE_TUNER_STRATEGY_ENCODING_H

#include "tuner/strategy/encoding_prior.h"

/* Points as vectors for a regression: one feature for each parameter with more than one value. Numbers are scaled to
 * 0 .. 1, by their logarithm where they span a factor of four or more; words are their index, and `category` says that
 * only equality counts. Whole numbers that are not all powers of two have another one: how often 2 divides them. Then
 * come what the space estimates that a point costs, and what was measured before. */
struct hn_encoding {
    const struct hn_space *space; /* borrowed */
    size_t count;                 /* features */
    size_t varied;                /* of them, of values of parameters: the first ones */
    size_t plain;                 /* of those, one for each parameter: the first ones */
    size_t *parameters;           /* of the varied */
    double **values;              /* values[feature][index of the value] */
    bool *category;
    struct hn_prior_model *prior; /* gives one more feature, the last; NULL: none */
    double least_estimate;        /* where the space has estimates, they give the feature behind the varied */
    double estimate_span;
};

enum hn_status hn_encoding_init(struct hn_encoding *encoding, const struct hn_space *space, struct hn_error *err);
/* Adds what the priors of the search say as a feature, where there are enough of them. */
enum hn_status hn_encoding_add_prior(struct hn_encoding *encoding, const struct hn_search *search,
                                     struct hn_error *err);
void hn_encoding_finish(struct hn_encoding *encoding);

/* features has room for encoding->count. */
void hn_encoding_apply(const struct hn_encoding *encoding, const uint16_t *choice, double *features);

#endif
