/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* Trees that are grown one after the other, each on what those before it leave (Friedman, "Greedy
 * function approximation: a gradient boosting machine", 2001), from histograms of few bins a
 * feature (Ke et al., "LightGBM", 2017), each on a part of the rows and features. */

enum {
    BINS = 64,
    DEPTH = 6,
    LEAST_ROWS = 4,           /* of a leaf */
    NODES = (2 << DEPTH) - 1, /* of a tree: those of node n are 2n + 1 and 2n + 2 */
    ABREAST = 8               /* rows that walk a tree together */
};
static const double rate = 0.1;
static const double row_share = 0.7, feature_share = 0.5, most_rows = 4000;
/* What a leaf says is drawn to nothing as if it had so many rows more. */
static const double drawn_by = 1;
static const double least_gain = 1e-6;

struct node {
    uint32_t feature;
    float threshold; /* values up to here go to the first */
    float value;     /* of those of the last level, where all walks end */
};

struct hn_boost {
    size_t features;
    double mean;
    double *gains; /* of the features */
    size_t trees;
    struct node (*nodes)[NODES];
};

/* What the rows of a node sum up to, by bin of a feature. */
struct histogram {
    double sums[BINS];
    uint32_t counts[BINS];
};

/* The growth of trees. */
struct growing {
    const struct hn_boost_data *data;
    struct hn_boost *boost;
    struct hn_random random;
    float *edges;     /* [feature][bin]: the highest value of a bin */
    uint8_t *bins;    /* [feature][row] */
    double *left;     /* [row]: the target without what the trees say */
    bool *tells;      /* [feature]: it has more than one value */
    uint32_t *rows;   /* of the tree, a range for each node */
    uint32_t *other;  /* room for a range */
    size_t *features; /* of the tree */
    size_t feature_count;
    struct histogram *histograms; /* [depth][feature of the tree] */
};

static int by_value(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Bins of about as many rows; equal values share one. */
static void find_bins(struct growing *growing, size_t feature, float *sorted)
{
    size_t rows = growing->data->rows, bin = 0;
    const float *values = growing->data->values + feature * rows;
    float *edges = growing->edges + feature * BINS;
    memcpy(sorted, values, rows * sizeof *sorted);
    qsort(sorted, rows, sizeof *sorted, by_value);
    for (size_t b = 0; b < BINS - 1; b++) {
        float edge = sorted[(b + 1) * rows / BINS];
        if (bin == 0 || edge > edges[bin - 1])
            edges[bin++] = edge;
    }
    while (bin < BINS)
        edges[bin++] = INFINITY;
    growing->tells[feature] = sorted[0] < sorted[rows - 1];
    for (size_t r = 0; r < rows; r++) {
        size_t low = 0, high = BINS - 1;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (values[r] <= edges[middle])
                high = middle;
            else
                low = middle + 1;
        }
        growing->bins[feature * rows + r] = (uint8_t)low;
    }
}

struct split {
    double gain;
    size_t feature;
    int bin; /* rows up to here go left */
};

static double score(double sum, double count)
{
    return sum * sum / (count + drawn_by);
}

static void count_rows(const struct growing *growing, const uint32_t *rows, size_t count,
                       struct histogram *histograms)
{
    memset(histograms, 0, growing->feature_count * sizeof *histograms);
    for (size_t i = 0; i < growing->feature_count; i++) {
        const uint8_t *bins = growing->bins + growing->features[i] * growing->data->rows;
        for (size_t r = 0; r < count; r++) {
            histograms[i].sums[bins[rows[r]]] += growing->left[rows[r]];
            histograms[i].counts[bins[rows[r]]]++;
        }
    }
}

/* A node's that has these without those. */
static void take_away(const struct growing *growing, struct histogram *these,
                      const struct histogram *those)
{
    for (size_t i = 0; i < growing->feature_count; i++)
        for (int b = 0; b < BINS; b++) {
            these[i].sums[b] -= those[i].sums[b];
            these[i].counts[b] -= those[i].counts[b];
        }
}

static void try_feature(size_t feature, const struct histogram *histogram, double all, size_t count,
                        struct split *best)
{
    double sum = 0;
    uint32_t seen = 0;
    for (int b = 0; b < BINS - 1; b++) {
        sum += histogram->sums[b];
        seen += histogram->counts[b];
        if (histogram->counts[b] == 0 || seen < LEAST_ROWS || count - seen < LEAST_ROWS)
            continue;
        double gain =
            score(sum, seen) + score(all - sum, (double)(count - seen)) - score(all, (double)count);
        if (gain > best->gain)
            *best = (struct split){gain, feature, b};
    }
}

/* All walks that come here end at the same value. */
static void make_leaf(struct node *nodes, size_t node, int depth, double value)
{
    for (; depth < DEPTH; depth++) {
        nodes[node] = (struct node){0, INFINITY, 0};
        node = 2 * node + 1;
    }
    nodes[node].value = (float)value;
}

/* Those of a split that go left, in front of the others. */
static size_t divide(struct growing *growing, const struct split *split, uint32_t *rows,
                     size_t count)
{
    const uint8_t *bins = growing->bins + split->feature * growing->data->rows;
    size_t below = 0, above = 0;
    for (size_t i = 0; i < count; i++)
        if (bins[rows[i]] <= split->bin)
            rows[below++] = rows[i];
        else
            growing->other[above++] = rows[i];
    memcpy(rows + below, growing->other, above * sizeof *rows);
    return below;
}

/* The histograms are those of its rows, unless it can only be a leaf. The smaller of two nodes is
 * counted, the other has what is left of theirs together. */
static void grow_node(struct growing *growing, struct node *nodes, size_t node, uint32_t *rows,
                      size_t count, int depth, struct histogram *histograms)
{
    struct split best = {.gain = least_gain};
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += growing->left[rows[i]];
    for (size_t i = 0; i < growing->feature_count && depth < DEPTH; i++)
        try_feature(growing->features[i], &histograms[i], sum, count, &best);
    if (!(best.gain > least_gain)) {
        make_leaf(nodes, node, depth, rate * sum / ((double)count + drawn_by));
        return;
    }
    nodes[node].feature = (uint32_t)best.feature;
    nodes[node].threshold = growing->edges[best.feature * BINS + (size_t)best.bin];
    growing->boost->gains[best.feature] += best.gain;
    size_t below = divide(growing, &best, rows, count), above = count - below;
    bool is_below = below <= above; /* the smaller one */
    struct histogram *smaller = growing->histograms + (size_t)(depth + 1) * growing->data->features;
    if (depth + 1 < DEPTH) {
        count_rows(growing, is_below ? rows : rows + below, is_below ? below : above, smaller);
        take_away(growing, histograms, smaller);
    }
    /* The smaller one first: below it the histograms of all depths are used. */
    for (int i = 0; i < 2; i++) {
        bool first = is_below == (i == 0);
        grow_node(growing, nodes, 2 * node + (first ? 1 : 2), first ? rows : rows + below,
                  first ? below : above, depth + 1, i == 0 ? smaller : histograms);
    }
}

/* A row's features stand `stride` behind each other, rows `next` behind the row before. */
static void ask_tree(const struct node *nodes, const float *rows, size_t next, size_t stride,
                     size_t count, double weight, double *answers)
{
    for (size_t first = 0; first < count; first += ABREAST) {
        size_t abreast = count - first < ABREAST ? count - first : ABREAST;
        uint32_t at[ABREAST] = {0};
        for (int depth = 0; depth < DEPTH; depth++)
            for (size_t i = 0; i < abreast; i++) {
                const struct node *node = &nodes[at[i]];
                float value = rows[(first + i) * next + node->feature * stride];
                at[i] = 2 * at[i] + (value <= node->threshold ? 1 : 2);
            }
        for (size_t i = 0; i < abreast; i++)
            answers[first + i] += weight * (double)nodes[at[i]].value;
    }
}

static void grow_tree(struct growing *growing, struct node *nodes)
{
    const struct hn_boost_data *data = growing->data;
    size_t count = 0;
    double share = fmin(row_share, most_rows / (double)data->rows);
    growing->feature_count = 0;
    for (size_t r = 0; r < data->rows; r++)
        if (hn_random_unit(&growing->random) < share)
            growing->rows[count++] = (uint32_t)r;
    for (size_t f = 0; f < data->features; f++)
        if (growing->tells[f] && hn_random_unit(&growing->random) < feature_share)
            growing->features[growing->feature_count++] = f;
    count_rows(growing, growing->rows, count, growing->histograms);
    grow_node(growing, nodes, 0, growing->rows, count, 0, growing->histograms);
    ask_tree(nodes, data->values, 1, data->rows, data->rows, -1, growing->left);
}

struct hn_boost *hn_boost_grow(const struct hn_boost_data *data, uint64_t seed)
{
    size_t cells = data->rows * data->features;
    struct growing growing = {
        .data = data,
        .boost = hn_need(1, sizeof *growing.boost),
        .random = hn_random_seeded(seed),
        .edges = hn_need(data->features * BINS, sizeof(float)),
        .bins = hn_need(cells, sizeof(uint8_t)),
        .left = hn_need(data->rows, sizeof(double)),
        .tells = hn_need(data->features, sizeof(bool)),
        .rows = hn_need(data->rows, sizeof(uint32_t)),
        .other = hn_need(data->rows, sizeof(uint32_t)),
        .features = hn_need(data->features, sizeof(size_t)),
        .histograms = hn_need((DEPTH + 1) * data->features, sizeof(struct histogram)),
    };
    float *room = hn_need(data->rows, sizeof *room);
    growing.boost->features = data->features;
    growing.boost->trees = data->trees;
    growing.boost->nodes = hn_need(data->trees, sizeof *growing.boost->nodes);
    growing.boost->gains = hn_need(data->features, sizeof(double));
    for (size_t r = 0; r < data->rows; r++)
        growing.boost->mean += data->targets[r] / (double)data->rows;
    for (size_t r = 0; r < data->rows; r++)
        growing.left[r] = data->targets[r] - growing.boost->mean;
    for (size_t f = 0; f < data->features; f++)
        find_bins(&growing, f, room);
    for (size_t t = 0; t < data->trees; t++)
        grow_tree(&growing, growing.boost->nodes[t]);
    free(growing.edges);
    free(growing.bins);
    free(growing.left);
    free(growing.tells);
    free(growing.rows);
    free(growing.other);
    free(growing.features);
    free(growing.histograms);
    free(room);
    return growing.boost;
}

void hn_boost_destroy(struct hn_boost *boost)
{
    if (boost == NULL)
        return;
    free(boost->gains);
    free(boost->nodes);
    free(boost);
}

void hn_boost_ask(const struct hn_boost *boost, const float *rows, size_t count, double *answers)
{
    for (size_t r = 0; r < count; r++)
        answers[r] = boost->mean;
    /* A tree stays in the nearest cache for all rows. */
    for (size_t t = 0; t < boost->trees; t++)
        ask_tree(boost->nodes[t], rows, boost->features, 1, count, 1, answers);
}

double hn_boost_gain(const struct hn_boost *boost, size_t feature)
{
    return boost->gains[feature];
}
