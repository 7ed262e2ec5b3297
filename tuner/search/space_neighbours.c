/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tuner/search/space_internal.h"

size_t hn_space_neighbour_limit(const struct hn_space *space, enum hn_neighbourhood kind)
{
    size_t limit = 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        size_t others = space->parameters[i].count - 1;
        limit += kind == HN_ADJACENT && others > 2 ? 2 : others;
    }
    return limit;
}

/* Appends the valid points with parameter i at `from`, `from + step`, …, the first one only if it
 * is the adjacent that are wanted. */
static size_t append(const struct hn_space *space, uint16_t *trial, size_t i, int from, int step,
                     enum hn_neighbourhood kind, uint16_t *neighbours)
{
    size_t found = 0;
    for (int value = from; value >= 0 && value < (int)space->parameters[i].count; value += step) {
        trial[i] = (uint16_t)value;
        if (!hn_space_contains(space, trial))
            continue;
        memcpy(neighbours + found++ * space->parameter_count, trial,
               space->parameter_count * sizeof *trial);
        if (kind == HN_ADJACENT)
            break;
    }
    return found;
}

size_t hn_space_neighbours(const struct hn_space *space, const uint16_t *choice,
                           enum hn_neighbourhood kind, uint16_t *neighbours)
{
    size_t count = space->parameter_count;
    uint16_t trial[count];
    size_t found = 0;
    memcpy(trial, choice, sizeof trial);
    for (size_t i = 0; i < count; i++) {
        if (kind == HN_ADJACENT) {
            found += append(space, trial, i, choice[i] - 1, -1, kind, neighbours + found * count);
            found += append(space, trial, i, choice[i] + 1, 1, kind, neighbours + found * count);
        } else {
            for (int value = 0; value < (int)space->parameters[i].count; value++) {
                if (value == choice[i])
                    continue;
                trial[i] = (uint16_t)value;
                if (hn_space_contains(space, trial))
                    memcpy(neighbours + found++ * count, trial, sizeof trial);
            }
        }
        trial[i] = choice[i];
    }
    return found;
}
