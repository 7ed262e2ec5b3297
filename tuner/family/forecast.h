/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_FORECAST_H
#define HONE_TUNER_FAMILY_FORECAST_H

#include "tuner/family/models.h"
#include "tuner/family/choice_tree.h"

/* What all points of a matrix are predicted to take at many problems of the family. */
struct hn_forecast {
    struct hn_places places;
    double *weights;    /* of the places */
    double *logarithms; /* [point][place] of the time, as predicted; INFINITY: not usable there, or nothing is known */
    double *cautious;   /* the same and one deviation: who is believed to be fast where little is known has to be more so */
};

/* Problems drawn from the family by seed, behind those that it names, which together weigh as much. */
enum hn_status hn_forecast_init(struct hn_forecast *forecast, const struct hn_family_kernel *kernel,
                                const struct hn_matrix *matrix, uint64_t seed, size_t samples, struct hn_error *err);
void hn_forecast_finish(struct hn_forecast *forecast);
/* What was measured stands for itself where `use` (NULL: all) allows. */
enum hn_status hn_forecast_make(struct hn_forecast *forecast, const struct hn_models *models,
                                const struct hn_matrix *matrix, const bool *use, struct hn_error *err);

#endif
