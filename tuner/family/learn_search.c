/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/family/learning.h"

/* Where a search would find most: where many samples are like it that are slow beside the best of
 * other sizes, and like none that was searched. */

enum {
    PRODUCTS_OF = 5, /* sizes of which products are looked at */
    LOOKED_AT = 400  /* samples among which the next search is chosen */
};
/* No search is expected to save more: where sizes are slower than that beside others, there mostly
 * is a reason. */
static const double most_gain = 0.3;

struct envelope {
    size_t features[PRODUCTS_OF];
    size_t count;
    double least[1 << PRODUCTS_OF]; /* logarithm of a time by a product of sizes */
};

static double log_product(const struct envelope *envelope, size_t product,
                          const struct hn_places *places, size_t place)
{
    double sum = 0;
    for (size_t i = 0; i < envelope->count; i++)
        if (product >> i & 1)
            sum += hn_places_column(places, 0, envelope->features[i])[place];
    return sum;
}

/* No size is faster than the fastest one by any product of sizes: by what is moved or computed, or
 * by the launch alone. */
static void find_envelope(const struct hn_learning *learning, struct envelope *envelope)
{
    const struct hn_matrix *matrix = learning->all.matrix;
    envelope->count = hn_places_sizes(learning->kernel->family, envelope->features, PRODUCTS_OF);
    for (size_t product = 0; product < (size_t)1 << envelope->count; product++) {
        envelope->least[product] = INFINITY;
        for (size_t s = 0; s < matrix->size_count; s++)
            envelope->least[product] =
                fmin(envelope->least[product],
                     log(hn_matrix_best(matrix, s)) -
                         log_product(envelope, product, &learning->all.sizes, s));
    }
}

static double headroom(const struct hn_learning *learning, const struct envelope *envelope,
                       size_t sample)
{
    const struct hn_forecast *forecast = &learning->all.forecast;
    double bound = -INFINITY;
    for (size_t product = 0; product < (size_t)1 << envelope->count; product++)
        bound = fmax(bound, envelope->least[product] +
                                log_product(envelope, product, &forecast->places, sample));
    return fmax(0, hn_outlook_least(&learning->all, forecast->logarithms, sample) - bound);
}

/* 1 where no search was near. */
static double novelty(const struct hn_learning *learning, size_t sample)
{
    double nearest = 0;
    const struct hn_outlook *all = &learning->all;
    for (size_t s = 0; s < all->matrix->size_count; s++)
        if (all->matrix->sizes[s].searched)
            nearest =
                fmax(nearest, hn_places_likeness(&all->forecast.places, sample, &all->sizes, s));
    return 1 - nearest;
}

/* What a search at a sample would say beyond those that were made, of all samples. */
static double worth_at(const struct hn_learning *learning, const double *gains,
                       const double *novelties, size_t at)
{
    const struct hn_places *samples = &learning->all.forecast.places;
    double worth = 0;
    for (size_t s = 0; s < samples->count; s++)
        worth += gains[s] * learning->all.forecast.weights[s] *
                 fmax(0, hn_places_likeness(samples, at, samples, s) - (1 - novelties[s]));
    return worth;
}

static size_t find_best(const struct hn_learning *learning, const double *gains,
                        const double *novelties, double *most)
{
    size_t best = 0, samples = learning->all.forecast.places.count;
    size_t step = samples > LOOKED_AT ? samples / LOOKED_AT : 1;
    *most = 0;
    for (size_t s = 0; s < samples; s += step) {
        double worth = worth_at(learning, gains, novelties, s);
        if (worth > *most) {
            *most = worth;
            best = s;
        }
    }
    return best;
}

enum hn_status hn_learning_find_search(struct hn_learning *learning, struct hn_error *err)
{
    struct envelope envelope;
    double most;
    size_t samples = learning->all.forecast.places.count;
    double *gains = calloc(2 * samples + 1, sizeof *gains), *novelties = gains + samples;
    if (gains == NULL)
        return hn_fail_memory(err);
    find_envelope(learning, &envelope);
    for (size_t s = 0; s < samples; s++) {
        double gain = headroom(learning, &envelope, s);
        gains[s] = isfinite(gain) ? fmin(most_gain, gain) : 0;
        novelties[s] = novelty(learning, s);
    }
    size_t best = find_best(learning, gains, novelties, &most);
    free(gains);
    learning->learnt->has_search = most > 0;
    return most > 0 ? hn_bindings_copy(&learning->learnt->search,
                                       &learning->all.forecast.places.problems[best], err)
                    : HN_OK;
}
