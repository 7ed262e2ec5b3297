/* SPDX-License-Identifier: MIT */
#include "tuner/session/ticket.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct code {
    char key[33];
    uint64_t ticket;
};

static int compare_codes(const void *a, const void *b)
{
    return strcmp(((const struct code *)a)->key, ((const struct code *)b)->key);
}

enum hn_status hn_tickets_init(struct hn_tickets *tickets, uint64_t points, struct hn_error *err)
{
    *tickets = (struct hn_tickets){0};
    tickets->of_point = calloc(points + 1, sizeof *tickets->of_point);
    return tickets->of_point != NULL ? HN_OK : hn_fail_memory(err);
}

void hn_tickets_finish(struct hn_tickets *tickets)
{
    for (size_t i = 0; i < tickets->count; i++) {
        hn_record_finish(&tickets->items[i].record);
        hn_image_finish(&tickets->items[i].image);
    }
    free(tickets->items);
    free(tickets->of_point);
    tdestroy(tickets->by_code, free);
    *tickets = (struct hn_tickets){0};
}

enum hn_status hn_tickets_add(struct hn_tickets *tickets, uint64_t point, struct hn_ticket **ticket,
                              struct hn_error *err)
{
    if (tickets->count == tickets->capacity) {
        size_t capacity = tickets->capacity > 0 ? tickets->capacity * 2 : 64;
        struct hn_ticket *items = realloc(tickets->items, capacity * sizeof *items);
        if (items == NULL)
            return hn_fail_memory(err);
        tickets->items = items;
        tickets->capacity = capacity;
    }
    struct hn_ticket *added = &tickets->items[tickets->count++];
    *added = (struct hn_ticket){.point = point, .censor = SIZE_MAX};
    hn_record_init(&added->record);
    hn_image_init(&added->image);
    if (tickets->of_point[point] == 0)
        tickets->of_point[point] = (uint32_t)tickets->count;
    *ticket = added;
    return HN_OK;
}

struct hn_ticket *hn_tickets_of_point(struct hn_tickets *tickets, uint64_t point)
{
    uint32_t number = tickets->of_point[point];
    return number > 0 ? &tickets->items[number - 1] : NULL;
}

void hn_tickets_follow(struct hn_tickets *tickets, size_t number, size_t original)
{
    struct hn_ticket *first = &tickets->items[original];
    struct hn_ticket *ticket = &tickets->items[number];
    ticket->state = HN_TICKET_DUPLICATE;
    ticket->original = original;
    ticket->next_follower = 0;
    if (first->follower == 0)
        first->follower = number + 1;
    else
        tickets->items[first->last_follower - 1].next_follower = number + 1;
    first->last_follower = number + 1;
}

size_t hn_tickets_take_follower(struct hn_tickets *tickets, size_t original)
{
    struct hn_ticket *first = &tickets->items[original];
    if (first->follower == 0)
        return SIZE_MAX;
    size_t number = first->follower - 1;
    first->follower = tickets->items[number].next_follower;
    return number;
}

enum hn_status hn_tickets_first_of_code(struct hn_tickets *tickets, const char *key,
                                        uint64_t number, uint64_t *first, struct hn_error *err)
{
    struct code *code = malloc(sizeof *code);
    if (code == NULL)
        return hn_fail_memory(err);
    snprintf(code->key, sizeof code->key, "%s", key);
    code->ticket = number;
    struct code **found = tsearch(code, &tickets->by_code, compare_codes);
    if (found == NULL) {
        free(code);
        return hn_fail_memory(err);
    }
    *first = (*found)->ticket;
    if (*found != code)
        free(code);
    return HN_OK;
}
