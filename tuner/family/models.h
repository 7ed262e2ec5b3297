/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_MODELS_H
#define HONE_TUNER_FAMILY_MODELS_H

#include "tuner/family/matrix.h"

/* A time is a sum of terms: a launch; blocks, waves of blocks; products of sizes (what is moved, what is computed);
 * and what each block, or each block of a wave, does with a size, with its part of a size where a side of the grid
 * divides it, or with its part of all. Few of these matter to a kernel, and they are the same for all of its
 * configurations: they are chosen for all together, as those that best predict times at sizes that were left out. */

enum {
    HN_TERMS_FACTORS = 4, /* of so many sizes */
    HN_TERMS_MOST = 12,   /* are chosen */
};

struct hn_time_terms {
    size_t factors[HN_TERMS_FACTORS]; /* features that are logarithms of sizes */
    size_t factor_count;
    size_t chosen[HN_TERMS_MOST]; /* places among the candidates; the first is the launch */
    size_t count;
};

/* Times of one point at places, and which part of the places each is left out with; `usable` times only. */
struct hn_time_terms_of {
    size_t point;
    const size_t *at;
    const double *logarithms;
    size_t count;
};

void hn_terms_choose(const struct hn_family *family, const struct hn_places *places,
                     const struct hn_time_terms_of *times, size_t count, struct hn_time_terms *terms);
/* Coefficients of the chosen terms, in microseconds of one of each, none below 0: least squares of relative errors. */
void hn_terms_fit(const struct hn_time_terms *terms, const struct hn_places *places,
                  const struct hn_time_terms_of *times, double coefficients[HN_TERMS_MOST]);
/* The logarithm of their sum. */
double hn_terms_sum(const struct hn_time_terms *terms, const struct hn_places *places, size_t point, size_t place,
                    const double coefficients[HN_TERMS_MOST]);

/* Predicted times. For each point a time is a sum of terms that are not negative (of a launch, of bytes, of waves of
 * blocks), times the exponential of a Gaussian process (Rasmussen and Williams, 2006, section 2.7), fitted to where it
 * was measured. */
struct hn_models;

/* `like` has the lengths of the process; NULL: they are fitted. `use` (NULL: all) says at which sizes of the matrix
 * measurements count; sizes has their features, in the matrix' order. */
struct hn_models *hn_models_make(const struct hn_family *family, const struct hn_matrix *matrix,
                                 const struct hn_places *sizes, const bool *use, const struct hn_models *like);
void hn_models_destroy(struct hn_models *models); /* NULL is fine */

/* Whether there is a prediction for the point: it was measured at least somewhere. */
bool hn_models_know(const struct hn_models *models, size_t point);
/* The logarithm of the time of a known point at all places, and (NULL: not asked) its standard deviation. */
void hn_models_predict(const struct hn_models *models, size_t point, const struct hn_places *places,
                       double *logarithms, double *deviations);

/* The times that all points of a matrix are predicted to take at many problems of the family. */
struct hn_forecast {
    struct hn_places places;
    double *weights;    /* of the places */
    double *logarithms; /* [point][place] of the time, as predicted; INFINITY: not usable there, or nothing is known */
    double *cautious;   /* the same and one deviation: who is believed to be fast where little is known has to be more so */
};

/* Problems drawn from the family by seed, behind those that it names, which together weigh as much. HN_ECONFIG in err:
 * there are none. Finish it in any case. */
void hn_forecast_init(struct hn_forecast *forecast, const struct hn_family_kernel *kernel,
                      const struct hn_matrix *matrix, uint64_t seed, size_t samples, struct hn_error *err);
void hn_forecast_finish(struct hn_forecast *forecast);
/* Measured times stand for themselves where `use` (NULL: all) allows. */
void hn_forecast_make(struct hn_forecast *forecast, const struct hn_models *models, const struct hn_matrix *matrix,
                      const bool *use);

#endif
