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
    const double *weights; /* [sample]; hn_pick takes NULL, for 1 each */
};

/* Grows leaf by leaf, the one first whose split saves most, up to `leaves`, as long as a split saves `gain` of a
 * sample of mean weight. A leaf has at least `least` samples, one or more. The nodes are in the order of hn_rule, all
 * leaves sure; free them. The same data give the same tree. */
struct hn_rule_node *hn_choice_tree_grow(const struct hn_choice_tree_data *data, size_t leaves, size_t least,
                                         double gain, size_t *node_count);

/* The choices that together lose least, whatever the features: choice 0 and others, added one by one while each saves
 * `gain` of a sample of mean weight, then exchanged while that saves something. They have up to `most` programs
 * (`programs`, below the number of choices, by choice), and are four times that at most.
 * `picked` has room for these, `used` becomes the number of their programs. How many. */
size_t hn_pick(const struct hn_choice_tree_data *data, const size_t *programs, size_t most, double gain, size_t *picked,
               size_t *used);

#endif
