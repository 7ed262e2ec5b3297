/* SPDX-License-Identifier: MIT */
#include "tuner/session/points.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* The bytes of a parameter in a packed point. */
static size_t width_of(const struct hn_space *space, size_t parameter)
{
    size_t values = hn_space_value_count(space, parameter);
    return values <= 1 ? 0 : values <= 256 ? 1 : 2;
}

void hn_points_init(struct hn_points *points, const struct hn_space *space)
{
    size_t stride = 0;
    for (size_t i = 0; i < hn_space_parameter_count(space); i++)
        stride += width_of(space, i);
    *points = (struct hn_points){.space = space, .packed = hn_need(stride, 1)};
    hn_keys_init(&points->keys, stride);
}

void hn_points_finish(struct hn_points *points)
{
    hn_keys_finish(&points->keys);
    free(points->packed);
    points->packed = NULL;
}

uint32_t hn_points_count(const struct hn_points *points)
{
    return points->keys.count;
}

/* The high byte comes first, so that memcmp orders points as declared. */
static const unsigned char *pack(const struct hn_points *points, const uint16_t *choice)
{
    unsigned char *to = points->packed;
    for (size_t i = 0; i < hn_space_parameter_count(points->space); i++) {
        size_t width = width_of(points->space, i);
        if (width == 2)
            *to++ = (unsigned char)(choice[i] >> 8);
        if (width > 0)
            *to++ = (unsigned char)(choice[i] & 0xff);
    }
    return points->packed;
}

uint32_t hn_points_find(const struct hn_points *points, const uint16_t *choice)
{
    return hn_keys_find(&points->keys, pack(points, choice));
}

uint32_t hn_points_add(struct hn_points *points, const uint16_t *choice)
{
    return hn_keys_add(&points->keys, pack(points, choice));
}

void hn_points_choice(const struct hn_points *points, uint32_t point, uint16_t *choice)
{
    const unsigned char *from = hn_keys_at(&points->keys, point);
    for (size_t i = 0; i < hn_space_parameter_count(points->space); i++) {
        choice[i] = 0;
        for (size_t left = width_of(points->space, i); left > 0; left--)
            choice[i] = (uint16_t)(choice[i] << 8 | *from++);
    }
}

int hn_points_compare(const struct hn_points *points, uint32_t a, uint32_t b)
{
    return memcmp(hn_keys_at(&points->keys, a), hn_keys_at(&points->keys, b), points->keys.stride);
}
