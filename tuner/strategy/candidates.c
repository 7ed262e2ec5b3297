/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "tuner/strategy/loops.h"
#include "tuner/strategy/model.h"

enum { TILE = 16 };

void hn_candidates_init(struct hn_candidates *candidates, const struct hn_encoding *encoding,
                        const struct hn_gaussian *gaussian, size_t capacity)
{
    *candidates = (struct hn_candidates){.encoding = encoding,
                                         .gaussian = gaussian,
                                         .width = hn_space_parameter_count(encoding->space),
                                         .capacity = capacity};
    candidates->points = hn_need(capacity * candidates->width, sizeof *candidates->points);
    candidates->hashes = hn_need(capacity, sizeof *candidates->hashes);
    candidates->features = hn_need(encoding->count * capacity, sizeof *candidates->features);
    candidates->whitened = hn_need(gaussian->capacity * capacity, sizeof *candidates->whitened);
    candidates->explained = hn_need(capacity, sizeof *candidates->explained);
    candidates->mean = hn_need(capacity, sizeof *candidates->mean);
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

static bool has(const struct hn_candidates *candidates, const uint16_t *point, uint64_t own)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->hashes[i] == own && memcmp(candidates->points + i * candidates->width,
                                                   point, candidates->width * sizeof *point) == 0)
            return true;
    }
    return false;
}

/* whitened[row] of the candidates that have the rows before it: (k - sum of L[row][i] whitened[i])
 * / L[row][row]. */
HN_WIDE static void whiten_row(struct hn_candidates *candidates, size_t row)
{
    const struct hn_gaussian *gaussian = candidates->gaussian;
    const double *factor = gaussian->factor + row * (row + 1) / 2;
    size_t width = candidates->ready;
    double *restrict own = candidates->whitened + row * candidates->capacity;
    hn_gaussian_covariances(gaussian, gaussian->inputs + row * gaussian->features,
                            candidates->features, candidates->capacity, width, own);
    for (size_t c = 0; c < width; c++)
        own[c] = -own[c];
    hn_add_rows(own, factor, 1, candidates->whitened, candidates->capacity, row, width);
    double pivot = -1 / factor[row];
    for (size_t c = 0; c < width; c++) {
        own[c] *= pivot;
        candidates->explained[c] += own[c] * own[c];
    }
}

/* tile[i] of candidate c of a tile = -k of input i. */
static void cover(const struct hn_candidates *candidates, size_t candidate, size_t c,
                  double (*tile)[TILE])
{
    const struct hn_gaussian *gaussian = candidates->gaussian;
    double own[gaussian->features + 1];
    double covariances[candidates->rows + 1];
    for (size_t f = 0; f < gaussian->features; f++)
        own[f] = candidates->features[f * candidates->capacity + candidate];
    hn_gaussian_covariances(gaussian, own, gaussian->columns, gaussian->capacity, candidates->rows,
                            covariances);
    for (size_t i = 0; i < candidates->rows; i++)
        tile[i][c] = -covariances[i];
}

/* All rows of a few candidates, which stay near the processor meanwhile. */
HN_WIDE static void whiten_tile(struct hn_candidates *candidates, size_t from, size_t width)
{
    double tile[candidates->rows + 1][TILE];
    double explained[TILE] = {0};
    memset(tile, 0, sizeof tile);
    for (size_t c = 0; c < width; c++)
        cover(candidates, from + c, c, tile);
    for (size_t row = 0; row < candidates->rows; row++) {
        const double *factor = candidates->gaussian->factor + row * (row + 1) / 2;
        double pivot = -1 / factor[row];
        hn_add_rows(tile[row], factor, 1, tile[0], TILE, row, TILE);
        for (size_t c = 0; c < TILE; c++) {
            tile[row][c] *= pivot;
            explained[c] += tile[row][c] * tile[row][c];
        }
        memcpy(candidates->whitened + row * candidates->capacity + from, tile[row],
               width * sizeof **tile);
    }
    memcpy(candidates->explained + from, explained, width * sizeof *explained);
}

void hn_candidates_add(struct hn_candidates *candidates, const uint16_t *point)
{
    size_t c = candidates->count;
    uint64_t own = hn_hash_number(point, candidates->width * sizeof *point);
    if (c == candidates->capacity || has(candidates, point, own))
        return;
    const struct hn_encoding *encoding = candidates->encoding;
    memcpy(candidates->points + c * candidates->width, point, candidates->width * sizeof *point);
    candidates->hashes[c] = own;
    double features[encoding->count + 1];
    hn_encoding_apply(encoding, point, features);
    for (size_t f = 0; f < encoding->count; f++)
        candidates->features[f * candidates->capacity + c] = features[f];
    candidates->count++;
}

void hn_candidates_remove(struct hn_candidates *candidates, size_t candidate)
{
    size_t last = --candidates->count;
    if (candidates->ready > last)
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
    candidates->ready = 0;
}

void hn_candidates_predict(struct hn_candidates *candidates, const double *whitened_targets)
{
    for (; candidates->rows < candidates->gaussian->count; candidates->rows++) {
        if (candidates->ready > 0)
            whiten_row(candidates, candidates->rows);
    }
    for (size_t from = candidates->ready; from < candidates->count; from += TILE) {
        size_t left = candidates->count - from;
        whiten_tile(candidates, from, left < TILE ? left : TILE);
    }
    candidates->ready = candidates->count;
    hn_candidates_regress(candidates, whitened_targets, candidates->mean);
}

HN_WIDE void hn_candidates_regress(const struct hn_candidates *candidates,
                                   const double *whitened_targets, double *restrict means)
{
    memset(means, 0, candidates->count * sizeof *means);
    hn_add_rows(means, whitened_targets, 1, candidates->whitened, candidates->capacity,
                candidates->rows, candidates->count);
}

double hn_candidates_deviation(const struct hn_candidates *candidates, size_t candidate)
{
    double variance = exp(candidates->gaussian->scales.signal) - candidates->explained[candidate];
    return sqrt(fmax(variance, 1e-8));
}
