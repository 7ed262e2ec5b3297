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

void hn_matrix_tell(struct hn_matrix_point *point, const struct hn_record *record)
{
    double occupancy = record->resources.occupancy;
    bool wrong = record->outcome == HN_OUTCOME_WRONG_RESULT ||
                 record->outcome == HN_OUTCOME_OUT_OF_BOUNDS ||
                 record->outcome == HN_OUTCOME_DEVICE_FAULT;
    point->wrong = point->wrong || wrong;
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
