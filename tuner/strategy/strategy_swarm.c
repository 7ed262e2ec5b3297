/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/strategy/population.h"

extern const struct hn_strategy_kind hn_strategy_swarm;

/* Particle swarm optimisation (Kennedy and Eberhart, 1995; with inertia, Shi and Eberhart, 1998) on
 * the ranks of the values: particles fly on, drawn to the best point each has found and to the best
 * of all. */

enum { PARTICLES = 8 };
static const double inertia = 0.5;
static const double own_pull = 1.5;
static const double common_pull = 1.5;
static const double first_speed = 0.25; /* at most, as a share of a parameter's values */

struct particle {
    uint32_t best;
    uint16_t *at;     /* its last proposal */
    double *velocity; /* in steps between values, for each parameter */
};

struct hn_strategy {
    struct hn_population population;
    unsigned generation; /* that the particles are of */
    size_t count;
    struct particle particles[PARTICLES];
};

static void destroy(struct hn_strategy *strategy)
{
    if (strategy == NULL)
        return;
    for (size_t i = 0; i < PARTICLES; i++) {
        free(strategy->particles[i].at);
        free(strategy->particles[i].velocity);
    }
    hn_population_destroy(strategy);
}

static void start(struct hn_strategy *strategy, size_t number, uint32_t point)
{
    struct hn_trail *trail = &strategy->population.trail;
    struct particle *particle = &strategy->particles[number];
    particle->best = point;
    memcpy(particle->at, hn_trail_point(trail, point), trail->width * sizeof *particle->at);
    for (size_t i = 0; i < trail->width; i++) {
        double values = (double)hn_space_value_count(trail->space, i);
        particle->velocity[i] = first_speed * values * (2 * hn_random_unit(&trail->random) - 1);
    }
}

/* A particle for each member. */
static void muster(struct hn_strategy *strategy)
{
    const struct hn_population *population = &strategy->population;
    strategy->generation = population->generation;
    for (strategy->count = 0; strategy->count < population->count; strategy->count++)
        start(strategy, strategy->count, population->members[strategy->count]);
}

static void fly(struct hn_strategy *strategy, struct particle *particle, uint16_t *choice)
{
    struct hn_trail *trail = &strategy->population.trail;
    const uint16_t *own = hn_trail_point(trail, particle->best);
    const uint16_t *common = hn_population_point(&strategy->population, 0);
    for (size_t i = 0; i < trail->width; i++) {
        double to_own = own_pull * hn_random_unit(&trail->random);
        double to_common = common_pull * hn_random_unit(&trail->random);
        double most = (double)(hn_space_value_count(trail->space, i) - 1);
        double velocity = inertia * particle->velocity[i] + to_own * (own[i] - particle->at[i]) +
                          to_common * (common[i] - particle->at[i]);
        particle->velocity[i] = fmin(fmax(velocity, -most), most);
        choice[i] = hn_move_round(trail, i, particle->at[i] + particle->velocity[i]);
    }
}

static bool breed(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_population *population = &strategy->population;
    if (strategy->generation != population->generation)
        muster(strategy);
    assert(strategy->count > 0);
    size_t number = ticket % strategy->count;
    struct particle *particle = &strategy->particles[number];
    fly(strategy, particle, choice);
    const uint16_t *own = hn_trail_point(&population->trail, particle->best);
    bool proposed = hn_population_bear(population, ticket, own, choice, (uint32_t)number);
    memcpy(particle->at, choice, population->trail.width * sizeof *choice);
    return proposed;
}

/* A founder that was told of late gets a particle of its own, or that which is worst off. */
static void join(struct hn_strategy *strategy, uint32_t founder)
{
    const double *costs = strategy->population.trail.costs;
    if (strategy->count < PARTICLES && isfinite(costs[founder])) {
        start(strategy, strategy->count++, founder);
        return;
    }
    size_t worst = 0;
    for (size_t i = 1; i < strategy->count; i++) {
        if (costs[strategy->particles[i].best] > costs[strategy->particles[worst].best])
            worst = i;
    }
    if (costs[founder] < costs[strategy->particles[worst].best])
        start(strategy, worst, founder);
}

static void settle(struct hn_strategy *strategy, uint64_t ticket, uint32_t child)
{
    struct hn_population *population = &strategy->population;
    const double *costs = population->trail.costs;
    struct particle *particle = &strategy->particles[population->trail.tickets[ticket].tag];
    if (costs[child] < costs[particle->best])
        particle->best = child;
    hn_population_admit(population, child);
}

static const struct hn_population_way way = {.breed = breed, .settle = settle, .join = join};

static enum hn_status create(const struct hn_search *search, struct hn_strategy **strategy,
                             struct hn_error *err)
{
    size_t width = hn_space_parameter_count(search->space);
    enum hn_status status =
        hn_population_create(search, sizeof **strategy, PARTICLES, &way, strategy, err);
    for (size_t i = 0; i < PARTICLES && status == HN_OK; i++) {
        struct particle *particle = &(*strategy)->particles[i];
        particle->at = calloc(width, sizeof *particle->at);
        particle->velocity = calloc(width, sizeof *particle->velocity);
        if (particle->at == NULL || particle->velocity == NULL) {
            destroy(*strategy);
            status = hn_fail_memory(err);
        }
    }
    return status;
}

const struct hn_strategy_kind hn_strategy_swarm = {
    .name = "particle_swarm",
    .summary = "particles drawn to the best point of each and to the best of all",
    .needs_feedback = true,
    .uses_priors = true,
    .create = create,
    .destroy = destroy,
    .propose = hn_population_propose,
    .finished = hn_population_finished,
};
