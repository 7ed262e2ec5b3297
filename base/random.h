/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_RANDOM_H
#define HONE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
double hn_random_unit(struct hn_random *random);   /* uniform in [0, 1) */
double hn_random_normal(struct hn_random *random); /* mean 0, deviation 1 */

#endif
