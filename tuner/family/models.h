/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_MODELS_H
#define HONE_TUNER_FAMILY_MODELS_H

#include "tuner/family/places.h"

/* Predicted times. For each point a time is a sum of terms that are not negative (of a launch, of bytes, of waves of
 * blocks), times the exponential of a Gaussian process (Rasmussen and Williams, 2006, section 2.7), fitted to where it was
 * measured. */
struct hn_models;

/* `like` has the lengths of the process; NULL: they are fitted. `use` (NULL: all) says at which sizes of the matrix
 * measurements count; sizes has their features, in the matrix' order. HN_ENOMEM. */
enum hn_status hn_models_make(const struct hn_family *family, const struct hn_matrix *matrix,
                              const struct hn_places *sizes, const bool *use, const struct hn_models *like,
                              struct hn_models **models, struct hn_error *err);
void hn_models_destroy(struct hn_models *models); /* NULL is fine */

/* Whether there is a prediction for the point: it was measured at least somewhere. */
bool hn_models_know(const struct hn_models *models, size_t point);
/* The logarithm of the time of a known point at all places, and (NULL: not asked) its standard deviation. HN_ENOMEM. */
enum hn_status hn_models_predict(const struct hn_models *models, size_t point, const struct hn_places *places,
                                 double *logarithms, double *deviations, struct hn_error *err);

#endif
