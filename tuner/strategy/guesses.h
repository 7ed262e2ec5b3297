/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_GUESSES_H
#define HONE_TUNER_STRATEGY_GUESSES_H

#include "tuner/strategy/strategy.h"

/* Writes points that the space estimates to cost least, of a sample, no two alike in all but one parameter; `limit` at most, the best
 * one last. Returns how many there are: 0 without estimates. */
size_t hn_guesses(const struct hn_search *search, size_t limit, uint16_t *choices);

#endif
