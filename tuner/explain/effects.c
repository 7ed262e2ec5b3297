/* SPDX-License-Identifier: MIT */
#include "tuner/explain/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* Points with their values, all of which count as much, and the shares of their variance. */
struct sample {
    const struct hn_space *space;
    size_t parameters;
    size_t count;
    uint16_t *choices;
    double *values;
    bool drawn; /* from more: shares are freed of the bias of few points */
    double mean;
    double squares; /* the sum of squared differences from the mean */
};

enum { MOST_CELLS = 250000, MOST_SWEEPS = 100 };

/* Without what as many groups of chance would explain. */
static double share_of(const struct sample *sample, double explained, double left, double freedom,
                       double groups)
{
    double spare = (double)sample->count - groups;
    if (sample->drawn && spare > 0)
        explained -= freedom * left / spare;
    return fmin(fmax(explained / sample->squares, 0), 1);
}

/* Fills in share, means and counts of effect->parameter. */
static void find_main(const struct sample *sample, struct hn_effect *effect)
{
    size_t values = hn_space_value_count(sample->space, effect->parameter);
    double explained = 0;
    double groups = 0;
    effect->means = hn_need(values, sizeof *effect->means);
    effect->counts = hn_need(values, sizeof *effect->counts);
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

static void fill_cells(const struct sample *sample, const size_t parameters[2], struct cells *cells)
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

static double judge_cells(const struct sample *sample, const struct cells *cells)
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

/* Of a pair with too many combinations 0. */
static void find_pair(const struct sample *sample, struct hn_interaction *pair)
{
    struct cells cells = {
        .rows = hn_space_value_count(sample->space, pair->parameters[0]),
        .columns = hn_space_value_count(sample->space, pair->parameters[1]),
    };
    if (cells.rows * cells.columns > MOST_CELLS)
        return;
    cells.means = hn_need(cells.rows * cells.columns, sizeof *cells.means);
    cells.weights = hn_need(cells.rows * cells.columns, sizeof *cells.weights);
    cells.row_terms = hn_need(cells.rows, sizeof *cells.row_terms);
    cells.column_terms = hn_need(cells.columns, sizeof *cells.column_terms);
    fill_cells(sample, pair->parameters, &cells);
    pair->share = judge_cells(sample, &cells);
    free(cells.means);
    free(cells.weights);
    free(cells.row_terms);
    free(cells.column_terms);
}

/* Beyond so many valid points they are drawn. */
static const uint64_t most_points = 20000;

static bool takes_all(const struct hn_space *space)
{
    return hn_space_enumerated(space) && hn_space_size(space) <= most_points;
}

/* Every valid point has a time of its own or failed. */
static bool is_complete(const struct hn_evidence *evidence, uint16_t *choice)
{
    const struct hn_space *space = evidence->space;
    if (!takes_all(space) || evidence->bounded > 0)
        return false;
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        hn_space_point(space, i, choice);
        if (hn_evidence_find(evidence, choice) == SIZE_MAX)
            return false;
    }
    return true;
}

static void remember_promising(struct hn_effects *effects, const struct hn_evidence *evidence,
                               const uint16_t *choice, double value)
{
    double ratio = hn_evidence_ratio(evidence, value, evidence->values[evidence->best]);
    effects->unmeasured++;
    if (effects->unmeasured > 1 && ratio >= effects->promise)
        return;
    effects->promise = ratio;
    memcpy(effects->promising, choice, evidence->parameters * sizeof *choice);
}

/* Adds the point at the sample's end with its value, or the forest's; not one that failed. */
static void add_point(struct hn_effects *effects, struct sample *sample,
                      const struct hn_evidence *evidence, const struct hn_forest *forest)
{
    const uint16_t *choice = sample->choices + sample->count * sample->parameters;
    double *value = &sample->values[sample->count];
    size_t known = hn_evidence_find(evidence, choice);
    if (known != SIZE_MAX && known >= evidence->count)
        return;
    if (known == SIZE_MAX) {
        *value = hn_forest_predict(forest, choice);
        remember_promising(effects, evidence, choice, *value);
    } else {
        *value = forest != NULL ? hn_forest_value(forest, known) : evidence->values[known];
    }
    sample->count++;
}

static void sum_up(struct sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        sample->mean += sample->values[i] / (double)sample->count;
    for (size_t i = 0; i < sample->count; i++)
        sample->squares += (sample->values[i] - sample->mean) * (sample->values[i] - sample->mean);
}

static void fill_sample(struct hn_effects *effects, const struct hn_evidence *evidence,
                        const struct hn_forest *forest, uint64_t seed, struct sample *sample)
{
    const struct hn_space *space = evidence->space;
    struct hn_random random = hn_random_seeded(seed);
    bool all = takes_all(space);
    size_t room = all ? (size_t)hn_space_size(space) : most_points;
    *sample = (struct sample){
        .space = space,
        .parameters = evidence->parameters,
        .choices = hn_need((room + 1) * (evidence->parameters + 1), sizeof *sample->choices),
        .values = hn_need(room + 1, sizeof *sample->values),
        .drawn = !all,
    };
    for (size_t i = 0; i < room; i++) {
        uint16_t *choice = sample->choices + sample->count * sample->parameters;
        if (all)
            hn_space_point(space, i, choice);
        else
            hn_space_sample(space, &random, choice);
        add_point(effects, sample, evidence, forest);
    }
    sum_up(sample);
    effects->points = sample->count;
    effects->sampled = sample->drawn;
}

/* Measured points that differ from the best in one parameter say what that one does there. */
static void look_around(const struct hn_evidence *evidence, struct hn_effect *mains)
{
    const uint16_t *best = hn_evidence_choice(evidence, evidence->best);
    for (size_t i = 0; i < evidence->count; i++) {
        const uint16_t *choice = hn_evidence_choice(evidence, i);
        size_t differing = 0;
        size_t last = 0;
        for (size_t p = 0; p < evidence->parameters && differing < 2; p++) {
            if (choice[p] == best[p])
                continue;
            differing++;
            last = p;
        }
        if (differing != 1)
            continue;
        double ratio =
            hn_evidence_ratio(evidence, evidence->values[i], evidence->values[evidence->best]);
        struct hn_effect *effect = &mains[last];
        effect->worst_alone = effect->alone == 0 ? ratio : fmax(effect->worst_alone, ratio);
        effect->alone++;
    }
}

static int compare_mains(const void *a, const void *b)
{
    const struct hn_effect *x = a;
    const struct hn_effect *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct hn_interaction *x = a;
    const struct hn_interaction *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->parameters[0] > y->parameters[0]) - (x->parameters[0] < y->parameters[0]);
}

static void find_shares(struct hn_effects *effects, const struct hn_evidence *evidence,
                        const struct sample *sample)
{
    size_t count = evidence->parameters;
    effects->mains = hn_need(count, sizeof *effects->mains);
    effects->pairs = hn_need(count * count / 2 + 1, sizeof *effects->pairs);
    effects->parameter_count = count;
    for (size_t p = 0; p < count; p++) {
        effects->mains[p].parameter = p;
        find_main(sample, &effects->mains[p]);
    }
    look_around(evidence, effects->mains);
    for (size_t p = 0; p < count; p++) {
        for (size_t q = p + 1; q < count; q++) {
            struct hn_interaction *pair = &effects->pairs[effects->pair_count++];
            *pair = (struct hn_interaction){.parameters = {p, q}};
            find_pair(sample, pair);
        }
    }
    qsort(effects->mains, count, sizeof *effects->mains, compare_mains);
    qsort(effects->pairs, effects->pair_count, sizeof *effects->pairs, compare_pairs);
}

void hn_effects_find(const struct hn_evidence *evidence, uint64_t seed, struct hn_effects *effects)
{
    struct hn_forest *forest = NULL;
    struct sample sample;
    *effects = (struct hn_effects){0};
    if (evidence->count - evidence->bounded < HN_EFFECTS_LEAST || evidence->best == SIZE_MAX)
        return;
    effects->promising = hn_need(evidence->parameters, sizeof *effects->promising);
    effects->exact = is_complete(evidence, effects->promising);
    if (!effects->exact)
        forest = hn_forest_grow(evidence, seed);
    fill_sample(effects, evidence, forest, seed, &sample);
    effects->explained = forest != NULL ? hn_forest_explained(forest) : 1;
    effects->known = sample.squares > 0;
    if (effects->known)
        find_shares(effects, evidence, &sample);
    free(sample.choices);
    free(sample.values);
    hn_forest_destroy(forest);
}

void hn_effects_finish(struct hn_effects *effects)
{
    for (size_t p = 0; p < effects->parameter_count; p++) {
        free(effects->mains[p].means);
        free(effects->mains[p].counts);
    }
    free(effects->mains);
    free(effects->pairs);
    free(effects->promising);
    *effects = (struct hn_effects){0};
}

const struct hn_effect *hn_effects_of(const struct hn_effects *effects, size_t parameter)
{
    for (size_t p = 0; p < effects->parameter_count; p++)
        if (effects->mains[p].parameter == parameter)
            return &effects->mains[p];
    return NULL;
}

double hn_effects_most(const struct hn_effects *effects, size_t parameter)
{
    double most = 0;
    for (size_t p = 0; p < effects->parameter_count; p++)
        if (effects->mains[p].parameter == parameter)
            most = fmax(most, effects->mains[p].share);
    for (size_t i = 0; i < effects->pair_count; i++)
        if (effects->pairs[i].parameters[0] == parameter ||
            effects->pairs[i].parameters[1] == parameter)
            most = fmax(most, effects->pairs[i].share);
    return most;
}
