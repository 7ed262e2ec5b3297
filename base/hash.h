/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_HASH_H
#define HONE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A content hash (XXH3, 128 bits) as 32 hexadecimal digits. */
struct hn_hash {
    char hex[33];
};

struct hn_hash hn_hash_bytes(const void *bytes, size_t size);
/* One of 64 bits, for tables in memory. */
uint64_t hn_hash_number(const void *bytes, size_t size);
/* Of all that a file holds. False, and *reason: it cannot be read. */
bool hn_hash_file(const char *path, struct hn_hash *hash, const char **reason);
/* Whether it can be read and that is its hash; where not, *reason. */
bool hn_hash_is(const char *path, const char *hash, const char **reason);
struct hn_hash hn_hash_string(const char *string);
/* The hash of two hashes, in order. */
struct hn_hash hn_hash_join(const struct hn_hash *a, const struct hn_hash *b);

/* A set of byte strings of one size, numbered in the order added: a hash table with open addressing, a few bytes a key
 * beside the key. Begin with the size as `stride`, all else zero. Without memory the process ends, as with hn_need. */
struct hn_keys {
    unsigned char *bytes; /* stride of each, one behind the other */
    size_t stride;
    uint32_t count;
    uint32_t *slots; /* number + 1; 0: free */
    uint32_t slot_count; /* a power of two, or 0 */
};

#define HN_NO_KEY UINT32_MAX

void hn_keys_finish(struct hn_keys *keys);
/* The number of a key, which is added (copied) where it is not there. */
uint32_t hn_keys_add(struct hn_keys *keys, const void *key);
/* HN_NO_KEY: it is not there. */
uint32_t hn_keys_find(const struct hn_keys *keys, const void *key);
/* The bytes of a key, until the next is added. */
const void *hn_keys_at(const struct hn_keys *keys, uint32_t number);

/* A generator of random numbers that gives the same sequence for a seed on every machine: splitmix64 (Steele, Lea and
 * Flood, "Fast splittable pseudorandom number generators", 2014). */
struct hn_random {
    uint64_t state;
};

struct hn_random hn_random_seeded(uint64_t seed);
/* From the system's entropy, which nobody foresees. HN_ERUN where there is none. */
enum hn_status hn_random_seed_secretly(struct hn_random *random, struct hn_error *err);
uint64_t hn_random_next(struct hn_random *random);
/* Uniform in 0 .. limit-1, without bias; limit is above 0. */
uint64_t hn_random_below(struct hn_random *random, uint64_t limit);
double hn_random_unit(struct hn_random *random); /* uniform in [0, 1) */

/* A random order of 0 .. size-1 without a table: a Feistel network (Luby and Rackoff, 1988) over the next power of
 * four; numbers beyond size are mapped on until they fall inside (cycle walking), a few steps on average. */
enum { HN_PERMUTATION_ROUNDS = 8 };

struct hn_permutation {
    uint64_t size;
    unsigned half_bits;
    uint64_t keys[HN_PERMUTATION_ROUNDS];
};

/* The same seed and size give the same order, on every machine. */
void hn_permutation_init(struct hn_permutation *permutation, uint64_t size, uint64_t seed);
/* What stands at `position`, which is below size. */
uint64_t hn_permutation_at(const struct hn_permutation *permutation, uint64_t position);

#endif
