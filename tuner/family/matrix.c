/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

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

size_t hn_matrix_find_size(const struct hn_matrix *matrix, const struct hn_bindings *problem)
{
    for (size_t s = 0; s < matrix->size_count; s++)
        if (hn_bindings_equal(&matrix->sizes[s].problem, problem))
            return s;
    return SIZE_MAX;
}

size_t hn_matrix_add_size(struct hn_matrix *matrix, const struct hn_bindings *problem, bool drawn)
{
    size_t place = hn_matrix_find_size(matrix, problem);
    if (place == SIZE_MAX && matrix->size_count < HN_MATRIX_SIZES) {
        place = matrix->size_count++;
        matrix->sizes[place].tuned_us = NAN;
        matrix->sizes[place].problem = hn_need_bindings(problem, NULL);
    }
    if (place != SIZE_MAX && drawn)
        matrix->sizes[place].drawn = true;
    return place;
}

size_t hn_matrix_add_point(struct hn_matrix *matrix, const struct hn_bindings *values)
{
    for (size_t p = 0; p < matrix->point_count; p++)
        if (hn_bindings_equal(&matrix->points[p].values, values))
            return p;
    if (matrix->point_count == HN_MATRIX_POINTS)
        return SIZE_MAX;
    matrix->points[matrix->point_count].values = hn_need_bindings(values, NULL);
    return matrix->point_count++;
}

void hn_matrix_see_occupancy(struct hn_matrix_point *point, double occupancy)
{
    if (occupancy > 0 && (!point->loaded || occupancy > point->occupancy))
        point->occupancy = occupancy;
    point->loaded = point->loaded || occupancy > 0;
}

double hn_matrix_least(const struct hn_matrix *matrix, size_t size)
{
    double least = INFINITY;
    for (size_t p = 0; p < matrix->point_count; p++)
        least = fmin(least, matrix->times[p][size]);
    return least;
}

double hn_matrix_best(const struct hn_matrix *matrix, size_t size)
{
    return fmin(hn_matrix_least(matrix, size), matrix->sizes[size].tuned_us);
}

static const int64_t round_to = 16;

struct hn_bindings hn_family_next(const struct hn_family *family, const struct hn_bindings *whole,
                                  uint64_t seed, uint64_t *at, struct hn_error *err)
{
    bool rounds = *at % 2 == 1;
    struct hn_bindings drawn = {0};
    if (!hn_failed(err))
        hn_family_draw(family, seed, at, &drawn, err);
    struct hn_bindings next = hn_need_bindings(whole, &drawn),
                       rounded = hn_need_bindings(&next, NULL);
    hn_bindings_finish(&drawn);
    for (size_t i = 0; i < family->value_count && rounds && !hn_failed(err); i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *own = hn_bindings_get(&rounded, value->name);
        if (value->kind != HN_FAMILY_RANGE || own->integer < round_to)
            continue;
        struct hn_value less = hn_integer(own->integer / round_to * round_to);
        hn_bindings_set(&rounded, value->name, &less, err);
    }
    bool has = rounds && !hn_failed(err) && hn_family_has(family, &rounded);
    hn_bindings_finish(has ? &next : &rounded);
    return has ? rounded : next;
}
