/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/trail.h"

static bool was_measured(const struct hn_prior *prior)
{
    return !isnan(prior->observation.cost) && prior->observation.outcome != HN_OUTCOME_SLOWER;
}

/* The source of the first prior (the most relevant source is first) that was measured. */
static bool first_source(const struct hn_search *search, unsigned *source)
{
    for (size_t i = 0; i < search->prior_count; i++) {
        if (was_measured(&search->priors[i])) {
            *source = search->priors[i].source;
            return true;
        }
    }
    return false;
}

/* Worst first: a better one than the first takes its place and moves up. */
static size_t insert(const struct hn_prior **best, size_t count, size_t limit,
                     const struct hn_prior *prior)
{
    double cost = prior->observation.cost;
    if (count == limit && cost >= best[0]->observation.cost)
        return count;
    if (count < limit) {
        for (size_t i = count++; i > 0; i--)
            best[i] = best[i - 1];
    }
    size_t i = 0;
    for (; i + 1 < count && best[i + 1]->observation.cost > cost; i++)
        best[i] = best[i + 1];
    best[i] = prior;
    return count;
}

size_t hn_seeds(const struct hn_search *search, size_t limit, uint16_t *choices)
{
    const struct hn_prior *best[limit];
    size_t width = hn_space_parameter_count(search->space);
    size_t count = 0;
    unsigned source;
    if (!first_source(search, &source))
        return 0;
    for (size_t i = 0; i < search->prior_count; i++) {
        if (search->priors[i].source == source && was_measured(&search->priors[i]))
            count = insert(best, count, limit, &search->priors[i]);
    }
    for (size_t i = 0; i < count; i++)
        memcpy(choices + i * width, best[i]->choice, width * sizeof *choices);
    return count;
}

enum { SAMPLE = 1024, APART = 2 };

struct guess {
    double estimate;
    size_t place; /* in the sample */
};

static int by_estimate(const void *a, const void *b)
{
    const struct guess *x = a;
    const struct guess *y = b;
    if (x->estimate < y->estimate || x->estimate > y->estimate)
        return x->estimate < y->estimate ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool is_apart(const uint16_t *a, const uint16_t *b, size_t width)
{
    size_t differing = 0;
    for (size_t i = 0; i < width; i++)
        differing += a[i] != b[i];
    return differing >= APART;
}

/* Best first. */
static size_t draw(const struct hn_search *search, uint16_t *points, struct guess *guesses)
{
    size_t width = hn_space_parameter_count(search->space);
    struct hn_random random = hn_random_seeded(search->seed ^ 0x2545f4914f6cdd1d);
    size_t count = 0;
    for (size_t i = 0; i < SAMPLE; i++) {
        uint16_t *point = points + count * width;
        hn_space_sample(search->space, &random, point);
        guesses[count] = (struct guess){hn_space_estimate(search->space, point), count};
        count += isfinite(guesses[count].estimate);
    }
    qsort(guesses, count, sizeof *guesses, by_estimate);
    return count;
}

size_t hn_guesses(const struct hn_search *search, size_t limit, uint16_t *choices)
{
    size_t width = hn_space_parameter_count(search->space);
    if (!hn_space_has_estimate(search->space))
        return 0;
    uint16_t *points = hn_need((SAMPLE + 1) * width, sizeof *points);
    struct guess *guesses = hn_need(SAMPLE + 1, sizeof *guesses);
    size_t drawn = draw(search, points, guesses);
    size_t count = 0;
    for (size_t i = 0; i < drawn && count < limit; i++) {
        const uint16_t *point = points + guesses[i].place * width;
        bool apart = true;
        for (size_t j = 0; j < count && apart; j++)
            apart = is_apart(point, choices + j * width, width);
        if (apart)
            memcpy(choices + count++ * width, point, width * sizeof *choices);
    }
    for (size_t i = 0; i < count / 2; i++) {
        uint16_t *low = choices + i * width;
        uint16_t *high = choices + (count - 1 - i) * width;
        memcpy(points, low, width * sizeof *points);
        memcpy(low, high, width * sizeof *points);
        memcpy(high, points, width * sizeof *points);
    }
    free(guesses);
    free(points);
    return count;
}
