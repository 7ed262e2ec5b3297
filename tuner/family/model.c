/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/run.h"

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

struct boost_data {
    size_t rows, features, trees;
    const float *values;   /* [feature][row], no NAN */
    const double *targets; /* [row] */
};

struct boost {
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
    const struct boost_data *data;
    struct boost *boost;
    struct hn_random random;
    float *edges;     /* [feature][bin]: the highest value of a bin */
    int *bin_counts;  /* [feature]: of those that have rows */
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
    growing->bin_counts[feature] = (int)bin + 1;
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
    for (size_t i = 0; i < growing->feature_count; i++) {
        const uint8_t *bins = growing->bins + growing->features[i] * growing->data->rows;
        size_t bin_count = (size_t)growing->bin_counts[growing->features[i]];
        memset(histograms[i].sums, 0, bin_count * sizeof *histograms[i].sums);
        memset(histograms[i].counts, 0, bin_count * sizeof *histograms[i].counts);
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
        for (int b = 0; b < growing->bin_counts[growing->features[i]]; b++) {
            these[i].sums[b] -= those[i].sums[b];
            these[i].counts[b] -= those[i].counts[b];
        }
}

static void try_feature(const struct growing *growing, size_t feature,
                        const struct histogram *histogram, double all, size_t count,
                        struct split *best)
{
    double sum = 0;
    uint32_t seen = 0;
    for (int b = 0; b < growing->bin_counts[feature] - 1; b++) {
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
        try_feature(growing, growing->features[i], &histograms[i], sum, count, &best);
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
    const struct boost_data *data = growing->data;
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

static struct boost *grow_boost(const struct boost_data *data, uint64_t seed)
{
    size_t cells = data->rows * data->features;
    struct growing growing = {
        .data = data,
        .boost = hn_need(1, sizeof *growing.boost),
        .random = hn_random_seeded(seed),
        .edges = hn_need(data->features * BINS, sizeof(float)),
        .bin_counts = hn_need(data->features, sizeof(int)),
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
    free(growing.bin_counts);
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

static void destroy_boost(struct boost *boost)
{
    if (boost == NULL)
        return;
    free(boost->gains);
    free(boost->nodes);
    free(boost);
}

static void ask_boost(const struct boost *boost, const float *rows, size_t count, double *answers)
{
    for (size_t r = 0; r < count; r++)
        answers[r] = boost->mean;
    /* A tree stays in the nearest cache for all rows. */
    for (size_t t = 0; t < boost->trees; t++)
        ask_tree(boost->nodes[t], rows, boost->features, 1, count, 1, answers);
}

/* Losses, not times: how long a size takes is the same for all points, and of points that take
 * several times as long as the best nobody needs to know how long. */
static const double most_loss = 1;

enum {
    BAGS = 3
}; /* models, each of other parts of the measurements; where they differ little is known */

struct hn_model {
    struct hn_sight sight;
    struct boost *bags[BAGS];
};

/* The measurements, as the trees see them. */
struct gathering {
    const struct hn_model *model;
    const struct hn_matrix *matrix;
    struct hn_sight_point *points;
    size_t *first; /* [size]: its first row */
    size_t rows;
    float *values; /* [feature][row] */
    double *targets;
    struct boost **bags;
    size_t trees;
    uint64_t seed;
};

static bool is_timed(const struct hn_matrix *matrix, size_t point, size_t size)
{
    double time = matrix->times[point][size];
    return time > 0 && !isinf(time);
}

static void gather_size(void *context, size_t size)
{
    const struct gathering *gathering = context;
    const struct hn_sight *sight = &gathering->model->sight;
    const struct hn_matrix *matrix = gathering->matrix;
    float *seen = hn_need(sight->features, sizeof *seen);
    double best = log(hn_matrix_least(matrix, size));
    size_t row = gathering->first[size];
    for (size_t p = 0; p < matrix->point_count && row < gathering->first[size + 1]; p++) {
        if (!is_timed(matrix, p, size))
            continue;
        memset(seen, 0, sight->features * sizeof *seen);
        (void)hn_sight_see(sight, &matrix->sizes[size].problem, &matrix->points[p].values,
                           &gathering->points[p], seen);
        for (size_t f = 0; f < sight->features; f++)
            gathering->values[f * gathering->rows + row] = seen[f];
        gathering->targets[row++] = fmin(most_loss, log(matrix->times[p][size]) - best);
    }
    free(seen);
}

static void grow_bag(void *context, size_t bag)
{
    const struct gathering *gathering = context;
    const struct boost_data data = {gathering->rows, gathering->model->sight.features,
                                    gathering->trees, gathering->values, gathering->targets};
    gathering->bags[bag] = grow_boost(&data, gathering->seed + bag);
}

struct hn_model *hn_model_make(const struct hn_family_kernel *kernel,
                               const struct hn_matrix *matrix, const bool *use, size_t trees,
                               uint64_t seed)
{
    struct hn_model *model = hn_need(1, sizeof *model);
    size_t sizes = matrix->size_count;
    struct gathering gathering = {
        .model = model, .matrix = matrix, .bags = model->bags, .trees = trees, .seed = seed};
    hn_sight_init(&model->sight, kernel);
    gathering.points = hn_need(matrix->point_count, sizeof *gathering.points);
    gathering.first = hn_need(sizes + 1, sizeof *gathering.first);
    for (size_t p = 0; p < matrix->point_count; p++) {
        gathering.points[p].occupancy = matrix->points[p].occupancy;
        hn_family_edges_parts(&model->sight.edges, kernel, &matrix->sizes[0].problem,
                              &matrix->points[p].values, gathering.points[p].parts);
    }
    for (size_t s = 0; s < sizes; s++) {
        gathering.first[s] = gathering.rows;
        for (size_t p = 0; p < matrix->point_count && (use == NULL || use[s]); p++)
            gathering.rows += is_timed(matrix, p, s);
    }
    gathering.first[sizes] = gathering.rows;
    gathering.values = hn_need(gathering.rows * model->sight.features, sizeof(float));
    gathering.targets = hn_need(gathering.rows, sizeof(double));
    hn_parallel_do(sizes, 0, gather_size, &gathering);
    if (gathering.rows > 0)
        hn_parallel_do(BAGS, 0, grow_bag, &gathering);
    free(gathering.points);
    free(gathering.first);
    free(gathering.values);
    free(gathering.targets);
    return model;
}

void hn_model_destroy(struct hn_model *model)
{
    if (model == NULL)
        return;
    for (size_t bag = 0; bag < BAGS; bag++)
        destroy_boost(model->bags[bag]);
    hn_family_edges_finish(&model->sight.edges);
    free(model);
}

struct asking {
    const struct hn_model *model;
    const struct hn_matrix_point *const *points;
    const struct hn_sight_point *known;
    size_t point_count, count;
    const struct hn_bindings *problems;
    double *losses, *deviations;
};

enum { AT_ONCE = 64 };

/* Some points at a problem. */
static void ask_some(const struct asking *asking, size_t problem, size_t first, size_t count,
                     float *seen)
{
    const struct hn_model *model = asking->model;
    double answers[BAGS][AT_ONCE] = {{0}};
    bool can[AT_ONCE];
    for (size_t i = 0; i < count; i++)
        can[i] = hn_sight_see(&model->sight, &asking->problems[problem],
                              &asking->points[first + i]->values, &asking->known[first + i],
                              seen + i * model->sight.features);
    for (size_t bag = 0; bag < BAGS && model->bags[bag] != NULL; bag++)
        ask_boost(model->bags[bag], seen, count, answers[bag]);
    for (size_t i = 0; i < count; i++) {
        size_t at = (first + i) * asking->count + problem;
        double sum = 0, squares = 0;
        for (size_t bag = 0; bag < BAGS; bag++) {
            sum += answers[bag][i] / BAGS;
            squares += answers[bag][i] * answers[bag][i] / BAGS;
        }
        asking->losses[at] = can[i] ? sum : INFINITY;
        if (asking->deviations != NULL)
            asking->deviations[at] = can[i] ? sqrt(fmax(0, squares - sum * sum)) : 0;
    }
}

static void ask_at(void *context, size_t problem)
{
    const struct asking *asking = context;
    float *seen = hn_need(AT_ONCE * asking->model->sight.features, sizeof *seen);
    for (size_t first = 0; first < asking->point_count; first += AT_ONCE) {
        size_t left = asking->point_count - first;
        ask_some(asking, problem, first, left < AT_ONCE ? left : AT_ONCE, seen);
    }
    free(seen);
}

void hn_model_ask(const struct hn_model *model, const struct hn_matrix_point *const *points,
                  size_t point_count, const struct hn_bindings *problems, size_t count,
                  double *losses, double *deviations)
{
    struct hn_sight_point *known = hn_need(point_count, sizeof *known);
    struct asking asking = {model, points, known, point_count, count, problems, losses, deviations};
    for (size_t p = 0; p < point_count && count > 0; p++) {
        known[p].occupancy = points[p]->occupancy;
        hn_family_edges_parts(&model->sight.edges, model->sight.kernel, &problems[0],
                              &points[p]->values, known[p].parts);
    }
    hn_parallel_do(count, 0, ask_at, &asking);
    free(known);
}

size_t hn_model_edges(const struct hn_model *model, size_t *edges, size_t most)
{
    double gains[HN_EDGES_MOST] = {0};
    size_t count = 0;
    size_t first = model->sight.features - HN_SIGHT_OF_EDGE * model->sight.edges.count;
    for (size_t f = first; f < model->sight.features; f++)
        for (size_t bag = 0; bag < BAGS && model->bags[bag] != NULL; bag++)
            gains[(f - first) / HN_SIGHT_OF_EDGE] += model->bags[bag]->gains[f];
    for (; count < most; count++) {
        size_t best = 0;
        for (size_t i = 1; i < HN_EDGES_MOST; i++)
            best = gains[i] > gains[best] ? i : best;
        if (!(gains[best] > 0))
            break;
        edges[count] = best;
        gains[best] = 0;
    }
    return count;
}
