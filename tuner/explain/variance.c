/* SPDX-License-Identifier: MIT */
#include "tuner/explain/variance.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_CELLS = 250000, MOST_SWEEPS = 100 };

/* Without what as many groups of chance would explain. */
static double share_of(const struct hn_sample *sample, double explained, double left,
                       double freedom, double groups)
{
    double spare = (double)sample->count - groups;
    if (sample->drawn && spare > 0)
        explained -= freedom * left / spare;
    return fmin(fmax(explained / sample->squares, 0), 1);
}

enum hn_status hn_sample_main(const struct hn_sample *sample, struct hn_effect *effect,
                              struct hn_error *err)
{
    size_t values = hn_space_value_count(sample->space, effect->parameter);
    double explained = 0;
    double groups = 0;
    effect->means = calloc(values, sizeof *effect->means);
    effect->counts = calloc(values, sizeof *effect->counts);
    if (effect->means == NULL || effect->counts == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < sample->count; i++) {
        uint16_t value = sample->choices[i * sample->parameters + effect->parameter];
        effect->means[value] += sample->values[i];
        effect->counts[value]++;
    }
    for (size_t v = 0; v < values; v++) {
        double count = (double)effect->counts[v];
        groups += count > 0;
        effect->means[v] = count > 0 ? effect->means[v] / count : NAN;
        if (count > 0)
            explained +=
                count * (effect->means[v] - sample->mean) * (effect->means[v] - sample->mean);
    }
    effect->share = share_of(sample, explained, sample->squares - explained, groups - 1, groups);
    return HN_OK;
}

/* The combinations of two parameters' values: their means, and the sum of one term a value of each
 * that comes nearest to them. */
struct cells {
    size_t rows;
    size_t columns;
    double *means;
    double *weights;
    double *row_terms;
    double *column_terms;
};

static void finish_cells(struct cells *cells)
{
    free(cells->means);
    free(cells->weights);
    free(cells->row_terms);
    free(cells->column_terms);
}

static void fill_cells(const struct hn_sample *sample, const size_t parameters[2],
                       struct cells *cells)
{
    for (size_t i = 0; i < sample->count; i++) {
        const uint16_t *choice = sample->choices + i * sample->parameters;
        size_t cell = choice[parameters[0]] * cells->columns + choice[parameters[1]];
        cells->means[cell] += sample->values[i] - sample->mean;
        cells->weights[cell]++;
    }
    for (size_t c = 0; c < cells->rows * cells->columns; c++)
        if (cells->weights[c] > 0)
            cells->means[c] /= cells->weights[c];
}

/* Fits the terms of one side to what the other leaves; how much they moved. */
static double fit_side(const struct cells *cells, bool of_rows)
{
    size_t count = of_rows ? cells->rows : cells->columns;
    size_t across = of_rows ? cells->columns : cells->rows;
    double moved = 0;
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        double weight = 0;
        for (size_t j = 0; j < across; j++) {
            size_t cell = of_rows ? i * cells->columns + j : j * cells->columns + i;
            double other = of_rows ? cells->column_terms[j] : cells->row_terms[j];
            sum += cells->weights[cell] * (cells->means[cell] - other);
            weight += cells->weights[cell];
        }
        double *term = of_rows ? &cells->row_terms[i] : &cells->column_terms[i];
        double fitted = weight > 0 ? sum / weight : 0;
        moved = fmax(moved, fabs(fitted - *term));
        *term = fitted;
    }
    return moved;
}

static double judge_cells(const struct hn_sample *sample, const struct cells *cells)
{
    double beyond = 0;
    double explained = 0;
    double groups = 0;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double moved = fit_side(cells, true);
        if (fmax(moved, fit_side(cells, false)) < 1e-9)
            break;
    }
    for (size_t c = 0; c < cells->rows * cells->columns; c++) {
        double rest = cells->means[c] - cells->row_terms[c / cells->columns] -
                      cells->column_terms[c % cells->columns];
        beyond += cells->weights[c] * rest * rest;
        explained += cells->weights[c] * cells->means[c] * cells->means[c];
        groups += cells->weights[c] > 0;
    }
    double freedom = fmax(groups - (double)(cells->rows + cells->columns) + 1, 0);
    return share_of(sample, beyond, sample->squares - explained, freedom, groups);
}

enum hn_status hn_sample_pair(const struct hn_sample *sample, struct hn_interaction *pair,
                              struct hn_error *err)
{
    struct cells cells = {
        .rows = hn_space_value_count(sample->space, pair->parameters[0]),
        .columns = hn_space_value_count(sample->space, pair->parameters[1]),
    };
    pair->share = 0;
    if (cells.rows * cells.columns > MOST_CELLS)
        return HN_OK;
    cells.means = calloc(cells.rows * cells.columns, sizeof *cells.means);
    cells.weights = calloc(cells.rows * cells.columns, sizeof *cells.weights);
    cells.row_terms = calloc(cells.rows, sizeof *cells.row_terms);
    cells.column_terms = calloc(cells.columns, sizeof *cells.column_terms);
    bool made = cells.means != NULL && cells.weights != NULL && cells.row_terms != NULL &&
                cells.column_terms != NULL;
    if (made) {
        fill_cells(sample, pair->parameters, &cells);
        pair->share = judge_cells(sample, &cells);
    }
    finish_cells(&cells);
    return made ? HN_OK : hn_fail_memory(err);
}
