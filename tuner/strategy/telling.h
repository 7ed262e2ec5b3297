/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_TELLING_H
#define HONE_TUNER_STRATEGY_TELLING_H

#include "tuner/strategy/strategy.h"

/* The search contract of strategy.h, for whoever drives a strategy: a tune or a simulation. */

/* A strategy that comes back to known points so often in a row has nothing new to say. */
#define HN_REPEATS_MOST 10000

/* How many tickets, from the first on, are told as compiled and as finished before a proposal. */
struct hn_telling {
    uint64_t compiled;
    uint64_t finished;
};
/* Before proposal t, of `count` tickets that there are. Behind the last proposal t goes on as if there were more, so that what
 * is declined does not depend on where a search ends. */
struct hn_telling hn_telling_before(uint64_t t, unsigned look_ahead, uint64_t count);

/* Tells what compiling found, and no more: of a measurement that is already there nothing. False when the strategy declines
 * to have it measured; not of what failed. */
bool hn_tell_compiled(const struct hn_strategy_kind *kind, struct hn_strategy *strategy, uint64_t ticket,
                      const struct hn_observation *known);

#endif
