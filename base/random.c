/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

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

uint64_t hn_random_next(struct hn_random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
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

/* Box and Muller's transform. */
double hn_random_normal(struct hn_random *random)
{
    double radius = sqrt(-2 * log(1 - hn_random_unit(random)));
    return radius * cos(6.283185307179586 * hn_random_unit(random));
}
