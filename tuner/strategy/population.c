/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/strategy/seeds.h"

enum {
    FOUNDERS = 16, /* at least, of which the best become members */
    SEEDS = 4,     /* of them at most from earlier searches */
    DRAWS = 64,    /* for each of the others */
    KEPT_OFF = 32, /* founders from which the next one keeps its distance */
    CHILDREN_A_PARAMETER = 5,
    LEAST_PATIENCE = 20,
};

static enum hn_status init_seeds(struct hn_population *population, const struct hn_search *search)
{
    size_t width = population->trail.width;
    population->spans = calloc(width + 1, sizeof *population->spans);
    population->seeds = calloc(SEEDS * width + 1, sizeof *population->seeds);
    if (population->spans == NULL || population->seeds == NULL)
        return HN_ENOMEM;
    for (size_t i = 0; i < width; i++) {
        size_t values = hn_space_value_count(search->space, i);
        population->free += values > 1;
        bool is_word = hn_space_value(search->space, i, 0)->type == HN_WORD;
        population->spans[i] = is_word ? INFINITY : 1.0 / (double)(values > 1 ? values - 1 : 1);
    }
    population->patience = CHILDREN_A_PARAMETER * population->free;
    if (population->patience < LEAST_PATIENCE)
        population->patience = LEAST_PATIENCE;
    population->seed_count = hn_seeds(search, SEEDS, population->seeds);
    return HN_OK;
}

static enum hn_status init(struct hn_population *population, const struct hn_search *search,
                           size_t size, const struct hn_population_way *way, struct hn_error *err)
{
    *population = (struct hn_population){
        .way = way,
        .members = calloc(size, sizeof *population->members),
        .founders = calloc(size, sizeof *population->founders),
        .size = size,
        .founding = true,
    };
    enum hn_status status = hn_trail_init(&population->trail, search, err);
    if (status != HN_OK)
        return status;
    if (population->members == NULL || population->founders == NULL ||
        init_seeds(population, search) != HN_OK)
        return hn_fail_memory(err);
    return HN_OK;
}

enum hn_status hn_population_create(const struct hn_search *search, size_t bytes, size_t size,
                                    const struct hn_population_way *way,
                                    struct hn_strategy **strategy, struct hn_error *err)
{
    struct hn_population *population = calloc(1, bytes);
    *strategy = (struct hn_strategy *)population;
    if (population == NULL)
        return hn_fail_memory(err);
    enum hn_status status = init(population, search, size, way, err);
    if (status != HN_OK)
        hn_population_destroy(*strategy);
    return status;
}

void hn_population_destroy(struct hn_strategy *strategy)
{
    struct hn_population *population = (struct hn_population *)strategy;
    if (population == NULL)
        return;
    free(population->members);
    free(population->founders);
    free(population->seeds);
    free(population->spans);
    hn_trail_finish(&population->trail);
    free(population);
}

static void adopt(struct hn_population *population, uint64_t ticket)
{
    uint32_t *members = population->members;
    population->members = population->founders;
    population->count = population->founder_count;
    population->founders = members;
    population->generation++;
    population->first = ticket;
    population->informed = ticket;
    population->failures = 0;
    population->founding = false;
}

/* Whether this ticket is to be a founder's. */
static bool is_founding(struct hn_population *population, uint64_t ticket)
{
    if (!population->founding)
        return false;
    if (population->founders_proposed < FOUNDERS)
        return true;
    /* The first population has nothing to breed from meanwhile and does not wait for the rest. */
    bool is_first = population->generation == 0;
    bool all_told = population->founders_told == population->founders_proposed;
    if (population->founder_count >= HN_POPULATION_LEAST && (all_told || is_first)) {
        adopt(population, ticket);
        return false;
    }
    return all_told || is_first;
}

/* Squared distance, with the values of each parameter spread over 0 to 1; any two words are 1
 * apart. */
static double distance(const struct hn_population *population, const uint16_t *a, const uint16_t *b)
{
    double sum = 0;
    for (size_t i = 0; i < population->trail.width; i++) {
        if (a[i] == b[i])
            continue;
        double apart = fmin(1, abs(a[i] - b[i]) * population->spans[i]);
        sum += apart * apart;
    }
    return sum;
}

/* The distance to the nearest of the last founders, or less than `enough` if it is not more. */
static double isolation(const struct hn_population *population, const uint16_t *choice,
                        double enough)
{
    const struct hn_trail *trail = &population->trail;
    size_t others = population->founders_proposed;
    if (others > KEPT_OFF)
        others = KEPT_OFF;
    if (others > trail->count)
        others = trail->count;
    double nearest = INFINITY;
    for (size_t i = 0; i < others && nearest > enough; i++) {
        uint32_t other = (uint32_t)(trail->count - 1 - i);
        nearest = fmin(nearest, distance(population, choice, hn_trail_point(trail, other)));
    }
    return nearest;
}

/* Of some random points the one that is farthest from the founders so far (a maximin design:
 * Johnson, Moore and Ylvisaker 1990). */
static void spread(struct hn_population *population, uint16_t *choice)
{
    uint16_t drawn[population->trail.width + 1];
    double farthest = -1;
    for (int i = 0; i < DRAWS && farthest < INFINITY; i++) {
        bool is_new = hn_move_sample(&population->trail, drawn);
        double alone = isolation(population, drawn, farthest);
        if (alone > farthest) {
            farthest = alone;
            memcpy(choice, drawn, population->trail.width * sizeof *choice);
        }
        if (!is_new)
            break;
    }
}

static bool found(struct hn_population *population, uint64_t ticket, uint16_t *choice)
{
    size_t width = population->trail.width;
    if (population->seed_count > 0)
        memcpy(choice, population->seeds + --population->seed_count * width,
               width * sizeof *choice);
    else
        spread(population, choice);
    population->founders_proposed++;
    return hn_trail_add(&population->trail, ticket, choice, HN_TRAIL_NONE);
}

bool hn_population_propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_population *population = (struct hn_population *)strategy;
    if (hn_trail_is_complete(&population->trail))
        return false;
    return is_founding(population, ticket) ? found(population, ticket, choice)
                                           : population->way->breed(strategy, ticket, choice);
}

bool hn_population_bear(struct hn_population *population, uint64_t ticket, const uint16_t *anchor,
                        uint16_t *choice, uint32_t tag)
{
    hn_move_repair(&population->trail, anchor, choice);
    hn_move_renew(&population->trail, choice);
    return hn_trail_add(&population->trail, ticket, choice, tag);
}

static size_t position_of(const uint32_t *points, size_t count, uint32_t point)
{
    size_t i = 0;
    while (i < count && points[i] != point)
        i++;
    return i;
}

/* Points are kept best first: the point takes position `old`, and moves from there to where its
 * cost belongs. */
static void place(const struct hn_trail *trail, uint32_t *points, size_t count, size_t old,
                  uint32_t point)
{
    double cost = trail->costs[point];
    size_t i = old;
    for (; i + 1 < count && trail->costs[points[i + 1]] <= cost; i++)
        points[i] = points[i + 1];
    for (; i > 0 && trail->costs[points[i - 1]] > cost; i--)
        points[i] = points[i - 1];
    points[i] = point;
}

/* Where there is room, or instead of the worst where it is better. */
static void take_in(const struct hn_population *population, uint32_t *points, size_t *count,
                    uint32_t point)
{
    const struct hn_trail *trail = &population->trail;
    if (isinf(trail->costs[point]) || position_of(points, *count, point) < *count)
        return;
    if (*count < population->size)
        ++*count;
    else if (trail->costs[point] >= trail->costs[points[*count - 1]])
        return;
    place(trail, points, *count, *count - 1, point);
}

/* Of each child: whether it was better than the best before it. */
static void judge(struct hn_population *population, uint64_t ticket, bool improved)
{
    if (improved) {
        population->informed = population->trail.ticket_count;
        population->failures = 0;
        return;
    }
    if (population->founding || ticket < population->informed ||
        ++population->failures < population->patience)
        return;
    population->founding = true;
    population->founders_proposed = 0;
    population->founders_told = 0;
    population->founder_count = 0;
}

/* The first population does not wait for all of its founders: the rest join it. */
static void welcome(struct hn_population *population, uint32_t point)
{
    double best = hn_population_cost(population, 0);
    hn_population_admit(population, point);
    if (hn_population_cost(population, 0) < best)
        judge(population, 0, true);
    if (population->way->join != NULL)
        population->way->join((struct hn_strategy *)population, point);
}

static void tell_founder(struct hn_population *population, uint32_t point)
{
    if (!population->founding) {
        welcome(population, point);
        return;
    }
    population->founders_told++;
    take_in(population, population->founders, &population->founder_count, point);
}

void hn_population_finished(struct hn_strategy *strategy, uint64_t ticket,
                            const struct hn_observation *observation)
{
    struct hn_population *population = (struct hn_population *)strategy;
    struct hn_trail *trail = &population->trail;
    uint32_t point = hn_trail_tell(trail, ticket, observation);
    if (point == HN_TRAIL_NONE)
        return;
    if (trail->tickets[ticket].tag == HN_TRAIL_NONE) {
        tell_founder(population, point);
        return;
    }
    /* A child of an earlier population tells nothing of this one. */
    if (ticket < population->first)
        return;
    bool improved = trail->costs[point] < hn_population_cost(population, 0);
    population->way->settle(strategy, ticket, point);
    judge(population, ticket, improved);
}

void hn_population_admit(struct hn_population *population, uint32_t point)
{
    take_in(population, population->members, &population->count, point);
}

void hn_population_replace(struct hn_population *population, size_t old, uint32_t point)
{
    if (hn_population_find(population, point) == population->count)
        place(&population->trail, population->members, population->count, old, point);
}

size_t hn_population_find(const struct hn_population *population, uint32_t point)
{
    return position_of(population->members, population->count, point);
}

double hn_population_cost(const struct hn_population *population, size_t position)
{
    return population->trail.costs[population->members[position]];
}

const uint16_t *hn_population_point(const struct hn_population *population, size_t position)
{
    return hn_trail_point(&population->trail, population->members[position]);
}

double hn_population_range(const struct hn_population *population)
{
    return hn_population_cost(population, population->count - 1) -
           hn_population_cost(population, 0);
}
