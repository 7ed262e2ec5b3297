/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SEARCH_SPACE_INTERNAL_H
#define HONE_TUNER_SEARCH_SPACE_INTERNAL_H

#include <stdbool.h>

#include "base/expression.h"
#include "tuner/search/space.h"

/* The inside of a space, for space*.c only. */

struct hn_space_parameter {
    char *name;
    struct hn_value *values; /* words owned */
    size_t count;
    size_t offset; /* of its index in a packed point */
    size_t bytes;  /* 0 when there is one value only, 1 up to 256, else 2 */
};

struct hn_space_constant {
    char *name;
    struct hn_value value; /* word owned */
};

struct hn_space_constraint {
    struct hn_expression *expression;
    char *where; /* NULL when not known */
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
    /* size packed points of stride bytes, ascending: indices of two bytes have the high one first, so that memcmp
     * orders points as declared */
    unsigned char *points;
    uint64_t size;
    size_t stride;
};

/* Slots of constraints: parameters in declared order, then constants. */

/* The order in which the search binds the parameters; order has room for all. */
enum hn_status hn_space_order(const struct hn_space *space, size_t *order, struct hn_error *err);

/* Whether evaluating the constraint may end in an error somewhere in the product of its parameters' values. True
 * also when that was too dear to find out. values holds the constants in their slots; its other slots are changed. */
bool hn_space_may_fail(const struct hn_space *space, size_t constraint, struct hn_value *values);

void hn_space_pack(const struct hn_space *space, const uint16_t *choice, unsigned char *packed);
/* Sorts the points; HN_ENOMEM. */
enum hn_status hn_space_sort(struct hn_space *space, struct hn_error *err);

#endif
