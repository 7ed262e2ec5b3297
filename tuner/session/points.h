/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_POINTS_H
#define HONE_TUNER_SESSION_POINTS_H

#include "base/hash.h"
#include "tuner/space/space.h"

/* The points that somebody has looked at, numbered in the order seen: what is known of them goes into arrays by this
 * number, so that memory goes with what was tried and not with the size of the space, which need not be enumerated. */
struct hn_points {
    const struct hn_space *space;
    struct hn_keys keys; /* packed: one byte a parameter, two where it has more than 256 values */
    unsigned char *packed; /* room for one */
};

/* Borrows the space. */
void hn_points_init(struct hn_points *points, const struct hn_space *space);
void hn_points_finish(struct hn_points *points);
uint32_t hn_points_count(const struct hn_points *points);
/* The number of a choice, valid or not; HN_NO_KEY when it was not seen. */
uint32_t hn_points_find(const struct hn_points *points, const uint16_t *choice);
uint32_t hn_points_add(struct hn_points *points, const uint16_t *choice);
void hn_points_choice(const struct hn_points *points, uint32_t point, uint16_t *choice);
/* Below 0 when point a comes before b in the declared order, as memcmp. */
int hn_points_compare(const struct hn_points *points, uint32_t a, uint32_t b);

#endif
