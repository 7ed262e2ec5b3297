/* SPDX-License-Identifier: MIT */
#include "base/permutation.h"

/* The finalizer of splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
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

static uint64_t encrypt(const struct hn_permutation *permutation, uint64_t number)
{
    unsigned bits = permutation->half_bits;
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t left = number >> bits;
    uint64_t right = number & mask;
    for (int i = 0; i < HN_PERMUTATION_ROUNDS; i++) {
        uint64_t next = left ^ (mix(right + permutation->keys[i]) & mask);
        left = right;
        right = next;
    }
    return left << bits | right;
}

uint64_t hn_permutation_at(const struct hn_permutation *permutation, uint64_t position)
{
    do
        position = encrypt(permutation, position);
    while (position >= permutation->size);
    return position;
}
