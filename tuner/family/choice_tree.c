/* SPDX-License-Identifier: MIT */
#include "tuner/family/choice_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A leaf while the tree grows: a range of the samples, and the best way to split it. */
struct leaf {
    size_t node;
    size_t begin, end;
    double saving; /* of the split; 0: none */
    int feature;
    int64_t threshold;
};

struct growth {
    const struct hn_choice_tree_data *data;
    size_t least;
    uint32_t *order;  /* the samples, a leaf's together */
    uint32_t *sorted; /* room for the samples of a leaf */
    double *left;     /* room for the costs of all choices */
    double *right;
    struct leaf *leaves;
    size_t leaf_count;
    struct hn_rule_node *nodes;
    size_t node_count;
};

static int64_t value_of(const struct hn_choice_tree_data *data, int feature, size_t sample)
{
    return data->values[(size_t)feature * data->samples + sample];
}

static double cost_of(const struct hn_choice_tree_data *data, size_t choice, size_t sample)
{
    return data->weights[sample] * data->costs[choice * data->samples + sample];
}

static size_t least_of(const double *costs, size_t count)
{
    size_t least = 0;
    for (size_t c = 1; c < count; c++)
        if (costs[c] < costs[least])
            least = c;
    return least;
}

static double sum_costs(const struct growth *growth, const struct leaf *leaf, double *costs)
{
    const struct hn_choice_tree_data *data = growth->data;
    for (size_t c = 0; c < data->choices; c++) {
        costs[c] = 0;
        for (size_t i = leaf->begin; i < leaf->end; i++)
            costs[c] += cost_of(data, c, growth->order[i]);
    }
    return costs[least_of(costs, data->choices)];
}

struct by_value {
    const struct hn_choice_tree_data *data;
    int feature;
};

static int compare(const void *a, const void *b, void *context)
{
    const struct by_value *by = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t left = value_of(by->data, by->feature, x), right = value_of(by->data, by->feature, y);
    if (left != right)
        return left < right ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Half way, where logarithms are: what is measured is spread so. */
static int64_t between(int64_t below, int64_t above)
{
    if (below > 0) {
        int64_t middle = (int64_t)sqrt((double)below * (double)above);
        return middle < below ? below : middle >= above ? above - 1 : middle;
    }
    return below + (above - below - 1) / 2;
}

static void try_feature(struct growth *growth, struct leaf *leaf, const double *whole,
                        double whole_cost, int feature)
{
    const struct hn_choice_tree_data *data = growth->data;
    size_t count = leaf->end - leaf->begin;
    struct by_value by = {data, feature};
    memcpy(growth->sorted, growth->order + leaf->begin, count * sizeof *growth->sorted);
    qsort_r(growth->sorted, count, sizeof *growth->sorted, compare, &by);
    memset(growth->left, 0, data->choices * sizeof *growth->left);
    for (size_t i = 0; i + growth->least < count; i++) {
        uint32_t sample = growth->sorted[i];
        for (size_t c = 0; c < data->choices; c++)
            growth->left[c] += cost_of(data, c, sample);
        int64_t below = value_of(data, feature, sample);
        int64_t above = value_of(data, feature, growth->sorted[i + 1]);
        if (below == above || i + 1 < growth->least)
            continue;
        double left = INFINITY, right = INFINITY;
        for (size_t c = 0; c < data->choices; c++) {
            left = fmin(left, growth->left[c]);
            right = fmin(right, whole[c] - growth->left[c]);
        }
        if (whole_cost - left - right > leaf->saving) {
            leaf->saving = whole_cost - left - right;
            leaf->feature = feature;
            leaf->threshold = between(below, above);
        }
    }
}

static void look_at_leaf(struct growth *growth, struct leaf *leaf)
{
    double cost = sum_costs(growth, leaf, growth->right);
    growth->nodes[leaf->node] = (struct hn_rule_node){
        .feature = -1,
        .configuration = (int32_t)least_of(growth->right, growth->data->choices),
        .sure = true};
    leaf->saving = 0;
    for (size_t f = 0; f < growth->data->features; f++)
        try_feature(growth, leaf, growth->right, cost, (int)f);
}

/* Samples at or below the threshold come first; the order within is kept. */
static size_t part(struct growth *growth, const struct leaf *leaf)
{
    size_t below = leaf->begin, above = 0;
    for (size_t i = leaf->begin; i < leaf->end; i++) {
        uint32_t sample = growth->order[i];
        if (value_of(growth->data, leaf->feature, sample) <= leaf->threshold)
            growth->order[below++] = sample;
        else
            growth->sorted[above++] = sample;
    }
    memcpy(growth->order + below, growth->sorted, above * sizeof *growth->sorted);
    return below;
}

static void split(struct growth *growth, size_t at)
{
    struct leaf *leaf = &growth->leaves[at];
    size_t middle = part(growth, leaf);
    struct leaf *other = &growth->leaves[growth->leaf_count++];
    growth->nodes[leaf->node].feature = leaf->feature;
    growth->nodes[leaf->node].threshold = leaf->threshold;
    growth->nodes[leaf->node].left = (int32_t)growth->node_count;
    growth->nodes[leaf->node].right = (int32_t)growth->node_count + 1;
    growth->nodes[leaf->node].configuration = 0;
    growth->nodes[leaf->node].sure = false;
    *other = (struct leaf){.node = growth->node_count + 1, .begin = middle, .end = leaf->end};
    leaf->node = growth->node_count;
    leaf->end = middle;
    growth->node_count += 2;
    look_at_leaf(growth, leaf);
    look_at_leaf(growth, other);
}

static void grow(struct growth *growth, size_t leaves, double gain)
{
    double weight = 0;
    const struct hn_choice_tree_data *data = growth->data;
    for (size_t s = 0; s < data->samples; s++) {
        growth->order[s] = (uint32_t)s;
        weight += data->weights[s] / (double)data->samples;
    }
    growth->leaves[0] = (struct leaf){.node = 0, .begin = 0, .end = data->samples};
    growth->leaf_count = growth->node_count = 1;
    look_at_leaf(growth, &growth->leaves[0]);
    while (growth->leaf_count < leaves) {
        size_t best = 0;
        for (size_t i = 1; i < growth->leaf_count; i++)
            if (growth->leaves[i].saving > growth->leaves[best].saving)
                best = i;
        if (!(growth->leaves[best].saving > gain * weight))
            return;
        split(growth, best);
    }
}

enum hn_status hn_choice_tree_grow(const struct hn_choice_tree_data *data, size_t leaves,
                                   size_t least, double gain, struct hn_rule_node **nodes,
                                   size_t *node_count, struct hn_error *err)
{
    struct growth growth = {.data = data, .least = least > 0 ? least : 1};
    growth.order = calloc(data->samples + 1, sizeof *growth.order);
    growth.sorted = calloc(data->samples + 1, sizeof *growth.sorted);
    growth.left = calloc(2 * data->choices + 1, sizeof *growth.left);
    growth.leaves = calloc(leaves + 1, sizeof *growth.leaves);
    growth.nodes = calloc(2 * leaves + 1, sizeof *growth.nodes);
    bool failed = growth.order == NULL || growth.sorted == NULL || growth.left == NULL ||
                  growth.leaves == NULL || growth.nodes == NULL;
    if (!failed) {
        growth.right = growth.left + data->choices;
        grow(&growth, leaves, gain);
    }
    free(growth.order);
    free(growth.sorted);
    free(growth.left);
    free(growth.leaves);
    *nodes = growth.nodes;
    *node_count = growth.node_count;
    if (!failed)
        return HN_OK;
    free(growth.nodes);
    *nodes = NULL;
    return hn_fail_memory(err);
}

size_t hn_choice_tree_leaf(const struct hn_rule_node *nodes, const struct hn_choice_tree_data *data,
                           size_t sample)
{
    size_t node = 0;
    while (nodes[node].feature >= 0)
        node = (size_t)(value_of(data, nodes[node].feature, sample) <= nodes[node].threshold
                            ? nodes[node].left
                            : nodes[node].right);
    return node;
}
