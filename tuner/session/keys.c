/* SPDX-License-Identifier: MIT */
#include "tuner/session/keys.h"

#include <stdlib.h>
#include <string.h>

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

const unsigned char *hn_keys_at(const struct hn_keys *keys, uint32_t number)
{
    return keys->bytes + number * keys->stride;
}

/* FNV-1a (Fowler, Noll, Vo), then the finalizer of splitmix64 (Steele, Lea, Flood 2014), because
 * the table uses the lowest bits. */
static uint64_t hash(const unsigned char *key, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ key[i]) * 0x100000001b3u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* Where the key is, or the free slot where it would be. */
static uint32_t *slot_of(const struct hn_keys *keys, const unsigned char *key)
{
    uint32_t mask = keys->slot_count - 1;
    for (uint32_t i = (uint32_t)hash(key, keys->stride) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &keys->slots[i];
        if (*slot == 0 || memcmp(hn_keys_at(keys, *slot - 1), key, keys->stride) == 0)
            return slot;
    }
}

uint32_t hn_keys_find(const struct hn_keys *keys, const void *key)
{
    /* The number of a free slot is 0, and one less than that is HN_NO_KEY. */
    return keys->slot_count > 0 ? *slot_of(keys, key) - 1 : HN_NO_KEY;
}

static enum hn_status grow_slots(struct hn_keys *keys, struct hn_error *err)
{
    uint32_t slot_count = keys->slot_count > 0 ? keys->slot_count * 2 : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return hn_fail_memory(err);
    free(keys->slots);
    keys->slots = slots;
    keys->slot_count = slot_count;
    for (uint32_t i = 0; i < keys->count; i++)
        *slot_of(keys, hn_keys_at(keys, i)) = i + 1;
    return HN_OK;
}

static enum hn_status reserve(struct hn_keys *keys, struct hn_error *err)
{
    if (keys->count == keys->capacity) {
        uint32_t capacity = keys->capacity > 0 ? keys->capacity * 2 : 64;
        unsigned char *bytes = realloc(keys->bytes, capacity * keys->stride + 1);
        if (bytes == NULL)
            return hn_fail_memory(err);
        keys->bytes = bytes;
        keys->capacity = capacity;
    }
    /* At most three quarters full. */
    if ((uint64_t)keys->count * 4 < (uint64_t)keys->slot_count * 3)
        return HN_OK;
    return grow_slots(keys, err);
}

enum hn_status hn_keys_add(struct hn_keys *keys, const void *key, uint32_t *number,
                           struct hn_error *err)
{
    *number = hn_keys_find(keys, key);
    if (*number != HN_NO_KEY)
        return HN_OK;
    enum hn_status status = reserve(keys, err);
    if (status != HN_OK)
        return status;
    *number = keys->count++;
    memcpy(keys->bytes + *number * keys->stride, key, keys->stride);
    *slot_of(keys, key) = keys->count;
    return HN_OK;
}
