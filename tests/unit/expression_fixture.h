/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_EXPRESSION_FIXTURE_H
#define HONE_TESTS_EXPRESSION_FIXTURE_H

/* Names, words and values for expressions under test. */

#include "tests/unit/unit.h"
#include "base/expression/expression.h"

static const char *const names[] = {"A", "B", "C", "R", "T", "LOAD", "BIG", "N"};
static const char *const words[] = {"plain", "ldg"};
static const struct hn_scope scope = {names, 8, words, 2};

static inline const struct hn_value *values(void)
{
    static const struct hn_value list[] = {
        {HN_INTEGER, {.integer = 7}},         {HN_INTEGER, {.integer = 0}},
        {HN_INTEGER, {.integer = -3}},        {HN_REAL, {.real = 2.5}},
        {HN_BOOLEAN, {.boolean = true}},      {HN_WORD, {.word = "ldg"}},
        {HN_INTEGER, {.integer = INT64_MAX}}, {HN_INTEGER, {.integer = 4096}},
    };
    return list;
}

static inline struct hn_expression *bound(const char *text)
{
    struct hn_expression *expression;
    enum hn_status status = hn_expression_parse(text, &expression, &said);
    if (status == HN_OK)
        status = hn_expression_bind(expression, &scope, &said);
    if (status != HN_OK)
        fail_msg("%s: %s", text, said.message);
    return keep(expression, hn_expression_destroy);
}

#endif
