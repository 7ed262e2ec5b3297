/* SPDX-License-Identifier: MIT */
#include "tuner/explain/explain_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/statistics.h"

/* A forest is made of regression trees over the measured points (Breiman, Friedman, Olshen and
 * Stone, "Classification and Regression Trees", 1984): a node divides the values of one parameter
 * in two. Each is grown of points that are drawn with repeats, and a node may be divided by some of
 * the parameters only, so that no two trees are alike. */

/* A tree sees at most so many draws, so that a million points take seconds. */
enum { SMALLEST_SPLIT = 4, MOST_DRAWS = 20000 };
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
};

struct split {
    size_t parameter;
    double gain;
    size_t limit;            /* of the values in order, so many go left */
    struct hn_ranked *order; /* with room for all values */
    size_t values;
};

struct growth {
    const struct hn_evidence *evidence;
    const double *values;
    struct tree *tree;
    struct hn_random random;
    uint32_t *rows; /* drawn with repeats, and put in order as nodes are split */
    bool *seen;     /* points that were drawn for the last tree */
    uint32_t *right;
    double *sums; /* by value index */
    uint32_t *hits;
    struct hn_ranked *order; /* the values that occur */
    size_t *candidates;
    struct split split; /* the best so far, of the node that is grown */
};

static void begin_growth(const struct hn_evidence *evidence, const double *values, uint64_t seed,
                         struct hn_blocks *memory, struct growth *growth)
{
    size_t most = 1;
    for (size_t p = 0; p < evidence->parameters; p++)
        if (hn_space_parameter(evidence->space, p)->count >= most)
            most = hn_space_parameter(evidence->space, p)->count + 1;
    *growth = (struct growth){
        .evidence = evidence,
        .values = values,
        .random = hn_random_seeded(seed),
        .rows = hn_need_block(memory, evidence->count, sizeof *growth->rows),
        .right = hn_need_block(memory, evidence->count, sizeof *growth->right),
        .seen = hn_need_block(memory, evidence->count, sizeof *growth->seen),
        .sums = hn_need_block(memory, most, sizeof *growth->sums),
        .hits = hn_need_block(memory, most, sizeof *growth->hits),
        .order = hn_need_block(memory, most, sizeof *growth->order),
        .candidates = hn_need_block(memory, evidence->parameters, sizeof *growth->candidates),
        .split = {.order = hn_need_block(memory, most, sizeof *growth->split.order)},
    };
    for (size_t p = 0; p < evidence->parameters; p++)
        growth->candidates[p] = p;
}

static double mean_of(const struct growth *growth, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += growth->values[growth->rows[i]];
    return sum / (double)(end - begin);
}

/* Values are put in order: numbers by themselves, others by their mean, which makes the best of all
 * divisions in two one of the cuts (Breiman et al., 1984). */
static void try_parameter(struct growth *growth, size_t parameter, size_t begin, size_t end)
{
    struct split *split = &growth->split;
    const struct hn_space *space = growth->evidence->space;
    const struct hn_space_parameter *own = hn_space_parameter(space, parameter);
    const bool numeric = hn_space_is_numeric(space, parameter);
    double total = 0;
    memset(growth->sums, 0, own->count * sizeof *growth->sums);
    memset(growth->hits, 0, own->count * sizeof *growth->hits);
    for (size_t i = begin; i < end; i++) {
        uint16_t value = hn_evidence_choice(growth->evidence, growth->rows[i])[parameter];
        growth->sums[value] += growth->values[growth->rows[i]];
        growth->hits[value]++;
        total += growth->values[growth->rows[i]];
    }
    size_t count = 0;
    for (size_t v = 0; v < own->count; v++) {
        if (growth->hits[v] == 0)
            continue;
        double key = numeric ? hn_value_number(&own->values[v]) : growth->sums[v] / growth->hits[v];
        growth->order[count++] = (struct hn_ranked){key, v};
    }
    qsort(growth->order, count, sizeof *growth->order, hn_ranked_compare);
    double left = 0, hits = 0;
    double all = (double)(end - begin);
    for (size_t k = 0; k + 1 < count; k++) {
        left += growth->sums[growth->order[k].place];
        hits += growth->hits[growth->order[k].place];
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
static void find_split(struct growth *growth, size_t begin, size_t end)
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

static size_t add_node(struct tree *tree, double value)
{
    HN_NEXT(tree->nodes, tree->count)->value = value;
    return tree->count - 1;
}

/* Rows that go left to the front, the others behind them; where those begin. */
static size_t divide(struct growth *growth, const struct node *node, size_t begin, size_t end)
{
    size_t middle = begin, right = 0;
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
static uint8_t *mark_left(const struct growth *growth)
{
    const struct split *split = &growth->split;
    size_t values = hn_space_parameter(growth->evidence->space, split->parameter)->count;
    uint8_t *left = hn_need(values, sizeof *left);
    for (size_t v = 0; v < values; v++) {
        /* Of two that are as near the one below. */
        size_t least = SIZE_MAX;
        for (size_t k = 0; k < split->values; k++) {
            size_t other = split->order[k].place,
                   far = other <= v ? 2 * (v - other) : 2 * (other - v) + 1;
            if (far >= least)
                continue;
            left[v] = k < split->limit;
            least = far;
        }
    }
    return left;
}

static void grow_node(struct growth *growth, size_t number, size_t begin, size_t end)
{
    if (end - begin < SMALLEST_SPLIT)
        return;
    find_split(growth, begin, end);
    if (growth->split.limit == 0)
        return;
    struct node *node = &growth->tree->nodes[number];
    node->parameter = (uint32_t)growth->split.parameter;
    node->goes_left = mark_left(growth);
    size_t middle = divide(growth, node, begin, end);
    size_t left = add_node(growth->tree, mean_of(growth, begin, middle));
    size_t right = add_node(growth->tree, mean_of(growth, middle, end));
    growth->tree->nodes[number].left = (uint32_t)left;
    grow_node(growth, left, begin, middle);
    grow_node(growth, right, middle, end);
}

static double predict(const struct tree *tree, const uint16_t *choice)
{
    const struct node *node = &tree->nodes[0];
    while (node->left != 0)
        node = &tree->nodes[node->left + (node->goes_left[choice[node->parameter]] ? 0 : 1)];
    return node->value;
}

static void finish_tree(struct tree *tree)
{
    HN_FREE_EACH(node, tree->nodes, tree->count, free(node->goes_left));
    *tree = (struct tree){0};
}

/* In place of what the tree was. */
static void grow_tree(struct growth *growth, struct tree *tree)
{
    size_t count = growth->evidence->count;
    size_t draws = count < MOST_DRAWS ? count : MOST_DRAWS;
    finish_tree(tree);
    growth->tree = tree;
    memset(growth->seen, 0, count * sizeof *growth->seen);
    for (size_t i = 0; i < draws; i++) {
        growth->rows[i] = (uint32_t)hn_random_below(&growth->random, count);
        growth->seen[growth->rows[i]] = true;
    }
    size_t root = add_node(tree, mean_of(growth, 0, draws));
    grow_node(growth, root, 0, draws);
}

enum { TREES = 48, ROUNDS = 4 };

/* A random forest over the measured points (Breiman, "Random Forests", 2001), for what was not
 * measured, or stopped early. A lower bound is replaced by the mean of the normal distribution that
 * the forest states, cut off at the bound, and the forest grown again, a few times (Schmee and
 * Hahn, 1979; for forests Hutter, Hoos and Leyton-Brown, "Bayesian Optimization With Censored
 * Response Data", 2011). The same points and seed give the same forest. */
struct forest {
    const struct hn_evidence *evidence;
    struct tree trees[TREES];
    double *values; /* lower bounds replaced */
    double *sums;   /* of the trees that did not see a point */
    uint32_t *unseen;
    double *variances; /* of a point's leaves among the trees */
    double rest;       /* squared differences of what was measured from those trees, in sum */
    double explained;
    struct hn_blocks memory;
};

static double unseen_mean(const struct forest *forest, size_t i)
{
    return forest->unseen[i] > 0 ? forest->sums[i] / forest->unseen[i] : forest->values[i];
}

static void grow_all(struct forest *forest, struct growth *growth)
{
    const struct hn_evidence *evidence = forest->evidence;
    size_t count = evidence->count;
    memset(forest->sums, 0, count * sizeof *forest->sums);
    memset(forest->variances, 0, count * sizeof *forest->variances);
    memset(forest->unseen, 0, count * sizeof *forest->unseen);
    for (size_t t = 0; t < TREES; t++) {
        grow_tree(growth, &forest->trees[t]);
        for (size_t i = 0; i < count; i++) {
            if (growth->seen[i])
                continue;
            double value = predict(&forest->trees[t], hn_evidence_choice(evidence, i));
            forest->sums[i] += value;
            forest->variances[i] += value * value;
            forest->unseen[i]++;
        }
    }
    forest->rest = 0;
    for (size_t i = 0; i < count; i++) {
        double error = evidence->values[i] - unseen_mean(forest, i);
        forest->rest += evidence->lower_bounds[i] ? 0 : error * error;
    }
}

static double explain_rest(const struct forest *forest)
{
    const struct hn_evidence *evidence = forest->evidence;
    double mean = 0, total = 0;
    size_t count = evidence->count - evidence->bounded;
    for (size_t i = 0; i < evidence->count; i++)
        mean += evidence->lower_bounds[i] ? 0 : evidence->values[i] / (double)count;
    for (size_t i = 0; i < evidence->count; i++)
        if (!evidence->lower_bounds[i])
            total += (evidence->values[i] - mean) * (evidence->values[i] - mean);
    return total > 0 ? 1 - forest->rest / total : 0;
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
static void impute(struct forest *forest)
{
    const struct hn_evidence *evidence = forest->evidence;
    double rest = forest->rest / (double)(evidence->count - evidence->bounded);
    for (size_t i = 0; i < evidence->count; i++) {
        if (!evidence->lower_bounds[i] || forest->unseen[i] == 0)
            continue;
        double mean = unseen_mean(forest, i);
        double spread = fmax(forest->variances[i] / forest->unseen[i] - mean * mean, 0);
        forest->values[i] = mean_above(mean, sqrt(spread + rest), evidence->values[i]);
    }
}

static void grow_forest(const struct hn_evidence *evidence, uint64_t seed, struct forest *forest)
{
    struct growth growth;
    forest->evidence = evidence;
    forest->values = hn_need_block(&forest->memory, evidence->count, sizeof *forest->values);
    forest->sums = hn_need_block(&forest->memory, evidence->count, sizeof *forest->sums);
    forest->variances = hn_need_block(&forest->memory, evidence->count, sizeof *forest->variances);
    forest->unseen = hn_need_block(&forest->memory, evidence->count, sizeof *forest->unseen);
    memcpy(forest->values, evidence->values, evidence->count * sizeof *forest->values);
    begin_growth(evidence, forest->values, seed, &forest->memory, &growth);
    grow_all(forest, &growth);
    for (int round = 1; evidence->bounded > 0 && round < ROUNDS; round++) {
        impute(forest);
        grow_all(forest, &growth);
    }
    forest->explained = explain_rest(forest);
}

/* Points with their values, all of which count as much, and the shares of their variance. */
struct sample {
    const struct hn_space *space;
    size_t parameters, count;
    uint16_t *choices;
    double *values;
    bool drawn; /* from more: shares are freed of the bias of few points */
    double mean;
    double squares; /* the sum of squared differences from the mean */
};

enum { MOST_CELLS = 250000, MOST_SWEEPS = 100 };

/* Without what as many groups of chance would explain. */
static double share_of(const struct sample *sample, double explained, double left, double freedom,
                       double groups)
{
    double spare = (double)sample->count - groups;
    if (sample->drawn && spare > 0)
        explained -= freedom * left / spare;
    return fmin(fmax(explained / sample->squares, 0), 1);
}

/* Fills in share, means and counts of effect->parameter. */
static void find_main(const struct sample *sample, struct hn_blocks *memory,
                      struct hn_effect *effect)
{
    size_t values = hn_space_parameter(sample->space, effect->parameter)->count;
    double explained = 0, groups = 0;
    effect->means = hn_need_block(memory, values, sizeof *effect->means);
    effect->counts = hn_need_block(memory, values, sizeof *effect->counts);
    for (size_t i = 0; i < sample->count; i++) {
        uint16_t value = sample->choices[i * sample->parameters + effect->parameter];
        effect->means[value] += sample->values[i];
        effect->counts[value]++;
    }
    for (size_t v = 0; v < values; v++) {
        double count = (double)effect->counts[v];
        groups += count > 0;
        effect->means[v] = count > 0 ? effect->means[v] / count : NAN;
        double apart = count > 0 ? effect->means[v] - sample->mean : 0;
        explained += count * apart * apart;
    }
    effect->share = share_of(sample, explained, sample->squares - explained, groups - 1, groups);
}

/* The combinations of two parameters' values: their means, and the sum of one term a value of each
 * that comes nearest to them. */
struct cells {
    size_t rows, columns;
    double *means;
    double *weights;
    double *row_terms;
    double *column_terms;
};

/* Fits the terms of one side to what the other leaves; how much they moved. */
static double fit_side(const struct cells *cells, bool of_rows)
{
    size_t count = of_rows ? cells->rows : cells->columns;
    size_t across = of_rows ? cells->columns : cells->rows;
    double moved = 0;
    for (size_t i = 0; i < count; i++) {
        double sum = 0, weight = 0;
        for (size_t j = 0; j < across; j++) {
            size_t cell = of_rows ? i * cells->columns + j : j * cells->columns + i;
            double other = of_rows ? cells->column_terms[j] : cells->row_terms[j];
            sum += cells->weights[cell] * (cells->means[cell] - other);
            weight += cells->weights[cell];
        }
        double *term = of_rows ? &cells->row_terms[i] : &cells->column_terms[i];
        double fitted = weight > 0 ? sum / weight : 0;
        moved = fmax(moved, fabs(fitted - *term));
        *term = fitted;
    }
    return moved;
}

static double judge_cells(const struct sample *sample, const struct cells *cells)
{
    double beyond = 0, explained = 0, groups = 0;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double moved = fit_side(cells, true);
        if (fmax(moved, fit_side(cells, false)) < 1e-9)
            break;
    }
    for (size_t c = 0; c < cells->rows * cells->columns; c++) {
        double rest = cells->means[c] - cells->row_terms[c / cells->columns] -
                      cells->column_terms[c % cells->columns];
        beyond += cells->weights[c] * rest * rest;
        explained += cells->weights[c] * cells->means[c] * cells->means[c];
        groups += cells->weights[c] > 0;
    }
    double freedom = fmax(groups - (double)(cells->rows + cells->columns) + 1, 0);
    return share_of(sample, beyond, sample->squares - explained, freedom, groups);
}

/* Of a pair with too many combinations 0. */
static void find_pair(const struct sample *sample, struct hn_interaction *pair)
{
    struct cells cells = {
        .rows = hn_space_parameter(sample->space, pair->parameters[0])->count,
        .columns = hn_space_parameter(sample->space, pair->parameters[1])->count,
    };
    size_t count = cells.rows * cells.columns;
    if (count > MOST_CELLS)
        return;
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    cells.means = hn_need_block(&memory, count, sizeof *cells.means);
    cells.weights = hn_need_block(&memory, count, sizeof *cells.weights);
    cells.row_terms = hn_need_block(&memory, cells.rows, sizeof *cells.row_terms);
    cells.column_terms = hn_need_block(&memory, cells.columns, sizeof *cells.column_terms);
    for (size_t i = 0; i < sample->count; i++) {
        const uint16_t *choice = sample->choices + i * sample->parameters;
        size_t cell = choice[pair->parameters[0]] * cells.columns + choice[pair->parameters[1]];
        cells.means[cell] += sample->values[i] - sample->mean;
        cells.weights[cell]++;
    }
    for (size_t c = 0; c < count; c++)
        cells.means[c] /= fmax(cells.weights[c], 1);
    pair->share = judge_cells(sample, &cells);
}

/* Beyond so many valid points they are drawn. */
static const uint64_t most_points = 20000;

static bool takes_all(const struct hn_space *space)
{
    return hn_space_enumerated(space) && hn_space_size(space) <= most_points;
}

/* Every valid point has a time of its own or failed. */
static bool is_complete(const struct hn_evidence *evidence, uint16_t *choice)
{
    const struct hn_space *space = evidence->space;
    if (!takes_all(space) || evidence->bounded > 0)
        return false;
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        hn_space_point(space, i, choice);
        if (hn_keys_find(&evidence->points, choice) == HN_NO_KEY)
            return false;
    }
    return true;
}

/* Adds the point at the sample's end with its value, or the forest's; not one that failed. */
static void add_point(struct hn_effects *effects, struct sample *sample,
                      const struct hn_evidence *evidence, const struct forest *forest)
{
    const uint16_t *choice = sample->choices + sample->count * sample->parameters;
    double *value = &sample->values[sample->count];
    uint32_t known = hn_keys_find(&evidence->points, choice);
    if (known != HN_NO_KEY && known >= evidence->count)
        return;
    if (known == HN_NO_KEY) {
        double sum = 0;
        for (size_t t = 0; t < TREES; t++)
            sum += predict(&forest->trees[t], choice);
        *value = sum / TREES;
        double ratio = hn_evidence_ratio(evidence, *value, evidence->values[evidence->best]);
        if (effects->unmeasured++ == 0 || ratio < effects->promise) {
            effects->promise = ratio;
            memcpy(effects->promising, choice, evidence->parameters * sizeof *choice);
        }
    } else {
        /* For a lower bound what was put in its place. */
        *value = forest->values[known];
    }
    sample->count++;
}

static void fill_sample(struct hn_effects *effects, const struct hn_evidence *evidence,
                        const struct forest *forest, uint64_t seed, struct sample *sample)
{
    const struct hn_space *space = evidence->space;
    struct hn_random random = hn_random_seeded(seed);
    bool all = takes_all(space);
    size_t room = all ? (size_t)hn_space_size(space) : most_points;
    *sample = (struct sample){
        .space = space,
        .parameters = evidence->parameters,
        .choices = hn_need((room + 1) * (evidence->parameters + 1), sizeof *sample->choices),
        .values = hn_need(room + 1, sizeof *sample->values),
        .drawn = !all,
    };
    for (size_t i = 0; i < room; i++) {
        uint16_t *choice = sample->choices + sample->count * sample->parameters;
        if (all)
            hn_space_point(space, i, choice);
        else
            hn_space_sample(space, &random, choice);
        add_point(effects, sample, evidence, forest);
    }
    sample->mean = sample->values[0];
    for (size_t i = 0; i < sample->count; i++)
        sample->mean += (sample->values[i] - sample->values[0]) / (double)sample->count;
    for (size_t i = 0; i < sample->count; i++)
        sample->squares += (sample->values[i] - sample->mean) * (sample->values[i] - sample->mean);
    effects->points = sample->count;
    effects->sampled = sample->drawn;
}

/* Measured points that differ from the best in one parameter say what that one does there. */
static void look_around(const struct hn_evidence *evidence, struct hn_effect *mains)
{
    const uint16_t *best = hn_evidence_choice(evidence, evidence->best);
    for (size_t i = 0; i < evidence->count; i++) {
        const uint16_t *choice = hn_evidence_choice(evidence, i);
        size_t differing = 0, last = 0;
        for (size_t p = 0; p < evidence->parameters && differing < 2; p++) {
            if (choice[p] == best[p])
                continue;
            differing++;
            last = p;
        }
        if (differing != 1)
            continue;
        double ratio =
            hn_evidence_ratio(evidence, evidence->values[i], evidence->values[evidence->best]);
        struct hn_effect *effect = &mains[last];
        effect->worst_alone = effect->alone == 0 ? ratio : fmax(effect->worst_alone, ratio);
        effect->alone++;
    }
}

static int compare_mains(const void *a, const void *b)
{
    const struct hn_effect *x = a, *y = b;
    int order = (x->share < y->share) - (x->share > y->share);
    return order != 0 ? order : (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct hn_interaction *x = a, *y = b;
    int order = (x->share < y->share) - (x->share > y->share);
    size_t first = x->parameters[0], other = y->parameters[0];
    return order != 0 ? order : (first > other) - (first < other);
}

static void find_shares(struct hn_effects *effects, const struct hn_evidence *evidence,
                        const struct sample *sample)
{
    size_t count = evidence->parameters;
    effects->mains = hn_need_block(&effects->memory, count, sizeof *effects->mains);
    effects->pairs = hn_need_block(&effects->memory, count * count / 2 + 1, sizeof *effects->pairs);
    effects->parameter_count = count;
    for (size_t p = 0; p < count; p++) {
        effects->mains[p].parameter = p;
        find_main(sample, &effects->memory, &effects->mains[p]);
        effects->mains[p].most = effects->mains[p].share;
    }
    look_around(evidence, effects->mains);
    for (size_t p = 0; p < count; p++) {
        for (size_t q = p + 1; q < count; q++) {
            struct hn_interaction *pair = &effects->pairs[effects->pair_count++];
            *pair = (struct hn_interaction){.parameters = {p, q}};
            find_pair(sample, pair);
            effects->mains[p].most = fmax(effects->mains[p].most, pair->share);
            effects->mains[q].most = fmax(effects->mains[q].most, pair->share);
        }
    }
    qsort(effects->mains, count, sizeof *effects->mains, compare_mains);
    qsort(effects->pairs, effects->pair_count, sizeof *effects->pairs, compare_pairs);
}

void hn_effects_find(const struct hn_evidence *evidence, uint64_t seed, struct hn_effects *effects)
{
    /* Of points that were all measured nothing is grown. */
    struct forest forest = {.values = evidence->values, .explained = 1};
    struct sample sample;
    *effects = (struct hn_effects){0};
    effects->promising =
        hn_need_block(&effects->memory, evidence->parameters, sizeof *effects->promising);
    effects->exact = is_complete(evidence, effects->promising);
    if (evidence->best == SIZE_MAX ||
        (!effects->exact && evidence->count - evidence->bounded < HN_EFFECTS_LEAST))
        return;
    if (!effects->exact)
        grow_forest(evidence, seed, &forest);
    fill_sample(effects, evidence, &forest, seed, &sample);
    effects->explained = forest.explained;
    effects->known = sample.squares > 0;
    if (effects->known)
        find_shares(effects, evidence, &sample);
    free(sample.choices);
    free(sample.values);
    for (size_t t = 0; t < TREES; t++)
        finish_tree(&forest.trees[t]);
    hn_blocks_finish(&forest.memory);
}
