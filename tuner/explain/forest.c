/* SPDX-License-Identifier: MIT */
#include "tuner/explain/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/explain/tree.h"

enum { TREES = 48, ROUNDS = 4 };

struct hn_forest {
    const struct hn_evidence *evidence;
    struct hn_tree trees[TREES];
    double *values; /* lower bounds replaced */
    double *sums;   /* of the trees that did not see a point */
    uint32_t *unseen;
    double *variances; /* of a point's leaves among the trees */
    double explained;
};

static void tally(struct hn_forest *forest, const struct hn_tree *tree, const bool *seen)
{
    for (size_t i = 0; i < forest->evidence->count; i++) {
        double value;
        if (seen[i])
            continue;
        value = hn_tree_predict(tree, hn_evidence_choice(forest->evidence, i));
        forest->sums[i] += value;
        forest->variances[i] += value * value;
        forest->unseen[i]++;
    }
}

static enum hn_status grow_all(struct hn_forest *forest, struct hn_tree_growth *growth, bool *seen,
                               struct hn_error *err)
{
    size_t count = forest->evidence->count;
    enum hn_status status = HN_OK;
    memset(forest->sums, 0, count * sizeof *forest->sums);
    memset(forest->variances, 0, count * sizeof *forest->variances);
    memset(forest->unseen, 0, count * sizeof *forest->unseen);
    for (size_t t = 0; status == HN_OK && t < TREES; t++) {
        status = hn_tree_grow(growth, &forest->trees[t], seen, err);
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

static enum hn_status grow_rounds(struct hn_forest *forest, uint64_t seed, struct hn_error *err)
{
    const struct hn_evidence *evidence = forest->evidence;
    struct hn_tree_growth *growth;
    enum hn_status status = hn_tree_growth_create(evidence, forest->values, seed, &growth, err);
    if (status != HN_OK)
        return status;
    bool *seen = calloc(evidence->count + 1, sizeof *seen);
    if (seen == NULL)
        status = hn_fail_memory(err);
    for (int round = 0; status == HN_OK && round < ROUNDS; round++) {
        if (round > 0)
            impute(forest);
        status = grow_all(forest, growth, seen, err);
        if (evidence->bounded == 0)
            break;
    }
    hn_tree_growth_destroy(growth);
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
        hn_tree_finish(&forest->trees[t]);
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
        sum += hn_tree_predict(&forest->trees[t], choice);
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
