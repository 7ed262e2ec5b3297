/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_PERMUTATION_H
#define HONE_BASE_PERMUTATION_H

#include <stdint.h>

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
