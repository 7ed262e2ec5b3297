/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/trail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a over the choices, then the finalizer of splitmix64: the table takes the low bits. */
static uint64_t hash(const uint16_t *choice, size_t width)
{
    uint64_t x = 0xcbf29ce484222325;
    for (size_t i = 0; i < width; i++)
        x = (x ^ choice[i]) * 0x100000001b3;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* The slot that holds the point, or the empty one where it belongs. */
static size_t slot_of(const struct hn_trail *trail, const uint16_t *choice)
{
    size_t mask = trail->slot_count - 1;
    size_t slot = hash(choice, trail->width) & mask;
    while (trail->slots[slot] != 0 && memcmp(hn_trail_point(trail, trail->slots[slot] - 1), choice,
                                             trail->width * sizeof *choice) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

enum hn_status hn_trail_init(struct hn_trail *trail, const struct hn_search *search,
                             struct hn_error *err)
{
    size_t width = hn_space_parameter_count(search->space);
    size_t limit = hn_space_neighbour_limit(search->space, HN_HAMMING);
    *trail = (struct hn_trail){
        .space = search->space,
        .width = width,
        .random = hn_random_seeded(search->seed),
        .neighbours = malloc((limit + 1) * width * sizeof *trail->neighbours),
    };
    return trail->neighbours != NULL ? HN_OK : hn_fail_memory(err);
}

void hn_trail_finish(struct hn_trail *trail)
{
    free(trail->points);
    free(trail->costs);
    free(trail->open);
    free(trail->slots);
    free(trail->tickets);
    free(trail->neighbours);
    *trail = (struct hn_trail){0};
}

/* Twice the points, and a table that stays at most half full. */
static bool grow_points(struct hn_trail *trail)
{
    size_t capacity = trail->capacity > 0 ? 2 * trail->capacity : 64;
    uint16_t *points = realloc(trail->points, capacity * trail->width * sizeof *points);
    if (points == NULL)
        return false;
    trail->points = points;
    double *costs = realloc(trail->costs, capacity * sizeof *costs);
    if (costs == NULL)
        return false;
    trail->costs = costs;
    bool *open = realloc(trail->open, capacity * sizeof *open);
    if (open == NULL)
        return false;
    trail->open = open;
    uint32_t *slots = calloc(2 * capacity, sizeof *slots);
    if (slots == NULL)
        return false;
    free(trail->slots);
    trail->slots = slots;
    trail->slot_count = 2 * capacity;
    trail->capacity = capacity;
    for (size_t i = 0; i < trail->count; i++)
        slots[slot_of(trail, hn_trail_point(trail, (uint32_t)i))] = (uint32_t)i + 1;
    return true;
}

static bool grow_tickets(struct hn_trail *trail, uint64_t ticket)
{
    size_t capacity = trail->ticket_capacity > 0 ? 2 * trail->ticket_capacity : 64;
    if (capacity <= ticket)
        capacity = ticket + 1;
    struct hn_trail_ticket *tickets = realloc(trail->tickets, capacity * sizeof *tickets);
    if (tickets == NULL)
        return false;
    trail->tickets = tickets;
    trail->ticket_capacity = capacity;
    return true;
}

bool hn_trail_add(struct hn_trail *trail, uint64_t ticket, const uint16_t *choice, uint32_t tag)
{
    if (trail->count == trail->capacity && !grow_points(trail))
        return false;
    if (ticket >= trail->ticket_capacity && !grow_tickets(trail, ticket))
        return false;
    size_t slot = slot_of(trail, choice);
    if (trail->slots[slot] == 0) {
        memcpy(trail->points + trail->count * trail->width, choice, trail->width * sizeof *choice);
        trail->open[trail->count] = false;
        trail->costs[trail->count++] = NAN;
        trail->slots[slot] = (uint32_t)trail->count;
    }
    for (; trail->ticket_count < ticket; trail->ticket_count++)
        trail->tickets[trail->ticket_count].point = HN_TRAIL_NONE;
    trail->tickets[ticket] = (struct hn_trail_ticket){trail->slots[slot] - 1, tag};
    trail->ticket_count = ticket + 1;
    return true;
}

uint32_t hn_trail_tell(struct hn_trail *trail, uint64_t ticket,
                       const struct hn_observation *observation)
{
    if (ticket >= trail->ticket_count || trail->tickets[ticket].point == HN_TRAIL_NONE)
        return HN_TRAIL_NONE;
    uint32_t point = trail->tickets[ticket].point;
    trail->told++;
    trail->open[point] = observation->outcome == HN_OUTCOME_COMPILE_STOPPED;
    if (!trail->open[point])
        trail->costs[point] = isnan(observation->cost) ? INFINITY : observation->cost;
    return point;
}

uint32_t hn_trail_find(const struct hn_trail *trail, const uint16_t *choice)
{
    if (trail->slot_count == 0)
        return HN_TRAIL_NONE;
    uint32_t found = trail->slots[slot_of(trail, choice)];
    return found > 0 ? found - 1 : HN_TRAIL_NONE;
}

const uint16_t *hn_trail_point(const struct hn_trail *trail, uint32_t point)
{
    return trail->points + point * trail->width;
}

bool hn_trail_is_complete(const struct hn_trail *trail)
{
    return trail->count >= hn_space_size(trail->space);
}
