/* SPDX-License-Identifier: MIT */
#include "tuner/family/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/family/terms.h"
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

static enum hn_status choose_terms(struct hn_models *models, const struct hn_family *family,
                                   const struct hn_matrix *matrix, const struct hn_places *sizes,
                                   const bool *use, struct hn_error *err)
{
    size_t each = sizes->count + 1;
    size_t *at = calloc(models->points * each + 1, sizeof *at);
    double *logs = calloc(models->points * each + 1, sizeof *logs);
    struct hn_time_terms_of *times = calloc(models->points + 1, sizeof *times);
    enum hn_status status =
        at != NULL && logs != NULL && times != NULL ? HN_OK : hn_fail_memory(err);
    for (size_t p = 0; p < models->points && status == HN_OK; p++)
        times[p] = (struct hn_time_terms_of){
            p, at + p * each, logs + p * each,
            gather(matrix, sizes, use, p, at + p * each, logs + p * each)};
    if (status == HN_OK) {
        qsort(times, models->points, sizeof *times, compare_counts);
        status = hn_terms_choose(family, sizes, times,
                                 models->points < WITNESSES ? models->points : WITNESSES,
                                 &models->terms, err);
    }
    free(at);
    free(logs);
    free(times);
    return status;
}

static void copy_scales(struct hn_gaussian_scales *to, const struct hn_gaussian_scales *from,
                        size_t features)
{
    memcpy(to->lengths, from->lengths, features * sizeof *to->lengths);
    to->noise = from->noise;
    to->signal = from->signal;
}

/* What a process is of: distances from the sum of terms, in units of their own deviation. */
struct targets {
    size_t at[HN_MATRIX_SIZES];
    double values[HN_MATRIX_SIZES];
    size_t count;
    double *inputs; /* count vectors of features */
};

static enum hn_status find_targets(struct hn_models *models, const struct hn_matrix *matrix,
                                   const struct hn_places *sizes, const bool *use, size_t point,
                                   struct targets *targets, struct hn_error *err)
{
    struct model *model = &models->items[point];
    targets->count = gather(matrix, sizes, use, point, targets->at, targets->values);
    targets->inputs = calloc(targets->count * models->features + 1, sizeof *targets->inputs);
    if (targets->inputs == NULL)
        return hn_fail_memory(err);
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
    return HN_OK;
}

/* pull = L^-T L^-1 targets. */
static void find_pull(const struct hn_gaussian *process, const double *targets, double *pull)
{
    size_t n = process->count;
    hn_gaussian_whiten(process, targets, pull);
    for (size_t i = n; i-- > 0;) {
        const double *row = process->factor + i * (i + 1) / 2;
        pull[i] /= row[i];
        for (size_t j = 0; j < i; j++)
            pull[j] -= row[j] * pull[i];
    }
}

static enum hn_status make_model(struct hn_models *models, const struct hn_matrix *matrix,
                                 const struct hn_places *sizes, const bool *use, size_t point,
                                 struct hn_error *err)
{
    struct model *model = &models->items[point];
    struct targets *targets = calloc(1, sizeof *targets);
    if (targets == NULL)
        return hn_fail_memory(err);
    enum hn_status status = find_targets(models, matrix, sizes, use, point, targets, err);
    if (status == HN_OK && targets->count > 0) {
        model->pull = calloc(targets->count, sizeof *model->pull);
        if (model->pull == NULL)
            status = hn_fail_memory(err);
        else
            hn_gaussian_init(&model->process, models->features, models->categories, targets->count);
    }
    if (status == HN_OK && targets->count > 0) {
        copy_scales(&model->process.scales, &models->scales, models->features);
        hn_gaussian_clear(&model->process);
        for (size_t i = 0; i < targets->count; i++)
            hn_gaussian_append(&model->process, targets->inputs + i * models->features);
        find_pull(&model->process, targets->values, model->pull);
        model->known = true;
    }
    free(targets->inputs);
    free(targets);
    return status;
}

/* All points are about as smooth: the one that was measured most often says how. */
static enum hn_status fit_scales(struct hn_models *models, const struct hn_matrix *matrix,
                                 const struct hn_places *sizes, const bool *use,
                                 struct hn_error *err)
{
    size_t most = 0, most_count = 0;
    struct hn_gaussian process;
    struct targets *targets = calloc(1, sizeof *targets);
    if (targets == NULL)
        return hn_fail_memory(err);
    hn_gaussian_init(&process, models->features, models->categories, 0);
    for (size_t p = 0; p < models->points; p++) {
        size_t count = gather(matrix, sizes, use, p, targets->at, targets->values);
        if (count > most_count) {
            most = p;
            most_count = count;
        }
    }
    enum hn_status status = find_targets(models, matrix, sizes, use, most, targets, err);
    if (status == HN_OK && targets->count >= 8)
        hn_gaussian_fit(&process, targets->inputs, targets->values,
                        targets->count < FITTED ? targets->count : FITTED, FIT_STEPS);
    if (status == HN_OK)
        copy_scales(&models->scales, &process.scales, models->features);
    hn_gaussian_finish(&process);
    free(targets->inputs);
    free(targets);
    return status;
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

static struct hn_models *create(const struct hn_family *family, size_t points)
{
    struct hn_models *models = calloc(1, sizeof *models);
    if (models == NULL)
        return NULL;
    models->features = hn_places_features(family);
    models->points = points;
    models->categories = calloc(models->features, sizeof *models->categories);
    models->lowest = calloc(models->features, sizeof *models->lowest);
    models->span = calloc(models->features, sizeof *models->span);
    models->scales.lengths = calloc(models->features, sizeof *models->scales.lengths);
    models->items = calloc(points + 1, sizeof *models->items);
    if (models->categories != NULL && models->lowest != NULL && models->span != NULL &&
        models->scales.lengths != NULL && models->items != NULL)
        return models;
    hn_models_destroy(models);
    return NULL;
}

enum hn_status hn_models_make(const struct hn_family *family, const struct hn_matrix *matrix,
                              const struct hn_places *sizes, const bool *use,
                              const struct hn_models *like, struct hn_models **out,
                              struct hn_error *err)
{
    struct hn_models *models = create(family, sizes->points);
    if (models == NULL)
        return hn_fail_memory(err);
    hn_places_categories(family, models->categories);
    find_spans(models, sizes);
    enum hn_status status =
        like != NULL ? HN_OK : choose_terms(models, family, matrix, sizes, use, err);
    if (like != NULL) {
        models->terms = like->terms;
        copy_scales(&models->scales, &like->scales, models->features);
    } else if (status == HN_OK) {
        status = fit_scales(models, matrix, sizes, use, err);
    }
    for (size_t p = 0; p < models->points && status == HN_OK; p++)
        status = make_model(models, matrix, sizes, use, p, err);
    if (status == HN_OK)
        *out = models;
    else
        hn_models_destroy(models);
    return status;
}

/* Of places that lie behind each other: what the process adds to the sum of terms, and how sure it
 * is. `room` has a row of PLACES for each feature and each input. */
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

enum hn_status hn_models_predict(const struct hn_models *models, size_t point,
                                 const struct hn_places *places, double *logarithms,
                                 double *deviations, struct hn_error *err)
{
    size_t rows = models->features + models->items[point].process.count;
    double *room = malloc((rows * PLACES + 1) * sizeof *room);
    if (room == NULL)
        return hn_fail_memory(err);
    for (size_t begin = 0; begin < places->count; begin += PLACES) {
        size_t left = places->count - begin;
        predict_some(models, point, places, begin, left < PLACES ? left : PLACES, logarithms,
                     deviations, room);
    }
    free(room);
    return HN_OK;
}
