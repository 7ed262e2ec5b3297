/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_SEARCH_H
#define HONE_TUNER_SPACE_SPACE_SEARCH_H

#include "tuner/space/space_plan.h"
#include "base/random.h"

/* Going through a plan, for space*.c only: one thread's state. */
struct hn_space_search {
    const struct hn_space_plan *plan;
    uint16_t *positions;      /* by slot, of the values bound */
    struct hn_value *current; /* by slot, where the plan evaluates */
    union hn_cell *cells;     /* by term */
    uint64_t *bits;           /* tables */
    unsigned char *known;
    uint64_t *masks;          /* candidates, by level */
    uint64_t *keys;           /* of the points below, by level */
    uint64_t *points;         /* keys that were found */
    uint64_t point_count;
    uint64_t capacity;
    uint64_t steps;           /* values bound or checked, those that ask the evaluator many times */
};

enum hn_status hn_space_search_init(struct hn_space_search *search, const struct hn_space_plan *plan,
                                    struct hn_error *err);
void hn_space_search_finish(struct hn_space_search *search);

/* The candidates of a level, in its mask, while the levels above are bound: false when there are none. At the last level
 * all of them are points. */
bool hn_space_candidates(struct hn_space_search *search, size_t level);
/* How many there are. */
size_t hn_space_count_candidates(const struct hn_space_search *search, size_t level);
void hn_space_bind(struct hn_space_search *search, size_t level, size_t position);

/* How a walk ended. */
enum hn_walk { HN_WALK_DONE, HN_WALK_ENOUGH, HN_WALK_TOO_LONG, HN_WALK_NO_MEMORY };
struct hn_walk_limits {
    uint64_t points; /* ends with ENOUGH when there are that many */
    uint64_t steps;  /* ends with TOO_LONG after so many steps, and four for each point, or a signal */
};
/* All points below the levels that are bound, in the order of the plan: appends their keys. */
enum hn_walk hn_space_walk(struct hn_space_search *search, size_t level, const struct hn_walk_limits *limits);
/* From the first level on; steps count from now. A long walk is done by all cores, with the same outcome. */
enum hn_walk hn_space_walk_all(struct hn_space_search *search, const struct hn_walk_limits *limits);

#endif
