/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "runtime/plan/launch.h"

struct hn_matrix *hn_matrix_create(void)
{
    struct hn_matrix *matrix = hn_need(1, sizeof *matrix);
    for (size_t p = 0; p < HN_MATRIX_POINTS; p++)
        for (size_t s = 0; s < HN_MATRIX_SIZES; s++)
            matrix->times[p][s] = NAN;
    return matrix;
}

void hn_matrix_destroy(struct hn_matrix *matrix)
{
    if (matrix == NULL)
        return;
    for (size_t s = 0; s < matrix->size_count; s++)
        hn_bindings_finish(&matrix->sizes[s].problem);
    for (size_t p = 0; p < matrix->point_count; p++)
        hn_bindings_finish(&matrix->points[p].values);
    free(matrix);
}

size_t hn_matrix_add_size(struct hn_matrix *matrix, const struct hn_bindings *problem,
                          double weight)
{
    for (size_t s = 0; s < matrix->size_count; s++)
        if (hn_bindings_equal(&matrix->sizes[s].problem, problem))
            return s;
    if (matrix->size_count == HN_MATRIX_SIZES)
        return SIZE_MAX;
    struct hn_matrix_size *size = &matrix->sizes[matrix->size_count];
    size->weight = weight;
    size->tuned_us = NAN;
    size->problem = hn_need_bindings(problem, NULL);
    return matrix->size_count++;
}

size_t hn_matrix_add_point(struct hn_matrix *matrix, const struct hn_bindings *values)
{
    for (size_t p = 0; p < matrix->point_count; p++)
        if (hn_bindings_equal(&matrix->points[p].values, values))
            return p;
    if (matrix->point_count == HN_MATRIX_POINTS)
        return SIZE_MAX;
    struct hn_matrix_point *point = &matrix->points[matrix->point_count];
    point->occupancy = 0;
    point->only_size = -1;
    point->values = hn_need_bindings(values, NULL);
    return matrix->point_count++;
}

struct hn_matrix *hn_matrix_pick(const struct hn_matrix *matrix, const size_t *points, size_t count)
{
    struct hn_matrix *picked = hn_matrix_create();
    for (size_t s = 0; s < matrix->size_count; s++) {
        picked->sizes[s] = matrix->sizes[s];
        picked->sizes[s].problem = hn_need_bindings(&matrix->sizes[s].problem, NULL);
    }
    for (size_t p = 0; p < count; p++) {
        picked->points[p] = matrix->points[points[p]];
        picked->points[p].values = hn_need_bindings(&matrix->points[points[p]].values, NULL);
        memcpy(picked->times[p], matrix->times[points[p]], sizeof picked->times[p]);
    }
    picked->size_count = matrix->size_count;
    picked->point_count = count;
    return picked;
}

double hn_matrix_best(const struct hn_matrix *matrix, size_t size)
{
    double best = matrix->sizes[size].tuned_us;
    if (isnan(best))
        best = INFINITY;
    for (size_t p = 0; p < matrix->point_count; p++)
        best = fmin(best, matrix->times[p][size]);
    return best;
}

static const int64_t round_to = 16;

void hn_family_next(const struct hn_family *family, uint64_t seed, uint64_t *at,
                    struct hn_bindings *problem, struct hn_error *err)
{
    bool rounds = *at % 2 == 1;
    *problem = (struct hn_bindings){0};
    if (hn_failed(err) || hn_family_draw(family, seed, at, problem, err) != HN_OK || !rounds)
        return;
    struct hn_bindings rounded = hn_need_bindings(problem, NULL);
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *own = hn_bindings_get(&rounded, value->name);
        if (value->kind != HN_FAMILY_RANGE || own->integer < round_to)
            continue;
        struct hn_value less = hn_integer(own->integer / round_to * round_to);
        hn_bindings_set(&rounded, value->name, &less, err);
    }
    if (hn_family_has(family, &rounded)) {
        struct hn_bindings drawn = *problem;
        *problem = rounded;
        rounded = drawn;
    }
    hn_bindings_finish(&rounded);
}

/* Memory is read in words of 16 bytes at most, of 1 byte at least. */
static const int64_t most_aligned = 16;

static bool is_size(const struct hn_family_value *value)
{
    return value->kind == HN_FAMILY_RANGE;
}

static bool varies(const struct hn_family_value *value)
{
    return is_size(value) || value->count > 1;
}

static size_t count_features(const struct hn_family *family)
{
    size_t count = HN_PLACES_OF_LAUNCH;
    for (size_t i = 0; i < family->value_count; i++)
        if (varies(&family->values[i]))
            count += is_size(&family->values[i]) ? 2 : 1;
    return count;
}

size_t hn_places_sizes(const struct hn_family *family, size_t *features, size_t most)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        if (!varies(&family->values[i]))
            continue;
        if (is_size(&family->values[i]) && count < most)
            features[count++] = at;
        at += is_size(&family->values[i]) ? 2 : 1;
    }
    return count;
}

void hn_places_categories(const struct hn_family *family, bool *categories)
{
    size_t at = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        if (!varies(&family->values[i]))
            continue;
        if (is_size(&family->values[i]))
            categories[at++] = false;
        categories[at++] = !is_size(&family->values[i]);
    }
    for (size_t i = 0; i < HN_PLACES_OF_LAUNCH; i++)
        categories[at++] = false;
}

void hn_places_init(struct hn_places *places, const struct hn_family_kernel *kernel, size_t points,
                    size_t capacity)
{
    size_t features = count_features(kernel->family);
    *places = (struct hn_places){
        .capacity = capacity,
        .features = features,
        .points = points,
        .problems = hn_need(capacity, sizeof *places->problems),
        .usable = hn_need(points * capacity, sizeof *places->usable),
    };
    hn_family_edges_find(&places->edges, kernel);
    places->rows = features + HN_PLACES_SIDES + places->edges.count;
    places->columns = hn_need(points * places->rows * capacity, sizeof *places->columns);
}

void hn_places_finish(struct hn_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        hn_bindings_finish(&places->problems[i]);
    free(places->problems);
    free(places->columns);
    free(places->usable);
    hn_family_edges_finish(&places->edges);
    *places = (struct hn_places){.count = 0};
}

double hn_places_likeness(const struct hn_places *places, size_t place,
                          const struct hn_places *others, size_t other)
{
    double squares = 0;
    for (size_t f = 0; f + HN_PLACES_OF_LAUNCH < places->features; f++) {
        double apart =
            hn_places_column(places, 0, f)[place] - hn_places_column(others, 0, f)[other];
        squares += apart * apart;
    }
    return exp(-squares / 4);
}

static int64_t power_of_two_in(int64_t size)
{
    int64_t power = 1;
    while (power < most_aligned && size % (power * 2) == 0)
        power *= 2;
    return power;
}

/* Features that all points see. */
static size_t see_problem(const struct hn_family *family, const struct hn_bindings *problem,
                          double *seen)
{
    size_t at = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *own = hn_bindings_get(problem, value->name);
        if (!varies(value))
            continue;
        if (is_size(value)) {
            seen[at++] = log(fmax(1, hn_value_number(own)));
            seen[at++] = log((double)power_of_two_in(own->integer));
            continue;
        }
        size_t place = 0;
        while (place + 1 < value->count && !hn_value_equal(&value->values[place], own))
            place++;
        seen[at++] = (double)place;
    }
    return at;
}

static double blocks_of(const struct hn_launch_step *step)
{
    return (double)step->grid[0] * (double)step->grid[1] * (double)step->grid[2];
}

enum { OF_LAUNCH = HN_PLACES_OF_LAUNCH + HN_PLACES_SIDES };

/* A step that only some points launch clears or copies for the others. */
static bool is_rather(const struct hn_launch_step *step, const struct hn_launch_step *than)
{
    bool always = step->step->condition == NULL;
    return always == (than->step->condition == NULL) ? blocks_of(step) > blocks_of(than) : always;
}

/* Looks at the step that does the work: how many blocks, in how many waves, and the sides of the
 * grid. */
static void see_launch(const struct hn_launch *launch, const struct hn_device *device,
                       double occupancy, double seen[OF_LAUNCH])
{
    const struct hn_launch_step *main = &launch->steps[0];
    for (size_t i = 1; i < launch->step_count; i++)
        if (is_rather(&launch->steps[i], main))
            main = &launch->steps[i];
    double threads = (double)main->block[0] * (double)main->block[1] * (double)main->block[2];
    double resident = fmax(1, floor(occupancy * device->max_threads_per_sm / threads + 1e-6));
    double slots = resident * device->identity.sm_count;
    double blocks = blocks_of(main);
    seen[HN_PLACES_BLOCKS] = log(blocks);
    seen[HN_PLACES_WAVES] = log(ceil(blocks / slots));
    seen[HN_PLACES_TURNS] = log(ceil(blocks / device->identity.sm_count));
    for (size_t side = 0; side < HN_PLACES_SIDES; side++)
        seen[HN_PLACES_OF_LAUNCH + side] = log((double)main->grid[side]);
}

static bool can_launch(const struct hn_family_kernel *kernel, const struct hn_bindings *problem,
                       const struct hn_bindings *point, double occupancy, double seen[OF_LAUNCH])
{
    struct hn_launch launch;
    memset(seen, 0, OF_LAUNCH * sizeof *seen);
    if (!hn_launch_try(kernel->plan, kernel->device, problem, point, &launch, NULL))
        return false;
    see_launch(&launch, kernel->device, occupancy, seen);
    hn_launch_finish(&launch);
    return true;
}

bool hn_family_allows(const struct hn_family_kernel *kernel, const struct hn_bindings *problem,
                      const struct hn_bindings *point)
{
    double ignored[OF_LAUNCH];
    return can_launch(kernel, problem, point, 1, ignored);
}

void hn_places_add(struct hn_places *places, const struct hn_bindings *problem)
{
    places->problems[places->count++] = hn_need_bindings(problem, NULL);
}

struct seeing {
    struct hn_places *places;
    const struct hn_family_kernel *kernel;
    const struct hn_matrix *matrix;
    int64_t (*parts)[HN_EDGES_MOST]; /* of the points */
    double *seen;                    /* [place][row] */
};

/* Logarithms of how often a block goes through its loops. */
static void see_edges(const struct hn_family_edges *edges, const struct hn_bindings *problem,
                      const int64_t *parts, double *seen)
{
    for (size_t i = 0; i < edges->count; i++) {
        double size = hn_value_number(hn_bindings_get(problem, edges->items[i].size));
        seen[i] = parts[i] > 0 ? log(fmax(1, ceil(size / (double)parts[i]))) : 0;
    }
}

static void see_place(void *context, size_t place)
{
    const struct seeing *seeing = context;
    struct hn_places *places = seeing->places;
    const struct hn_matrix_point *points = seeing->matrix->points;
    double *seen = seeing->seen + place * places->rows;
    const struct hn_bindings *problem = &places->problems[place];
    size_t own = see_problem(seeing->kernel->family, problem, seen);
    for (size_t p = 0; p < places->points; p++) {
        places->usable[p * places->capacity + place] =
            can_launch(seeing->kernel, problem, &points[p].values, points[p].occupancy, &seen[own]);
        see_edges(&places->edges, problem, seeing->parts[p], &seen[own + OF_LAUNCH]);
        for (size_t f = 0; f < places->rows; f++)
            hn_places_column(places, p, f)[place] = seen[f];
    }
}

void hn_places_see(struct hn_places *places, const struct hn_family_kernel *kernel,
                   const struct hn_matrix *matrix)
{
    struct seeing seeing = {places, kernel, matrix, hn_need(places->points, sizeof *seeing.parts),
                            hn_need(places->rows * places->count, sizeof(double))};
    for (size_t p = 0; p < places->points; p++)
        hn_family_edges_parts(&places->edges, kernel, &matrix->sizes[0].problem,
                              &matrix->points[p].values, seeing.parts[p]);
    hn_parallel_do(places->count, 0, see_place, &seeing);
    free(seeing.parts);
    free(seeing.seen);
}
