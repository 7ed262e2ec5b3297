/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/statistics.h"
#include "tuner/strategy/loops.h"

/* Trees that are grown one after the other, each on what those before it leave (Friedman, "Greedy
 * function approximation: a gradient boosting machine", 2001), from histograms of few bins a
 * feature (Ke et al., "LightGBM", 2017), each on a part of the rows and features. */

enum {
    BINS = 64,
    DEPTH = 5,
    LEAVES = 1 << DEPTH,
    NODES = LEAVES - 1, /* and leaves behind them: the children of n are 2n + 1 and 2n + 2 */
    LEAST_ROWS = 4,     /* of a leaf */
};
static const float rate = 0.1F;
static const double row_share = 0.7, feature_share = 0.5, most_rows = 4000;
/* What a leaf says is drawn to nothing as if it had so many rows more. */
static const float drawn_by = 1;
static const float least_gain = 1e-6F;

struct split {
    float gain;
    uint32_t feature;
    uint8_t bin; /* rows up to here go to the first child */
};

struct tree {
    struct split nodes[NODES];
    float values[LEAVES];
};

/* Losses, not times: how long a size takes is the same for all points, and of points that take
 * several times as long as the best nobody needs to know how long. */
static const double most_loss = 1;
/* Trees learn what a prior leaves, beside the size's mean. Points count less that lose more. */
static const double near_loss = 0.5, fading = 2;
/* Once one tree in so many has learnt from all rows, the others do from those that lose, or are
 * said to lose, less than this: far points, where a prior errs most, would take all leaves. */
enum { ROUGH = 4 };
static const double close_loss = 0.2;

/* Models that have each seen other sizes; where they differ little is known. */
enum { BAGS = 6, UNSEEN_BY = 2 };

/* Two of the bags, another pair for each of the sizes one after the other, have not seen a size. */
static bool has_seen(size_t bag, size_t size)
{
    size_t first = size % BAGS, second = (first + 1 + size / BAGS % (BAGS - 1)) % BAGS;
    return bag != first && bag != second;
}

struct hn_model {
    struct hn_sight sight;
    float *edges; /* [feature][bin]: the highest value of a bin */
    size_t trees;
    struct tree *bags[BAGS];
};

/* The measurements, as the trees see them. */
struct gathering {
    struct hn_model *model;
    const struct hn_matrix *matrix;
    uint64_t seed;
    size_t *first; /* [size]: its first row */
    size_t rows;
    double *targets; /* [row] */
    double *losses;  /* [row]: of a config with a prior, else 0 */
    double *counts;  /* [row]: from 0 to 1 */
    double *values;  /* [feature][row] */
    uint8_t *bins;   /* [feature][row] */
};

/* The growth of the trees of a bag. */
struct growing {
    const struct gathering *data;
    struct hn_random random;
    uint32_t *seen; /* rows */
    size_t seen_count;
    uint32_t *rows; /* of the tree */
    size_t row_count;
    size_t *bins;  /* [feature]: that the tree takes, of those that it does not 0 */
    float *left;   /* [row]: the target without what the trees say */
    uint8_t *leaf; /* [row]: of the level */
    /* What the rows of a leaf sum up to, by bin of a feature. */
    struct cell {
        float sum, count;
    } cells[LEAVES / 2 * BINS];
};

static float score(struct cell cell)
{
    return cell.sum * cell.sum / (cell.count + drawn_by);
}

static void try_splits(const struct cell *cells, size_t count, size_t feature, struct split *best)
{
    struct cell all = {0, 0}, first = {0, 0};
    for (size_t b = 0; b < count; b++) {
        all.sum += cells[b].sum;
        all.count += cells[b].count;
    }
    float whole = score(all);
    for (size_t b = 0; b < count && all.count - first.count >= LEAST_ROWS; b++) {
        first.sum += cells[b].sum;
        first.count += cells[b].count;
        struct cell second = {all.sum - first.sum, all.count - first.count};
        if (cells[b].count == 0 || first.count < LEAST_ROWS || second.count < LEAST_ROWS)
            continue;
        float gain = score(first) + score(second) - whole;
        if (gain > best->gain)
            *best = (struct split){gain, (uint32_t)feature, (uint8_t)b};
    }
}

/* A leaf that gains nothing sends all its rows to its first child. */
static void split_level(struct growing *growing, struct tree *tree, size_t leaves)
{
    struct split *best = tree->nodes + leaves - 1;
    const struct gathering *data = growing->data;
    for (size_t leaf = 0; leaf < leaves; leaf++)
        best[leaf] = (struct split){.gain = least_gain, .bin = BINS - 1};
    for (size_t f = 0; f < data->model->sight.features; f++) {
        size_t bins = growing->bins[f];
        memset(growing->cells, 0, leaves * bins * sizeof *growing->cells);
        for (size_t i = 0; i < growing->row_count && bins > 0; i++) {
            uint32_t row = growing->rows[i];
            uint8_t bin = data->bins[f * data->rows + row];
            struct cell *cell = &growing->cells[growing->leaf[row] * bins + bin];
            cell->sum += growing->left[row];
            cell->count++;
        }
        for (size_t leaf = 0; leaf < leaves; leaf++)
            try_splits(growing->cells + leaf * bins, bins, f, &best[leaf]);
    }
    for (size_t i = 0; i < growing->seen_count; i++) {
        uint32_t row = growing->seen[i];
        const struct split *split = &best[growing->leaf[row]];
        bool above = data->bins[split->feature * data->rows + row] > split->bin;
        growing->leaf[row] = (uint8_t)(2 * growing->leaf[row] + above);
    }
}

static uint8_t find_bin(const float *edges, float value)
{
    int bin = 0;
    for (size_t b = 0; b < BINS; b++)
        bin += value > edges[b];
    return (uint8_t)bin;
}

static void grow_tree(struct growing *growing, struct tree *tree, bool rough)
{
    double share = fmin(row_share, most_rows / (double)growing->seen_count);
    struct cell sums[LEAVES] = {{0, 0}};
    growing->row_count = 0;
    for (size_t i = 0; i < growing->seen_count; i++) {
        uint32_t row = growing->seen[i];
        /* The trees up to now may say that it loses little. */
        double loss = growing->data->losses[row], left = (double)growing->left[row];
        growing->leaf[row] = 0;
        if (hn_random_unit(&growing->random) < share * growing->data->counts[row] &&
            (rough || fmin(loss, loss - left) <= close_loss))
            growing->rows[growing->row_count++] = row;
    }
    for (size_t f = 0; f < growing->data->model->sight.features; f++) {
        const float *edges = growing->data->model->edges + f * BINS;
        bool takes = isfinite(edges[1]) && hn_random_unit(&growing->random) < feature_share;
        growing->bins[f] = takes ? (size_t)find_bin(edges, INFINITY) + 1 : 0;
    }
    for (size_t leaves = 1; leaves < LEAVES; leaves *= 2)
        split_level(growing, tree, leaves);
    for (size_t i = 0; i < growing->row_count; i++) {
        uint32_t row = growing->rows[i];
        sums[growing->leaf[row]].sum += growing->left[row];
        sums[growing->leaf[row]].count++;
    }
    for (size_t leaf = 0; leaf < LEAVES; leaf++)
        tree->values[leaf] = rate * sums[leaf].sum / (sums[leaf].count + drawn_by);
    for (size_t i = 0; i < growing->seen_count; i++)
        growing->left[growing->seen[i]] -= tree->values[growing->leaf[growing->seen[i]]];
}

static void grow_bag(void *context, size_t number)
{
    const struct gathering *data = context;
    struct tree *trees = data->model->bags[number] = hn_need(data->model->trees, sizeof *trees);
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    struct growing *growing = hn_need_block(&memory, 1, sizeof *growing);
    growing->data = data;
    growing->random = hn_random_seeded(data->seed + number);
    growing->seen = hn_need_block(&memory, data->rows, sizeof(uint32_t));
    growing->rows = hn_need_block(&memory, data->rows, sizeof(uint32_t));
    growing->bins = hn_need_block(&memory, data->model->sight.features, sizeof(size_t));
    growing->left = hn_need_block(&memory, data->rows, sizeof(float));
    growing->leaf = hn_need_block(&memory, data->rows, sizeof(uint8_t));
    for (size_t s = 0; s < data->matrix->size_count; s++)
        for (size_t r = data->first[s]; r < data->first[s + 1] && has_seen(number, s); r++) {
            /* By chance: rows of a size have much in common, and would wait for each other. */
            size_t other = (size_t)hn_random_below(&growing->random, growing->seen_count + 1);
            growing->seen[growing->seen_count++] = growing->seen[other];
            growing->seen[other] = (uint32_t)r;
        }
    for (size_t r = 0; r < data->rows; r++)
        growing->left[r] = (float)data->targets[r];
    for (size_t t = 0; t < data->model->trees; t++)
        grow_tree(growing, &trees[t], t < data->model->trees / ROUGH);
}

/* Bins of about as many rows; equal values share one. */
static void find_bins(void *context, size_t feature)
{
    const struct gathering *data = context;
    const double *values = data->values + feature * data->rows;
    float *edges = data->model->edges + feature * BINS;
    double *sorted HN_FREED = hn_need(data->rows, sizeof *sorted);
    size_t count = 0;
    memcpy(sorted, values, data->rows * sizeof *sorted);
    hn_sort(sorted, data->rows);
    for (size_t b = 0; b < BINS - 1 && data->rows > 0; b++) {
        float edge = (float)sorted[(b + 1) * data->rows / BINS];
        if (count == 0 || edge > edges[count - 1])
            edges[count++] = edge;
    }
    while (count < BINS)
        edges[count++] = INFINITY;
    for (size_t r = 0; r < data->rows; r++)
        data->bins[feature * data->rows + r] = find_bin(edges, (float)values[r]);
}

/* What the prior says of a point, in logarithms. */
static double expect(const struct hn_sight *sight, const float *seen)
{
    return sight->kernel.config->prior != NULL ? seen[sight->features - 1] : 0;
}

static bool is_timed(const struct hn_matrix *matrix, size_t point, size_t size)
{
    double time = matrix->times[point][size];
    return time > 0 && !isinf(time);
}

static void gather_size(void *context, size_t size)
{
    const struct gathering *data = context;
    const struct hn_sight *sight = &data->model->sight;
    const struct hn_matrix *matrix = data->matrix;
    float *seen HN_FREED = hn_need(sight->features, sizeof *seen);
    bool all = sight->kernel.config->prior == NULL; /* count, and as they are */
    double best = hn_matrix_least(matrix, size), sum = 0, count = 0;
    size_t row = data->first[size];
    for (size_t p = 0; p < matrix->point_count && row < data->first[size + 1]; p++) {
        if (!is_timed(matrix, p, size))
            continue;
        memset(seen, 0, sight->features * sizeof *seen);
        bool can = hn_sight_see(sight, &matrix->sizes[size].problem, &matrix->points[p], seen);
        for (size_t f = 0; f < sight->features; f++)
            data->values[f * data->rows + row] = (double)seen[f];
        double loss = log(matrix->times[p][size] / best);
        data->losses[row] = all ? 0 : loss;
        data->targets[row] = all ? fmin(most_loss, loss) : loss - expect(sight, seen);
        data->counts[row] = !can ? 0 : all ? 1 : exp(-fading * fmax(0, loss - near_loss));
        /* The mean of close rows; of all where none is. */
        double counted = data->counts[row] * (data->losses[row] <= close_loss ? 1 : 1e-6);
        sum += all ? 0 : counted * data->targets[row];
        count += counted;
        row++;
    }
    while (row-- > data->first[size])
        data->targets[row] -= sum / count;
}

struct hn_model *hn_model_make(const struct hn_family_kernel *kernel,
                               const struct hn_matrix *matrix, size_t trees, uint64_t seed)
{
    struct hn_model *model = hn_need(1, sizeof *model);
    size_t sizes = matrix->size_count;
    struct gathering data = {.model = model, .matrix = matrix, .seed = seed};
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    model->trees = trees;
    hn_sight_init(&model->sight, kernel);
    model->edges = hn_need(BINS * model->sight.features, sizeof *model->edges);
    data.first = hn_need_block(&memory, sizes + 1, sizeof *data.first);
    for (size_t s = 0; s < sizes; s++) {
        data.first[s] = data.rows;
        for (size_t p = 0; p < matrix->point_count; p++)
            data.rows += is_timed(matrix, p, s);
    }
    data.first[sizes] = data.rows;
    data.targets = hn_need_block(&memory, data.rows, sizeof *data.targets);
    data.losses = hn_need_block(&memory, data.rows, sizeof *data.losses);
    data.counts = hn_need_block(&memory, data.rows, sizeof *data.counts);
    data.values = hn_need_block(&memory, data.rows * model->sight.features, sizeof *data.values);
    data.bins = hn_need_block(&memory, data.rows * model->sight.features, sizeof *data.bins);
    hn_parallel_do(sizes, 0, gather_size, &data);
    hn_parallel_do(model->sight.features, 0, find_bins, &data);
    hn_parallel_do(BAGS, 0, grow_bag, &data);
    return model;
}

void hn_model_destroy(struct hn_model *model)
{
    if (model == NULL)
        return;
    for (size_t bag = 0; bag < BAGS; bag++)
        free(model->bags[bag]);
    free(model->edges);
    free(model);
}

struct asking {
    const struct hn_model *model;
    const struct hn_matrix_point *points;
    const size_t *places;
    size_t point_count, count;
    const struct hn_bindings *problems;
    bool unseen; /* only of the bags that have not seen the problem, a size of that place */
    double *losses, *deviations;
};

enum { AT_ONCE = 64 };

/* Adds what the trees say of some rows, whose bins are [feature][row]. From the last node of a tree
 * to its first all rows learn at once to which leaf they go from there: quicker than to walk, since
 * compilers compare many bytes at once. Under sanitizers they would not. */
__attribute__((no_sanitize("address", "undefined"))) HN_WIDE static void
ask_bag(const struct hn_model *model, const struct tree *trees, const uint8_t *bins,
        double *answers)
{
    uint8_t leaves[NODES + LEAVES][AT_ONCE];
    for (size_t leaf = 0; leaf < LEAVES; leaf++)
        memset(leaves[NODES + leaf], (int)leaf, AT_ONCE);
    for (const struct tree *tree = trees; tree < trees + model->trees; tree++) {
        for (size_t n = NODES; n-- > 0;)
            for (size_t r = 0; r < AT_ONCE; r++) {
                uint8_t first = leaves[2 * n + 1][r], second = leaves[2 * n + 2][r];
                uint8_t bin = bins[tree->nodes[n].feature * AT_ONCE + r];
                leaves[n][r] = bin > tree->nodes[n].bin ? second : first;
            }
        for (size_t r = 0; r < AT_ONCE; r++)
            answers[r] += (double)tree->values[leaves[0][r]];
    }
}

/* Some of all pairs of a point and a problem. */
static void ask_part(void *context, size_t part)
{
    const struct asking *asking = context;
    const struct hn_model *model = asking->model;
    size_t features = model->sight.features, all = asking->point_count * asking->count;
    size_t first = part * AT_ONCE, count = all - first < AT_ONCE ? all - first : AT_ONCE;
    float *seen HN_FREED = hn_need(features, sizeof *seen);
    uint8_t *bins HN_FREED = hn_need(features, AT_ONCE);
    double *losses = asking->losses + first;
    double sums[AT_ONCE] = {0}, squares[AT_ONCE] = {0}, bags = asking->unseen ? UNSEEN_BY : BAGS;
    for (size_t i = 0; i < count; i++) {
        size_t point = (first + i) / asking->count, problem = (first + i) % asking->count;
        point = asking->places != NULL ? asking->places[point] : point;
        losses[i] = INFINITY;
        if (!hn_sight_see(&model->sight, &asking->problems[problem], &asking->points[point], seen))
            continue;
        losses[i] = expect(&model->sight, seen);
        for (size_t f = 0; f < features; f++)
            bins[f * AT_ONCE + i] = find_bin(model->edges + f * BINS, seen[f]);
    }
    for (size_t bag = 0; bag < BAGS; bag++) {
        double answers[AT_ONCE] = {0};
        ask_bag(model, model->bags[bag], bins, answers);
        for (size_t i = 0; i < count; i++) {
            if (asking->unseen && has_seen(bag, (first + i) % asking->count))
                continue;
            sums[i] += answers[i];
            squares[i] += answers[i] * answers[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        double mean = sums[i] / bags;
        double variance = fmax(0, squares[i] - bags * mean * mean) / (bags - 1);
        asking->deviations[first + i] = isinf(losses[i]) ? 0 : sqrt(variance);
        losses[i] += mean;
    }
}

void hn_model_ask(const struct hn_model *model, const struct hn_matrix_point *points,
                  const size_t *places, size_t point_count, const struct hn_bindings *problems,
                  size_t count, bool unseen, double *losses, double *deviations)
{
    struct asking asking = {.model = model,
                            .points = points,
                            .places = places,
                            .point_count = point_count,
                            .count = count,
                            .problems = problems,
                            .unseen = unseen,
                            .losses = losses,
                            .deviations = deviations};
    hn_parallel_do((point_count * count + AT_ONCE - 1) / AT_ONCE, 0, ask_part, &asking);
}
