/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/strategy/dot.h"

bool hn_candidates_init(struct hn_candidates *candidates, const struct hn_encoding *encoding,
                        const struct hn_gaussian *gaussian, size_t capacity)
{
    size_t features = encoding->count;
    *candidates = (struct hn_candidates){.encoding = encoding,
                                         .gaussian = gaussian,
                                         .width = hn_space_parameter_count(encoding->space),
                                         .capacity = capacity};
    candidates->points = calloc(capacity * candidates->width + 1, sizeof *candidates->points);
    candidates->hashes = calloc(capacity, sizeof *candidates->hashes);
    candidates->features = calloc(features * capacity + 1, sizeof *candidates->features);
    candidates->whitened = calloc(gaussian->capacity * capacity, sizeof *candidates->whitened);
    candidates->explained = calloc(capacity, sizeof *candidates->explained);
    candidates->mean = calloc(capacity, sizeof *candidates->mean);
    if (candidates->points != NULL && candidates->hashes != NULL && candidates->features != NULL &&
        candidates->whitened != NULL && candidates->explained != NULL && candidates->mean != NULL)
        return true;
    hn_candidates_finish(candidates);
    return false;
}

void hn_candidates_finish(struct hn_candidates *candidates)
{
    free(candidates->points);
    free(candidates->hashes);
    free(candidates->features);
    free(candidates->whitened);
    free(candidates->explained);
    free(candidates->mean);
    *candidates = (struct hn_candidates){0};
}

/* FNV-1a over the indices. */
static uint64_t hash(const uint16_t *point, size_t width)
{
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < width; i++)
        sum = (sum ^ point[i]) * 0x100000001b3;
    return sum;
}

static bool has(const struct hn_candidates *candidates, const uint16_t *point, uint64_t own)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->hashes[i] == own && memcmp(candidates->points + i * candidates->width,
                                                   point, candidates->width * sizeof *point) == 0)
            return true;
    }
    return false;
}

/* whitened[row] of the candidates from..to: (k - sum of L[row][i] whitened[i]) / L[row][row]. */
HN_WIDE static void whiten_row(struct hn_candidates *candidates, size_t row, size_t from, size_t to)
{
    const struct hn_gaussian *gaussian = candidates->gaussian;
    const double *factor = gaussian->factor + row * (row + 1) / 2;
    double *restrict own = candidates->whitened + row * candidates->capacity;
    hn_gaussian_covariances(gaussian, gaussian->inputs + row * gaussian->features,
                            candidates->features + from, candidates->capacity, to - from,
                            own + from);
    for (size_t i = 0; i < row; i++) {
        const double *restrict other = candidates->whitened + i * candidates->capacity;
        double weight = factor[i];
        for (size_t c = from; c < to; c++)
            own[c] -= weight * other[c];
    }
    double pivot = 1 / factor[row];
    for (size_t c = from; c < to; c++) {
        own[c] *= pivot;
        candidates->explained[c] += own[c] * own[c];
    }
}

void hn_candidates_add(struct hn_candidates *candidates, const uint16_t *point)
{
    size_t c = candidates->count;
    uint64_t own = hash(point, candidates->width);
    if (c == candidates->capacity || has(candidates, point, own))
        return;
    const struct hn_encoding *encoding = candidates->encoding;
    memcpy(candidates->points + c * candidates->width, point, candidates->width * sizeof *point);
    candidates->hashes[c] = own;
    double features[encoding->count + 1];
    hn_encoding_apply(encoding, point, features);
    for (size_t f = 0; f < encoding->count; f++)
        candidates->features[f * candidates->capacity + c] = features[f];
    candidates->explained[c] = 0;
    candidates->count++;
}

void hn_candidates_remove(struct hn_candidates *candidates, size_t candidate)
{
    size_t last = --candidates->count;
    candidates->ready = last;
    size_t capacity = candidates->capacity;
    memcpy(candidates->points + candidate * candidates->width,
           candidates->points + last * candidates->width,
           candidates->width * sizeof *candidates->points);
    candidates->hashes[candidate] = candidates->hashes[last];
    candidates->explained[candidate] = candidates->explained[last];
    candidates->mean[candidate] = candidates->mean[last];
    for (size_t f = 0; f < candidates->encoding->count; f++)
        candidates->features[f * capacity + candidate] = candidates->features[f * capacity + last];
    for (size_t i = 0; i < candidates->rows; i++)
        candidates->whitened[i * capacity + candidate] = candidates->whitened[i * capacity + last];
}

void hn_candidates_restart(struct hn_candidates *candidates)
{
    candidates->rows = 0;
    candidates->ready = candidates->count;
    memset(candidates->explained, 0, candidates->count * sizeof *candidates->explained);
}

void hn_candidates_predict(struct hn_candidates *candidates, const double *whitened_targets)
{
    for (size_t row = 0; row < candidates->rows; row++)
        whiten_row(candidates, row, candidates->ready, candidates->count);
    candidates->ready = candidates->count;
    while (candidates->rows < candidates->gaussian->count)
        whiten_row(candidates, candidates->rows++, 0, candidates->count);
    hn_candidates_regress(candidates, whitened_targets, candidates->mean);
}

HN_WIDE void hn_candidates_regress(const struct hn_candidates *candidates,
                                   const double *whitened_targets, double *restrict means)
{
    memset(means, 0, candidates->count * sizeof *means);
    for (size_t row = 0; row < candidates->rows; row++) {
        const double *restrict own = candidates->whitened + row * candidates->capacity;
        double weight = whitened_targets[row];
        for (size_t c = 0; c < candidates->count; c++)
            means[c] += weight * own[c];
    }
}

double hn_candidates_deviation(const struct hn_candidates *candidates, size_t candidate)
{
    double variance = exp(candidates->gaussian->scales.signal) - candidates->explained[candidate];
    return sqrt(fmax(variance, 1e-8));
}
