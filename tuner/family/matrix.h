/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_MATRIX_H
#define HONE_TUNER_FAMILY_MATRIX_H

#include "base/bindings.h"

/* What is measured of a family: configurations at sizes. */

enum {
    HN_MATRIX_SIZES = 320, /* as many as a Gaussian process takes well */
    HN_MATRIX_POINTS = 160,
};

struct hn_matrix {
    struct hn_matrix_size {
        struct hn_bindings problem;
        double weight;   /* of a size that the family names; 0: it was drawn */
        bool drawn;      /* not chosen for what is known of it: as any size that may come */
        bool searched;   /* on its own */
        double tuned_us; /* the best that this search found among what may serve the family; NAN: nothing, or none was made */
    } sizes[HN_MATRIX_SIZES];
    size_t size_count;
    struct hn_matrix_point {
        struct hn_bindings values;
        double occupancy;   /* 0 to 1, as in its records; 0: not known */
        int64_t only_size;  /* the one search that found it, and no other found better; below 0: none, or several */
    } points[HN_MATRIX_POINTS]; /* the first is the default point */
    size_t point_count;
    double times[HN_MATRIX_POINTS][HN_MATRIX_SIZES]; /* microseconds; NAN: not measured; INFINITY: it failed there */
};

/* On the heap, empty; NULL when out of memory. */
struct hn_matrix *hn_matrix_create(void);
void hn_matrix_destroy(struct hn_matrix *matrix);

/* The place of a size or point that is added unless it is there; SIZE_MAX: the matrix is full. */
enum hn_status hn_matrix_add_size(struct hn_matrix *matrix, const struct hn_bindings *problem, double weight,
                                  size_t *place, struct hn_error *err);
enum hn_status hn_matrix_add_point(struct hn_matrix *matrix, const struct hn_bindings *point, size_t *place,
                                   struct hn_error *err);
/* The same sizes with these points alone, the caller's to destroy. */
enum hn_status hn_matrix_pick(const struct hn_matrix *matrix, const size_t *points, size_t count,
                              struct hn_matrix **picked, struct hn_error *err);
/* The least time at a size, by any point or by its own search; INFINITY: nothing was measured there. */
double hn_matrix_best(const struct hn_matrix *matrix, size_t size);

#endif
