/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_MODEL_H
#define HONE_TUNER_STRATEGY_MODEL_H

#include "base/memory.h"
#include "tuner/strategy/gaussian.h"
#include "tuner/strategy/trail.h"

/* The inside of the model-based strategy. */

/* Points as vectors for a regression: one feature for each parameter with more than one value. Numbers are scaled to
 * 0 .. 1, by their logarithm where they span a factor of four or more; words are their index, and `category` says that
 * only equality counts. Whole numbers that are not all powers of two have another one: how often 2 divides them. Then
 * come what the space estimates that a point costs, and what was measured before. */
struct hn_encoding {
    const struct hn_space *space; /* borrowed */
    struct hn_blocks memory;      /* of all that follows */
    size_t count;                 /* features */
    size_t varied;                /* of them, of values of parameters: the first ones */
    size_t plain;                 /* of those, one for each parameter: the first ones */
    size_t *parameters;           /* of the varied */
    double **values;              /* values[feature][index of the value] */
    bool *category;
    struct hn_prior_model *prior; /* of what was measured before: gives one more feature, the last; NULL: none */
    double least_estimate;        /* where the space has estimates, they give the feature behind the varied */
    double estimate_span;
};

/* features has room for encoding->count. */
void hn_encoding_apply(const struct hn_encoding *encoding, const uint16_t *choice, double *features);

/* A model of the costs on a trail: a Gaussian process of the logarithm of the cost (of the cost itself where signs
 * differ), over the better part of what was told. Costs beyond a bound count as the bound: how bad the bad ones are
 * says little about where the best is. Failed and pending points are believed to cost what the others predict. */

enum {
    HN_SURROGATE_MOST = 320,  /* points of the process at most */
    HN_SURROGATE_KEPT = 240,  /* of them, known, when it begins anew */
    HN_SURROGATE_FITTED = 140 /* to which its scales are fitted */
};

struct hn_surrogate {
    const struct hn_trail *trail; /* borrowed */
    struct hn_random random;
    struct hn_encoding encoding;
    struct hn_gaussian gaussian;
    uint32_t members[HN_SURROGATE_MOST]; /* points of the trail, by input of the process */
    double targets[HN_SURROGATE_MOST];   /* mean 0, variance 1; NAN: not known */
    double whitened[HN_SURROGATE_MOST];
    double best;  /* least target */
    double scale; /* of a target, in logarithms of cost (in costs where signs differ) */
    bool fitted;
    size_t seen;         /* points of the trail that it has taken in or left out */
    size_t next_fit;     /* points on the trail when the process begins anew */
    uint32_t *order;     /* room for all points of the trail */
};

void hn_surrogate_init(struct hn_surrogate *surrogate, const struct hn_search *search, const struct hn_trail *trail);
void hn_surrogate_finish(struct hn_surrogate *surrogate);

/* Takes in what the trail knows: begins anew when it has grown by a seventh (`began`), else adds its new points. False
 * when there is nothing to model yet. */
bool hn_surrogate_update(struct hn_surrogate *surrogate, bool *began);

#endif
