/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/strategy/population.h"

extern const struct hn_strategy_kind hn_strategy_genetic;

/* A genetic algorithm (Holland, "Adaptation in Natural and Artificial Systems", 1975),
 * steady-state: a child of two good members takes each parameter from either, now and then another
 * value, and replaces the worst member when it is better. */

enum { MEMBERS = 8 };
static const double pressure = 4;    /* the better members are parents more often; 1: all alike */
static const double mutations = 0.3; /* expected in a child */
static const double small_change = 0.5; /* share of mutations that go to an adjacent value */

struct hn_strategy {
    struct hn_population population;
};

static size_t choose_parent(struct hn_population *population)
{
    double unit = hn_random_unit(&population->trail.random);
    return (size_t)((double)population->count * (1 - pow(1 - unit, 1 / pressure)));
}

static void cross(struct hn_population *population, const uint16_t *a, const uint16_t *b,
                  uint16_t *child)
{
    struct hn_trail *trail = &population->trail;
    for (size_t i = 0; i < trail->width; i++) {
        child[i] = hn_random_below(&trail->random, 2) == 0 ? a[i] : b[i];
        size_t values = hn_space_value_count(trail->space, i);
        if (values > 1 && hn_random_unit(&trail->random) * (double)population->free < mutations)
            child[i] =
                hn_move_value(trail, i, child[i], hn_random_unit(&trail->random) < small_change);
    }
}

static bool breed(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_population *population = &strategy->population;
    size_t a = choose_parent(population);
    size_t b = choose_parent(population);
    while (b == a)
        b = choose_parent(population);
    const uint16_t *parent = hn_population_point(population, a);
    cross(population, parent, hn_population_point(population, b), choice);
    return hn_population_bear(population, ticket, parent, choice, 0);
}

static void settle(struct hn_strategy *strategy, uint64_t ticket, uint32_t child)
{
    (void)ticket;
    hn_population_admit(&strategy->population, child);
}

static const struct hn_population_way way = {.breed = breed, .settle = settle};

static enum hn_status create(const struct hn_search *search, struct hn_strategy **strategy,
                             struct hn_error *err)
{
    return hn_population_create(search, sizeof **strategy, MEMBERS, &way, strategy, err);
}

const struct hn_strategy_kind hn_strategy_genetic = {
    .name = "genetic",
    .summary = "children of the better points mix their values, the worst die out",
    .needs_feedback = true,
    .uses_priors = true,
    .create = create,
    .destroy = hn_population_destroy,
    .propose = hn_population_propose,
    .finished = hn_population_finished,
};
