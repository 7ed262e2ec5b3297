/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/seeds.h"

#include <math.h>
#include <string.h>

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
