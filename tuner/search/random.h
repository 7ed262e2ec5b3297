/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SEARCH_RANDOM_H
#define HONE_TUNER_SEARCH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* A generator of random numbers that gives the same sequence for a seed on every machine: splitmix64 (Steele, Lea and
 * Flood, "Fast splittable pseudorandom number generators", 2014). */
struct hn_random {
    uint64_t state;
};

struct hn_random hn_random_seeded(uint64_t seed);
uint64_t hn_random_next(struct hn_random *random);
/* Uniform in 0 .. limit-1, without bias; limit is above 0. */
uint64_t hn_random_below(struct hn_random *random, uint64_t limit);
double hn_random_unit(struct hn_random *random);   /* uniform in [0, 1) */
double hn_random_normal(struct hn_random *random); /* mean 0, deviation 1 */

#endif
