/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

/* Losses, not times: how long a size takes is the same for all points, and of points that take
 * several times as long as the best nobody needs to know how long. */
static const double most_loss = 1;

enum {
    BAGS = 3
}; /* models, each of other parts of the measurements; where they differ little is known */

struct hn_model {
    struct hn_sight sight;
    struct hn_boost *bags[BAGS];
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
    struct hn_boost **bags;
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
    const struct hn_boost_data data = {gathering->rows, gathering->model->sight.features,
                                       gathering->trees, gathering->values, gathering->targets};
    gathering->bags[bag] = hn_boost_grow(&data, gathering->seed + bag);
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
        hn_boost_destroy(model->bags[bag]);
    hn_sight_finish(&model->sight);
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
        hn_boost_ask(model->bags[bag], seen, count, answers[bag]);
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
    for (size_t f = 0; f < model->sight.features; f++) {
        size_t edge = hn_sight_edge(&model->sight, f);
        for (size_t bag = 0; bag < BAGS && edge != SIZE_MAX && model->bags[bag] != NULL; bag++)
            gains[edge] += hn_boost_gain(model->bags[bag], f);
    }
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
