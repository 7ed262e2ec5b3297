/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SEARCH_SPACE_INTERNAL_H
#define HONE_TUNER_SEARCH_SPACE_INTERNAL_H

#include <pthread.h>

#include "base/expression.h"
#include "tuner/search/space.h"
#include "tuner/search/space_table.h"

/* The inside of a space, for space*.c only. */

struct hn_space_parameter {
    char *name;
    struct hn_value *values; /* words owned */
    size_t count;
};

struct hn_space_constant {
    char *name;
    struct hn_value value; /* word owned */
};

struct hn_space_constraint {
    struct hn_expression *expression;
    char *where; /* NULL when not known */
};

/* Parameters that constraints connect: their combinations are independent of those of other groups, so that the space
 * is the product of its groups. */
struct hn_space_group {
    size_t *parameters; /* ascending */
    size_t parameter_count;
    struct hn_space_table table;
    struct hn_space_open *open; /* where the table would be too large: asks the constraints instead */
};

/* Groups that follow each other in declared order; the points of a block, and so those of the space, are numbered in
 * declared order. A block of several groups, whose parameters alternate, has a table of its own, filled when it is first
 * needed. */
struct hn_space_block {
    size_t first_group;
    size_t group_count;
    struct hn_space_table table; /* of several groups */
    _Atomic(bool) filled;
    uint64_t count;
};

struct hn_space {
    struct hn_space_parameter *parameters;
    size_t parameter_count;
    struct hn_space_constant *constants;
    size_t constant_count;
    char **words; /* that constraints can use beside the values */
    size_t word_count;
    struct hn_space_constraint *constraints;
    size_t constraint_count;

    /* what hn_space_build made */
    size_t *group_of;  /* by parameter; SIZE_MAX: has the one value fixed[parameter] */
    uint16_t *fixed;
    struct hn_space_group *groups; /* by their first parameter */
    size_t group_count;
    struct hn_space_block *blocks;
    size_t block_count;
    uint64_t size;
    double valid; /* as size, or near it where that is not known */
    bool exact;
    pthread_mutex_t lock; /* of what is made when it is first needed */
};

/* So many points are numbered, and so many combinations of a group are kept. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { HN_SPACE_MOST_POINTS = 20000 };
#else
enum { HN_SPACE_MOST_POINTS = 100000000 };
#endif

/* Frees what a build made. */
void hn_space_clear(struct hn_space *space);
/* Orders the groups, which have their points, and numbers those. HN_ENOMEM. */
enum hn_status hn_space_number(struct hn_space *space, struct hn_error *err);
/* Whether the indices in choice of a group's parameters, all within their values, are one of its combinations. */
bool hn_space_group_contains(const struct hn_space *space, size_t group, const uint16_t *choice);
/* The points of a block, numbered. */
const struct hn_space_table *hn_space_block_table(const struct hn_space *space, size_t block);

#endif
