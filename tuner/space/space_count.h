/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_COUNT_H
#define HONE_TUNER_SPACE_SPACE_COUNT_H

#include "tuner/space/space_search.h"

/* How many points lie below each state of a plan, for space*.c only. What the levels from one on do depends on little of
 * what is bound above: the values that their steps use. Where few combinations of these occur, all points are counted,
 * and drawn, without being looked at one by one (as paths through a decision diagram). */
struct hn_space_count_level {
    int *terms; /* what the levels from this one on use of those above: cells, and positions */
    size_t term_count;
    size_t *slots;
    size_t slot_count;
    uint64_t *keys; /* of these, then the count; a hash table */
    size_t used;
    size_t capacity;
};

struct hn_space_counts {
    const struct hn_space_plan *plan;
    struct hn_space_count_level *levels;
    size_t bytes;
    double total; /* exact up to 2^53 */
    struct hn_blocks blocks;
};

/* HN_WALK_TOO_LONG: that takes more than so many steps, or 256 MiB; then counts holds nothing. */
enum hn_walk hn_space_counts_init(struct hn_space_counts *counts, struct hn_space_search *search, uint64_t most_steps);
void hn_space_counts_finish(struct hn_space_counts *counts);

/* Leaves search at a point, all equally likely: its key is below the last level. */
void hn_space_counts_draw(const struct hn_space_counts *counts, struct hn_space_search *search,
                          struct hn_random *random);

#endif
