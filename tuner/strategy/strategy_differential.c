/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/strategy/population.h"

extern const struct hn_strategy_kind hn_strategy_differential;

/* Differential evolution (Storn and Price, Journal of Global Optimization 11, 1997), best/1/bin on
 * the ranks of the values: to the best member the scaled difference of two others is added, a
 * member takes some parameters of that, and is replaced by the result when it is no worse. */

enum { MEMBERS = 8 };
static const double crossover = 0.7; /* share of the parameters that are taken */
static const double least_scale = 0.2;
static const double most_scale = 0.8;

struct hn_strategy {
    struct hn_population population;
};

/* Three different members. */
static void choose(struct hn_population *population, size_t *three)
{
    for (size_t i = 0; i < 3; i++) {
        bool taken;
        do {
            three[i] = (size_t)hn_random_below(&population->trail.random, population->count);
            taken = (i > 0 && three[i] == three[0]) || (i > 1 && three[i] == three[1]);
        } while (taken);
    }
}

static void combine(struct hn_population *population, const size_t *three, uint16_t *child)
{
    struct hn_trail *trail = &population->trail;
    const uint16_t *best = hn_population_point(population, 0);
    const uint16_t *target = hn_population_point(population, three[0]);
    const uint16_t *a = hn_population_point(population, three[1]);
    const uint16_t *b = hn_population_point(population, three[2]);
    double scale = least_scale + (most_scale - least_scale) * hn_random_unit(&trail->random);
    size_t taken = (size_t)hn_random_below(&trail->random, trail->width);
    for (size_t i = 0; i < trail->width; i++) {
        child[i] = target[i];
        if (i == taken || hn_random_unit(&trail->random) < crossover)
            child[i] = hn_move_round(trail, i, best[i] + scale * (a[i] - b[i]));
    }
}

static bool breed(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_population *population = &strategy->population;
    size_t three[3];
    choose(population, three);
    combine(population, three, choice);
    return hn_population_bear(population, ticket, hn_population_point(population, three[0]), choice,
                              population->members[three[0]]);
}

static void settle(struct hn_strategy *strategy, uint64_t ticket, uint32_t child)
{
    struct hn_population *population = &strategy->population;
    double cost = population->trail.costs[child];
    /* With look-ahead the target may be gone: then the child is held against the worst. */
    size_t target = hn_population_find(population, population->trail.tickets[ticket].tag);
    if (target == population->count)
        target = population->count - 1;
    if (cost <= hn_population_cost(population, target))
        hn_population_replace(population, target, child);
}

static const struct hn_population_way way = {.breed = breed, .settle = settle};

static enum hn_status create(const struct hn_search *search, struct hn_strategy **strategy,
                             struct hn_error *err)
{
    return hn_population_create(search, sizeof **strategy, MEMBERS, &way, strategy, err);
}

const struct hn_strategy_kind hn_strategy_differential = {
    .name = "differential_evolution",
    .summary = "differences between good points are added to the best one",
    .needs_feedback = true,
    .uses_priors = true,
    .create = create,
    .destroy = hn_population_destroy,
    .propose = hn_population_propose,
    .finished = hn_population_finished,
};
