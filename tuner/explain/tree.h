/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_TREE_H
#define HONE_TUNER_EXPLAIN_TREE_H

#include "tuner/explain/evidence.h"

/* A regression tree over the measured points (Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees",
 * 1984): a node divides the values of one parameter in two. Each is grown of points that are drawn with repeats, and a
 * node may be divided by some of the parameters only, so that no two trees are alike. */
struct hn_tree_node;

/* All zero: none. */
struct hn_tree {
    struct hn_tree_node *nodes;
    size_t count;
    size_t capacity;
};

/* What growing trees needs, one after the other: the same for a seed. */
struct hn_tree_growth;

/* Borrows evidence and values, which are those of its points; they may change between trees. */
enum hn_status hn_tree_growth_create(const struct hn_evidence *evidence, const double *values, uint64_t seed,
                                     struct hn_tree_growth **growth, struct hn_error *err);
void hn_tree_growth_destroy(struct hn_tree_growth *growth);

/* In place of what the tree was; it is to be finished whatever comes back. seen[i]: point i was drawn. */
enum hn_status hn_tree_grow(struct hn_tree_growth *growth, struct hn_tree *tree, bool *seen, struct hn_error *err);
double hn_tree_predict(const struct hn_tree *tree, const uint16_t *choice);
void hn_tree_finish(struct hn_tree *tree);

#endif
