/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_PLACES_H
#define HONE_TUNER_FAMILY_PLACES_H

#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "tuner/config/family.h"
#include "tuner/family/matrix.h"

/* What the models of times see of problems: the logarithm of each size and of the power of two that divides it, a number
 * for other values, and of each point's launch the logarithms of its blocks, of the waves in which the device takes them, of
 * the blocks that a multiprocessor gets, and, beside these features, of the three sides of its grid. */

enum { HN_PLACES_SIDES = 3 };

/* The last features. */
enum hn_places_of_launch {
    HN_PLACES_BLOCKS,
    HN_PLACES_WAVES,
    HN_PLACES_TURNS, /* blocks of the multiprocessor that has the most */
    HN_PLACES_OF_LAUNCH
};

/* What a launch is told from. Borrows all. */
struct hn_family_kernel {
    const struct hn_family *family;
    const struct hn_plan *plan;
    const struct hn_device *device;
};

struct hn_places {
    struct hn_bindings *problems; /* owned */
    size_t count;
    size_t capacity;
    size_t features; /* of a point at a problem */
    size_t points;   /* of the matrix, when it was made */
    double *columns; /* [point][feature, then side of the grid][place], a row of `capacity` */
    bool *usable;    /* [point][place]: constraints and limits of the device allow it */
};

/* Features of one point at a problem. */
size_t hn_places_features(const struct hn_family *family);
/* Which of them are logarithms of sizes, the first `most`; how many. */
size_t hn_places_sizes(const struct hn_family *family, size_t *features, size_t most);
/* Which of them are categories. `categories` has room for all. */
void hn_places_categories(const struct hn_family *family, bool *categories);

enum hn_status hn_places_init(struct hn_places *places, const struct hn_family *family, size_t points, size_t capacity,
                              struct hn_error *err);
void hn_places_finish(struct hn_places *places);
/* Adds a problem, which hn_places_see has to look at. There is room. */
enum hn_status hn_places_add(struct hn_places *places, const struct hn_bindings *problem, struct hn_error *err);
/* What each of the points is at all problems that were added. */
enum hn_status hn_places_see(struct hn_places *places, const struct hn_family_kernel *kernel,
                             const struct hn_matrix *matrix, struct hn_error *err);

/* Whether the point can be launched for the problem: constraints and limits of the device allow it. */
bool hn_family_allows(const struct hn_family_kernel *kernel, const struct hn_bindings *problem,
                      const struct hn_bindings *point);

static inline double *hn_places_column(const struct hn_places *places, size_t point, size_t feature)
{
    return places->columns + (point * (places->features + HN_PLACES_SIDES) + feature) * places->capacity;
}

static inline double *hn_places_launch(const struct hn_places *places, size_t point, enum hn_places_of_launch what)
{
    return hn_places_column(places, point, places->features - HN_PLACES_OF_LAUNCH + (size_t)what);
}

/* How alike two problems are, by their values alone: 1 for the same, 0.37 where a size is seven times the other. */
double hn_places_likeness(const struct hn_places *places, size_t place, const struct hn_places *others, size_t other);

static inline bool hn_places_usable(const struct hn_places *places, size_t point, size_t place)
{
    return places->usable[point * places->capacity + place];
}

#endif
