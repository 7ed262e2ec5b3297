/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_begin.h"
#include "tuner/space/space_open.h"

uint64_t hn_space_size(const struct hn_space *space)
{
    return space->size;
}

bool hn_space_enumerated(const struct hn_space *space)
{
    return space->size != UINT64_MAX;
}

double hn_space_valid(const struct hn_space *space, bool *exact)
{
    if (exact != NULL)
        *exact = space->exact;
    return space->valid;
}

const char *hn_space_count_text(const struct hn_space *space, char text[HN_SPACE_COUNT_TEXT])
{
    if (!isfinite(space->valid))
        snprintf(text, HN_SPACE_COUNT_TEXT, "more than 1e+308");
    else if (!space->exact)
        snprintf(text, HN_SPACE_COUNT_TEXT, "about %.2g", space->valid);
    else if (space->valid < 0x1p53)
        snprintf(text, HN_SPACE_COUNT_TEXT, "%.0f", space->valid);
    else
        snprintf(text, HN_SPACE_COUNT_TEXT, "%.15g", space->valid);
    return text;
}

void hn_space_point(const struct hn_space *space, uint64_t index, uint16_t *choice)
{
    memcpy(choice, space->fixed, space->parameter_count * sizeof *choice);
    for (size_t i = space->block_count; i-- > 0;) {
        const struct hn_space_table *table = hn_space_block_table(space, i);
        hn_space_table_get(table, index % table->count, choice);
        index /= table->count;
    }
}

/* Whether parameters with one value left have it. */
static bool has_fixed(const struct hn_space *space, const uint16_t *choice)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        if (space->group_of[i] == SIZE_MAX && choice[i] != space->fixed[i])
            return false;
    }
    return true;
}

static uint64_t find_row(const struct hn_space_table *table, const uint16_t *choice)
{
    uint64_t key[table->words];
    hn_space_table_key(table, choice, key);
    return hn_space_table_find(table, key);
}

uint64_t hn_space_find(const struct hn_space *space, const uint16_t *choice)
{
    uint64_t index = 0;
    if (space->size == 0 || !hn_space_enumerated(space) || !has_fixed(space, choice))
        return UINT64_MAX;
    for (size_t i = 0; i < space->group_count; i++) {
        if (!hn_space_group_has(space, &space->groups[i], choice))
            return UINT64_MAX;
    }
    for (size_t i = 0; i < space->block_count; i++) {
        const struct hn_space_table *table = hn_space_block_table(space, i);
        uint64_t row = find_row(table, choice);
        if (row == UINT64_MAX)
            return UINT64_MAX;
        index = index * table->count + row;
    }
    return index;
}

bool hn_space_group_contains(const struct hn_space *space, size_t number, const uint16_t *choice)
{
    const struct hn_space_group *group = &space->groups[number];
    if (!hn_space_group_has(space, group, choice))
        return false;
    return group->open != NULL ? hn_space_open_contains(group->open, choice)
                               : find_row(&group->table, choice) != UINT64_MAX;
}

bool hn_space_contains(const struct hn_space *space, const uint16_t *choice)
{
    if (space->building != NULL)
        return hn_space_admits(space, choice);
    bool contained = space->size > 0 && has_fixed(space, choice);
    for (size_t i = 0; i < space->group_count && contained; i++)
        contained = hn_space_group_contains(space, i, choice);
    return contained;
}

void hn_space_sample(const struct hn_space *space, struct hn_random *random, uint16_t *choice)
{
    memcpy(choice, space->fixed, space->parameter_count * sizeof *choice);
    for (size_t i = 0; i < space->group_count; i++) {
        const struct hn_space_group *group = &space->groups[i];
        if (group->open != NULL)
            hn_space_open_draw(group->open, random, choice);
        else
            hn_space_table_get(&group->table, hn_random_below(random, group->table.count), choice);
    }
}

/* The first row of a group, in declared order, that has what is wanted. */
static bool first_of_group(const struct hn_space_group *group, const int *wanted, uint16_t *choice)
{
    if (group->open != NULL)
        return hn_space_open_first(group->open, wanted, choice);
    uint64_t row = hn_space_table_first(&group->table, wanted);
    if (row != UINT64_MAX)
        hn_space_table_get(&group->table, row, choice);
    return row != UINT64_MAX;
}

/* Of a space that is being built: the point that is wanted, where nothing is left open. */
static bool take_wanted(const struct hn_space *space, const int *wanted, uint16_t *choice)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        if (wanted == NULL || wanted[i] < 0)
            return false;
        choice[i] = (uint16_t)wanted[i];
    }
    return hn_space_admits(space, choice);
}

bool hn_space_first(const struct hn_space *space, const int *wanted, uint16_t *choice)
{
    bool found = true;
    if (space->building != NULL)
        return take_wanted(space, wanted, choice);
    if (space->size == 0)
        return false;
    memcpy(choice, space->fixed, space->parameter_count * sizeof *choice);
    for (size_t i = 0; i < space->parameter_count && wanted != NULL; i++) {
        if (space->group_of[i] == SIZE_MAX && wanted[i] >= 0 && wanted[i] != space->fixed[i])
            return false;
    }
    /* the groups are independent: the first point is made of the first of each */
    for (size_t i = 0; i < space->group_count && found; i++)
        found = first_of_group(&space->groups[i], wanted, choice);
    return found;
}

enum hn_status hn_space_bindings(const struct hn_space *space, const uint16_t *choice,
                                 struct hn_bindings *point, struct hn_error *err)
{
    hn_bindings_init(point);
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        enum hn_status status =
            hn_bindings_set(point, parameter->name, &parameter->values[choice[i]], err);
        if (status != HN_OK) {
            hn_bindings_finish(point);
            return status;
        }
    }
    return HN_OK;
}

static enum hn_status fail_unknown(const struct hn_space *space, const struct hn_bindings *point,
                                   struct hn_error *err)
{
    const char **names = calloc(space->parameter_count + 1, sizeof *names);
    if (names == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < space->parameter_count; i++)
        names[i] = space->parameters[i].name;
    for (size_t i = 0; i < point->count; i++) {
        bool known = false;
        for (size_t j = 0; j < space->parameter_count && !known; j++)
            known = strcmp(names[j], point->names[i]) == 0;
        if (known)
            continue;
        const char *nearest = hn_text_nearest(point->names[i], names, space->parameter_count);
        hn_fail(err, HN_ECONFIG, "unknown parameter '%s'%s%s%s", point->names[i],
                nearest == NULL ? "" : "; nearest is '", nearest == NULL ? "" : nearest,
                nearest == NULL ? "" : "'");
        break;
    }
    free(names);
    return HN_ECONFIG;
}

static enum hn_status fail_other_value(const struct hn_space_parameter *parameter,
                                       const struct hn_value *value, struct hn_error *err)
{
    enum { SHOWN = 20 };
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "'%s' has no value ", parameter->name);
    hn_value_append(&text, value);
    for (size_t i = 0; i < parameter->count && i < SHOWN; i++) {
        hn_text_append(&text, i == 0 ? "; it has " : ", ");
        hn_value_append(&text, &parameter->values[i]);
    }
    if (parameter->count > SHOWN)
        hn_text_append(&text, ", ...");
    hn_fail(err, HN_ECONFIG, "%s", text.failed ? "out of memory" : text.data);
    hn_text_finish(&text);
    return HN_ECONFIG;
}

enum hn_status hn_space_choice(const struct hn_space *space, const struct hn_bindings *point,
                               uint16_t *choice, struct hn_error *err)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        const struct hn_value *value = hn_bindings_get(point, parameter->name);
        if (value == NULL && point->count >= space->parameter_count)
            return fail_unknown(space, point, err);
        if (value == NULL)
            return hn_fail(err, HN_ECONFIG, "parameter '%s' is missing", parameter->name);
        size_t index = 0;
        while (index < parameter->count && !hn_value_equal(&parameter->values[index], value))
            index++;
        if (index == parameter->count)
            return fail_other_value(parameter, value, err);
        choice[i] = (uint16_t)index;
    }
    return point->count > space->parameter_count ? fail_unknown(space, point, err) : HN_OK;
}
