/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/space/space_problem.h"

enum hn_status hn_space_set_estimate(struct hn_space *space, const struct hn_expression *expression,
                                     struct hn_error *err)
{
    struct hn_expression *own = NULL;
    struct hn_scope scope;
    enum hn_status status = hn_space_scope_init(space, &scope, err);
    if (status != HN_OK)
        return status;
    status = hn_expression_copy(expression, &own, err);
    if (status == HN_OK)
        status = hn_expression_bind(own, &scope, err);
    hn_space_scope_finish(&scope);
    if (status != HN_OK) {
        hn_expression_destroy(own);
        return status;
    }
    hn_expression_destroy(space->estimate);
    space->estimate = own;
    return HN_OK;
}

bool hn_space_has_estimate(const struct hn_space *space)
{
    return space->estimate != NULL;
}

double hn_space_estimate(const struct hn_space *space, const uint16_t *choice)
{
    struct hn_value values[space->parameter_count + space->constant_count + 1];
    for (size_t i = 0; i < space->parameter_count; i++)
        values[i] = space->parameters[i].values[choice[i]];
    for (size_t i = 0; i < space->constant_count; i++)
        values[space->parameter_count + i] = space->constants[i].value;
    double estimate;
    if (hn_expression_number(space->estimate, values, &estimate, NULL) != HN_OK || !(estimate > 0))
        return NAN;
    return log(estimate);
}
