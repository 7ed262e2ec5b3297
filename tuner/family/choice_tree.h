/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_CHOICE_TREE_H
#define HONE_TUNER_FAMILY_CHOICE_TREE_H

#include "cache/family/rule.h"

/* Decision trees that cost least: as a regression tree (Breiman et al., "Classification and Regression Trees", 1984),
 * but what a leaf costs is what its one choice costs all samples in it. */

struct hn_choice_tree_data {
    size_t samples, choices, features;
    const int64_t *values; /* [feature][sample] */
    const double *costs;   /* [choice][sample], not below 0 */
    const double *weights; /* [sample] */
};

/* Grows leaf by leaf, the one first whose split saves most, up to `leaves`, as long as a split saves `gain` of a
 * sample of mean weight. A leaf has at least `least` samples. The nodes are in the order of hn_rule, all leaves sure;
 * free them. The same data give the same tree. */
struct hn_rule_node *hn_choice_tree_grow(const struct hn_choice_tree_data *data, size_t leaves, size_t least,
                                         double gain, size_t *node_count);
/* The leaf of a sample. */
size_t hn_choice_tree_leaf(const struct hn_rule_node *nodes, const struct hn_choice_tree_data *data, size_t sample);

/* The costs of several choices at many samples: costs[choice * samples + sample], INFINITY where it can not be used. */
struct hn_costs_table {
    size_t choices, samples;
    const double *costs;
    const double *weights; /* of the samples */
};

/* The choices that together lose least: choice 0 and up to `most` - 1 others, added one by one while each saves `gain`
 * of a sample of mean weight, then exchanged while that saves something. `picked` has room for `most`. How many. */
size_t hn_pick(const struct hn_costs_table *table, size_t most, double gain, size_t *picked);

#endif
