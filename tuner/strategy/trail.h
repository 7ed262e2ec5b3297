/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_TRAIL_H
#define HONE_TUNER_STRATEGY_TRAIL_H

#include "base/hash.h"
#include "tuner/strategy/strategy.h"

/* The proposals of a strategy and what it was told of them: the distinct points with their costs, found by value, and
 * for each ticket its point and a number of the strategy's own (`tag`). Owns its copies. */
struct hn_trail {
    const struct hn_space *space;
    size_t width;            /* parameters of a point */
    struct hn_random random; /* the strategy's only source of chance */
    struct hn_keys points;   /* distinct ones, width numbers each, as first proposed */
    double *costs;           /* lower is better; NAN: not told yet, or open; INFINITY: failed */
    bool *open;              /* told that its compilation was stopped: it may be good or fail */
    size_t count; /* of the points */
    struct hn_trail_ticket *tickets;
    size_t ticket_count; /* tickets proposed, or the last of them + 1 */
    uint16_t *neighbours; /* room for all neighbours of a point */
};

struct hn_trail_ticket {
    uint32_t point, tag;
};

/* No point: what hn_keys_find and hn_trail_tell say of what was never proposed. */
#define HN_TRAIL_NONE HN_NO_KEY

/* Seeds the chance with search->seed. */
void hn_trail_init(struct hn_trail *trail, const struct hn_search *search);
void hn_trail_finish(struct hn_trail *trail);

/* Notes that `ticket` proposes the valid point. */
void hn_trail_add(struct hn_trail *trail, uint64_t ticket, const uint16_t *choice, uint32_t tag);
/* Notes the cost of what the ticket proposed; returns the point, or HN_TRAIL_NONE for a ticket never added. */
uint32_t hn_trail_tell(struct hn_trail *trail, uint64_t ticket, const struct hn_observation *observation);
/* Whether every point of the space was proposed. */
bool hn_trail_is_complete(const struct hn_trail *trail);

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

/* Makes the valid `choice` new: as it is when it is; else a new neighbour (adjacent before any other); else a random
 * point. */
bool hn_move_renew(struct hn_trail *trail, uint16_t *choice);

/* Points to begin with, the best one last. */

/* Writes the best points of the most relevant prior source that has any, `limit` at most, and returns
 * how many there are. */
size_t hn_seeds(const struct hn_search *search, size_t limit, uint16_t *choices);

#endif
