/* SPDX-License-Identifier: MIT */
#include "tuner/family/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "tuner/strategy/gaussian.h"
#include "tuner/strategy/loops.h"

enum {
    FITTED = 140,
    FIT_STEPS = 40,
    WITNESSES = 24 /* points whose times say what matters to the kernel */
};
static const double least_scale = 0.02;
/* Without any other knowledge a time is within so many logarithms of the sum of its terms. */
static const double scale_of_one = 0.3;

struct model {
    bool known;
    double coefficients[HN_TERMS_MOST]; /* of the terms */
    double scale;                       /* of what the process is of, in logarithms of time */
    struct hn_gaussian process;
    double *pull; /* covariance^-1 targets */
};

struct hn_models {
    size_t features;
    size_t points;
    bool *categories;
    struct hn_time_terms terms; /* of all points */
    double *lowest, *span;      /* features are brought to 0 .. 1 */
    struct hn_gaussian_scales scales;
    struct model *items;
};

void hn_models_destroy(struct hn_models *models)
{
    if (models == NULL)
        return;
    for (size_t p = 0; models->items != NULL && p < models->points; p++) {
        free(models->items[p].pull);
        hn_gaussian_finish(&models->items[p].process);
    }
    free(models->items);
    free(models->categories);
    free(models->lowest);
    free(models->span);
    free(models->scales.lengths);
    free(models);
}

bool hn_models_know(const struct hn_models *models, size_t point)
{
    return point < models->points && models->items[point].known;
}

static double scaled(const struct hn_models *models, const struct hn_places *places, size_t point,
                     size_t feature, size_t place)
{
    double value = hn_places_column(places, point, feature)[place];
    return models->categories[feature] ? value
                                       : (value - models->lowest[feature]) / models->span[feature];
}

/* Where the point was measured. */
static size_t gather(const struct hn_matrix *matrix, const struct hn_places *sizes, const bool *use,
                     size_t point, size_t *at, double *logs)
{
    size_t count = 0;
    for (size_t s = 0; s < sizes->count; s++) {
        double time = matrix->times[point][s];
        if ((use != NULL && !use[s]) || !(time > 0) || isinf(time) ||
            !hn_places_usable(sizes, point, s))
            continue;
        logs[count] = log(time);
        at[count++] = s;
    }
    return count;
}

/* The most times first. */
static int compare_counts(const void *a, const void *b)
{
    const struct hn_time_terms_of *left = a, *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return left->point < right->point ? -1 : 1;
}

static void choose_terms(struct hn_models *models, const struct hn_family *family,
                         const struct hn_matrix *matrix, const struct hn_places *sizes,
                         const bool *use)
{
    size_t *at = hn_need(models->points * sizes->count, sizeof *at);
    double *logs = hn_need(models->points * sizes->count, sizeof *logs);
    struct hn_time_terms_of *times = hn_need(models->points, sizeof *times);
    for (size_t p = 0; p < models->points; p++) {
        size_t *own_at = at + p * sizes->count;
        double *own_logs = logs + p * sizes->count;
        times[p] = (struct hn_time_terms_of){p, own_at, own_logs,
                                             gather(matrix, sizes, use, p, own_at, own_logs)};
    }
    qsort(times, models->points, sizeof *times, compare_counts);
    hn_terms_choose(family, sizes, times, models->points < WITNESSES ? models->points : WITNESSES,
                    &models->terms);
    free(at);
    free(logs);
    free(times);
}

static void copy_scales(struct hn_gaussian_scales *to, const struct hn_gaussian_scales *from,
                        size_t features)
{
    memcpy(to->lengths, from->lengths, features * sizeof *to->lengths);
    to->noise = from->noise;
    to->signal = from->signal;
}

/* A process is of distances from the sum of terms, in units of their own deviation. */
struct targets {
    size_t at[HN_MATRIX_SIZES];
    double values[HN_MATRIX_SIZES];
    size_t count;
    double *inputs; /* count vectors of features */
};

static void find_targets(struct hn_models *models, const struct hn_matrix *matrix,
                         const struct hn_places *sizes, const bool *use, size_t point,
                         struct targets *targets)
{
    struct model *model = &models->items[point];
    targets->count = gather(matrix, sizes, use, point, targets->at, targets->values);
    targets->inputs = hn_need(targets->count * models->features, sizeof *targets->inputs);
    const struct hn_time_terms_of times = {point, targets->at, targets->values, targets->count};
    hn_terms_fit(&models->terms, sizes, &times, model->coefficients);
    double squares = 0;
    for (size_t i = 0; i < targets->count; i++) {
        targets->values[i] -=
            hn_terms_sum(&models->terms, sizes, point, targets->at[i], model->coefficients);
        squares += targets->values[i] * targets->values[i];
        for (size_t f = 0; f < models->features; f++)
            targets->inputs[i * models->features + f] =
                scaled(models, sizes, point, f, targets->at[i]);
    }
    /* Few measurements say little of how far others lie from it. */
    model->scale = fmax(
        least_scale, sqrt((squares + scale_of_one * scale_of_one) / ((double)targets->count + 1)));
    for (size_t i = 0; i < targets->count; i++)
        targets->values[i] /= model->scale;
}

static void make_model(struct hn_models *models, const struct hn_matrix *matrix,
                       const struct hn_places *sizes, const bool *use, size_t point)
{
    struct model *model = &models->items[point];
    struct targets targets;
    find_targets(models, matrix, sizes, use, point, &targets);
    model->known = targets.count > 0;
    if (model->known) {
        model->pull = hn_need(targets.count, sizeof *model->pull);
        hn_gaussian_init(&model->process, models->features, models->categories, targets.count);
        copy_scales(&model->process.scales, &models->scales, models->features);
        hn_gaussian_clear(&model->process);
        for (size_t i = 0; i < targets.count; i++)
            hn_gaussian_append(&model->process, targets.inputs + i * models->features);
        hn_gaussian_weigh(&model->process, targets.values, model->pull);
    }
    free(targets.inputs);
}

/* All points are about as smooth: the one that was measured most often says how. */
static void fit_scales(struct hn_models *models, const struct hn_matrix *matrix,
                       const struct hn_places *sizes, const bool *use)
{
    size_t most = 0, most_count = 0;
    struct hn_gaussian process;
    struct targets targets;
    hn_gaussian_init(&process, models->features, models->categories, 0);
    for (size_t p = 0; p < models->points; p++) {
        size_t count = gather(matrix, sizes, use, p, targets.at, targets.values);
        if (count > most_count) {
            most = p;
            most_count = count;
        }
    }
    find_targets(models, matrix, sizes, use, most, &targets);
    if (targets.count >= 8)
        hn_gaussian_fit(&process, targets.inputs, targets.values, 0,
                        targets.count < FITTED ? targets.count : FITTED, FIT_STEPS);
    copy_scales(&models->scales, &process.scales, models->features);
    hn_gaussian_finish(&process);
    free(targets.inputs);
}

static void find_spans(struct hn_models *models, const struct hn_places *sizes)
{
    for (size_t f = 0; f < models->features; f++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t p = 0; p < models->points; p++)
            for (size_t s = 0; s < sizes->count; s++) {
                low = fmin(low, hn_places_column(sizes, p, f)[s]);
                high = fmax(high, hn_places_column(sizes, p, f)[s]);
            }
        models->lowest[f] = low;
        models->span[f] = high > low ? high - low : 1;
    }
}

struct hn_models *hn_models_make(const struct hn_family *family, const struct hn_matrix *matrix,
                                 const struct hn_places *sizes, const bool *use,
                                 const struct hn_models *like)
{
    struct hn_models *models = hn_need(1, sizeof *models);
    models->features = hn_places_features(family);
    models->points = sizes->points;
    models->categories = hn_need(models->features, sizeof *models->categories);
    models->lowest = hn_need(models->features, sizeof *models->lowest);
    models->span = hn_need(models->features, sizeof *models->span);
    models->scales.lengths = hn_need(models->features, sizeof *models->scales.lengths);
    models->items = hn_need(models->points, sizeof *models->items);
    hn_places_categories(family, models->categories);
    find_spans(models, sizes);
    if (like != NULL) {
        models->terms = like->terms;
        copy_scales(&models->scales, &like->scales, models->features);
    } else {
        choose_terms(models, family, matrix, sizes, use);
        fit_scales(models, matrix, sizes, use);
    }
    for (size_t p = 0; p < models->points; p++)
        make_model(models, matrix, sizes, use, p);
    return models;
}

/* Predicts at places that lie behind each other: what the process adds to the sum of terms, and how
 * sure it is. `room` has a row of PLACES for each feature and each input. */
enum { PLACES = 128 };

HN_WIDE static void predict_some(const struct hn_models *models, size_t point,
                                 const struct hn_places *places, size_t begin, size_t count,
                                 double *logarithms, double *deviations, double *room)
{
    const struct model *model = &models->items[point];
    const struct hn_gaussian *process = &model->process;
    size_t n = process->count, d = models->features;
    double *rows = room + d * PLACES;
    double explained[PLACES] = {0};
    double signal = exp(process->scales.signal);
    for (size_t f = 0; f < d; f++)
        for (size_t i = 0; i < count; i++)
            room[f * PLACES + i] = scaled(models, places, point, f, begin + i);
    for (size_t i = 0; i < count; i++)
        logarithms[begin + i] = 0;
    for (size_t k = 0; k < n; k++) {
        double *row = rows + k * PLACES;
        hn_gaussian_covariances(process, process->inputs + k * d, room, PLACES, count, row);
        for (size_t i = 0; i < count; i++)
            logarithms[begin + i] += model->pull[k] * row[i];
    }
    for (size_t i = 0; i < count; i++)
        logarithms[begin + i] =
            hn_terms_sum(&models->terms, places, point, begin + i, model->coefficients) +
            model->scale * logarithms[begin + i];
    /* The rows become L^-1 covariances. */
    for (size_t k = 0; deviations != NULL && k < n; k++) {
        const double *factor = process->factor + k * (k + 1) / 2;
        double *row = rows + k * PLACES;
        for (size_t j = 0; j < k; j++)
            for (size_t i = 0; i < count; i++)
                row[i] -= factor[j] * rows[j * PLACES + i];
        for (size_t i = 0; i < count; i++) {
            row[i] /= factor[k];
            explained[i] += row[i] * row[i];
        }
    }
    for (size_t i = 0; deviations != NULL && i < count; i++)
        deviations[begin + i] = model->scale * sqrt(fmax(0, signal - explained[i]));
}

void hn_models_predict(const struct hn_models *models, size_t point, const struct hn_places *places,
                       double *logarithms, double *deviations)
{
    size_t rows = models->features + models->items[point].process.count;
    double *room = hn_need(rows * PLACES, sizeof *room);
    for (size_t begin = 0; begin < places->count; begin += PLACES) {
        size_t left = places->count - begin;
        predict_some(models, point, places, begin, left < PLACES ? left : PLACES, logarithms,
                     deviations, room);
    }
    free(room);
}

/* At sizes that were left out the choice was about as good with any from 0.5 to 2, and in six of
 * eight matrices worse with none (reduce, transpose and sgemm). */
static const double caution = 1;

void hn_forecast_init(struct hn_forecast *forecast, const struct hn_family_kernel *kernel,
                      const struct hn_matrix *matrix, uint64_t seed, size_t samples,
                      struct hn_error *err)
{
    const struct hn_family *family = kernel->family;
    size_t capacity = samples + family->size_count;
    uint64_t at = 0;
    double named = 0;
    *forecast = (struct hn_forecast){
        .weights = hn_need(capacity, sizeof(double)),
        .logarithms = hn_need(matrix->point_count * capacity, sizeof(double)),
        .cautious = hn_need(matrix->point_count * capacity, sizeof(double)),
    };
    hn_places_init(&forecast->places, family, matrix->point_count, capacity);
    for (size_t i = 0; i < family->size_count; i++)
        named += family->weights[i];
    for (size_t i = 0; i < family->size_count; i++) {
        forecast->weights[i] = (double)samples * family->weights[i] / named;
        hn_places_add(&forecast->places, &matrix->sizes[i].problem);
    }
    for (size_t i = 0; i < samples && !hn_failed(err); i++) {
        struct hn_bindings problem;
        hn_family_next(family, seed, &at, &problem, err);
        /* With what a problem has beside the family's values. */
        struct hn_bindings whole = hn_need_bindings(&matrix->sizes[0].problem, &problem);
        forecast->weights[forecast->places.count] = 1;
        hn_places_add(&forecast->places, &whole);
        hn_bindings_finish(&problem);
        hn_bindings_finish(&whole);
    }
    hn_places_see(&forecast->places, kernel, matrix);
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
    if (known)
        hn_models_predict(predicting->models, point, places, own, cautious);
    for (size_t i = 0; i < places->count; i++) {
        own[i] = known && hn_places_usable(places, point, i) ? own[i] : INFINITY;
        cautious[i] = own[i] + caution * (isinf(own[i]) ? 0 : cautious[i]);
    }
    (void)err;
    return HN_OK;
}

void hn_forecast_make(struct hn_forecast *forecast, const struct hn_models *models,
                      const struct hn_matrix *matrix, const bool *use)
{
    const struct hn_places *places = &forecast->places;
    struct predicting predicting = {.forecast = forecast, .models = models};
    const struct hn_parallel all = {
        .count = matrix->point_count, .run = predict_point, .context = &predicting};
    hn_parallel_do(&all, NULL);
    for (size_t i = 0; i < places->count; i++) {
        size_t size = size_of(matrix, &places->problems[i]);
        if (size == matrix->size_count || (use != NULL && !use[size]))
            continue;
        for (size_t p = 0; p < matrix->point_count; p++)
            if (!isnan(matrix->times[p][size]))
                forecast->cautious[p * places->count + i] =
                    forecast->logarithms[p * places->count + i] = log(matrix->times[p][size]);
    }
}
