/* SPDX-License-Identifier: MIT */
#include "tuner/session/points.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

void hn_keys_init(struct hn_keys *keys, size_t stride)
{
    *keys = (struct hn_keys){.stride = stride};
}

void hn_keys_finish(struct hn_keys *keys)
{
    free(keys->bytes);
    free(keys->slots);
    hn_keys_init(keys, keys->stride);
}

static const unsigned char *key_at(const struct hn_keys *keys, uint32_t number)
{
    return keys->bytes + number * keys->stride;
}

/* Where the key is, or the free slot where it would be. */
static uint32_t *slot_of(const struct hn_keys *keys, const unsigned char *key)
{
    uint32_t mask = keys->slot_count - 1;
    for (uint32_t i = (uint32_t)hn_hash_number(key, keys->stride) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &keys->slots[i];
        if (*slot == 0 || memcmp(key_at(keys, *slot - 1), key, keys->stride) == 0)
            return slot;
    }
}

static uint32_t find(const struct hn_keys *keys, const void *key)
{
    /* The number of a free slot is 0, and one less than that is HN_NO_KEY. */
    return keys->slot_count > 0 ? *slot_of(keys, key) - 1 : HN_NO_KEY;
}

static void reserve(struct hn_keys *keys)
{
    if (keys->count == keys->capacity) {
        keys->capacity = keys->capacity > 0 ? keys->capacity * 2 : 64;
        keys->bytes = hn_need_more(keys->bytes, keys->capacity * keys->stride + 1, 1);
    }
    /* At most three quarters full. */
    if ((uint64_t)keys->count * 4 < (uint64_t)keys->slot_count * 3)
        return;
    free(keys->slots);
    keys->slot_count = keys->slot_count > 0 ? keys->slot_count * 2 : 64;
    keys->slots = hn_need(keys->slot_count, sizeof *keys->slots);
    for (uint32_t i = 0; i < keys->count; i++)
        *slot_of(keys, key_at(keys, i)) = i + 1;
}

uint32_t hn_keys_add(struct hn_keys *keys, const void *key)
{
    uint32_t number = find(keys, key);
    if (number != HN_NO_KEY)
        return number;
    reserve(keys);
    number = keys->count++;
    memcpy(keys->bytes + number * keys->stride, key, keys->stride);
    *slot_of(keys, key) = keys->count;
    return number;
}

/* Of a parameter in a packed point. */
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
    return find(&points->keys, pack(points, choice));
}

uint32_t hn_points_add(struct hn_points *points, const uint16_t *choice)
{
    return hn_keys_add(&points->keys, pack(points, choice));
}

void hn_points_choice(const struct hn_points *points, uint32_t point, uint16_t *choice)
{
    const unsigned char *from = key_at(&points->keys, point);
    for (size_t i = 0; i < hn_space_parameter_count(points->space); i++) {
        choice[i] = 0;
        for (size_t left = width_of(points->space, i); left > 0; left--)
            choice[i] = (uint16_t)(choice[i] << 8 | *from++);
    }
}

int hn_points_compare(const struct hn_points *points, uint32_t a, uint32_t b)
{
    return memcmp(key_at(&points->keys, a), key_at(&points->keys, b), points->keys.stride);
}
