/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_POPULATION_H
#define HONE_TUNER_STRATEGY_POPULATION_H

#include "tuner/strategy/moves.h"

/* What the strategies share that improve a few good points. A population is founded from the best of some points that
 * are spread over the space, bred until it no longer improves, and followed by another. With look-ahead it takes a
 * while to hear of founders: until then breeding goes on with what is there. */
struct hn_population {
    const struct hn_population_way *way;
    struct hn_trail trail;
    uint32_t *members; /* points that did not fail, best first; none before generation 1 */
    size_t count;
    size_t size;         /* members at most */
    unsigned generation; /* counts the populations */
    uint64_t first;      /* the population's first child has at least this ticket */
    uint64_t informed;   /* the first ticket that knew of the last improvement */
    size_t failures;     /* tickets from then on that did not improve */
    size_t patience;     /* as many of them end the population */
    bool founding;
    uint32_t *founders; /* the best of the next population, best first, `size` at most */
    size_t founder_count;
    size_t founders_proposed;
    size_t founders_told;
    uint16_t *seeds; /* points that are founders first */
    size_t seed_count;
    size_t free; /* parameters with more than one value */
    double *spans; /* how far apart a parameter's values are, from one to the next */
};

/* What sets such strategies apart. */
struct hn_population_way {
    /* Proposes a child of the members, HN_POPULATION_LEAST or more, with hn_population_bear. */
    bool (*breed)(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice);
    /* A child of this population was told of: it may become a member. */
    void (*settle)(struct hn_strategy *strategy, uint64_t ticket, uint32_t child);
    /* A founder was told of when breeding had begun: by now it is a member, where it is good enough. May be NULL. */
    void (*join)(struct hn_strategy *strategy, uint32_t founder);
};
enum { HN_POPULATION_LEAST = 4 };

/* A strategy of so many bytes that begins with its population and is zero behind it, with `size` members at most; and the end of
 * one that owns no more. After as many children as the best member has neighbours, about, of which none was better, a population
 * ends. */
enum hn_status hn_population_create(const struct hn_search *search, size_t bytes, size_t size,
                                    const struct hn_population_way *way, struct hn_strategy **strategy,
                                    struct hn_error *err);
void hn_population_destroy(struct hn_strategy *strategy);
bool hn_population_propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice);
void hn_population_finished(struct hn_strategy *strategy, uint64_t ticket, const struct hn_observation *observation);

/* Proposes a child: `choice` made valid, with `anchor` (a valid point) to fall back to, and new. The tag is below
 * HN_TRAIL_NONE. False when out of memory. */
bool hn_population_bear(struct hn_population *population, uint64_t ticket, const uint16_t *anchor, uint16_t *choice,
                        uint32_t tag);

/* Puts the point among the members where there is room, or instead of the worst where it is better. */
void hn_population_admit(struct hn_population *population, uint32_t point);
/* Puts the point among the members instead of the one at position `old`. */
void hn_population_replace(struct hn_population *population, size_t old, uint32_t point);
/* The position of the member, or count. */
size_t hn_population_find(const struct hn_population *population, uint32_t point);
double hn_population_cost(const struct hn_population *population, size_t position);
const uint16_t *hn_population_point(const struct hn_population *population, size_t position);
/* How much worse the worst member is than the best. */
double hn_population_range(const struct hn_population *population);

#endif
