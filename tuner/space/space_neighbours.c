/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tuner/space/space_open.h"

size_t hn_space_neighbour_limit(const struct hn_space *space, enum hn_neighbourhood kind)
{
    size_t limit = 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        size_t others = space->parameters[i].count - 1;
        limit += kind == HN_ADJACENT && others > 2 ? 2 : others;
    }
    return limit;
}

struct vicinity {
    const struct hn_space *space;
    const uint16_t *choice;
    enum hn_neighbourhood kind;
    uint16_t *neighbours;
    size_t count;
};

/* What of a point keeps it from being valid: groups, and parameters with another value than their
 * only one. */
struct faults {
    size_t count;
    size_t group;     /* the last one; SIZE_MAX: none */
    size_t parameter; /* the last one that is in no group; SIZE_MAX: none */
};

static void find_faults(const struct hn_space *space, const uint16_t *choice, struct faults *faults)
{
    *faults = (struct faults){0, SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < space->parameter_count; i++) {
        if (space->group_of[i] == SIZE_MAX && choice[i] != space->fixed[i]) {
            faults->count++;
            faults->parameter = i;
        }
    }
    for (size_t i = 0; i < space->group_count; i++) {
        if (!hn_space_group_contains(space, i, choice)) {
            faults->count++;
            faults->group = i;
        }
    }
}

static void append(struct vicinity *vicinity, size_t parameter, size_t index)
{
    size_t count = vicinity->space->parameter_count;
    uint16_t *to = vicinity->neighbours + vicinity->count++ * count;
    memcpy(to, vicinity->choice, count * sizeof *to);
    to[parameter] = (uint16_t)index;
}

/* The highest index below `end` whose bit is set; SIZE_MAX when there is none. */
static size_t last_below(const uint64_t *valid, size_t end)
{
    for (size_t word = (end + 63) / 64; word-- > 0;) {
        uint64_t bits = valid[word];
        if (64 * word + 64 > end)
            bits &= end % 64 == 0 ? UINT64_MAX : ((uint64_t)1 << (end % 64)) - 1;
        if (bits != 0)
            return 64 * word + 63 - (size_t)__builtin_clzll(bits);
    }
    return SIZE_MAX;
}

/* The lowest index from `first` on whose bit is set. */
static size_t first_from(const uint64_t *valid, size_t words, size_t first)
{
    for (size_t word = first / 64; word < words; word++) {
        uint64_t bits = valid[word];
        if (word == first / 64)
            bits &= UINT64_MAX << (first % 64);
        if (bits != 0)
            return 64 * word + (size_t)__builtin_ctzll(bits);
    }
    return SIZE_MAX;
}

static void append_values(struct vicinity *vicinity, size_t parameter, const uint64_t *valid)
{
    size_t own = vicinity->choice[parameter];
    size_t values = vicinity->space->parameters[parameter].count;
    size_t words = (values + 63) / 64;
    if (vicinity->kind == HN_ADJACENT) {
        size_t below = last_below(valid, own < values ? own : values);
        size_t above = first_from(valid, words, own + 1);
        if (below != SIZE_MAX)
            append(vicinity, parameter, below);
        if (above != SIZE_MAX)
            append(vicinity, parameter, above);
        return;
    }
    for (size_t index = first_from(valid, words, 0); index != SIZE_MAX;
         index = first_from(valid, words, index + 1)) {
        if (index != own)
            append(vicinity, parameter, index);
    }
}

/* The indices of a parameter with which the group's others, as they are, are valid. */
static void find_values(const struct vicinity *vicinity, size_t number, size_t parameter,
                        uint64_t *valid)
{
    const struct hn_space *space = vicinity->space;
    const struct hn_space_group *group = &space->groups[number];
    const struct hn_space_table *table = &group->table;
    size_t count = space->parameters[parameter].count;
    uint16_t others[space->parameter_count];
    memcpy(others, vicinity->choice, sizeof others);
    others[parameter] = 0;
    memset(valid, 0, (count + 63) / 64 * sizeof *valid);
    if (!hn_space_group_has(space, group, others))
        return;
    if (group->open != NULL) {
        hn_space_open_values(group->open, others, parameter, valid);
        return;
    }
    uint64_t key[table->words];
    hn_space_table_key(table, others, key);
    hn_space_table_values(table, key, parameter, valid);
}

size_t hn_space_neighbours(const struct hn_space *space, const uint16_t *choice,
                           enum hn_neighbourhood kind, uint16_t *neighbours)
{
    struct vicinity vicinity = {space, choice, kind, neighbours, 0};
    struct faults faults;
    find_faults(space, choice, &faults);
    if (faults.count > 1)
        return 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        size_t group = space->group_of[i];
        if (group == SIZE_MAX) {
            if (faults.parameter == i)
                append(&vicinity, i, space->fixed[i]);
            continue;
        }
        if (faults.count == 1 && faults.group != group)
            continue;
        uint64_t valid[(space->parameters[i].count + 63) / 64];
        find_values(&vicinity, group, i, valid);
        append_values(&vicinity, i, valid);
    }
    return vicinity.count;
}
