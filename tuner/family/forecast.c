/* SPDX-License-Identifier: MIT */
#include "tuner/family/forecast.h"

#include <math.h>
#include <stdlib.h>

#include "base/run.h"
#include "tuner/family/sizes.h"

/* At sizes that were left out the choice was about as good with any from 0.5 to 2, and in six of
 * eight matrices worse with none (reduce, transpose and sgemm). */
static const double caution = 1;

enum hn_status hn_forecast_init(struct hn_forecast *forecast, const struct hn_family_kernel *kernel,
                                const struct hn_matrix *matrix, uint64_t seed, size_t samples,
                                struct hn_error *err)
{
    const struct hn_family *family = kernel->family;
    size_t capacity = samples + family->size_count;
    uint64_t at = 0;
    *forecast = (struct hn_forecast){.weights = calloc(capacity + 1, sizeof(double))};
    enum hn_status status =
        hn_places_init(&forecast->places, family, matrix->point_count, capacity, err);
    if (status == HN_OK) {
        forecast->logarithms = calloc(matrix->point_count * capacity + 1, sizeof(double));
        forecast->cautious = calloc(matrix->point_count * capacity + 1, sizeof(double));
        if (forecast->weights == NULL || forecast->logarithms == NULL || forecast->cautious == NULL)
            status = hn_fail_memory(err);
    }
    double named = 0;
    for (size_t i = 0; i < family->size_count; i++)
        named += family->weights[i];
    for (size_t i = 0; i < family->size_count && status == HN_OK; i++) {
        forecast->weights[i] = (double)samples * family->weights[i] / named;
        status = hn_places_add(&forecast->places, &matrix->sizes[i].problem, err);
    }
    for (size_t i = 0; i < samples && status == HN_OK; i++) {
        struct hn_bindings problem, whole;
        status = hn_family_next(family, seed, &at, &problem, err);
        if (status != HN_OK)
            break;
        /* With what a problem has beside the family's values. */
        status = hn_bindings_copy(&whole, &matrix->sizes[0].problem, err);
        if (status == HN_OK)
            status = hn_bindings_merge(&whole, &problem, err);
        forecast->weights[forecast->places.count] = 1;
        if (status == HN_OK)
            status = hn_places_add(&forecast->places, &whole, err);
        hn_bindings_finish(&problem);
        hn_bindings_finish(&whole);
    }
    if (status == HN_OK)
        status = hn_places_see(&forecast->places, kernel, matrix, err);
    if (status != HN_OK)
        hn_forecast_finish(forecast);
    return status;
}

void hn_forecast_finish(struct hn_forecast *forecast)
{
    hn_places_finish(&forecast->places);
    free(forecast->weights);
    free(forecast->logarithms);
    free(forecast->cautious);
    *forecast = (struct hn_forecast){.weights = NULL};
}

/* The size of the matrix that a place is; its size_count for none. */
static size_t size_of(const struct hn_matrix *matrix, const struct hn_bindings *problem)
{
    size_t size = 0;
    while (size < matrix->size_count && !hn_bindings_equal(&matrix->sizes[size].problem, problem))
        size++;
    return size;
}

struct predicting {
    struct hn_forecast *forecast;
    const struct hn_models *models;
};

static enum hn_status predict_point(void *context, size_t point, struct hn_error *err)
{
    struct predicting *predicting = context;
    struct hn_forecast *forecast = predicting->forecast;
    const struct hn_places *places = &forecast->places;
    double *own = forecast->logarithms + point * places->count;
    double *cautious = forecast->cautious + point * places->count;
    bool known = hn_models_know(predicting->models, point);
    enum hn_status status =
        known ? hn_models_predict(predicting->models, point, places, own, cautious, err) : HN_OK;
    for (size_t i = 0; i < places->count && status == HN_OK; i++) {
        own[i] = known && hn_places_usable(places, point, i) ? own[i] : INFINITY;
        cautious[i] = own[i] + caution * (isinf(own[i]) ? 0 : cautious[i]);
    }
    return status;
}

enum hn_status hn_forecast_make(struct hn_forecast *forecast, const struct hn_models *models,
                                const struct hn_matrix *matrix, const bool *use,
                                struct hn_error *err)
{
    const struct hn_places *places = &forecast->places;
    struct predicting predicting = {.forecast = forecast, .models = models};
    const struct hn_parallel all = {
        .count = matrix->point_count, .run = predict_point, .context = &predicting};
    enum hn_status status = hn_parallel_do(&all, err);
    for (size_t i = 0; i < places->count && status == HN_OK; i++) {
        size_t size = size_of(matrix, &places->problems[i]);
        if (size == matrix->size_count || (use != NULL && !use[size]))
            continue;
        for (size_t p = 0; p < matrix->point_count; p++)
            if (!isnan(matrix->times[p][size]))
                forecast->cautious[p * places->count + i] =
                    forecast->logarithms[p * places->count + i] = log(matrix->times[p][size]);
    }
    return status;
}
