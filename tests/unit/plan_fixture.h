/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_PLAN_FIXTURE_H
#define HONE_TESTS_PLAN_FIXTURE_H

#include "runtime/plan/plan.h"

#include "tests/unit/unit.h"

static inline struct hn_plan *plan_of(const json_t *json)
{
    struct hn_plan *plan = NULL;
    assert_ok(hn_plan_from_json(json, &plan, &said));
    return keep(plan, hn_plan_destroy);
}

/* The plan in tests/data/plans.txt of this name. */
static inline struct hn_plan *load_plan(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/plans/%s", HONE_TEST_DATA, name);
    json_auto_t *json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    return plan_of(json);
}

/* "TILE=16,PAD=0" */
static inline void parse_bindings(const char *text, struct hn_bindings *bindings)
{
    *bindings = (struct hn_bindings){0};
    assert_ok(hn_bindings_parse(text, bindings, NULL));
}

#endif
