/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/strategy/loops.h"

bool hn_gaussian_init(struct hn_gaussian *gaussian, size_t features, const bool *category,
                      size_t capacity)
{
    *gaussian = (struct hn_gaussian){.features = features, .capacity = capacity};
    gaussian->inputs = calloc(capacity * features + 1, sizeof *gaussian->inputs);
    gaussian->columns = calloc(capacity * features + 1, sizeof *gaussian->columns);
    gaussian->factor = calloc(capacity * (capacity + 1) / 2 + 1, sizeof *gaussian->factor);
    gaussian->scales.lengths = calloc(features + 1, sizeof *gaussian->scales.lengths);
    gaussian->weights = calloc(features + 1, sizeof *gaussian->weights);
    gaussian->most = calloc(features + 1, sizeof *gaussian->most);
    if (gaussian->inputs == NULL || gaussian->columns == NULL || gaussian->factor == NULL ||
        gaussian->scales.lengths == NULL || gaussian->weights == NULL || gaussian->most == NULL) {
        hn_gaussian_finish(gaussian);
        return false;
    }
    gaussian->scales.noise = log(2e-3);
    for (size_t f = 0; f < features; f++) {
        gaussian->scales.lengths[f] = log(0.3 * sqrt((double)features));
        gaussian->most[f] = category[f] ? 1 : INFINITY;
    }
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
    free(gaussian->most);
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

HN_WIDE void hn_gaussian_distances(const struct hn_gaussian *gaussian, const double *input,
                                   const double *columns, size_t stride, size_t width,
                                   double *distances)
{
    for (size_t c = 0; c < width; c++)
        distances[c] = 0;
    for (size_t f = 0; f < gaussian->features; f++) {
        const double *column = columns + f * stride;
        double weight = 5 * gaussian->weights[f];
        double most = gaussian->most[f];
        double own = input[f];
        for (size_t c = 0; c < width; c++) {
            double squared = (column[c] - own) * (column[c] - own);
            distances[c] += weight * (squared < most ? squared : most);
        }
    }
    for (size_t c = 0; c < width; c++)
        distances[c] = sqrt(distances[c]);
}

HN_WIDE void hn_gaussian_covariances(const struct hn_gaussian *gaussian, const double *input,
                                     const double *columns, size_t stride, size_t width,
                                     double *covariances)
{
    double signal = exp(gaussian->scales.signal);
    hn_gaussian_distances(gaussian, input, columns, stride, width, covariances);
    for (size_t c = 0; c < width; c++) {
        double distance = covariances[c];
        covariances[c] = signal * (1 + distance + distance * distance / 3) * hn_decay(-distance);
    }
}

static double solved(double value, double known, double pivot)
{
    return isnan(value) ? 0 : (value - known) / pivot;
}

/* values = L^-1 values, where what is NAN is what those before it predict. Four rows at a time,
 * which share what is read of the values. */
HN_WIDE static void solve(const double *factor, size_t count, double *values)
{
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const double *rows[4];
        hn_pair low[4] = {{0}}, high[4] = {{0}};
        for (size_t r = 0; r < 4; r++)
            rows[r] = factor + (i + r) * (i + r + 1) / 2;
        for (size_t j = 0; j < i; j += 4) {
            for (size_t r = 0; r < 4; r++)
                hn_add_products(rows[r] + j, values + j, &low[r], &high[r]);
        }
        for (size_t r = 0; r < 4; r++) {
            double sum = hn_sum_products(rows[r] + i, values + i, r, low[r], high[r]);
            values[i + r] = solved(values[i + r], sum, rows[r][r + i]);
        }
    }
    for (; i < count; i++) {
        const double *row = factor + i * (i + 1) / 2;
        values[i] = solved(values[i], hn_dot(row, values, i), row[i]);
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
    solve(gaussian->factor, n, row);
    for (size_t i = 0; i < n; i++)
        pivot -= row[i] * row[i];
    row[n] = sqrt(fmax(pivot, 1e-9));
    gaussian->count++;
}

void hn_gaussian_whiten(const struct hn_gaussian *gaussian, const double *targets, double *whitened)
{
    memcpy(whitened, targets, gaussian->count * sizeof *whitened);
    solve(gaussian->factor, gaussian->count, whitened);
}
