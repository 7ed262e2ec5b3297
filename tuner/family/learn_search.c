/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/family/learning.h"

/* Where a search would find most: at a sample that is slow beside the best of other sizes, and like
 * none that was searched. */

enum { PRODUCTS_OF = 5 }; /* sizes of which products are looked at */

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
    const struct hn_matrix *matrix = learning->matrix;
    envelope->count = hn_places_sizes(learning->kernel->family, envelope->features, PRODUCTS_OF);
    for (size_t product = 0; product < (size_t)1 << envelope->count; product++) {
        envelope->least[product] = INFINITY;
        for (size_t s = 0; s < matrix->size_count; s++)
            envelope->least[product] = fmin(
                envelope->least[product], log(hn_matrix_best(matrix, s)) -
                                              log_product(envelope, product, &learning->sizes, s));
    }
}

static double headroom(const struct hn_learning *learning, const struct envelope *envelope,
                       size_t sample)
{
    const struct hn_forecast *forecast = &learning->forecast;
    double bound = -INFINITY;
    for (size_t product = 0; product < (size_t)1 << envelope->count; product++)
        bound = fmax(bound, envelope->least[product] +
                                log_product(envelope, product, &forecast->places, sample));
    return fmax(0, hn_learning_least(learning, forecast->logarithms, sample) - bound);
}

/* 1 where no search was near. */
static double novelty(const struct hn_learning *learning, size_t sample)
{
    double nearest = 0;
    for (size_t s = 0; s < learning->matrix->size_count; s++)
        if (learning->matrix->sizes[s].searched)
            nearest = fmax(nearest, hn_places_likeness(&learning->forecast.places, sample,
                                                       &learning->sizes, s));
    return 1 - nearest;
}

enum hn_status hn_learning_find_search(struct hn_learning *learning, struct hn_error *err)
{
    struct envelope envelope;
    size_t best = 0;
    double most = 0;
    find_envelope(learning, &envelope);
    for (size_t s = 0; s < learning->forecast.places.count; s++) {
        double worth = headroom(learning, &envelope, s) * novelty(learning, s);
        if (isfinite(worth) && worth > most) {
            most = worth;
            best = s;
        }
    }
    learning->learnt->has_search = most > 0;
    return most > 0 ? hn_bindings_copy(&learning->learnt->search,
                                       &learning->forecast.places.problems[best], err)
                    : HN_OK;
}
