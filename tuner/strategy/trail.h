/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_TRAIL_H
#define HONE_TUNER_STRATEGY_TRAIL_H

#include "tuner/strategy/strategy.h"

/* What a strategy proposed and what it was told of it: the distinct points with their costs, found by value, and for
 * each ticket its point and a number of the strategy's own (`tag`). Owns its copies. */
struct hn_trail {
    const struct hn_space *space;
    size_t width;            /* parameters of a point */
    struct hn_random random; /* the strategy's only source of chance */
    uint16_t *points;        /* `count` distinct points, width numbers each, as first proposed */
    double *costs;           /* lower is better; NAN: not told yet, or open; INFINITY: failed */
    bool *open;              /* told that its compilation was stopped: it may be good or fail */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* hash table: number of a point + 1, or 0 */
    size_t slot_count;
    struct hn_trail_ticket *tickets;
    size_t ticket_count; /* tickets proposed, or the last of them + 1 */
    size_t ticket_capacity;
    size_t told;          /* tickets told finished */
    uint16_t *neighbours; /* room for all neighbours of a point */
};

struct hn_trail_ticket {
    uint32_t point;
    uint32_t tag;
};

/* No point: what hn_trail_find and hn_trail_tell say of what was never proposed. */
#define HN_TRAIL_NONE UINT32_MAX

/* Seeds the chance with search->seed. HN_ENOMEM. */
enum hn_status hn_trail_init(struct hn_trail *trail, const struct hn_search *search, struct hn_error *err);
void hn_trail_finish(struct hn_trail *trail);

/* Notes that `ticket` proposes the valid point; false when out of memory. */
bool hn_trail_add(struct hn_trail *trail, uint64_t ticket, const uint16_t *choice, uint32_t tag);
/* Notes the cost of what the ticket proposed; returns the point, or HN_TRAIL_NONE for a ticket never added. */
uint32_t hn_trail_tell(struct hn_trail *trail, uint64_t ticket, const struct hn_observation *observation);
/* The number of a proposed point, or HN_TRAIL_NONE. */
uint32_t hn_trail_find(const struct hn_trail *trail, const uint16_t *choice);
const uint16_t *hn_trail_point(const struct hn_trail *trail, uint32_t point);
/* Whether every point of the space was proposed. */
bool hn_trail_is_complete(const struct hn_trail *trail);

#endif
