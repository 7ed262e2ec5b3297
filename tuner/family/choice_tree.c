/* SPDX-License-Identifier: MIT */
#include "tuner/family/choice_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/loops.h"

enum {
    THRESHOLDS = 64, /* looked at of one feature, where a leaf has that many values */
    LANES = 4        /* choices side by side, which compilers make vectors of */
};

/* A leaf while the tree grows: a range of the samples, and the best way to split it. */
struct leaf {
    size_t node, begin, end;
    double saving; /* of the split, for each leaf that it takes; 0: none */
    int feature;
    int64_t threshold;
};

struct growth {
    const struct hn_choice_tree_data *data;
    size_t least;
    size_t width;     /* of a row of costs: choices, and what fills the last lanes */
    uint32_t *order;  /* [feature, one at least]: samples by its values, a leaf's together */
    uint32_t *sorted; /* room for the samples of a leaf */
    double *costs;    /* [sample][choice], weighted */
    double *whole;    /* [choice]: the costs of a leaf, */
    double *left;     /* and of those of its samples that a pass has seen */
    struct leaf *leaves;
    size_t leaf_count;
    struct hn_rule_node *nodes;
    size_t node_count;
};

static int64_t value_of(const struct hn_choice_tree_data *data, int feature, size_t sample)
{
    return data->values[(size_t)feature * data->samples + sample];
}

static size_t least_of(const double *costs, size_t count)
{
    size_t least = 0;
    for (size_t c = 1; c < count; c++)
        if (costs[c] < costs[least])
            least = c;
    return least;
}

static void add_costs(const struct growth *growth, double *costs, uint32_t sample)
{
    const double *own = growth->costs + sample * growth->width;
    for (size_t c = 0; c < growth->width; c++)
        costs[c] += own[c];
}

/* By the values of a feature. */
static int compare(const void *a, const void *b, void *context)
{
    const int64_t *values = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = (values[x] > values[y]) - (values[x] < values[y]);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Half way, where logarithms are: what is measured is spread so. */
static int64_t between(int64_t below, int64_t above)
{
    if (below <= 0)
        return below + (above - below - 1) / 2;
    int64_t middle = (int64_t)sqrt((double)below * (double)above);
    return middle < below ? below : middle >= above ? above - 1 : middle;
}

/* A pass over the samples of a leaf by a feature. */
struct pass {
    int feature;
    size_t seen, tried; /* samples up to here, and up to the last threshold */
    int64_t last;
};

static void try_threshold(const struct growth *growth, struct leaf *leaf, double cost,
                          struct pass *pass, int64_t value)
{
    double lefts[LANES], rights[LANES];
    for (size_t lane = 0; lane < LANES; lane++)
        lefts[lane] = rights[lane] = INFINITY;
    for (size_t c = 0; c < growth->width; c += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            double below = growth->left[c + lane], above = growth->whole[c + lane] - below;
            lefts[lane] = below < lefts[lane] ? below : lefts[lane];
            rights[lane] = above < rights[lane] ? above : rights[lane];
        }
    double left = lefts[least_of(lefts, LANES)], right = rights[least_of(rights, LANES)];
    pass->tried = pass->seen;
    if (cost - left - right > leaf->saving) {
        leaf->saving = cost - left - right;
        leaf->feature = pass->feature;
        leaf->threshold = between(pass->last, value);
    }
}

HN_WIDE static void try_feature(const struct growth *growth, struct leaf *leaf, double cost,
                                int feature)
{
    const uint32_t *order = growth->order + (size_t)feature * growth->data->samples;
    struct pass pass = {.feature = feature};
    size_t count = leaf->end - leaf->begin;
    memset(growth->left, 0, growth->width * sizeof *growth->left);
    for (size_t i = leaf->begin; i < leaf->end; i++) {
        int64_t value = value_of(growth->data, feature, order[i]);
        if (pass.seen >= growth->least && count - pass.seen >= growth->least &&
            value != pass.last && (pass.seen - pass.tried) * THRESHOLDS >= count)
            try_threshold(growth, leaf, cost, &pass, value);
        add_costs(growth, growth->left, order[i]);
        pass.last = value;
        pass.seen++;
    }
}

/* Finds its choice and its best split. */
static void look_at_leaf(struct growth *growth, struct leaf *leaf)
{
    memset(growth->whole, 0, growth->width * sizeof *growth->whole);
    for (size_t i = leaf->begin; i < leaf->end; i++)
        add_costs(growth, growth->whole, growth->order[i]);
    size_t least = least_of(growth->whole, growth->data->choices);
    growth->nodes[leaf->node] =
        (struct hn_rule_node){.feature = -1, .configuration = (int32_t)least, .sure = true};
    leaf->saving = 0;
    for (size_t f = 0; f < growth->data->features; f++)
        try_feature(growth, leaf, growth->whole[least], (int)f);
}

/* Samples at or below the threshold come first; the order within is kept. */
static size_t part_order(struct growth *growth, const struct leaf *leaf, uint32_t *order)
{
    size_t below = leaf->begin, above = 0;
    for (size_t i = leaf->begin; i < leaf->end; i++) {
        uint32_t sample = order[i];
        if (value_of(growth->data, leaf->feature, sample) <= leaf->threshold)
            order[below++] = sample;
        else
            growth->sorted[above++] = sample;
    }
    memcpy(order + below, growth->sorted, above * sizeof *growth->sorted);
    return below;
}

static void split(struct growth *growth, size_t at)
{
    struct leaf *leaf = &growth->leaves[at], *other = &growth->leaves[growth->leaf_count++];
    size_t middle = 0;
    for (size_t f = 0; f < growth->data->features; f++)
        middle = part_order(growth, leaf, growth->order + f * growth->data->samples);
    growth->nodes[leaf->node] = (struct hn_rule_node){.feature = leaf->feature,
                                                      .threshold = leaf->threshold,
                                                      .left = (int32_t)growth->node_count,
                                                      .right = (int32_t)growth->node_count + 1};
    *other = (struct leaf){.node = growth->node_count + 1, .begin = middle, .end = leaf->end};
    leaf->node = growth->node_count;
    leaf->end = middle;
    growth->node_count += 2;
    look_at_leaf(growth, leaf);
    look_at_leaf(growth, other);
}

/* Sorts the samples by each feature, and weights their costs. Returns the mean weight. */
static double prepare(struct growth *growth)
{
    double weight = 0;
    const struct hn_choice_tree_data *data = growth->data;
    for (size_t i = 0; i < (data->features + 1) * data->samples; i++)
        growth->order[i] = (uint32_t)(i % data->samples);
    for (size_t f = 0; f < data->features; f++)
        qsort_r(growth->order + f * data->samples, data->samples, sizeof *growth->order, compare,
                (void *)(data->values + f * data->samples));
    for (size_t s = 0; s < data->samples; s++) {
        weight += data->weights[s] / (double)data->samples;
        for (size_t c = 0; c < growth->width; c++)
            growth->costs[s * growth->width + c] =
                c < data->choices ? data->weights[s] * data->costs[c * data->samples + s]
                                  : INFINITY;
    }
    return weight;
}

struct hn_rule_node *hn_choice_tree_grow(const struct hn_choice_tree_data *data, size_t leaves,
                                         size_t least, double gain, size_t *node_count)
{
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    struct growth growth = {
        .data = data, .least = least, .width = (data->choices + LANES - 1) / LANES * LANES};
    growth.order =
        hn_need_block(&memory, (data->features + 1) * data->samples, sizeof *growth.order);
    growth.sorted = hn_need_block(&memory, data->samples, sizeof *growth.sorted);
    growth.costs = hn_need_block(&memory, data->samples * growth.width, sizeof *growth.costs);
    growth.whole = hn_need_block(&memory, 2 * growth.width, sizeof *growth.whole);
    growth.left = growth.whole + growth.width;
    growth.leaves = hn_need_block(&memory, leaves, sizeof *growth.leaves);
    growth.leaves[0].end = data->samples;
    growth.leaf_count = growth.node_count = 1;
    growth.nodes = hn_need(2 * leaves, sizeof *growth.nodes);
    double weight = prepare(&growth);
    look_at_leaf(&growth, &growth.leaves[0]);
    while (growth.leaf_count < leaves) {
        size_t best = 0;
        for (size_t i = 1; i < growth.leaf_count; i++)
            if (growth.leaves[i].saving > growth.leaves[best].saving)
                best = i;
        if (!(growth.leaves[best].saving > gain * weight))
            break;
        split(&growth, best);
    }
    *node_count = growth.node_count;
    return growth.nodes;
}

enum { PICKED_A_PROGRAM = 4, EXCHANGES = 4 };
/* Of the gain of a choice with another program. */
static const double launch_gain = 0.2;

struct picking {
    const struct hn_choice_tree_data *data;
    const size_t *programs; /* of choices */
    size_t most;            /* programs */
    size_t *picked, count;
    unsigned *uses; /* of programs, by the picked */
    size_t used;    /* programs */
    double *least;  /* [sample] the cost of the picked */
    double cost;    /* of all samples */
};

static void count_use(struct picking *picking, size_t choice, int by)
{
    unsigned *uses = &picking->uses[picking->programs[choice]];
    picking->used += by > 0 && *uses == 0;
    *uses += (unsigned)by;
    picking->used -= by < 0 && *uses == 0;
}

static void put(struct picking *picking, size_t place, size_t choice)
{
    picking->picked[place] = choice;
    picking->count += place == picking->count;
    count_use(picking, choice, 1);
}

static double weight_of(const struct hn_choice_tree_data *data, size_t sample)
{
    return data->weights != NULL ? data->weights[sample] : 1;
}

/* The cost of all samples, each of which costs `least` or what one more choice takes. */
static double with(const struct hn_choice_tree_data *data, const double *least, size_t choice)
{
    double cost = 0;
    for (size_t s = 0; s < data->samples; s++)
        cost += weight_of(data, s) * fmin(least[s], data->costs[choice * data->samples + s]);
    return cost;
}

/* The costs of samples with the picked ones but for one (SIZE_MAX: with all). */
static void find_least(const struct picking *picking, size_t without)
{
    const struct hn_choice_tree_data *data = picking->data;
    for (size_t s = 0; s < data->samples; s++)
        picking->least[s] = INFINITY;
    for (size_t i = 0; i < picking->count; i++)
        for (size_t s = 0; i != without && s < data->samples; s++)
            picking->least[s] =
                fmin(picking->least[s], data->costs[picking->picked[i] * data->samples + s]);
}

/* Of those whose program is used, or may be as one of `most`. */
static size_t best_addition(const struct picking *picking, size_t most, double *cost)
{
    size_t best = 0;
    *cost = INFINITY;
    for (size_t c = 0; c < picking->data->choices; c++) {
        if (picking->uses[picking->programs[c]] == 0 && picking->used >= most)
            continue;
        double own = with(picking->data, picking->least, c);
        if (own < *cost) {
            *cost = own;
            best = c;
        }
    }
    return best;
}

/* Adds one by one, of `most` programs in all. */
static void add_choices(struct picking *picking, size_t most, double gain)
{
    double own;
    while (picking->count < PICKED_A_PROGRAM * picking->most &&
           picking->count < HN_RULE_CONFIGURATIONS_MOST) {
        find_least(picking, SIZE_MAX);
        size_t added = best_addition(picking, most, &own);
        if (!(picking->cost - own > gain))
            break;
        picking->cost = own;
        put(picking, picking->count, added);
    }
}

static void exchange_choices(struct picking *picking, double gain)
{
    bool changed = true;
    double own;
    for (int round = 0; round < EXCHANGES && changed; round++) {
        changed = false;
        for (size_t i = 1; i < picking->count; i++) {
            find_least(picking, i);
            count_use(picking, picking->picked[i], -1);
            size_t other = best_addition(picking, picking->most, &own);
            bool better = other != picking->picked[i] && picking->cost - own > gain;
            put(picking, i, better ? other : picking->picked[i]);
            picking->cost = better ? own : picking->cost;
            changed = changed || better;
        }
    }
}

size_t hn_pick(const struct hn_choice_tree_data *data, const size_t *programs, size_t most,
               double gain, size_t *picked, size_t *used)
{
    double weight = 0;
    struct picking picking = {.data = data,
                              .programs = programs,
                              .most = most,
                              .picked = picked,
                              .uses = hn_need(data->choices, sizeof *picking.uses),
                              .least = hn_need(data->samples, sizeof *picking.least)};
    for (size_t s = 0; s < data->samples; s++) {
        weight += weight_of(data, s);
        picking.cost += weight_of(data, s) * data->costs[s];
    }
    put(&picking, 0, 0);
    add_choices(&picking, most, gain * weight);
    exchange_choices(&picking, 1e-9 * weight);
    /* A further launch of a program costs next to nothing. */
    add_choices(&picking, 0, launch_gain * gain * weight);
    free(picking.uses);
    free(picking.least);
    *used = picking.used;
    return picking.count;
}
