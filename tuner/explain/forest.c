/* SPDX-License-Identifier: MIT */
#include "tuner/explain/forest.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search/random.h"

/* A tree sees at most so many draws, so that a million points take seconds. */
enum { TREES = 48, SMALLEST_SPLIT = 4, ROUNDS = 4, MOST_DRAWS = 20000 };
/* Of the parameters, those that a node may be split by: as the forests that functional ANOVA was
 * made for (Hutter, Hoos and Leyton-Brown, 2014). */
static const double parameters_tried = 5.0 / 6;

/* Values whose rank is below `limit` go left. */
struct node {
    uint32_t parameter;
    uint32_t left;      /* 0: a leaf; the right child follows it */
    uint8_t *goes_left; /* by value index */
    double value;
};

struct tree {
    struct node *nodes;
    size_t count;
    size_t capacity;
};

struct hn_forest {
    const struct hn_evidence *evidence;
    struct tree trees[TREES];
    double *values; /* lower bounds replaced */
    double *sums;   /* of the trees that did not see a point */
    uint32_t *unseen;
    double *variances; /* of a point's leaves among the trees */
    double explained;
};

/* What growing one tree needs. */
struct growth {
    const struct hn_evidence *evidence;
    const double *values;
    struct tree *tree;
    struct hn_random *random;
    uint32_t *rows; /* drawn with repeats, and put in order as nodes are split */
    uint32_t *right;
    double *sums; /* by value index */
    uint32_t *hits;
    uint16_t *order;
    size_t *candidates;
};

struct split {
    size_t parameter;
    double gain;
    size_t limit;    /* of the values in order, so many go left */
    uint16_t *order; /* with room for all values */
    size_t values;
};

static double mean_of(const struct growth *growth, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += growth->values[growth->rows[i]];
    return sum / (double)(end - begin);
}

/* The values that occur here: numbers in their order, others by their mean, which makes the best
 * of all divisions in two one of the cuts (Breiman et al., 1984). */
static size_t order_values(struct growth *growth, size_t parameter)
{
    const struct hn_space *space = growth->evidence->space;
    bool numeric = hn_evidence_is_numeric(space, parameter);
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

static void try_parameter(struct growth *growth, size_t parameter, size_t begin, size_t end,
                          struct split *split)
{
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
static void find_split(struct growth *growth, size_t begin, size_t end, struct split *split)
{
    size_t count = growth->evidence->parameters;
    size_t tried = (size_t)ceil((double)count * parameters_tried);
    split->gain = 1e-12;
    split->limit = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = i + (size_t)hn_random_below(growth->random, count - i);
        size_t parameter = growth->candidates[j];
        growth->candidates[j] = growth->candidates[i];
        growth->candidates[i] = parameter;
        if (i < tried || split->limit == 0)
            try_parameter(growth, parameter, begin, end, split);
    }
}

static enum hn_status add_node(struct tree *tree, double value, size_t *number,
                               struct hn_error *err)
{
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity * 2 + 64;
        struct node *nodes = realloc(tree->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return hn_fail_memory(err);
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    *number = tree->count;
    tree->nodes[tree->count++] = (struct node){.value = value};
    return HN_OK;
}

/* Rows that go left to the front, the others behind them; where those begin. */
static size_t divide(struct growth *growth, const struct node *node, size_t begin, size_t end)
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
static uint8_t *mark_left(const struct growth *growth, const struct split *split)
{
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

static enum hn_status grow_node(struct growth *growth, size_t number, size_t begin, size_t end,
                                struct split *split, struct hn_error *err)
{
    size_t left = 0;
    size_t right = 0;
    if (end - begin < SMALLEST_SPLIT)
        return HN_OK;
    find_split(growth, begin, end, split);
    if (split->limit == 0)
        return HN_OK;
    struct node *node = &growth->tree->nodes[number];
    node->parameter = (uint32_t)split->parameter;
    node->goes_left = mark_left(growth, split);
    if (node->goes_left == NULL)
        return hn_fail_memory(err);
    size_t middle = divide(growth, node, begin, end);
    enum hn_status status = add_node(growth->tree, mean_of(growth, begin, middle), &left, err);
    if (status == HN_OK)
        status = add_node(growth->tree, mean_of(growth, middle, end), &right, err);
    if (status != HN_OK)
        return status;
    growth->tree->nodes[number].left = (uint32_t)left;
    status = grow_node(growth, left, begin, middle, split, err);
    return status == HN_OK ? grow_node(growth, right, middle, end, split, err) : status;
}

static void finish_tree(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->nodes[i].goes_left);
    free(tree->nodes);
    *tree = (struct tree){0};
}

static double ask(const struct tree *tree, const uint16_t *choice)
{
    const struct node *node = &tree->nodes[0];
    while (node->left != 0)
        node = &tree->nodes[node->left + (node->goes_left[choice[node->parameter]] ? 0 : 1)];
    return node->value;
}

static size_t most_values(const struct hn_space *space)
{
    size_t most = 0;
    for (size_t p = 0; p < hn_space_parameter_count(space); p++)
        if (hn_space_value_count(space, p) > most)
            most = hn_space_value_count(space, p);
    return most;
}

/* Draws the points with repeats and grows a tree of them; seen[i]: i was drawn. */
static enum hn_status grow_tree(struct growth *growth, struct split *split, bool *seen,
                                struct hn_error *err)
{
    size_t root = 0;
    size_t count = growth->evidence->count;
    size_t draws = count < MOST_DRAWS ? count : MOST_DRAWS;
    memset(seen, 0, count * sizeof *seen);
    for (size_t i = 0; i < draws; i++) {
        growth->rows[i] = (uint32_t)hn_random_below(growth->random, count);
        seen[growth->rows[i]] = true;
    }
    enum hn_status status = add_node(growth->tree, mean_of(growth, 0, draws), &root, err);
    return status == HN_OK ? grow_node(growth, root, 0, draws, split, err) : status;
}

static void tally(struct hn_forest *forest, const struct tree *tree, const bool *seen)
{
    for (size_t i = 0; i < forest->evidence->count; i++) {
        double value;
        if (seen[i])
            continue;
        value = ask(tree, hn_evidence_choice(forest->evidence, i));
        forest->sums[i] += value;
        forest->variances[i] += value * value;
        forest->unseen[i]++;
    }
}

static enum hn_status grow_all(struct hn_forest *forest, struct growth *growth, struct split *split,
                               bool *seen, struct hn_error *err)
{
    size_t count = forest->evidence->count;
    enum hn_status status = HN_OK;
    memset(forest->sums, 0, count * sizeof *forest->sums);
    memset(forest->variances, 0, count * sizeof *forest->variances);
    memset(forest->unseen, 0, count * sizeof *forest->unseen);
    for (size_t t = 0; status == HN_OK && t < TREES; t++) {
        finish_tree(&forest->trees[t]);
        growth->tree = &forest->trees[t];
        status = grow_tree(growth, split, seen, err);
        if (status == HN_OK)
            tally(forest, &forest->trees[t], seen);
    }
    return status;
}

static double unseen_mean(const struct hn_forest *forest, size_t i)
{
    return forest->unseen[i] > 0 ? forest->sums[i] / forest->unseen[i] : forest->values[i];
}

static double explain_rest(const struct hn_forest *forest)
{
    const struct hn_evidence *evidence = forest->evidence;
    double mean = 0;
    double total = 0;
    double rest = 0;
    size_t count = evidence->count - evidence->bounded;
    for (size_t i = 0; i < evidence->count; i++)
        mean += evidence->lower_bounds[i] ? 0 : evidence->values[i] / (double)count;
    for (size_t i = 0; i < evidence->count; i++) {
        double error = evidence->values[i] - unseen_mean(forest, i);
        if (evidence->lower_bounds[i])
            continue;
        rest += error * error;
        total += (evidence->values[i] - mean) * (evidence->values[i] - mean);
    }
    return total > 0 ? 1 - rest / total : 0;
}

/* The mean of a normal distribution above a bound. */
static double mean_above(double mean, double deviation, double bound)
{
    if (!(deviation > 0))
        return fmax(mean, bound);
    double z = (bound - mean) / deviation;
    double tail = erfc(z / sqrt(2)) / 2;
    if (tail < 1e-12)
        return bound;
    return mean + deviation * exp(-z * z / 2) / sqrt(2 * acos(-1.0)) / tail;
}

/* The deviation is that of the trees and of what they leave unexplained. */
static void impute(struct hn_forest *forest)
{
    const struct hn_evidence *evidence = forest->evidence;
    double rest = 0;
    size_t count = 0;
    for (size_t i = 0; i < evidence->count; i++) {
        double error = evidence->values[i] - unseen_mean(forest, i);
        rest += evidence->lower_bounds[i] ? 0 : error * error;
        count += !evidence->lower_bounds[i];
    }
    rest = count > 0 ? rest / (double)count : 0;
    for (size_t i = 0; i < evidence->count; i++) {
        if (!evidence->lower_bounds[i] || forest->unseen[i] == 0)
            continue;
        double mean = unseen_mean(forest, i);
        double spread = fmax(forest->variances[i] / forest->unseen[i] - mean * mean, 0);
        forest->values[i] = mean_above(mean, sqrt(spread + rest), evidence->values[i]);
    }
}

static void finish_growth(struct growth *growth)
{
    free(growth->rows);
    free(growth->right);
    free(growth->sums);
    free(growth->hits);
    free(growth->order);
    free(growth->candidates);
}

static enum hn_status grow_rounds(struct hn_forest *forest, uint64_t seed, struct hn_error *err)
{
    const struct hn_evidence *evidence = forest->evidence;
    size_t values = most_values(evidence->space) + 1;
    struct hn_random random = hn_random_seeded(seed);
    struct growth growth = {
        .evidence = evidence,
        .values = forest->values,
        .random = &random,
        .rows = calloc(evidence->count + 1, sizeof *growth.rows),
        .right = calloc(evidence->count + 1, sizeof *growth.right),
        .sums = calloc(values, sizeof *growth.sums),
        .hits = calloc(values, sizeof *growth.hits),
        .order = calloc(values, sizeof *growth.order),
        .candidates = calloc(evidence->parameters + 1, sizeof *growth.candidates),
    };
    struct split split = {.order = calloc(values, sizeof *split.order)};
    bool *seen = calloc(evidence->count + 1, sizeof *seen);
    bool made = growth.rows != NULL && growth.right != NULL && growth.sums != NULL &&
                growth.hits != NULL && growth.order != NULL && growth.candidates != NULL &&
                split.order != NULL && seen != NULL;
    enum hn_status status = made ? HN_OK : hn_fail_memory(err);
    for (size_t p = 0; made && p < evidence->parameters; p++)
        growth.candidates[p] = p;
    for (int round = 0; status == HN_OK && round < ROUNDS; round++) {
        if (round > 0)
            impute(forest);
        status = grow_all(forest, &growth, &split, seen, err);
        if (evidence->bounded == 0)
            break;
    }
    finish_growth(&growth);
    free(split.order);
    free(seen);
    return status;
}

enum hn_status hn_forest_grow(const struct hn_evidence *evidence, uint64_t seed,
                              struct hn_forest **out, struct hn_error *err)
{
    struct hn_forest *forest = calloc(1, sizeof *forest);
    if (forest == NULL)
        return hn_fail_memory(err);
    forest->evidence = evidence;
    forest->values = calloc(evidence->count + 1, sizeof *forest->values);
    forest->sums = calloc(evidence->count + 1, sizeof *forest->sums);
    forest->variances = calloc(evidence->count + 1, sizeof *forest->variances);
    forest->unseen = calloc(evidence->count + 1, sizeof *forest->unseen);
    enum hn_status status = forest->values != NULL && forest->sums != NULL &&
                                    forest->variances != NULL && forest->unseen != NULL
                                ? HN_OK
                                : hn_fail_memory(err);
    if (status == HN_OK) {
        memcpy(forest->values, evidence->values, evidence->count * sizeof *forest->values);
        status = grow_rounds(forest, seed, err);
    }
    if (status != HN_OK) {
        hn_forest_destroy(forest);
        return status;
    }
    forest->explained = explain_rest(forest);
    *out = forest;
    return HN_OK;
}

void hn_forest_destroy(struct hn_forest *forest)
{
    if (forest == NULL)
        return;
    for (size_t t = 0; t < TREES; t++)
        finish_tree(&forest->trees[t]);
    free(forest->values);
    free(forest->sums);
    free(forest->variances);
    free(forest->unseen);
    free(forest);
}

double hn_forest_predict(const struct hn_forest *forest, const uint16_t *choice)
{
    double sum = 0;
    for (size_t t = 0; t < TREES; t++)
        sum += ask(&forest->trees[t], choice);
    return sum / TREES;
}

double hn_forest_explained(const struct hn_forest *forest)
{
    return forest->explained;
}

double hn_forest_value(const struct hn_forest *forest, size_t point)
{
    return forest->values[point];
}

size_t hn_forest_trees(const struct hn_forest *forest)
{
    (void)forest;
    return TREES;
}
