/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_SPACE_FIXTURE_H
#define HONE_TESTS_SPACE_FIXTURE_H

#include "bench/search/simulate/number.h"
#include "tests/unit/unit.h"
#include "tuner/space/space.h"

/* A parameter of so many integers, from `first` on. */
static inline void add_range(struct hn_space *space, const char *name, int64_t first, size_t count)
{
    struct hn_value *values FREED = calloc(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = hn_integer(first + (int64_t)i);
    hn_space_add_parameter(space, name, values, count);
}

static inline void constrain_at(struct hn_space *space, const char *text, const char *where)
{
    struct hn_expression *expression = NULL;
    assert_ok(hn_expression_parse(text, &expression, NULL));
    hn_space_add_expression(space, expression, where);
    hn_expression_destroy(expression);
}

static inline void constrain(struct hn_space *space, const char *text)
{
    constrain_at(space, text, NULL);
}

/* The space, built, until the test ends. */
static inline struct hn_space *build(struct hn_space *space)
{
    assert_ok(hn_space_build(space, &said));
    return keep(space, hn_space_destroy);
}

#endif
