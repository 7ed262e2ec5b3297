/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/gaussian.h"
#include "tuner/strategy/loops.h"

/* A time is a sum of terms: a launch; blocks, waves of blocks; products of sizes (what is moved,
 * what is computed); and what each block, or each block of a wave, does with a size, with its part
 * of a size where a side of the grid divides it, or with its part of all. Few of these matter to a
 * kernel, and they are the same for all of its configurations: they are chosen for all together, as
 * those that best predict times at sizes that were left out. */

enum {
    HN_TERMS_FACTORS = 4, /* of so many sizes */
    HN_TERMS_MOST = 12,   /* are chosen */
};

struct hn_time_terms {
    size_t factors[HN_TERMS_FACTORS]; /* features that are logarithms of sizes */
    size_t factor_count;
    size_t edges;
    size_t chosen[HN_TERMS_MOST]; /* places among the candidates; the first is the launch */
    size_t count;
};

/* Times of one point at places, and which part of the places each is left out with; `usable` times
 * only. */
struct hn_time_terms_of {
    size_t point;
    const size_t *at;
    const double *logarithms;
    size_t count;
};

enum {
    LARGEST_SHARES = 1 + HN_TERMS_FACTORS * (1 + HN_PLACES_SIDES) + 1 + HN_EDGES_MOST,
    CANDIDATES = (1 << HN_TERMS_FACTORS) + 4 * LARGEST_SHARES,
    FOLDS = 4,
    LEAST_TIMES = 6, /* of a point that has a say */
    ROUNDS = 300
};
/* A term is worth having that makes squared errors less by this share. */
static const double least_gain = 0.015;
/* Errors beyond this are no worse, in logarithms. */
static const double most_error = 1;
static const double settled_change = 1e-5;

static double *launch_of(const struct hn_places *places, size_t point,
                         enum hn_places_of_launch what)
{
    return hn_places_column(places, point, places->features - HN_PLACES_OF_LAUNCH + (size_t)what);
}

static size_t count_shares(const struct hn_time_terms *terms)
{
    return 1 + terms->factor_count * (1 + HN_PLACES_SIDES) + 1 + terms->edges;
}

static size_t count_candidates(const struct hn_time_terms *terms)
{
    return ((size_t)1 << terms->factor_count) + 4 * count_shares(terms);
}

/* The logarithm of a product of sizes. */
static double product_of(const struct hn_time_terms *terms, const struct hn_places *places,
                         size_t point, size_t place, size_t set)
{
    double product = 0;
    for (size_t i = 0; i < terms->factor_count; i++)
        if ((set >> i & 1) != 0)
            product += hn_places_column(places, point, terms->factors[i])[place];
    return product;
}

/* Logarithms of what a block does: one thing, each size, each size divided by a side of the grid,
 * its part of all, and the passes of each edge. */
static double share_of(const struct hn_time_terms *terms, const struct hn_places *places,
                       size_t point, size_t place, size_t share)
{
    size_t all = ((size_t)1 << terms->factor_count) - 1;
    if (share == 0)
        return 0;
    size_t first_edge = count_shares(terms) - terms->edges;
    if (share >= first_edge)
        return hn_places_column(places, point,
                                places->features + HN_PLACES_SIDES + share - first_edge)[place];
    if (share == first_edge - 1)
        return product_of(terms, places, point, place, all) -
               launch_of(places, point, HN_PLACES_BLOCKS)[place];
    size_t factor = (share - 1) / (1 + HN_PLACES_SIDES), side = (share - 1) % (1 + HN_PLACES_SIDES);
    double size = hn_places_column(places, point, terms->factors[factor])[place];
    return side == 0 ? size
                     : size - hn_places_column(places, point, places->features + side - 1)[place];
}

/* One of all that a time may be a sum of, the launch first: products of sizes, then what each block
 * does, each of a wave, each of a multiprocessor, and one. */
static double candidate_of(const struct hn_time_terms *terms, const struct hn_places *places,
                           size_t point, size_t place, size_t candidate)
{
    static const enum hn_places_of_launch times[] = {HN_PLACES_BLOCKS, HN_PLACES_WAVES,
                                                     HN_PLACES_TURNS};
    size_t products = (size_t)1 << terms->factor_count;
    if (candidate < products)
        return exp(product_of(terms, places, point, place, candidate));
    size_t how = (candidate - products) % 4;
    double share = share_of(terms, places, point, place, (candidate - products) / 4);
    return exp(share + (how < 3 ? launch_of(places, point, times[how])[place] : 0));
}

/* The normal equations of relative errors: each row is terms over time, the right side is 1. */
struct equations {
    double squares[CANDIDATES][CANDIDATES];
    double right[CANDIDATES];
};

static void add_row(struct equations *equations, const double *row, size_t n)
{
    for (size_t a = 0; a < n; a++) {
        equations->right[a] += row[a];
        for (size_t b = 0; b < n; b++)
            equations->squares[a][b] += row[a] * row[b];
    }
}

/* Coefficients of the chosen ones that are not below 0, one after the other (Franc, Hlavac and
 * Navara, "Sequential coordinate-wise algorithm for the non-negative least squares problem", 2005),
 * from what they are now. Each is in units of its term's own size. */
static void solve(const struct equations *equations, const size_t *chosen, size_t count,
                  double *coefficients)
{
    double change = 1;
    for (int round = 0; round < ROUNDS && change > settled_change * settled_change; round++) {
        change = 0;
        for (size_t i = 0; i < count; i++) {
            const double *row = equations->squares[chosen[i]];
            double slope = -equations->right[chosen[i]];
            double own = row[chosen[i]];
            if (!(own > 0))
                continue;
            for (size_t k = 0; k < count; k++)
                slope += row[chosen[k]] * coefficients[k];
            double better = coefficients[i] - slope / own;
            better = better > 0 ? better : 0;
            double step = (better - coefficients[i]) * (better - coefficients[i]) * own;
            change = step > change ? step : change;
            coefficients[i] = better;
        }
    }
}

/* The evidence of one point's times. */
struct evidence {
    double *rows; /* [time][candidate]: terms over time */
    size_t count;
    struct equations *without;             /* [fold]: of the times that are not of the fold */
    double (*coefficients)[HN_TERMS_MOST]; /* [fold]: of what is chosen so far */
};

struct choice {
    struct hn_time_terms *terms;
    struct evidence *items;
    size_t count, candidates;
};

/* Sizes are left out in the order in which they were drawn. */
static size_t fold_of(size_t size)
{
    return size % FOLDS;
}

static void take_evidence(struct choice *choice, const struct hn_places *places,
                          const struct hn_time_terms_of *times)
{
    struct evidence *evidence = &choice->items[choice->count++];
    evidence->count = times->count;
    evidence->rows = hn_need(times->count * CANDIDATES, sizeof *evidence->rows);
    evidence->without = hn_need(FOLDS, sizeof *evidence->without);
    evidence->coefficients = hn_need(FOLDS, sizeof *evidence->coefficients);
    for (size_t t = 0; t < times->count; t++) {
        double *row = evidence->rows + t * CANDIDATES;
        for (size_t c = 0; c < choice->candidates; c++)
            row[c] = candidate_of(choice->terms, places, times->point, times->at[t], c) *
                     exp(-times->logarithms[t]);
        for (size_t fold = 0; fold < FOLDS; fold++)
            if (fold != fold_of(times->at[t]))
                add_row(&evidence->without[fold], row, choice->candidates);
    }
}

static double error_of(const struct evidence *evidence, const size_t *at, size_t fold,
                       const struct hn_time_terms *terms, const double *coefficients)
{
    double squares = 0;
    for (size_t t = 0; t < evidence->count; t++) {
        double sum = 0;
        if (fold_of(at[t]) != fold)
            continue;
        for (size_t i = 0; i < terms->count; i++)
            sum += coefficients[i] * evidence->rows[t * CANDIDATES + terms->chosen[i]];
        double error = fmin(fabs(log(fmax(sum, 1e-6))), most_error);
        squares += error * error;
    }
    return squares;
}

/* The squared errors of all times, each predicted from those of the other folds. keep: the
 * coefficients are those to go on from. */
static double try_terms(const struct choice *choice, const struct hn_time_terms_of *times,
                        bool keep)
{
    double squares = 0;
    const struct hn_time_terms *terms = choice->terms;
    for (size_t i = 0, k = 0; k < choice->count; i++) {
        if (times[i].count < LEAST_TIMES)
            continue;
        struct evidence *evidence = &choice->items[k++];
        for (size_t fold = 0; fold < FOLDS; fold++) {
            double coefficients[HN_TERMS_MOST];
            memcpy(coefficients, evidence->coefficients[fold], sizeof coefficients);
            solve(&evidence->without[fold], terms->chosen, terms->count, coefficients);
            squares += error_of(evidence, times[i].at, fold, terms, coefficients);
            if (keep)
                memcpy(evidence->coefficients[fold], coefficients, sizeof coefficients);
        }
    }
    return squares;
}

/* One by one, each time the one that helps most. */
static void add_terms(struct choice *choice, const struct hn_time_terms_of *times)
{
    struct hn_time_terms *terms = choice->terms;
    terms->chosen[0] = 0;
    terms->count = 1;
    double squares = try_terms(choice, times, true);
    while (terms->count < HN_TERMS_MOST) {
        size_t best = 0;
        double least = INFINITY;
        terms->count++;
        for (size_t c = 1; c < choice->candidates; c++) {
            terms->chosen[terms->count - 1] = c;
            double own = try_terms(choice, times, false);
            if (own < least) {
                least = own;
                best = c;
            }
        }
        if (!(least < (1 - least_gain) * squares)) {
            terms->count--;
            return;
        }
        terms->chosen[terms->count - 1] = best;
        squares = try_terms(choice, times, true);
    }
}

/* Where nothing is known: a launch, all that is computed, blocks, waves. */
static void choose_usual(struct hn_time_terms *terms)
{
    size_t products = (size_t)1 << terms->factor_count;
    const size_t usual[] = {0, products - 1, products, products + 1};
    terms->count = sizeof usual / sizeof *usual;
    memcpy(terms->chosen, usual, sizeof usual);
}

static void choose_terms_for(const struct hn_family *family, const struct hn_places *places,
                             const struct hn_time_terms_of *times, size_t count,
                             struct hn_time_terms *terms)
{
    struct choice choice = {.terms = terms, .items = hn_need(count, sizeof *choice.items)};
    *terms = (struct hn_time_terms){.count = 0};
    terms->factor_count = hn_places_sizes(family, terms->factors, HN_TERMS_FACTORS);
    terms->edges = places->edges.count;
    choice.candidates = count_candidates(terms);
    for (size_t i = 0; i < count; i++)
        if (times[i].count >= LEAST_TIMES)
            take_evidence(&choice, places, &times[i]);
    if (choice.count > 0)
        add_terms(&choice, times);
    else
        choose_usual(terms);
    for (size_t i = 0; i < choice.count; i++) {
        free(choice.items[i].rows);
        free(choice.items[i].without);
        free(choice.items[i].coefficients);
    }
    free(choice.items);
}

static void fit_terms(const struct hn_time_terms *terms, const struct hn_places *places,
                      const struct hn_time_terms_of *times, double coefficients[HN_TERMS_MOST])
{
    size_t all[HN_TERMS_MOST];
    struct equations equations = {.right = {0}};
    for (size_t t = 0; t < times->count; t++) {
        double row[HN_TERMS_MOST];
        for (size_t i = 0; i < terms->count; i++)
            row[i] = candidate_of(terms, places, times->point, times->at[t], terms->chosen[i]) *
                     exp(-times->logarithms[t]);
        add_row(&equations, row, terms->count);
    }
    for (size_t i = 0; i < terms->count; i++)
        all[i] = i;
    memset(coefficients, 0, HN_TERMS_MOST * sizeof *coefficients);
    solve(&equations, all, terms->count, coefficients);
}

static double sum_terms(const struct hn_time_terms *terms, const struct hn_places *places,
                        size_t point, size_t place, const double coefficients[HN_TERMS_MOST])
{
    double sum = 0;
    for (size_t i = 0; i < terms->count; i++)
        sum += coefficients[i] * candidate_of(terms, places, point, place, terms->chosen[i]);
    return log(fmax(sum, 1e-6));
}

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
    size_t features, points;
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

bool hn_models_have_edge(const struct hn_models *models, size_t edge)
{
    const struct hn_time_terms *terms = &models->terms;
    size_t products = (size_t)1 << terms->factor_count;
    size_t share = count_shares(terms) - terms->edges + edge;
    for (size_t i = 0; i < terms->count; i++)
        if (terms->chosen[i] >= products && (terms->chosen[i] - products) / 4 == share)
            return true;
    return false;
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
    choose_terms_for(family, sizes, times, models->points < WITNESSES ? models->points : WITNESSES,
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
    fit_terms(&models->terms, sizes, &times, model->coefficients);
    double squares = 0;
    for (size_t i = 0; i < targets->count; i++) {
        targets->values[i] -=
            sum_terms(&models->terms, sizes, point, targets->at[i], model->coefficients);
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
    models->features = sizes->features;
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
            sum_terms(&models->terms, places, point, begin + i, model->coefficients) +
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
