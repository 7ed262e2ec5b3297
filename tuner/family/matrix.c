/* SPDX-License-Identifier: MIT */
#include "tuner/family/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hn_matrix *hn_matrix_create(void)
{
    struct hn_matrix *matrix = calloc(1, sizeof *matrix);
    for (size_t p = 0; matrix != NULL && p < HN_MATRIX_POINTS; p++)
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

enum hn_status hn_matrix_add_size(struct hn_matrix *matrix, const struct hn_bindings *problem,
                                  double weight, size_t *place, struct hn_error *err)
{
    for (*place = 0; *place < matrix->size_count; ++*place)
        if (hn_bindings_equal(&matrix->sizes[*place].problem, problem))
            return HN_OK;
    if (matrix->size_count == HN_MATRIX_SIZES) {
        *place = SIZE_MAX;
        return HN_OK;
    }
    struct hn_matrix_size *size = &matrix->sizes[matrix->size_count];
    size->weight = weight;
    size->tuned_us = NAN;
    enum hn_status status = hn_bindings_copy(&size->problem, problem, err);
    matrix->size_count += status == HN_OK;
    return status;
}

enum hn_status hn_matrix_add_point(struct hn_matrix *matrix, const struct hn_bindings *values,
                                   size_t *place, struct hn_error *err)
{
    for (*place = 0; *place < matrix->point_count; ++*place)
        if (hn_bindings_equal(&matrix->points[*place].values, values))
            return HN_OK;
    if (matrix->point_count == HN_MATRIX_POINTS) {
        *place = SIZE_MAX;
        return HN_OK;
    }
    struct hn_matrix_point *point = &matrix->points[matrix->point_count];
    point->occupancy = 0;
    point->only_size = -1;
    enum hn_status status = hn_bindings_copy(&point->values, values, err);
    matrix->point_count += status == HN_OK;
    return status;
}

static enum hn_status copy_sizes(const struct hn_matrix *from, struct hn_matrix *to,
                                 struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t s = 0; s < from->size_count && status == HN_OK; s++) {
        to->sizes[s] = from->sizes[s];
        status = hn_bindings_copy(&to->sizes[s].problem, &from->sizes[s].problem, err);
        to->size_count += status == HN_OK;
    }
    return status;
}

enum hn_status hn_matrix_pick(const struct hn_matrix *matrix, const size_t *points, size_t count,
                              struct hn_matrix **picked, struct hn_error *err)
{
    struct hn_matrix *own = hn_matrix_create();
    enum hn_status status = own != NULL ? copy_sizes(matrix, own, err) : hn_fail_memory(err);
    for (size_t p = 0; p < count && status == HN_OK; p++) {
        own->points[p] = matrix->points[points[p]];
        memcpy(own->times[p], matrix->times[points[p]], sizeof own->times[p]);
        status = hn_bindings_copy(&own->points[p].values, &matrix->points[points[p]].values, err);
        own->point_count += status == HN_OK;
    }
    if (status == HN_OK)
        *picked = own;
    else
        hn_matrix_destroy(own);
    return status;
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
