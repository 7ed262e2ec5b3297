/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "tuner/strategy/trail.h"

void hn_trail_init(struct hn_trail *trail, const struct hn_search *search)
{
    size_t width = hn_space_parameter_count(search->space);
    size_t limit = hn_space_neighbour_limit(search->space);
    *trail = (struct hn_trail){
        .space = search->space,
        .width = width,
        .points.stride = width * sizeof(uint16_t),
        .random = hn_random_seeded(search->seed),
        .neighbours = hn_need((limit + 1) * width, sizeof *trail->neighbours),
    };
}

void hn_trail_finish(struct hn_trail *trail)
{
    hn_keys_finish(&trail->points);
    free(trail->costs);
    free(trail->open);
    free(trail->tickets);
    free(trail->neighbours);
    *trail = (struct hn_trail){0};
}

void hn_trail_add(struct hn_trail *trail, uint64_t ticket, const uint16_t *choice, uint32_t tag)
{
    uint32_t point = hn_keys_add(&trail->points, choice);
    if (point == trail->count) {
        trail->open = hn_need_room(trail->open, point, sizeof *trail->open);
        *HN_NEXT(trail->costs, trail->count) = NAN;
    }
    while (trail->ticket_count <= ticket)
        HN_NEXT(trail->tickets, trail->ticket_count)->point = HN_TRAIL_NONE;
    trail->tickets[ticket] = (struct hn_trail_ticket){point, tag};
}

uint32_t hn_trail_tell(struct hn_trail *trail, uint64_t ticket,
                       const struct hn_observation *observation)
{
    if (ticket >= trail->ticket_count || trail->tickets[ticket].point == HN_TRAIL_NONE)
        return HN_TRAIL_NONE;
    uint32_t point = trail->tickets[ticket].point;
    trail->open[point] = observation->outcome == HN_OUTCOME_COMPILE_STOPPED;
    if (!trail->open[point])
        trail->costs[point] = isnan(observation->cost) ? INFINITY : observation->cost;
    return point;
}

bool hn_trail_is_complete(const struct hn_trail *trail)
{
    return trail->count >= hn_space_size(trail->space);
}

enum {
    DRAWS = 256,
    CHANGES = 16,
    FAR = UINT16_MAX + 1, /* farther than two values can be */
};

static bool is_new(const struct hn_trail *trail, const uint16_t *choice)
{
    return hn_keys_find(&trail->points, choice) == HN_NO_KEY;
}

bool hn_move_sample(struct hn_trail *trail, uint16_t *choice)
{
    for (int i = 0; i < DRAWS; i++) {
        hn_space_sample(trail->space, &trail->random, choice);
        if (is_new(trail, choice))
            return true;
    }
    return false;
}

/* The nearest valid neighbour of an invalid point, any of several as near, a new one if there is
 * any: that does not just undo what made the point. False when there is none. */
static bool repair_one(struct hn_trail *trail, uint16_t *choice)
{
    size_t width = trail->width;
    size_t count = hn_space_neighbours(trail->space, choice, HN_HAMMING, trail->neighbours);
    const uint16_t *nearest = NULL;
    int nearest_distance = 0;
    uint64_t ties = 0;
    for (size_t i = 0; i < count; i++) {
        const uint16_t *neighbour = trail->neighbours + i * width;
        size_t p = 0; /* the one parameter in which they differ */
        while (p + 1 < width && neighbour[p] == choice[p])
            p++;
        int steps = abs(neighbour[p] - choice[p]);
        if (!is_new(trail, neighbour))
            steps += FAR;
        if (nearest == NULL || steps < nearest_distance)
            ties = 0;
        else if (steps > nearest_distance)
            continue;
        if (hn_random_below(&trail->random, ++ties) == 0)
            nearest = neighbour;
        nearest_distance = steps;
    }
    if (nearest != NULL)
        memcpy(choice, nearest, width * sizeof *choice);
    return nearest != NULL;
}

void hn_move_repair(struct hn_trail *trail, const uint16_t *anchor, uint16_t *choice)
{
    if (hn_space_contains(trail->space, choice) || repair_one(trail, choice))
        return;
    size_t width = trail->width;
    size_t different[width], count = 0;
    for (size_t i = 0; i < width; i++)
        if (choice[i] != anchor[i])
            different[count++] = i;
    while (count > 0 && !hn_space_contains(trail->space, choice)) {
        size_t pick = (size_t)hn_random_below(&trail->random, count);
        choice[different[pick]] = anchor[different[pick]];
        different[pick] = different[--count];
    }
}

uint16_t hn_move_value(struct hn_trail *trail, size_t i, uint16_t value, bool near)
{
    size_t values = hn_space_parameter(trail->space, i)->count;
    if (near) {
        bool up = value == 0 || (value + 1u < values && hn_random_below(&trail->random, 2) == 0);
        return (uint16_t)(up ? value + 1 : value - 1);
    }
    uint64_t other = hn_random_below(&trail->random, values - 1);
    return (uint16_t)(other < value ? other : other + 1);
}

/* From the valid point `from` to a new one by a change of one parameter and, where that is not
 * valid, of another one: for parameters that depend on each other (A * B == 64). Tries a few times
 * only. */
static bool move_change(struct hn_trail *trail, const uint16_t *from, uint16_t *choice)
{
    size_t width = trail->width;
    uint16_t changed[width + 1];
    for (int tries = 0; tries < CHANGES; tries++) {
        size_t i = (size_t)hn_random_below(&trail->random, width);
        if (hn_space_parameter(trail->space, i)->count < 2)
            continue;
        memcpy(changed, from, width * sizeof *changed);
        changed[i] = hn_move_value(trail, i, from[i], false);
        if (!hn_space_contains(trail->space, changed) && !repair_one(trail, changed))
            continue;
        if (is_new(trail, changed)) {
            memcpy(choice, changed, width * sizeof *choice);
            return true;
        }
    }
    return false;
}

bool hn_move_step(struct hn_trail *trail, const uint16_t *from, enum hn_neighbourhood kind,
                  uint16_t *choice)
{
    size_t width = trail->width;
    size_t count = hn_space_neighbours(trail->space, from, kind, trail->neighbours);
    while (count > 0) {
        size_t pick = (size_t)hn_random_below(&trail->random, count);
        uint16_t *neighbour = trail->neighbours + pick * width;
        if (is_new(trail, neighbour)) {
            memcpy(choice, neighbour, width * sizeof *choice);
            return true;
        }
        memcpy(neighbour, trail->neighbours + --count * width, width * sizeof *choice);
    }
    return false;
}

bool hn_move_renew(struct hn_trail *trail, uint16_t *choice)
{
    return is_new(trail, choice) || hn_move_step(trail, choice, HN_ADJACENT, choice) ||
           hn_move_step(trail, choice, HN_HAMMING, choice) || move_change(trail, choice, choice) ||
           hn_move_sample(trail, choice);
}

size_t hn_seeds(const struct hn_search *search, size_t limit, uint16_t *choices)
{
    struct hn_ranked *ranked HN_FREED = hn_need(search->prior_count, sizeof *ranked);
    size_t width = hn_space_parameter_count(search->space);
    size_t count = 0;
    unsigned source = 0; /* of the first that was measured, which is the most relevant */
    for (size_t i = 0; i < search->prior_count; i++) {
        const struct hn_prior *prior = &search->priors[i];
        if (isnan(prior->observation.cost) || prior->observation.outcome == HN_OUTCOME_SLOWER ||
            (count > 0 && prior->source != source))
            continue;
        source = prior->source;
        ranked[count++] = (struct hn_ranked){prior->observation.cost, i};
    }
    qsort(ranked, count, sizeof *ranked, hn_ranked_compare);
    count = count < limit ? count : limit;
    for (size_t i = 0; i < count; i++) /* worst first */
        memcpy(choices + i * width, search->priors[ranked[count - 1 - i].place].choice,
               width * sizeof *choices);
    return count;
}
