/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tuner/strategy/population.h"

extern const struct hn_strategy_kind hn_strategy_annealing;

/* Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983): a walk over neighbours
 * that takes every better one, and a worse one the more seldom the worse it is and the longer it
 * walks. It begins anew, hot, elsewhere, when it no longer finds better ones. */

enum {
    STARTS = 8, /* the range of their costs is the unit of the temperature */
    MOST_WALKS = 8,
    LOOK_AHEAD_A_WALK = 16, /* more tickets under way than that are another walk's */
    DETOUR = 4,             /* steps over known points at most */
};
static const double pairs = 0.2; /* share of the steps that may change two parameters */
static const double first_temperature = 0.1;
static const double cooling = 0.05; /* a proposal, over all walks */

struct hn_strategy {
    struct hn_population population;
    unsigned generation; /* that the walks began with */
    double temperature;
    size_t most_walks;
    size_t walk_count;
    struct {
        uint32_t at;
        uint64_t since; /* the first ticket that knew of it */
    } walks[MOST_WALKS];
};

static void go_to(struct hn_strategy *strategy, size_t walk, uint32_t point)
{
    strategy->walks[walk].at = point;
    strategy->walks[walk].since = strategy->population.trail.ticket_count;
}

static void begin(struct hn_strategy *strategy)
{
    const struct hn_population *population = &strategy->population;
    strategy->generation = population->generation;
    strategy->temperature = first_temperature * hn_population_range(population);
    strategy->walk_count = 0;
    while (strategy->walk_count < strategy->most_walks &&
           strategy->walk_count < population->count) {
        go_to(strategy, strategy->walk_count, population->members[strategy->walk_count]);
        strategy->walk_count++;
    }
}

/* To a new neighbour, or where parameters have to change together to a point nearby. */
static void step(struct hn_trail *trail, uint16_t *choice)
{
    bool near = hn_random_below(&trail->random, 2) == 0;
    if (hn_random_unit(&trail->random) < pairs && hn_move_change(trail, choice, near, choice))
        return;
    for (int i = 0; i < DETOUR; i++) {
        if (hn_move_step(trail, choice, near ? HN_ADJACENT : HN_HAMMING, choice) ||
            hn_move_step(trail, choice, near ? HN_HAMMING : HN_ADJACENT, choice) ||
            hn_move_change(trail, choice, false, choice))
            return;
        size_t count = hn_space_neighbours(trail->space, choice, HN_HAMMING, trail->neighbours);
        if (count > 0)
            memcpy(choice,
                   trail->neighbours + hn_random_below(&trail->random, count) * trail->width,
                   trail->width * sizeof *choice);
    }
}

static bool breed(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_population *population = &strategy->population;
    struct hn_trail *trail = &population->trail;
    if (strategy->generation != population->generation)
        begin(strategy);
    assert(strategy->walk_count > 0);
    size_t walk = ticket % strategy->walk_count;
    const uint16_t *at = hn_trail_point(trail, strategy->walks[walk].at);
    memcpy(choice, at, trail->width * sizeof *choice);
    step(trail, choice);
    return hn_population_bear(population, ticket, at, choice, (uint32_t)walk);
}

/* A founder that was told of late moves the walk that is worst off. */
static void join(struct hn_strategy *strategy, uint32_t founder)
{
    const double *costs = strategy->population.trail.costs;
    size_t worst = 0;
    for (size_t i = 1; i < strategy->walk_count; i++) {
        if (costs[strategy->walks[i].at] > costs[strategy->walks[worst].at])
            worst = i;
    }
    if (strategy->walk_count > 0 && costs[founder] < costs[strategy->walks[worst].at])
        go_to(strategy, worst, founder);
}

static void settle(struct hn_strategy *strategy, uint64_t ticket, uint32_t child)
{
    struct hn_population *population = &strategy->population;
    struct hn_trail *trail = &population->trail;
    size_t walk = trail->tickets[ticket].tag;
    double worse = trail->costs[child] - trail->costs[strategy->walks[walk].at];
    /* With look-ahead, only neighbours of where the walk is by now may be worse. */
    bool stale = ticket < strategy->walks[walk].since;
    if (hn_move_accepts(trail, worse, stale ? 0 : strategy->temperature))
        go_to(strategy, walk, child);
    strategy->temperature *= 1 - cooling / (double)strategy->walk_count;
    hn_population_admit(population, child);
}

static const struct hn_population_way way = {.breed = breed, .settle = settle, .join = join};

static enum hn_status create(const struct hn_search *search, struct hn_strategy **strategy,
                             struct hn_error *err)
{
    enum hn_status status =
        hn_population_create(search, sizeof **strategy, STARTS, &way, strategy, err);
    size_t walks = 1 + search->look_ahead / LOOK_AHEAD_A_WALK;
    if (status == HN_OK)
        (*strategy)->most_walks = walks < MOST_WALKS ? walks : MOST_WALKS;
    return status;
}

const struct hn_strategy_kind hn_strategy_annealing = {
    .name = "simulated_annealing",
    .summary = "a walk over neighbours that accepts worse ones while it is hot",
    .needs_feedback = true,
    .uses_priors = true,
    .create = create,
    .destroy = hn_population_destroy,
    .propose = hn_population_propose,
    .finished = hn_population_finished,
};
