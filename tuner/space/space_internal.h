/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_INTERNAL_H
#define HONE_TUNER_SPACE_SPACE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/expression/expression.h"
#include "tuner/space/space.h"
#include "tuner/space/space_table.h"

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
    struct hn_space_open *open; /* instead of the table, where that would be too large */
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

/* What a config can make us hold and try: a few lines of it describe more points than any machine has memory and time
 * for. Set by hn_space_create; tests lower them. */
struct hn_space_limits {
    uint64_t points;        /* so many are numbered, and so many combinations of a group kept */
    uint64_t steps;         /* values tried without getting to a point: takes seconds, with long constraints minutes */
    uint64_t enough_points; /* when steps end with so many, there is something to draw from */
    uint64_t few_steps;     /* spent on counting before points are looked for */
    uint64_t many_steps;    /* and once it is clear that they are not to be kept */
    double clearly_more;    /* estimates of so many times `points` are believed */
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
    struct hn_expression *estimate; /* NULL: none */

    /* what hn_space_build made */
    size_t *group_of;  /* by parameter; SIZE_MAX: has the one value fixed[parameter] */
    uint16_t *fixed;
    struct hn_space_basis *basis; /* where a group is open */
    struct hn_space_building *building; /* by a thread, which alone has what is here; NULL: none does */
    _Atomic(bool) abandoned; /* nobody wants it any more */
    struct hn_space_group *groups; /* by their first parameter */
    size_t group_count;
    struct hn_space_block *blocks;
    size_t block_count;
    uint64_t size;
    double valid; /* as size, or an estimate */
    bool exact;   /* no estimate, but for rounding */
    struct hn_space_limits limits;
    pthread_mutex_t lock; /* of what is made when it is first needed */
};

/* Frees what a build made. */
void hn_space_clear(struct hn_space *space);
/* Orders the groups, which have their points, and numbers those. HN_ENOMEM. */
enum hn_status hn_space_number(struct hn_space *space, struct hn_error *err);
/* Whether the indices in choice of a group's parameters are within their values. */
static inline bool hn_space_group_has(const struct hn_space *space, const struct hn_space_group *group,
                                      const uint16_t *choice)
{
    for (size_t i = 0; i < group->parameter_count; i++) {
        if (choice[group->parameters[i]] >= space->parameters[group->parameters[i]].count)
            return false;
    }
    return true;
}
/* Whether they are one of its combinations. */
bool hn_space_group_contains(const struct hn_space *space, size_t group, const uint16_t *choice);
/* The points of a block, numbered. */
const struct hn_space_table *hn_space_block_table(const struct hn_space *space, size_t block);

#endif
