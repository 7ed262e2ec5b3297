/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/trail.h"

extern const struct hn_strategy_kind hn_strategy_genetic;

/* A genetic algorithm (Holland, "Adaptation in Natural and Artificial Systems", 1975),
 * steady-state: a child of two good members takes each parameter from either, now and then another
 * value, and replaces the worst member when it is better. A population is founded from the best of
 * some points that are spread over the space, bred until it no longer improves, and followed by
 * another. With look-ahead it takes a while to hear of founders: until then breeding goes on with
 * what is there. */

enum {
    MEMBERS = 8,
    LEAST_PARENTS = 4,
    FOUNDERS = 16, /* at least, of which the best become members */
    SEEDS = 4,     /* of them at most from earlier searches */
    DRAWS = 64,    /* for each of the others */
    KEPT_OFF = 32, /* founders from which the next one keeps its distance */
    CHILDREN_A_PARAMETER = 5,
    LEAST_PATIENCE = 20,
};
static const double pressure = 4;    /* the better members are parents more often; 1: all alike */
static const double mutations = 0.3; /* expected in a child */
static const double small_change = 0.5; /* share of mutations that go to an adjacent value */

enum { CHILD, FOUNDER }; /* tags of tickets */

struct hn_strategy {
    struct hn_trail trail;
    uint32_t members[MEMBERS]; /* points that did not fail, best first; none before generation 1 */
    size_t count;
    unsigned generation; /* counts the populations */
    uint64_t first;      /* the population's first child has at least this ticket */
    uint64_t informed;   /* the first ticket that knew of the last improvement */
    size_t failures;     /* tickets from then on that did not improve */
    size_t patience;     /* as many of them end the population: about as the best has neighbours */
    bool founding;
    uint32_t founders[MEMBERS]; /* the best of the next population, best first */
    size_t founder_count, founders_proposed, founders_told;
    uint16_t *seeds; /* points that are founders first */
    size_t seed_count;
    size_t free;   /* parameters with more than one value */
    double *spans; /* how far apart a parameter's values are, from one to the next */
};

static struct hn_strategy *create(const struct hn_search *search, struct hn_error *err)
{
    (void)err;
    struct hn_strategy *strategy = hn_need(1, sizeof *strategy);
    size_t width = hn_space_parameter_count(search->space);
    strategy->founding = true;
    hn_trail_init(&strategy->trail, search);
    strategy->spans = hn_need(width, sizeof *strategy->spans);
    strategy->seeds = hn_need(SEEDS * width, sizeof *strategy->seeds);
    for (size_t i = 0; i < width; i++) {
        size_t values = hn_space_parameter(search->space, i)->count;
        strategy->free += values > 1;
        bool is_word = hn_space_parameter(search->space, i)->values[0].type == HN_WORD;
        strategy->spans[i] = is_word ? INFINITY : 1.0 / (double)(values > 1 ? values - 1 : 1);
    }
    strategy->patience = CHILDREN_A_PARAMETER * strategy->free;
    if (strategy->patience < LEAST_PATIENCE)
        strategy->patience = LEAST_PATIENCE;
    strategy->seed_count = hn_seeds(search, SEEDS, strategy->seeds);
    return strategy;
}

static void destroy(struct hn_strategy *strategy)
{
    if (strategy == NULL)
        return;
    free(strategy->seeds);
    free(strategy->spans);
    hn_trail_finish(&strategy->trail);
    free(strategy);
}

/* Whether this ticket is to be a founder's. The first population has nothing to breed from
 * meanwhile and does not wait for the rest of them. */
static bool is_founding(struct hn_strategy *strategy, uint64_t ticket)
{
    bool is_ready =
        strategy->generation == 0 || strategy->founders_told == strategy->founders_proposed;
    if (!strategy->founding || strategy->founders_proposed < FOUNDERS)
        return strategy->founding;
    if (strategy->founder_count < LEAST_PARENTS || !is_ready)
        return is_ready;
    memcpy(strategy->members, strategy->founders, sizeof strategy->members);
    strategy->count = strategy->founder_count;
    strategy->generation++;
    strategy->first = ticket;
    strategy->informed = ticket;
    strategy->failures = 0;
    strategy->founding = false;
    return false;
}

/* Squared distance; each parameter's values are spread over 0 to 1, two words are 1 apart. */
static double distance(const struct hn_strategy *strategy, const uint16_t *a, const uint16_t *b)
{
    double sum = 0;
    for (size_t i = 0; i < strategy->trail.width; i++) {
        if (a[i] == b[i])
            continue;
        double apart = fmin(1, abs(a[i] - b[i]) * strategy->spans[i]);
        sum += apart * apart;
    }
    return sum;
}

/* The distance to the nearest of the last founders, or less than `enough` if it is not more. */
static double isolation(const struct hn_strategy *strategy, const uint16_t *choice, double enough)
{
    const struct hn_trail *trail = &strategy->trail;
    size_t others = strategy->founders_proposed;
    if (others > KEPT_OFF)
        others = KEPT_OFF;
    if (others > trail->count)
        others = trail->count;
    double nearest = INFINITY;
    for (size_t i = 0; i < others && nearest > enough; i++) {
        uint32_t other = (uint32_t)(trail->count - 1 - i);
        nearest = fmin(nearest, distance(strategy, choice, hn_keys_at(&trail->points, other)));
    }
    return nearest;
}

/* Takes of some random points the one that is farthest from the founders so far (a maximin design:
 * Johnson, Moore and Ylvisaker 1990). */
static void spread(struct hn_strategy *strategy, uint16_t *choice)
{
    uint16_t drawn[strategy->trail.width + 1];
    double farthest = -1;
    for (int i = 0; i < DRAWS && farthest < INFINITY; i++) {
        bool is_new = hn_move_sample(&strategy->trail, drawn);
        double alone = isolation(strategy, drawn, farthest);
        if (alone > farthest) {
            farthest = alone;
            memcpy(choice, drawn, strategy->trail.width * sizeof *choice);
        }
        if (!is_new)
            break;
    }
}

static size_t choose_parent(struct hn_strategy *strategy)
{
    double unit = hn_random_unit(&strategy->trail.random);
    return (size_t)((double)strategy->count * (1 - pow(1 - unit, 1 / pressure)));
}

static void breed(struct hn_strategy *strategy, uint16_t *child)
{
    struct hn_trail *trail = &strategy->trail;
    size_t first = choose_parent(strategy), second = choose_parent(strategy);
    while (second == first)
        second = choose_parent(strategy);
    const uint16_t *a = hn_keys_at(&trail->points, strategy->members[first]);
    const uint16_t *b = hn_keys_at(&trail->points, strategy->members[second]);
    for (size_t i = 0; i < trail->width; i++) {
        child[i] = hn_random_below(&trail->random, 2) == 0 ? a[i] : b[i];
        size_t values = hn_space_parameter(trail->space, i)->count;
        if (values > 1 && hn_random_unit(&trail->random) * (double)strategy->free < mutations)
            child[i] =
                hn_move_value(trail, i, child[i], hn_random_unit(&trail->random) < small_change);
    }
    hn_move_repair(trail, a, child);
    hn_move_renew(trail, child);
}

static bool propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_trail *trail = &strategy->trail;
    if (hn_trail_is_complete(trail))
        return false;
    if (!is_founding(strategy, ticket)) {
        breed(strategy, choice);
        hn_trail_add(trail, ticket, choice, CHILD);
        return true;
    }
    if (strategy->seed_count > 0)
        memcpy(choice, strategy->seeds + --strategy->seed_count * trail->width,
               trail->width * sizeof *choice);
    else
        spread(strategy, choice);
    strategy->founders_proposed++;
    hn_trail_add(trail, ticket, choice, FOUNDER);
    return true;
}

/* Where there is room, or instead of the worst where it is better. Points are kept best first. */
static void take_in(const struct hn_strategy *strategy, uint32_t *points, size_t *count,
                    uint32_t point)
{
    const double *costs = strategy->trail.costs;
    bool known = isinf(costs[point]);
    for (size_t i = 0; i < *count && !known; i++)
        known = points[i] == point;
    if (known)
        return;
    if (*count < MEMBERS)
        ++*count;
    else if (costs[point] >= costs[points[*count - 1]])
        return;
    size_t i = *count - 1;
    for (; i > 0 && costs[points[i - 1]] > costs[point]; i--)
        points[i] = points[i - 1];
    points[i] = point;
}

/* Judges each child by whether it was better than the best before it. */
static void judge(struct hn_strategy *strategy, uint64_t ticket, bool improved)
{
    if (improved) {
        strategy->informed = strategy->trail.ticket_count;
        strategy->failures = 0;
        return;
    }
    if (strategy->founding || ticket < strategy->informed ||
        ++strategy->failures < strategy->patience)
        return;
    strategy->founding = true;
    strategy->founders_proposed = 0;
    strategy->founders_told = 0;
    strategy->founder_count = 0;
}

static void finished(struct hn_strategy *strategy, uint64_t ticket,
                     const struct hn_observation *observation)
{
    struct hn_trail *trail = &strategy->trail;
    uint32_t point = hn_trail_tell(trail, ticket, observation);
    if (point == HN_TRAIL_NONE)
        return;
    bool is_founder = trail->tickets[ticket].tag == FOUNDER;
    if (is_founder && strategy->founding) {
        strategy->founders_told++;
        take_in(strategy, strategy->founders, &strategy->founder_count, point);
        return;
    }
    /* A child of an earlier population tells nothing of this one. */
    if (!is_founder && ticket < strategy->first)
        return;
    double best = trail->costs[strategy->members[0]];
    take_in(strategy, strategy->members, &strategy->count, point);
    /* The first population does not wait for all of its founders: the rest join it. */
    if (!is_founder)
        judge(strategy, ticket, trail->costs[point] < best);
    else if (trail->costs[strategy->members[0]] < best)
        judge(strategy, 0, true);
}

const struct hn_strategy_kind hn_strategy_genetic = {
    .name = "genetic",
    .summary = "children of the better points mix their values, the worst die out",
    .needs_feedback = true,
    .uses_priors = true,
    .create = create,
    .destroy = destroy,
    .propose = propose,
    .finished = finished,
};
