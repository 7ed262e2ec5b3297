/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_GAUSSIAN_H
#define HONE_TUNER_STRATEGY_GAUSSIAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

/* A Gaussian process: regression of a smooth function that is known at a few inputs, with its uncertainty elsewhere
 * (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapters 2, 4 and 5). Covariance: Matérn
 * 5/2 with a length for each feature. Targets have mean 0 and variance about 1. */

/* Logarithms. */
struct hn_gaussian_scales {
    double *lengths; /* of the features */
    double noise;    /* variance of a measurement */
    double signal;   /* variance of the function */
};

struct hn_gaussian {
    size_t features;
    double *most;    /* of a squared difference, by feature: 1 for categories, whose values are whole numbers, else INFINITY */
    size_t capacity, count;
    double *inputs;  /* count vectors of `features` */
    double *columns; /* the same by feature: feature f of input i at [f * capacity + i] */
    double *factor;  /* packed rows of the lower Cholesky factor of the inputs' covariance with noise */
    struct hn_gaussian_scales scales;
    double *weights; /* of the features in a squared distance: 1 / length^2 */
    struct hn_blocks memory; /* of the arrays */
};

/* Lengths begin at what the prior says. */
void hn_gaussian_init(struct hn_gaussian *gaussian, size_t features, const bool *category, size_t capacity);
void hn_gaussian_finish(struct hn_gaussian *gaussian);

/* Below the capacity. O(count^2). */
void hn_gaussian_append(struct hn_gaussian *gaussian, const double *input);

/* Covariance of the function at `input` with that at `width` columns: columns[f * stride + c] is feature f of column
 * c. covariances has room for width. */
void hn_gaussian_covariances(const struct hn_gaussian *gaussian, const double *input, const double *columns,
                             size_t stride, size_t width, double *covariances);
/* whitened = L^-1 targets. A target that is NAN is taken to be what those before it predict. */
void hn_gaussian_whiten(const struct hn_gaussian *gaussian, const double *targets, double *whitened);

/* weights = L^-T L^-1 targets: the function at a place is the sum of weights times covariances with it. */
void hn_gaussian_weigh(const struct hn_gaussian *gaussian, const double *targets, double *weights);

/* Moves the scales towards the maximum of their posterior, given the first `fitted` inputs with their targets (none
 * NAN): gradient ascent by sign (Rprop, Riedmiller and Braun 1993), at most `steps`. Then it has the first `count`
 * inputs alone. */
void hn_gaussian_fit(struct hn_gaussian *gaussian, const double *inputs, const double *targets, size_t count,
                     size_t fitted, int steps);

#endif
