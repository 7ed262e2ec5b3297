/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/search/space_internal.h"

uint64_t hn_space_size(const struct hn_space *space)
{
    return space->size;
}

void hn_space_pack(const struct hn_space *space, const uint16_t *choice, unsigned char *packed)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        unsigned char *to = packed + parameter->offset;
        if (parameter->bytes == 2)
            *to++ = (unsigned char)(choice[i] >> 8);
        if (parameter->bytes > 0)
            *to = (unsigned char)(choice[i] & 0xff);
    }
}

void hn_space_point(const struct hn_space *space, uint64_t index, uint16_t *choice)
{
    const unsigned char *packed = space->points + index * space->stride;
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        const unsigned char *from = packed + parameter->offset;
        choice[i] = 0;
        for (size_t j = 0; j < parameter->bytes; j++)
            choice[i] = (uint16_t)(choice[i] << 8 | from[j]);
    }
}

/* Compares the packed point with a choice, without packing that. */
static int compare_choice(const struct hn_space *space, uint64_t index, const uint16_t *choice)
{
    const unsigned char *from = space->points + index * space->stride;
    for (size_t i = 0; i < space->parameter_count; i++) {
        unsigned value = 0;
        for (size_t j = 0; j < space->parameters[i].bytes; j++)
            value = value << 8 | *from++;
        if (value != choice[i])
            return value < choice[i] ? -1 : 1;
    }
    return 0;
}

uint64_t hn_space_find(const struct hn_space *space, const uint16_t *choice)
{
    uint64_t low = 0;
    uint64_t high = space->size;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = compare_choice(space, middle, choice);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return UINT64_MAX;
}

bool hn_space_enumerated(const struct hn_space *space)
{
    return space->size != UINT64_MAX;
}

bool hn_space_first(const struct hn_space *space, const int *wanted, uint16_t *choice)
{
    size_t count = space->parameter_count;
    for (uint64_t i = 0; i < space->size; i++) {
        hn_space_point(space, i, choice);
        size_t same = 0;
        while (same < count && (wanted == NULL || wanted[same] < 0 || wanted[same] == choice[same]))
            same++;
        if (same == count)
            return true;
    }
    return false;
}

/* One stable pass of a radix sort, by the byte at `offset`. */
static void sort_by_byte(const struct hn_space *space, const unsigned char *from, unsigned char *to,
                         size_t offset)
{
    uint64_t starts[257] = {0};
    size_t stride = space->stride;
    for (uint64_t i = 0; i < space->size; i++)
        starts[from[i * stride + offset] + 1]++;
    for (size_t i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    for (uint64_t i = 0; i < space->size; i++) {
        const unsigned char *point = from + i * stride;
        memcpy(to + starts[point[offset]]++ * stride, point, stride);
    }
}

static bool is_sorted(const struct hn_space *space)
{
    for (uint64_t i = 1; i < space->size; i++) {
        const unsigned char *point = space->points + i * space->stride;
        if (memcmp(point - space->stride, point, space->stride) > 0)
            return false;
    }
    return true;
}

enum hn_status hn_space_sort(struct hn_space *space, struct hn_error *err)
{
    if (is_sorted(space))
        return HN_OK;
    unsigned char *other = malloc(space->size * space->stride);
    if (other == NULL)
        return hn_fail_memory(err);
    for (size_t offset = space->stride; offset-- > 0;) {
        sort_by_byte(space, space->points, other, offset);
        unsigned char *sorted = other;
        other = space->points;
        space->points = sorted;
    }
    free(other);
    return HN_OK;
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
