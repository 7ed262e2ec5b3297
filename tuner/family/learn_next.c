/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "tuner/family/learn.h"

/* Where the rule is sure, and where not: what is worth measuring next. */

/* A leaf is sure where at most of its samples the loss, and one deviation of the prediction, is
 * below this. */
static const double sure_loss = 0.1, sure_share = 0.8;
static const double dear_us = 10000;

/* The loss of a configuration at a sample to the best of all configurations; INFINITY: it can not
 * be used. */
static double plain_loss(const struct hn_learning *learning, size_t configuration, size_t sample)
{
    const struct hn_forecast *forecast = &learning->picked.forecast;
    double own = forecast->logarithms[configuration * forecast->places.count + sample];
    return own - hn_outlook_least(&learning->picked, forecast->logarithms, sample);
}

/* The deviation of its prediction there. */
static double deviation_of(const struct hn_learning *learning, size_t configuration, size_t sample)
{
    const struct hn_forecast *forecast = &learning->picked.forecast;
    size_t at = configuration * forecast->places.count + sample;
    return isinf(forecast->logarithms[at]) ? 1 : forecast->cautious[at] - forecast->logarithms[at];
}

void hn_learning_mark_sure(struct hn_learning *learning)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = hn_learning_samples(learning);
    size_t *counts = hn_need(2 * rule->node_count, sizeof *counts);
    for (size_t s = 0; s < data.samples; s++) {
        size_t leaf = hn_choice_tree_leaf(rule->nodes, &data, s);
        size_t c = (size_t)rule->nodes[leaf].configuration;
        counts[2 * leaf]++;
        counts[2 * leaf + 1] +=
            plain_loss(learning, c, s) + deviation_of(learning, c, s) < sure_loss;
    }
    for (size_t n = 0; n < rule->node_count; n++)
        rule->nodes[n].sure = rule->nodes[n].feature < 0 &&
                              (double)counts[2 * n + 1] >= sure_share * (double)counts[2 * n];
    free(counts);
}

/* Samples where the choice is least sure, away from each other. */
void hn_learning_find_wanted(struct hn_learning *learning)
{
    struct hn_learnt *learnt = learning->learnt;
    const struct hn_choice_tree_data data = hn_learning_samples(learning);
    const struct hn_forecast *forecast = &learning->picked.forecast;
    size_t wanted = learning->options->wanted;
    double *scores = hn_need(data.samples, sizeof *scores);
    learnt->wanted = hn_need(wanted, sizeof *learnt->wanted);
    for (size_t s = 0; s < data.samples; s++) {
        size_t leaf = hn_choice_tree_leaf(learnt->rule.nodes, &data, s);
        size_t c = (size_t)learnt->rule.nodes[leaf].configuration;
        scores[s] = deviation_of(learning, c, s) + fmin(1, plain_loss(learning, c, s));
        /* A size that takes much longer than a session takes to begin says no more than others. */
        scores[s] /=
            1 +
            exp(fmin(hn_outlook_least(&learning->picked, forecast->logarithms, s), 30)) / dear_us;
    }
    while (learnt->wanted_count < wanted) {
        size_t best = 0;
        for (size_t s = 1; s < data.samples; s++)
            if (scores[s] > scores[best])
                best = s;
        if (!(scores[best] > 0))
            break;
        learnt->wanted[learnt->wanted_count++] =
            hn_need_bindings(&forecast->places.problems[best], NULL);
        for (size_t s = 0; s < data.samples; s++)
            scores[s] *=
                s == best ? 0
                          : 1 - hn_places_likeness(&forecast->places, s, &forecast->places, best);
    }
    free(scores);
}

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

/* The worth of what a search at a sample would say beyond those that were made, of all samples. */
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

void hn_learning_find_search(struct hn_learning *learning)
{
    struct envelope envelope;
    double most;
    const struct hn_places *samples = &learning->all.forecast.places;
    double *gains = hn_need(2 * samples->count, sizeof *gains), *novelties = gains + samples->count;
    find_envelope(learning, &envelope);
    for (size_t s = 0; s < samples->count; s++) {
        double gain = headroom(learning, &envelope, s);
        gains[s] = isfinite(gain) ? fmin(most_gain, gain) : 0;
        novelties[s] = novelty(learning, s);
    }
    size_t best = find_best(learning, gains, novelties, &most);
    free(gains);
    learning->learnt->has_search = most > 0;
    if (most > 0)
        learning->learnt->search = hn_need_bindings(&samples->problems[best], NULL);
}
