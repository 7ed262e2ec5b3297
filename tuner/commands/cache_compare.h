/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_CACHE_COMPARE_H
#define HONE_TUNER_COMMANDS_CACHE_COMPARE_H

#include "tuner/commands/cache_command.h"

/* The tunings of two lists side by side, and how their best times differ beyond the noise. */
enum hn_change {
    HN_CHANGE_NONE,  /* the same point, as fast */
    HN_CHANGE_POINT, /* another point, as fast */
    HN_CHANGE_FASTER, /* theirs is faster than ours: the 95% intervals are apart, and the medians by the threshold */
    HN_CHANGE_SLOWER,
    HN_CHANGE_ADDED, /* only theirs */
    HN_CHANGE_REMOVED, /* only ours */
};

struct hn_tuned_pair {
    const struct hn_tuned *ours;   /* NULL: HN_CHANGE_ADDED */
    const struct hn_tuned *theirs; /* NULL: HN_CHANGE_REMOVED */
    enum hn_change change;
    const char *remark; /* shown in a column of its own; NULL: none */
};

struct hn_tuned_pairs {
    struct hn_tuned_pair *items;
    size_t count;
};

/* Pairs tunings of equal identity, measured with measured and simulated with simulated; `across`: also one with the other,
 * with a remark, where each list has it in one kind only. In the order of ours, then what only theirs has. Borrows
 * the lists. threshold: relative, 0.02 for 2%. Free the items. */
enum hn_status hn_tuned_pairs_make(const struct hn_tuned_list *ours, const struct hn_tuned_list *theirs, double threshold,
                                   bool across, struct hn_tuned_pairs *pairs, struct hn_error *err);
/* "faster", "other point", ... */
const char *hn_change_name(enum hn_change change);
/* The functions below take the pairs whose change is in `changes`, a mask of 1 << change. */
size_t hn_tuned_pairs_count(const struct hn_tuned_pairs *pairs, unsigned changes);
/* One row a pair on standard output, under headings for ours and theirs. */
void hn_tuned_pairs_print(const struct hn_tuned_pairs *pairs, unsigned changes, const char *ours, const char *theirs);
json_t *hn_tuned_pairs_to_json(const struct hn_tuned_pairs *pairs, unsigned changes); /* NULL when out of memory */

#endif
