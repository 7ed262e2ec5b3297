/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_TELLING_H
#define HONE_TUNER_STRATEGY_TELLING_H

#include "tuner/strategy/schedule.h"
#include "tuner/strategy/strategy.h"

/* The search contract of strategy.h, for whoever drives a strategy: a tune or a simulation. */

/* A strategy that comes back to known points so often in a row has nothing new to say. */
#define HN_REPEATS_MOST 10000

/* Whether it is to be asked for another proposal before more is told. */
bool hn_may_propose(const struct hn_strategy_kind *kind, const struct hn_strategy *strategy,
                    const struct hn_schedule *schedule);

/* Tells what compiling found, and no more: of a measurement that is already there nothing. False when the strategy declines
 * to have it measured; not of what failed. */
bool hn_tell_compiled(const struct hn_strategy_kind *kind, struct hn_strategy *strategy, uint64_t ticket,
                      const struct hn_observation *known);

#endif
