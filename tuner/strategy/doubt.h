/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_DOUBT_H
#define HONE_TUNER_STRATEGY_DOUBT_H

#include "tuner/strategy/candidates.h"
#include "tuner/strategy/surrogate.h"

/* Whether it is worth to go on: what a surrogate says of the points that were not proposed yet. */

/* A gain that counts: a cost lower by this share of it. */
#define HN_DOUBT_GAIN 0.02

struct hn_doubt_signs {
    double expected; /* number of unproposed points that gain, by the surrogate */
    double most;     /* the largest chance of a single point to gain */
    double stall;    /* points told since the best one */
    double told;
    double left; /* points of the space not proposed */
};

/* candidates: as predicted last. HN_ENOMEM. `random` draws the sample of the other points. */
enum hn_status hn_doubt_read(const struct hn_surrogate *surrogate, const struct hn_candidates *candidates,
                             struct hn_random *random, struct hn_doubt_signs *signs, struct hn_error *err);
/* The chance, 0 to 1, that a point that gains exists: a logistic regression of the signs, fitted to recorded tunings
 * (docs/search.md). */
double hn_doubt_chance(const struct hn_doubt_signs *signs);

#endif
