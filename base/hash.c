/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/memory.h"

static struct hn_hash as_text(XXH128_hash_t value)
{
    struct hn_hash hash;
    snprintf(hash.hex, sizeof hash.hex, "%016llx%016llx", (unsigned long long)value.high64,
             (unsigned long long)value.low64);
    return hash;
}

struct hn_hash hn_hash_bytes(const void *bytes, size_t size)
{
    return as_text(XXH3_128bits(bytes, size));
}

uint64_t hn_hash_number(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

/* Not by a map of the file: a file that shrinks under one ends the process (SIGBUS). */
bool hn_hash_file(const char *path, struct hn_hash *hash, const char **reason)
{
    char chunk[1 << 16];
    ssize_t got = -1;
    struct stat about;
    uint64_t bytes = 0;
    int fd = hn_file_open(path, reason);
    XXH3_state_t *state = fd >= 0 ? XXH3_createState() : NULL;
    if (fd < 0)
        return false;
    bool ready = fstat(fd, &about) == 0 && state != NULL && XXH3_128bits_reset(state) == XXH_OK;
    for (; ready && (got = read(fd, chunk, sizeof chunk)) > 0; bytes += (uint64_t)got)
        XXH3_128bits_update(state, chunk, (size_t)got);
    if (got != 0)
        *reason = strerror(errno);
    else if (bytes != (uint64_t)about.st_size)
        *reason = bytes < (uint64_t)about.st_size ? "it became shorter while it was read"
                                                  : "it became longer while it was read";
    else
        *hash = as_text(XXH3_128bits_digest(state));
    XXH3_freeState(state);
    close(fd);
    return *reason == NULL;
}

bool hn_hash_is(const char *path, const char *hash, const char **reason)
{
    struct hn_hash found;
    if (!hn_hash_file(path, &found, reason))
        return false;
    *reason = "its contents differ";
    return strcmp(found.hex, hash) == 0;
}

struct hn_hash hn_hash_string(const char *string)
{
    return hn_hash_bytes(string, strlen(string));
}

struct hn_hash hn_hash_join(const struct hn_hash *a, const struct hn_hash *b)
{
    char both[64];
    memcpy(both, a->hex, 32);
    memcpy(both + 32, b->hex, 32);
    return hn_hash_bytes(both, sizeof both);
}

void hn_keys_finish(struct hn_keys *keys)
{
    free(keys->bytes);
    free(keys->slots);
    *keys = (struct hn_keys){.stride = keys->stride};
}

const void *hn_keys_at(const struct hn_keys *keys, uint32_t number)
{
    return keys->bytes + number * keys->stride;
}

/* Where the key is, or the free slot where it would be. */
static uint32_t *slot_of(const struct hn_keys *keys, const void *key)
{
    uint32_t mask = keys->slot_count - 1;
    for (uint32_t i = (uint32_t)hn_hash_number(key, keys->stride) & mask;; i = (i + 1) & mask) {
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

uint32_t hn_keys_add(struct hn_keys *keys, const void *key)
{
    uint32_t *slot = keys->slot_count > 0 ? slot_of(keys, key) : NULL;
    if (slot != NULL && *slot > 0)
        return *slot - 1;
    keys->bytes = hn_need_room(keys->bytes, keys->count, keys->stride);
    /* At most three quarters full. */
    if ((uint64_t)keys->count * 4 >= (uint64_t)keys->slot_count * 3) {
        free(keys->slots);
        keys->slot_count = keys->slot_count > 0 ? keys->slot_count * 2 : 64;
        keys->slots = hn_need(keys->slot_count, sizeof *keys->slots);
        for (uint32_t i = 0; i < keys->count; i++)
            *slot_of(keys, hn_keys_at(keys, i)) = i + 1;
        slot = slot_of(keys, key);
    }
    memcpy(keys->bytes + keys->count * keys->stride, key, keys->stride);
    *slot = ++keys->count;
    return keys->count - 1;
}

struct hn_random hn_random_seeded(uint64_t seed)
{
    return (struct hn_random){.state = seed};
}

enum hn_status hn_random_seed_secretly(struct hn_random *random, struct hn_error *err)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        return hn_fail(err, HN_ERUN, "the system gives no random numbers: getrandom: %s",
                       strerror(errno));
    *random = hn_random_seeded(seed);
    return HN_OK;
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

uint64_t hn_random_next(struct hn_random *random)
{
    return mix(random->state += 0x9e3779b97f4a7c15);
}

uint64_t hn_random_below(struct hn_random *random, uint64_t limit)
{
    uint64_t beyond = -limit % limit; /* 2^64 modulo limit */
    uint64_t number;
    do
        number = hn_random_next(random);
    while (number < beyond);
    return number % limit;
}

double hn_random_unit(struct hn_random *random)
{
    return (double)(hn_random_next(random) >> 11) * 0x1p-53;
}

void hn_permutation_init(struct hn_permutation *permutation, uint64_t size, uint64_t seed)
{
    permutation->size = size;
    /* tiny halves would reach too few of the possible orders */
    permutation->half_bits = 4;
    while (permutation->half_bits < 32 && size > (uint64_t)1 << (2 * permutation->half_bits))
        permutation->half_bits++;
    for (int i = 0; i < HN_PERMUTATION_ROUNDS; i++) {
        seed += 0x9e3779b97f4a7c15;
        permutation->keys[i] = mix(seed);
    }
}

uint64_t hn_permutation_at(const struct hn_permutation *permutation, uint64_t position)
{
    unsigned bits = permutation->half_bits;
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    do {
        uint64_t left = position >> bits, right = position & mask;
        for (int i = 0; i < HN_PERMUTATION_ROUNDS; i++) {
            uint64_t next = left ^ (mix(right + permutation->keys[i]) & mask);
            left = right;
            right = next;
        }
        position = left << bits | right;
    } while (position >= permutation->size);
    return position;
}
