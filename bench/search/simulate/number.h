/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_NUMBER_H
#define HONE_BENCH_SIMULATE_NUMBER_H

#include <stdlib.h>

#include "tuner/space/space.h"

/* The number of a point of a space whose points are numbered; UINT64_MAX where it is none. */
static inline uint64_t number_of_point(const struct hn_space *space, const uint16_t *choice)
{
    size_t count = hn_space_parameter_count(space);
    uint16_t *found = malloc((count + 1) * sizeof *found);
    uint64_t first = 0, end = hn_space_contains(space, choice) ? hn_space_size(space) : 0;
    bool is_there = end > 0;
    while (is_there && first + 1 < end) {
        uint64_t middle = first + (end - first) / 2;
        size_t same = 0;
        hn_space_point(space, middle, found);
        while (same < count && found[same] == choice[same])
            same++;
        if (same < count && found[same] > choice[same])
            end = middle;
        else
            first = middle;
    }
    free(found);
    return is_there ? first : UINT64_MAX;
}

#endif
