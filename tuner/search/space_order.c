/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "tuner/search/space_internal.h"

/* Combinations of a constraint's parameters that still have to be tried before it can be checked,
 * as a logarithm; negative when it can be checked already. */
static double open_choices(const struct hn_space *space, size_t constraint, const bool *is_bound)
{
    double choices = -1;
    for (size_t i = 0; i < space->parameter_count; i++) {
        if (is_bound[i] || !hn_expression_uses(space->constraints[constraint].expression, i))
            continue;
        choices = fmax(choices, 0) + log((double)space->parameters[i].count);
    }
    return choices;
}

/* Appends the parameters for which wanted(i) holds, fewest values first. */
static size_t append_bound(const struct hn_space *space, const struct hn_expression *constraint,
                           bool *is_bound, size_t *order, size_t count)
{
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < space->parameter_count; i++) {
            if (is_bound[i] || (constraint != NULL && !hn_expression_uses(constraint, i)))
                continue;
            if (best == SIZE_MAX || space->parameters[i].count < space->parameters[best].count)
                best = i;
        }
        if (best == SIZE_MAX)
            return count;
        is_bound[best] = true;
        order[count++] = best;
    }
}

enum hn_status hn_space_order(const struct hn_space *space, size_t *order, struct hn_error *err)
{
    bool *is_bound = calloc(space->parameter_count + 1, sizeof *is_bound);
    if (is_bound == NULL)
        return hn_fail_memory(err);
    size_t count = 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        if (space->parameters[i].count == 1) {
            is_bound[i] = true;
            order[count++] = i;
        }
    }
    /* Always the constraint that can be decided soonest; what no constraint uses comes last. */
    for (;;) {
        size_t best = SIZE_MAX;
        double fewest = INFINITY;
        for (size_t i = 0; i < space->constraint_count; i++) {
            double choices = open_choices(space, i, is_bound);
            if (choices >= 0 && choices < fewest) {
                fewest = choices;
                best = i;
            }
        }
        if (best == SIZE_MAX)
            break;
        count = append_bound(space, space->constraints[best].expression, is_bound, order, count);
    }
    append_bound(space, NULL, is_bound, order, count);
    free(is_bound);
    return HN_OK;
}

/* Steps the used parameters like an odometer; false when all combinations were seen. */
static bool next_combination(const struct hn_space *space, const size_t *used, size_t used_count,
                             size_t *indices, struct hn_value *values)
{
    for (size_t i = 0; i < used_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[used[i]];
        indices[i] = indices[i] + 1 < parameter->count ? indices[i] + 1 : 0;
        values[used[i]] = parameter->values[indices[i]];
        if (indices[i] != 0)
            return true;
    }
    return false;
}

bool hn_space_may_fail(const struct hn_space *space, size_t constraint, struct hn_value *values)
{
    enum { MOST_USED = 32, MOST_COMBINATIONS = 100000 };
    const struct hn_expression *expression = space->constraints[constraint].expression;
    size_t used[MOST_USED];
    size_t indices[MOST_USED] = {0};
    size_t used_count = 0;
    double combinations = 1;
    for (size_t i = 0; i < space->parameter_count; i++) {
        if (!hn_expression_uses(expression, i))
            continue;
        combinations *= (double)space->parameters[i].count;
        if (used_count == MOST_USED || combinations > MOST_COMBINATIONS)
            return true;
        used[used_count++] = i;
        values[i] = space->parameters[i].values[0];
    }
    do {
        struct hn_value result;
        if (hn_expression_evaluate(expression, values, &result, NULL) != HN_OK)
            return true;
    } while (next_combination(space, used, used_count, indices, values));
    return false;
}
