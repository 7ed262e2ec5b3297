/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/strategy/dot.h"

bool hn_gaussian_init(struct hn_gaussian *gaussian, size_t features, const bool *category,
                      size_t capacity)
{
    *gaussian =
        (struct hn_gaussian){.features = features, .category = category, .capacity = capacity};
    gaussian->inputs = calloc(capacity * features + 1, sizeof *gaussian->inputs);
    gaussian->columns = calloc(capacity * features + 1, sizeof *gaussian->columns);
    gaussian->factor = calloc(capacity * (capacity + 1) / 2 + 1, sizeof *gaussian->factor);
    gaussian->scales.lengths = calloc(features + 1, sizeof *gaussian->scales.lengths);
    gaussian->weights = calloc(features + 1, sizeof *gaussian->weights);
    if (gaussian->inputs == NULL || gaussian->columns == NULL || gaussian->factor == NULL ||
        gaussian->scales.lengths == NULL || gaussian->weights == NULL) {
        hn_gaussian_finish(gaussian);
        return false;
    }
    gaussian->scales.noise = log(2e-3);
    for (size_t f = 0; f < features; f++)
        gaussian->scales.lengths[f] = log(0.3 * sqrt((double)features));
    hn_gaussian_clear(gaussian);
    return true;
}

void hn_gaussian_finish(struct hn_gaussian *gaussian)
{
    free(gaussian->inputs);
    free(gaussian->columns);
    free(gaussian->factor);
    free(gaussian->scales.lengths);
    free(gaussian->weights);
    *gaussian = (struct hn_gaussian){0};
}

void hn_gaussian_clear(struct hn_gaussian *gaussian)
{
    gaussian->count = 0;
    for (size_t f = 0; f < gaussian->features; f++)
        gaussian->weights[f] = exp(-2 * gaussian->scales.lengths[f]);
}

static double *factor_row(const struct hn_gaussian *gaussian, size_t row)
{
    return gaussian->factor + row * (row + 1) / 2;
}

HN_WIDE void hn_gaussian_covariances(const struct hn_gaussian *gaussian, const double *input,
                                     const double *columns, size_t stride, size_t width,
                                     double *covariances)
{
    for (size_t c = 0; c < width; c++)
        covariances[c] = 0;
    for (size_t f = 0; f < gaussian->features; f++) {
        const double *column = columns + f * stride;
        double weight = gaussian->weights[f];
        double own = input[f];
        if (gaussian->category[f]) {
            for (size_t c = 0; c < width; c++)
                covariances[c] += column[c] == own ? 0 : weight;
        } else {
            for (size_t c = 0; c < width; c++)
                covariances[c] += weight * (column[c] - own) * (column[c] - own);
        }
    }
    double signal = exp(gaussian->scales.signal);
    for (size_t c = 0; c < width; c++) {
        double distance = sqrt(5 * covariances[c]);
        covariances[c] = signal * (1 + distance + distance * distance / 3) * exp(-distance);
    }
}

void hn_gaussian_append(struct hn_gaussian *gaussian, const double *input)
{
    size_t n = gaussian->count;
    double *row = factor_row(gaussian, n);
    memcpy(gaussian->inputs + n * gaussian->features, input, gaussian->features * sizeof *input);
    double pivot = exp(gaussian->scales.signal) + exp(gaussian->scales.noise);
    for (size_t f = 0; f < gaussian->features; f++)
        gaussian->columns[f * gaussian->capacity + n] = input[f];
    hn_gaussian_covariances(gaussian, input, gaussian->columns, gaussian->capacity, n, row);
    for (size_t i = 0; i < n; i++) {
        const double *other = factor_row(gaussian, i);
        row[i] = (row[i] - hn_dot(row, other, i)) / other[i];
        pivot -= row[i] * row[i];
    }
    row[n] = sqrt(fmax(pivot, 1e-9));
    gaussian->count++;
}

void hn_gaussian_whiten(const struct hn_gaussian *gaussian, const double *targets, double *whitened)
{
    for (size_t i = 0; i < gaussian->count; i++) {
        const double *row = factor_row(gaussian, i);
        whitened[i] = isnan(targets[i]) ? 0 : (targets[i] - hn_dot(row, whitened, i)) / row[i];
    }
}
