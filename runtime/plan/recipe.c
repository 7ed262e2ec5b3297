/* SPDX-License-Identifier: MIT */
#include "runtime/plan/recipe.h"

#include <math.h>

static enum hn_status count_elements(const struct hn_argument *argument,
                                     const struct hn_value *values, uint64_t *elements,
                                     struct hn_error *err)
{
    int64_t count = 0;
    enum hn_status status = hn_expression_integer(argument->count, values, &count, err);
    if (status == HN_OK && count < 1)
        status = hn_fail(err, HN_EVALUE, "expected a count of at least 1");
    *elements = status == HN_OK ? (uint64_t)count * argument->lanes : 0;
    return status;
}

/* The same for every variant, as inputs are. */
static enum hn_status resolve(const struct hn_plan *plan, const struct hn_argument *argument,
                              const struct hn_value *values, struct hn_fill *fill, uint64_t *count,
                              struct hn_error *err)
{
    char why[128];
    for (int i = 0; i < 2; i++) {
        const char *parameter = hn_plan_parameter_used(plan, argument->fill.expressions[i]);
        if (parameter != NULL)
            return hn_fail(err, HN_ECONFIG,
                           "which uses the parameter '%s'; contents can only depend on the problem",
                           parameter);
    }
    enum hn_status status = hn_fill_resolve(&argument->fill, values, fill, err);
    if (status == HN_OK)
        status = count_elements(argument, values, count, err);
    if (status == HN_OK && !hn_fill_check(fill, argument->element, *count, why, sizeof why))
        status = hn_fail(err, HN_EVALUE, "%s", why);
    return status;
}

static enum hn_status check_rows(const struct hn_recipe *recipe, struct hn_error *err)
{
    const struct hn_fill *rows = &recipe->source_fill;
    if (rows->kind != HN_FILL_CSR_ROWS)
        return hn_fail(err, HN_EVALUE,
                       "but '%s' has no rows; expected one with csr_rows(entries, "
                       "spread)",
                       recipe->fill.of);
    double entries = floor(rows->numbers[0] * (double)(recipe->source_count - 1));
    if ((double)recipe->count != entries)
        return hn_fail(
            err, HN_EVALUE,
            "with %llu elements; expected as many as the rows of '%s' have entries, %.0f",
            (unsigned long long)recipe->count, recipe->fill.of, entries);
    return HN_OK;
}

static enum hn_status check_turned(const struct hn_plan *plan, const struct hn_recipe *recipe,
                                   struct hn_error *err)
{
    const struct hn_argument *own = &plan->arguments[recipe->argument];
    const struct hn_argument *source = &plan->arguments[recipe->source];
    enum hn_fill_kind kind = recipe->source_fill.kind;
    if (hn_fill_has_source(kind) || kind == HN_FILL_FILE)
        return hn_fail(
            err, HN_EVALUE,
            "but '%s' comes from another input or a file itself; expected one with a fill "
            "of its own",
            recipe->fill.of);
    if (source->element != own->element || own->lanes != 1 || source->lanes != 1 ||
        recipe->source_count != recipe->count)
        return hn_fail(err, HN_EVALUE,
                       "but '%s' has another type or number of elements, or vectors; expected the "
                       "same of both",
                       recipe->fill.of);
    return HN_OK;
}

static enum hn_status follow(const struct hn_plan *plan, const struct hn_value *values,
                             struct hn_recipe *recipe, struct hn_error *err)
{
    const struct hn_argument *source = hn_plan_find_argument(plan, recipe->fill.of);
    if (source == NULL || !hn_argument_is_filled(source))
        return hn_fail(err, HN_EVALUE, "but there is no input '%s' with contents; expected one",
                       recipe->fill.of);
    recipe->source = (size_t)(source - plan->arguments);
    enum hn_status status =
        resolve(plan, source, values, &recipe->source_fill, &recipe->source_count, err);
    if (status != HN_OK)
        return status;
    return recipe->fill.kind == HN_FILL_CSR_COLUMNS ? check_rows(recipe, err)
                                                    : check_turned(plan, recipe, err);
}

enum hn_status hn_recipe_make(const struct hn_plan *plan, size_t argument,
                              const struct hn_value *values, struct hn_recipe *recipe,
                              struct hn_error *err)
{
    *recipe = (struct hn_recipe){.argument = argument};
    enum hn_status status =
        resolve(plan, &plan->arguments[argument], values, &recipe->fill, &recipe->count, err);
    return status == HN_OK && hn_fill_has_source(recipe->fill.kind)
               ? follow(plan, values, recipe, err)
               : status;
}
