/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_RECIPE_H
#define HONE_RUNTIME_PLAN_RECIPE_H

#include "runtime/plan/plan.h"

/* All that the contents of a filled argument follow from but the seed. */
struct hn_recipe {
    size_t argument;
    struct hn_fill fill; /* with all its numbers; borrows names from the plan */
    uint64_t count;      /* elements, of vectors all lanes */
    /* Of a fill that follows from another input: */
    size_t source;
    struct hn_fill source_fill;
    uint64_t source_count;
};

/* HN_EVALUE: numbers that do not make sense for the argument, or a source that it can not follow from; the message goes on
 * after "found '<fill>', ". HN_ECONFIG: a parameter decides on it. */
enum hn_status hn_recipe_make(const struct hn_plan *plan, size_t argument, const struct hn_value *values,
                              struct hn_recipe *recipe, struct hn_error *err);

#endif
