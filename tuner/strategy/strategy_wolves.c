/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "tuner/strategy/population.h"

extern const struct hn_strategy_kind hn_strategy_wolves;

/* Grey wolves (Mirjalili, Mirjalili and Lewis, Advances in Engineering Software 69, 2014) that
 * never return to a known point (tabu search: Glover 1989), as combined by Willemsen, van Stein and
 * van Werkhoven ("Automated Algorithm Design for Auto-Tuning Optimizers", 2025): a wolf takes each
 * parameter from one of the three leaders or keeps it, is shaken the more often the longer nothing
 * got better, and may get worse while the pack is young. */

enum { MEMBERS = 8, LEADERS = 3 };
static const double first_shake = 0.2;        /* chance that a wolf is shaken, to begin with */
static const double last_shake = 0.4;         /* and when the pack has no patience left */
static const double jump = 0.15;              /* share of the shakes that go anywhere */
static const double first_temperature = 0.03; /* of the pack's range */
static const double cooling = 0.95;           /* by each wolf that moved */

struct hn_strategy {
    struct hn_population population;
    unsigned generation; /* of the pack that the temperature is of */
    double temperature;
};

/* To a random value of one parameter, or to any neighbour. */
static void shake(struct hn_population *population, uint16_t *choice)
{
    struct hn_trail *trail = &population->trail;
    size_t width = trail->width;
    if (hn_random_unit(&trail->random) < jump) {
        size_t i = (size_t)hn_random_below(&trail->random, width);
        choice[i] =
            (uint16_t)hn_random_below(&trail->random, hn_space_value_count(trail->space, i));
        return;
    }
    enum hn_neighbourhood kind = hn_random_below(&trail->random, 2) == 0 ? HN_ADJACENT : HN_HAMMING;
    size_t count = hn_space_neighbours(trail->space, choice, kind, trail->neighbours);
    if (count > 0)
        memcpy(choice, trail->neighbours + hn_random_below(&trail->random, count) * width,
               width * sizeof *choice);
}

static bool breed(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_population *population = &strategy->population;
    struct hn_random *random = &population->trail.random;
    if (strategy->generation != population->generation) {
        strategy->generation = population->generation;
        strategy->temperature = first_temperature * hn_population_range(population);
    }
    size_t wolf = LEADERS + (size_t)hn_random_below(random, population->count - LEADERS);
    for (size_t i = 0; i < population->trail.width; i++) {
        size_t leader = (size_t)hn_random_below(random, LEADERS + 1);
        choice[i] = hn_population_point(population, leader < LEADERS ? leader : wolf)[i];
    }
    double impatience = (double)population->failures / (double)population->patience;
    if (hn_random_unit(random) < first_shake + (last_shake - first_shake) * impatience)
        shake(population, choice);
    return hn_population_bear(population, ticket, hn_population_point(population, wolf), choice,
                              population->members[wolf]);
}

static void settle(struct hn_strategy *strategy, uint64_t ticket, uint32_t child)
{
    struct hn_population *population = &strategy->population;
    double cost = population->trail.costs[child];
    /* With look-ahead the wolf may be gone: then the child is held against the last of the pack. */
    size_t wolf = hn_population_find(population, population->trail.tickets[ticket].tag);
    if (wolf == population->count)
        wolf = population->count - 1;
    double worse = cost - hn_population_cost(population, wolf);
    if (hn_move_accepts(&population->trail, worse, strategy->temperature))
        hn_population_replace(population, wolf, child);
    strategy->temperature *= cooling;
}

static const struct hn_population_way way = {.breed = breed, .settle = settle};

static enum hn_status create(const struct hn_search *search, struct hn_strategy **strategy,
                             struct hn_error *err)
{
    return hn_population_create(search, sizeof **strategy, MEMBERS, &way, strategy, err);
}

const struct hn_strategy_kind hn_strategy_wolves = {
    .name = "tabu_greywolf",
    .summary = "a pack follows its three best, is shaken, and never returns to a known point",
    .needs_feedback = true,
    .uses_priors = true,
    .create = create,
    .destroy = hn_population_destroy,
    .propose = hn_population_propose,
    .finished = hn_population_finished,
};
