/* SPDX-License-Identifier: MIT */
#include "tuner/session/ticket.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* --- points ----------------------------------------------------------------------------------- */

/* The bytes of a parameter in a packed point. */
static size_t width_of(const struct hn_space *space, size_t parameter)
{
    size_t values = hn_space_value_count(space, parameter);
    return values <= 1 ? 0 : values <= 256 ? 1 : 2;
}

void hn_points_init(struct hn_points *points, const struct hn_space *space)
{
    size_t stride = 0;
    for (size_t i = 0; i < hn_space_parameter_count(space); i++)
        stride += width_of(space, i);
    *points = (struct hn_points){.space = space, .packed = hn_need(stride, 1)};
    hn_keys_init(&points->keys, stride);
}

void hn_points_finish(struct hn_points *points)
{
    hn_keys_finish(&points->keys);
    free(points->packed);
    points->packed = NULL;
}

uint32_t hn_points_count(const struct hn_points *points)
{
    return points->keys.count;
}

/* The high byte comes first, so that memcmp orders points as declared. */
static const unsigned char *pack(const struct hn_points *points, const uint16_t *choice)
{
    unsigned char *to = points->packed;
    for (size_t i = 0; i < hn_space_parameter_count(points->space); i++) {
        size_t width = width_of(points->space, i);
        if (width == 2)
            *to++ = (unsigned char)(choice[i] >> 8);
        if (width > 0)
            *to++ = (unsigned char)(choice[i] & 0xff);
    }
    return points->packed;
}

uint32_t hn_points_find(const struct hn_points *points, const uint16_t *choice)
{
    return hn_keys_find(&points->keys, pack(points, choice));
}

uint32_t hn_points_add(struct hn_points *points, const uint16_t *choice)
{
    return hn_keys_add(&points->keys, pack(points, choice));
}

void hn_points_choice(const struct hn_points *points, uint32_t point, uint16_t *choice)
{
    const unsigned char *from = hn_keys_at(&points->keys, point);
    for (size_t i = 0; i < hn_space_parameter_count(points->space); i++) {
        choice[i] = 0;
        for (size_t left = width_of(points->space, i); left > 0; left--)
            choice[i] = (uint16_t)(choice[i] << 8 | *from++);
    }
}

int hn_points_compare(const struct hn_points *points, uint32_t a, uint32_t b)
{
    return memcmp(hn_keys_at(&points->keys, a), hn_keys_at(&points->keys, b), points->keys.stride);
}

/* --- tickets ---------------------------------------------------------------------------------- */

enum { CODE_BYTES = 16 };

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
    hn_record_init(&ticket->flight->record);
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

static int digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

/* 32 hexadecimal digits as 16 bytes; false for anything else. */
static bool read_hex(const char *text, unsigned char key[CODE_BYTES])
{
    if (strlen(text) != 2 * CODE_BYTES)
        return false;
    for (size_t i = 0; i < CODE_BYTES; i++) {
        int high = digit(text[2 * i]);
        int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

size_t hn_tickets_first_of_code(struct hn_tickets *tickets, const char *code, size_t number)
{
    unsigned char key[CODE_BYTES];
    uint32_t known = tickets->codes.count;
    /* A recording may have keys of another kind. */
    if (!read_hex(code, key))
        read_hex(hn_hash_string(code).hex, key);
    uint32_t entry = hn_keys_add(&tickets->codes, key);
    reserve(&tickets->of_code, &tickets->code_capacity, entry);
    if (entry == known)
        tickets->of_code[entry] = (uint32_t)number;
    return tickets->of_code[entry];
}
