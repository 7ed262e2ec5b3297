/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_PRICES_H
#define HONE_TUNER_STRATEGY_PRICES_H

#include "tuner/strategy/candidates.h"
#include "tuner/strategy/surrogate.h"

/* What finding out about a point takes: a model of how long points compile. The logarithms of the times of the points told are
 * further targets of the surrogate's process, which costs next to nothing. Where the GPU is the bottleneck, all points
 * have one price; so have those that compile faster than HN_PRICES_LEAST_MS, whose times are mostly noise, and those whose
 * program another point has already. */
#define HN_PRICES_LEAST_MS 300.0

struct hn_prices {
    unsigned look_ahead;
    double *log_compile; /* by point of the trail; NAN: not known */
    size_t room;
    double compile_ms;  /* sums over all points told that were measured */
    double evaluate_ms;
    size_t measured;
    const struct hn_space *space;
    bool *unread;       /* as of hn_search; NULL: all is read */
    uint64_t *programs; /* of the points proposed, as hashes in open addressing; 0: free */
    size_t program_count;
    size_t program_slots;
    double *prices; /* by candidate, in ms, as of hn_prices_predict */
    bool differ;    /* they do: the compiler is what is scarce */
    double spread;  /* standard deviation of the logarithms of what is known */
};

/* For so many candidates at most. False when out of memory: nothing is to be finished. */
bool hn_prices_init(struct hn_prices *prices, const struct hn_search *search, size_t candidates);
void hn_prices_finish(struct hn_prices *prices);

/* A point is proposed: others of its program are compiled with it. Out of memory, that stays unknown. */
void hn_prices_propose(struct hn_prices *prices, const uint16_t *choice);
/* What a finished point took. Out of memory, it stays unknown. */
void hn_prices_note(struct hn_prices *prices, uint32_t point, const struct hn_observation *observation);
/* The surrogate is up to date, and the candidates were predicted. */
void hn_prices_predict(struct hn_prices *prices, const struct hn_surrogate *surrogate,
                       const struct hn_candidates *candidates);

#endif
