/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_MOVES_H
#define HONE_TUNER_STRATEGY_MOVES_H

#include "tuner/strategy/trail.h"

/* The moves that strategies are made of. Those that look for a new point (one never proposed) return false when they
 * find none, and leave `choice` valid. */

/* A random valid point, new when one is found in a few hundred draws. */
bool hn_move_sample(struct hn_trail *trail, uint16_t *choice);

/* Makes `choice` valid: as it is when it is; else the valid point that differs in one parameter and by the fewest
 * steps, a new one if there is any; else parameters are set as in `anchor` (a valid point), in a random order, until
 * it is valid. */
void hn_move_repair(struct hn_trail *trail, const uint16_t *anchor, uint16_t *choice);

/* A random new neighbour of the valid point `from`. */
bool hn_move_step(struct hn_trail *trail, const uint16_t *from, enum hn_neighbourhood kind, uint16_t *choice);

/* Another value of a parameter with at least two: an adjacent one when near, else any. */
uint16_t hn_move_value(struct hn_trail *trail, size_t i, uint16_t value, bool near);

/* From the valid point `from` to a new one by a change of one parameter and, where that is not valid, of another one:
 * for parameters that depend on each other (A * B == 64). Tries a few times only. */
bool hn_move_change(struct hn_trail *trail, const uint16_t *from, uint16_t *choice);

/* Makes the valid `choice` new: as it is when it is; else a new neighbour (adjacent before any other); else a random
 * point. */
bool hn_move_renew(struct hn_trail *trail, uint16_t *choice);

#endif
