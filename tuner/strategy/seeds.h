/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_SEEDS_H
#define HONE_TUNER_STRATEGY_SEEDS_H

#include "tuner/strategy/strategy.h"

/* Writes the best points of the most relevant prior source that has any, `limit` at most, the best one last, and
 * returns how many there are. */
size_t hn_seeds(const struct hn_search *search, size_t limit, uint16_t *choices);

#endif
