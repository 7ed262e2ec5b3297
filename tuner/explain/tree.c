/* SPDX-License-Identifier: MIT */
#include "tuner/explain/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* A tree sees at most so many draws, so that a million points take seconds. */
enum { SMALLEST_SPLIT = 4, MOST_DRAWS = 20000 };
/* Of the parameters, those that a node may be split by: as the forests that functional ANOVA was
 * made for (Hutter, Hoos and Leyton-Brown, 2014). */
static const double parameters_tried = 5.0 / 6;

/* Values whose rank is below `limit` go left. */
struct hn_tree_node {
    uint32_t parameter;
    uint32_t left;      /* 0: a leaf; the right child follows it */
    uint8_t *goes_left; /* by value index */
    double value;
};

struct split {
    size_t parameter;
    double gain;
    size_t limit;    /* of the values in order, so many go left */
    uint16_t *order; /* with room for all values */
    size_t values;
};

struct hn_tree_growth {
    const struct hn_evidence *evidence;
    const double *values;
    struct hn_tree *tree;
    struct hn_random random;
    uint32_t *rows; /* drawn with repeats, and put in order as nodes are split */
    uint32_t *right;
    double *sums; /* by value index */
    uint32_t *hits;
    uint16_t *order;
    size_t *candidates;
    struct split split; /* the best so far, of the node that is grown */
};

static size_t most_values(const struct hn_space *space)
{
    size_t most = 0;
    for (size_t p = 0; p < hn_space_parameter_count(space); p++)
        if (hn_space_value_count(space, p) > most)
            most = hn_space_value_count(space, p);
    return most;
}

enum hn_status hn_tree_growth_create(const struct hn_evidence *evidence, const double *values,
                                     uint64_t seed, struct hn_tree_growth **out,
                                     struct hn_error *err)
{
    size_t most = most_values(evidence->space) + 1;
    struct hn_tree_growth *growth = calloc(1, sizeof *growth);
    if (growth == NULL)
        return hn_fail_memory(err);
    *growth = (struct hn_tree_growth){
        .evidence = evidence,
        .values = values,
        .random = hn_random_seeded(seed),
        .rows = calloc(evidence->count + 1, sizeof *growth->rows),
        .right = calloc(evidence->count + 1, sizeof *growth->right),
        .sums = calloc(most, sizeof *growth->sums),
        .hits = calloc(most, sizeof *growth->hits),
        .order = calloc(most, sizeof *growth->order),
        .candidates = calloc(evidence->parameters + 1, sizeof *growth->candidates),
        .split = {.order = calloc(most, sizeof *growth->split.order)},
    };
    if (growth->rows == NULL || growth->right == NULL || growth->sums == NULL ||
        growth->hits == NULL || growth->order == NULL || growth->candidates == NULL ||
        growth->split.order == NULL) {
        hn_tree_growth_destroy(growth);
        return hn_fail_memory(err);
    }
    for (size_t p = 0; p < evidence->parameters; p++)
        growth->candidates[p] = p;
    *out = growth;
    return HN_OK;
}

void hn_tree_growth_destroy(struct hn_tree_growth *growth)
{
    if (growth == NULL)
        return;
    free(growth->rows);
    free(growth->right);
    free(growth->sums);
    free(growth->hits);
    free(growth->order);
    free(growth->candidates);
    free(growth->split.order);
    free(growth);
}

static double mean_of(const struct hn_tree_growth *growth, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += growth->values[growth->rows[i]];
    return sum / (double)(end - begin);
}

/* The values that occur here: numbers in their order, others by their mean, which makes the best
 * of all divisions in two one of the cuts (Breiman et al., 1984). */
static size_t order_values(struct hn_tree_growth *growth, size_t parameter)
{
    const struct hn_space *space = growth->evidence->space;
    bool numeric = hn_space_is_numeric(space, parameter);
    size_t count = 0;
    for (size_t v = 0; v < hn_space_value_count(space, parameter); v++) {
        if (growth->hits[v] == 0)
            continue;
        double key = numeric ? hn_value_number(hn_space_value(space, parameter, v))
                             : growth->sums[v] / growth->hits[v];
        size_t k = count++;
        for (; k > 0; k--) {
            uint16_t before = growth->order[k - 1];
            double other = numeric ? hn_value_number(hn_space_value(space, parameter, before))
                                   : growth->sums[before] / growth->hits[before];
            if (other <= key)
                break;
            growth->order[k] = before;
        }
        growth->order[k] = (uint16_t)v;
    }
    return count;
}

static void try_parameter(struct hn_tree_growth *growth, size_t parameter, size_t begin, size_t end)
{
    struct split *split = &growth->split;
    size_t values = hn_space_value_count(growth->evidence->space, parameter);
    double total = 0;
    memset(growth->sums, 0, values * sizeof *growth->sums);
    memset(growth->hits, 0, values * sizeof *growth->hits);
    for (size_t i = begin; i < end; i++) {
        uint16_t value = hn_evidence_choice(growth->evidence, growth->rows[i])[parameter];
        growth->sums[value] += growth->values[growth->rows[i]];
        growth->hits[value]++;
        total += growth->values[growth->rows[i]];
    }
    size_t count = order_values(growth, parameter);
    double left = 0;
    double hits = 0;
    double all = (double)(end - begin);
    for (size_t k = 0; k + 1 < count; k++) {
        left += growth->sums[growth->order[k]];
        hits += growth->hits[growth->order[k]];
        double gain = left * left / hits + (total - left) * (total - left) / (all - hits) -
                      total * total / all;
        if (gain <= split->gain)
            continue;
        split->gain = gain;
        split->parameter = parameter;
        split->limit = k + 1;
        split->values = count;
        memcpy(split->order, growth->order, count * sizeof *growth->order);
    }
}

/* Shuffles the parameters and tries the first of them; all, where those give nothing. */
static void find_split(struct hn_tree_growth *growth, size_t begin, size_t end)
{
    struct split *split = &growth->split;
    size_t count = growth->evidence->parameters;
    size_t tried = (size_t)ceil((double)count * parameters_tried);
    split->gain = 1e-12;
    split->limit = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = i + (size_t)hn_random_below(&growth->random, count - i);
        size_t parameter = growth->candidates[j];
        growth->candidates[j] = growth->candidates[i];
        growth->candidates[i] = parameter;
        if (i < tried || split->limit == 0)
            try_parameter(growth, parameter, begin, end);
    }
}

static enum hn_status add_node(struct hn_tree *tree, double value, size_t *number,
                               struct hn_error *err)
{
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity * 2 + 64;
        struct hn_tree_node *nodes = realloc(tree->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return hn_fail_memory(err);
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    *number = tree->count;
    tree->nodes[tree->count++] = (struct hn_tree_node){.value = value};
    return HN_OK;
}

/* Rows that go left to the front, the others behind them; where those begin. */
static size_t divide(struct hn_tree_growth *growth, const struct hn_tree_node *node, size_t begin,
                     size_t end)
{
    size_t middle = begin;
    size_t right = 0;
    for (size_t i = begin; i < end; i++) {
        uint32_t row = growth->rows[i];
        if (node->goes_left[hn_evidence_choice(growth->evidence, row)[node->parameter]])
            growth->rows[middle++] = row;
        else
            growth->right[right++] = row;
    }
    memcpy(growth->rows + middle, growth->right, right * sizeof *growth->rows);
    return middle;
}

/* A value that did not occur here goes with its nearest neighbour in declared order. */
static uint8_t *mark_left(const struct hn_tree_growth *growth)
{
    const struct split *split = &growth->split;
    size_t values = hn_space_value_count(growth->evidence->space, split->parameter);
    uint8_t *left = malloc(values);
    if (left == NULL)
        return NULL;
    memset(left, 2, values);
    for (size_t k = 0; k < split->values; k++)
        left[split->order[k]] = k < split->limit;
    for (size_t v = 0; v < values; v++) {
        for (size_t distance = 1; left[v] == 2 && distance < values; distance++) {
            if (v >= distance && left[v - distance] < 2)
                left[v] = left[v - distance] + 3;
            else if (v + distance < values && left[v + distance] < 2)
                left[v] = left[v + distance] + 3;
        }
    }
    for (size_t v = 0; v < values; v++)
        left[v] %= 3;
    return left;
}

static enum hn_status grow_node(struct hn_tree_growth *growth, size_t number, size_t begin,
                                size_t end, struct hn_error *err)
{
    size_t left = 0;
    size_t right = 0;
    if (end - begin < SMALLEST_SPLIT)
        return HN_OK;
    find_split(growth, begin, end);
    if (growth->split.limit == 0)
        return HN_OK;
    struct hn_tree_node *node = &growth->tree->nodes[number];
    node->parameter = (uint32_t)growth->split.parameter;
    node->goes_left = mark_left(growth);
    if (node->goes_left == NULL)
        return hn_fail_memory(err);
    size_t middle = divide(growth, node, begin, end);
    enum hn_status status = add_node(growth->tree, mean_of(growth, begin, middle), &left, err);
    if (status == HN_OK)
        status = add_node(growth->tree, mean_of(growth, middle, end), &right, err);
    if (status != HN_OK)
        return status;
    growth->tree->nodes[number].left = (uint32_t)left;
    status = grow_node(growth, left, begin, middle, err);
    return status == HN_OK ? grow_node(growth, right, middle, end, err) : status;
}

enum hn_status hn_tree_grow(struct hn_tree_growth *growth, struct hn_tree *tree, bool *seen,
                            struct hn_error *err)
{
    size_t root = 0;
    size_t count = growth->evidence->count;
    size_t draws = count < MOST_DRAWS ? count : MOST_DRAWS;
    hn_tree_finish(tree);
    growth->tree = tree;
    memset(seen, 0, count * sizeof *seen);
    for (size_t i = 0; i < draws; i++) {
        growth->rows[i] = (uint32_t)hn_random_below(&growth->random, count);
        seen[growth->rows[i]] = true;
    }
    enum hn_status status = add_node(growth->tree, mean_of(growth, 0, draws), &root, err);
    return status == HN_OK ? grow_node(growth, root, 0, draws, err) : status;
}

double hn_tree_predict(const struct hn_tree *tree, const uint16_t *choice)
{
    const struct hn_tree_node *node = &tree->nodes[0];
    while (node->left != 0)
        node = &tree->nodes[node->left + (node->goes_left[choice[node->parameter]] ? 0 : 1)];
    return node->value;
}

void hn_tree_finish(struct hn_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->nodes[i].goes_left);
    free(tree->nodes);
    *tree = (struct hn_tree){0};
}
