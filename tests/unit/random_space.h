/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_UNIT_RANDOM_SPACE_H
#define HONE_TESTS_UNIT_RANDOM_SPACE_H

#include "base/expression/expression.h"
#include "tuner/space/space.h"

/* Random spaces with random constraints in the whole language, for tests: the same for a seed on
 * every machine. */

enum { MOST_PARAMETERS = 6, MOST_CONSTRAINTS = 6, MOST_VALUES = 150 };

struct random_kind {
    const char *values; /* a space between */
    bool is_word;
};

struct random_space {
    struct hn_space *space; /* not built yet */
    size_t parameter_count;
    const struct random_kind *kinds[MOST_PARAMETERS];
    size_t counts[MOST_PARAMETERS];
    struct hn_value values[MOST_PARAMETERS][MOST_VALUES];
    struct hn_expression *constraints[MOST_CONSTRAINTS];
    size_t constraint_count;
    struct hn_value current[MOST_PARAMETERS + 2]; /* of the constraints' slots: parameters, N, W */
};

void random_seed(uint64_t seed);
size_t random_below(size_t limit);

/* A few hundred combinations, any constraints. */
void random_space_make(struct random_space *made);
/* Tens of thousands: large enough for orders and checks that small ones do without. */
void random_space_make_large(struct random_space *made);
/* The same space, not built yet, which borrows nothing. */
struct hn_space *random_space_again(const struct random_space *made);
void random_space_finish(struct random_space *made);
const char *random_space_name(size_t parameter);

#endif
