/* SPDX-License-Identifier: MIT */
#include "tuner/session/ticket.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

int hn_points_compare(const struct hn_keys *points, uint32_t a, uint32_t b)
{
    const uint16_t *x = hn_keys_at(points, a), *y = hn_keys_at(points, b);
    size_t count = points->stride / sizeof *x, i = 0;
    while (i < count && x[i] == y[i])
        i++;
    return i < count ? x[i] - y[i] : 0;
}

enum { CODE_BYTES = 32 };

void hn_tickets_init(struct hn_tickets *tickets)
{
    *tickets = (struct hn_tickets){0};
    hn_keys_init(&tickets->codes, CODE_BYTES);
}

void hn_tickets_finish(struct hn_tickets *tickets)
{
    for (size_t i = 0; i < tickets->count; i++)
        hn_tickets_land(tickets, i);
    free(tickets->items);
    free(tickets->of_point);
    hn_keys_finish(&tickets->codes);
    free(tickets->of_code);
    hn_tickets_init(tickets);
}

/* Makes room for entry `wanted`; new entries are 0. */
static void reserve(uint32_t **entries, uint32_t *capacity, uint32_t wanted)
{
    uint32_t grown = *capacity > 0 ? *capacity : 64;
    if (wanted < *capacity)
        return;
    while (grown <= wanted)
        grown *= 2;
    *entries = hn_need_more(*entries, grown, sizeof **entries);
    memset(*entries + *capacity, 0, (grown - *capacity) * sizeof **entries);
    *capacity = grown;
}

size_t hn_tickets_add(struct hn_tickets *tickets, uint32_t point)
{
    reserve(&tickets->of_point, &tickets->point_capacity, point);
    tickets->items =
        hn_need_room(tickets->items, &tickets->capacity, tickets->count, sizeof *tickets->items);
    size_t number = tickets->count++;
    tickets->items[number] = (struct hn_ticket){.point = point, .result = {.against = HN_NO_KEY}};
    if (tickets->of_point[point] == 0)
        tickets->of_point[point] = (uint32_t)tickets->count;
    return number;
}

struct hn_flight *hn_tickets_fly(struct hn_tickets *tickets, size_t number)
{
    struct hn_ticket *ticket = &tickets->items[number];
    if (ticket->flight != NULL)
        return ticket->flight;
    ticket->flight = hn_need(1, sizeof *ticket->flight);
    ticket->flight->censor = SIZE_MAX;
    hn_image_init(&ticket->flight->image);
    return ticket->flight;
}

void hn_tickets_land(struct hn_tickets *tickets, size_t number)
{
    struct hn_flight *flight = tickets->items[number].flight;
    if (flight == NULL)
        return;
    hn_record_finish(&flight->record);
    hn_image_finish(&flight->image);
    free(flight);
    tickets->items[number].flight = NULL;
}

size_t hn_tickets_of_point(const struct hn_tickets *tickets, uint32_t point)
{
    uint32_t entry = point < tickets->point_capacity ? tickets->of_point[point] : 0;
    return entry > 0 ? entry - 1 : SIZE_MAX;
}

void hn_tickets_follow(struct hn_tickets *tickets, size_t number, size_t original)
{
    struct hn_flight *first = tickets->items[original].flight;
    struct hn_ticket *ticket = &tickets->items[number];
    ticket->state = HN_TICKET_DUPLICATE;
    ticket->flight->original = original;
    ticket->flight->next_follower = 0;
    if (first->follower == 0)
        first->follower = number + 1;
    else
        tickets->items[first->last_follower - 1].flight->next_follower = number + 1;
    first->last_follower = number + 1;
}

size_t hn_tickets_take_follower(struct hn_tickets *tickets, size_t original)
{
    struct hn_flight *first = tickets->items[original].flight;
    if (first == NULL || first->follower == 0)
        return SIZE_MAX;
    size_t number = first->follower - 1;
    first->follower = tickets->items[number].flight->next_follower;
    return number;
}

size_t hn_tickets_first_of_code(struct hn_tickets *tickets, const char *code, size_t number)
{
    uint32_t known = tickets->codes.count;
    /* A recording may have keys of another kind. */
    const struct hn_hash own = hn_hash_string(code);
    uint32_t entry = hn_keys_add(&tickets->codes, strlen(code) == CODE_BYTES ? code : own.hex);
    reserve(&tickets->of_code, &tickets->code_capacity, entry);
    if (entry == known)
        tickets->of_code[entry] = (uint32_t)number;
    return tickets->of_code[entry];
}
