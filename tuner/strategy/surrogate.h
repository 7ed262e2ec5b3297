/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_SURROGATE_H
#define HONE_TUNER_STRATEGY_SURROGATE_H

#include "tuner/strategy/encoding.h"
#include "tuner/strategy/gaussian.h"
#include "tuner/strategy/trail.h"

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
    double *features;    /* room for one point */
    uint32_t *order;     /* room for all points of the trail */
    size_t order_capacity;
};

/* HN_ENOMEM: what was made is finished. */
enum hn_status hn_surrogate_init(struct hn_surrogate *surrogate, const struct hn_search *search,
                                 const struct hn_trail *trail, struct hn_error *err);
void hn_surrogate_finish(struct hn_surrogate *surrogate);

/* Takes in what the trail knows: begins anew when it has grown by a seventh (`began`), else adds its new points. False
 * when there is nothing to model yet, or no memory. */
bool hn_surrogate_update(struct hn_surrogate *surrogate, bool *began);

/* How far below the best target a cost is that is better than the best known by `gain` (0.02: by 2%), where all costs
 * have the same sign. */
double hn_surrogate_step(const struct hn_surrogate *surrogate, double gain);

/* The chance that a point with these features does not fail: a vote of the told points, weighted by the square of their
 * correlation with it. */
double hn_surrogate_feasibility(const struct hn_surrogate *surrogate, const double *features, size_t stride);

#endif
