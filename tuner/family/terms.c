/* SPDX-License-Identifier: MIT */
#include "tuner/family/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    LARGEST_SHARES = 1 + HN_TERMS_FACTORS * (1 + HN_PLACES_SIDES) + 1,
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
    return 1 + terms->factor_count * (1 + HN_PLACES_SIDES) + 1;
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
 * and its part of all. */
static double share_of(const struct hn_time_terms *terms, const struct hn_places *places,
                       size_t point, size_t place, size_t share)
{
    size_t all = ((size_t)1 << terms->factor_count) - 1;
    if (share == 0)
        return 0;
    if (share == count_shares(terms) - 1)
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
    size_t count;
    size_t candidates;
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

void hn_terms_choose(const struct hn_family *family, const struct hn_places *places,
                     const struct hn_time_terms_of *times, size_t count,
                     struct hn_time_terms *terms)
{
    struct choice choice = {.terms = terms, .items = hn_need(count, sizeof *choice.items)};
    *terms = (struct hn_time_terms){.count = 0};
    terms->factor_count = hn_places_sizes(family, terms->factors, HN_TERMS_FACTORS);
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

void hn_terms_fit(const struct hn_time_terms *terms, const struct hn_places *places,
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

double hn_terms_sum(const struct hn_time_terms *terms, const struct hn_places *places, size_t point,
                    size_t place, const double coefficients[HN_TERMS_MOST])
{
    double sum = 0;
    for (size_t i = 0; i < terms->count; i++)
        sum += coefficients[i] * candidate_of(terms, places, point, place, terms->chosen[i]);
    return log(fmax(sum, 1e-6));
}
