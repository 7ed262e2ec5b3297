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
    LEAST_ROWS = 4, /* of a leaf */
    TREES = 160,
    NODES = (2 << DEPTH) - 1 /* of a tree: those of node n are 2n + 1 and 2n + 2 */
};
static const double rate = 0.1;
static const double row_share = 0.7, feature_share = 0.5, most_rows = 4000;
/* What a leaf says is drawn to nothing as if it had so many rows more. */
static const double drawn_by = 1;
static const double least_gain = 1e-6;

struct node {
    int feature; /* below 0: a leaf */
    float threshold, value;
};

struct hn_boost {
    size_t features;
    double mean;
    double *gains; /* of the features */
    struct node nodes[TREES][NODES];
};

/* The growth of trees. */
struct growing {
    const struct hn_boost_data *data;
    struct hn_boost *boost;
    struct hn_random random;
    float *edges;     /* [feature][bin]: the highest value of a bin */
    uint8_t *bins;    /* [feature][row] */
    double *left;     /* [row]: the target without what the trees say */
    double *own_left; /* of the rows of a node, in their order */
    bool *tells;      /* [feature]: it has more than one value */
    uint32_t *rows;   /* of the tree, a range for each node */
    uint32_t *other;  /* room for a range */
    size_t *features; /* of the tree */
    size_t feature_count;
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

static void try_feature(const struct growing *growing, size_t feature, const uint32_t *rows,
                        size_t count, struct split *best)
{
    double sums[BINS] = {0}, sum = 0, all = 0;
    uint32_t counts[BINS] = {0}, seen = 0;
    const uint8_t *bins = growing->bins + feature * growing->data->rows;
    for (size_t i = 0; i < count; i++) {
        sums[bins[rows[i]]] += growing->own_left[i];
        counts[bins[rows[i]]]++;
    }
    for (int b = 0; b < BINS; b++)
        all += sums[b];
    for (int b = 0; b < BINS - 1; b++) {
        sum += sums[b];
        seen += counts[b];
        if (counts[b] == 0 || seen < LEAST_ROWS || count - seen < LEAST_ROWS)
            continue;
        double gain =
            score(sum, seen) + score(all - sum, (double)(count - seen)) - score(all, (double)count);
        if (gain > best->gain)
            *best = (struct split){gain, feature, b};
    }
}

static void grow_node(struct growing *growing, struct node *nodes, size_t node, uint32_t *rows,
                      size_t count, int depth)
{
    struct split best = {.gain = least_gain};
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += growing->own_left[i] = growing->left[rows[i]];
    nodes[node] = (struct node){-1, 0, (float)(rate * sum / ((double)count + drawn_by))};
    for (size_t i = 0; i < growing->feature_count && depth < DEPTH; i++)
        try_feature(growing, growing->features[i], rows, count, &best);
    if (!(best.gain > least_gain))
        return;
    const uint8_t *bins = growing->bins + best.feature * growing->data->rows;
    size_t below = 0, above = 0;
    for (size_t i = 0; i < count; i++)
        if (bins[rows[i]] <= best.bin)
            rows[below++] = rows[i];
        else
            growing->other[above++] = rows[i];
    memcpy(rows + below, growing->other, above * sizeof *rows);
    nodes[node].feature = (int)best.feature;
    nodes[node].threshold = growing->edges[best.feature * BINS + (size_t)best.bin];
    growing->boost->gains[best.feature] += best.gain;
    grow_node(growing, nodes, 2 * node + 1, rows, below, depth + 1);
    grow_node(growing, nodes, 2 * node + 2, rows + below, above, depth + 1);
}

/* A feature stands `stride` behind the one before it. */
static double ask_tree(const struct node *nodes, const float *row, size_t stride)
{
    size_t node = 0;
    while (nodes[node].feature >= 0) {
        float value = row[(size_t)nodes[node].feature * stride];
        node = 2 * node + (value <= nodes[node].threshold ? 1 : 2);
    }
    return nodes[node].value;
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
    grow_node(growing, nodes, 0, growing->rows, count, 0);
    for (size_t r = 0; r < data->rows; r++)
        growing->left[r] -= ask_tree(nodes, data->values + r, data->rows);
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
        .own_left = hn_need(data->rows, sizeof(double)),
        .tells = hn_need(data->features, sizeof(bool)),
        .rows = hn_need(data->rows, sizeof(uint32_t)),
        .other = hn_need(data->rows, sizeof(uint32_t)),
        .features = hn_need(data->features, sizeof(size_t)),
    };
    float *room = hn_need(data->rows, sizeof *room);
    growing.boost->features = data->features;
    growing.boost->gains = hn_need(data->features, sizeof(double));
    for (size_t r = 0; r < data->rows; r++)
        growing.boost->mean += data->targets[r] / (double)data->rows;
    for (size_t r = 0; r < data->rows; r++)
        growing.left[r] = data->targets[r] - growing.boost->mean;
    for (size_t f = 0; f < data->features; f++)
        find_bins(&growing, f, room);
    for (size_t t = 0; t < TREES; t++)
        grow_tree(&growing, growing.boost->nodes[t]);
    free(growing.edges);
    free(growing.bins);
    free(growing.left);
    free(growing.own_left);
    free(growing.tells);
    free(growing.rows);
    free(growing.other);
    free(growing.features);
    free(room);
    return growing.boost;
}

void hn_boost_destroy(struct hn_boost *boost)
{
    if (boost != NULL)
        free(boost->gains);
    free(boost);
}

void hn_boost_ask(const struct hn_boost *boost, const float *rows, size_t count, double *answers)
{
    for (size_t r = 0; r < count; r++)
        answers[r] = boost->mean;
    /* A tree stays in the nearest cache for all rows. */
    for (size_t t = 0; t < TREES; t++)
        for (size_t r = 0; r < count; r++)
            answers[r] += ask_tree(boost->nodes[t], rows + r * boost->features, 1);
}

double hn_boost_gain(const struct hn_boost *boost, size_t feature)
{
    return boost->gains[feature];
}
