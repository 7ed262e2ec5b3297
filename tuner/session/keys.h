/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_KEYS_H
#define HONE_TUNER_SESSION_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A set of byte strings of one size, numbered in the order added: a hash table with open addressing, a few bytes a key
 * beside the key. */
struct hn_keys {
    unsigned char *bytes; /* stride of each, one behind the other */
    size_t stride;
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* number + 1; 0: free */
    uint32_t slot_count; /* a power of two, or 0 */
};

#define HN_NO_KEY UINT32_MAX

void hn_keys_init(struct hn_keys *keys, size_t stride);
void hn_keys_finish(struct hn_keys *keys);
/* The number of a key; HN_NO_KEY when it is not there. */
uint32_t hn_keys_find(const struct hn_keys *keys, const void *key);
/* The same, adding it where it is not there. Copies. */
enum hn_status hn_keys_add(struct hn_keys *keys, const void *key, uint32_t *number, struct hn_error *err);
const unsigned char *hn_keys_at(const struct hn_keys *keys, uint32_t number);

#endif
