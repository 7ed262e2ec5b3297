/* SPDX-License-Identifier: MIT */
#include "runtime/argument.h"

#include <stdlib.h>
#include <string.h>

static const char *const roles[HN_ROLE_COUNT] = {
#define X(identifier, name) [identifier] = name,
    HN_ROLES(X)
#undef X
};

const char *const hn_compare_mode_names[HN_COMPARE_MODE_COUNT] = {
#define X(identifier, name) [identifier] = name,
    HN_COMPARE_MODES(X)
#undef X
};

const char *hn_role_name(enum hn_role role)
{
    return roles[role];
}

bool hn_role_parse(const char *name, enum hn_role *role)
{
    for (int i = 0; i < HN_ROLE_COUNT; i++) {
        if (strcmp(roles[i], name) == 0) {
            *role = (enum hn_role)i;
            return true;
        }
    }
    return false;
}

void hn_compare_finish(struct hn_compare *compare)
{
    hn_expression_destroy(compare->relative);
    hn_expression_destroy(compare->absolute);
}

void hn_argument_finish(struct hn_argument *argument)
{
    if (argument->compare != NULL)
        hn_compare_finish(argument->compare);
    free(argument->compare);
    free(argument->length);
    free(argument->name);
    hn_fill_finish(&argument->fill);
    hn_expression_destroy(argument->count);
    hn_expression_destroy(argument->value);
    free(argument->from);
    hn_expression_destroy(argument->condition);
}

void hn_argument_format_type(const struct hn_argument *argument, char text[HN_TYPE_SIZE])
{
    hn_type_format(argument->element, argument->lanes, text);
}

size_t hn_argument_bytes(const struct hn_argument *argument)
{
    return hn_element_size(argument->element) * (argument->lanes > 1 ? argument->lanes : 1);
}

bool hn_argument_is_passed(const struct hn_argument *argument)
{
    return argument->role != HN_ROLE_SYMBOL;
}

bool hn_argument_is_compared(const struct hn_argument *argument)
{
    return argument->role == HN_ROLE_OUTPUT || argument->role == HN_ROLE_INOUT;
}

bool hn_argument_is_filled(const struct hn_argument *argument)
{
    return argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT ||
           (argument->role == HN_ROLE_SYMBOL && argument->count != NULL);
}

enum hn_status hn_argument_applies(const struct hn_argument *argument,
                                   const struct hn_value *values, bool *applies,
                                   struct hn_error *err)
{
    struct hn_value holds = hn_boolean(true);
    enum hn_status status = HN_OK;
    if (argument->condition != NULL)
        status = hn_expression_evaluate(argument->condition, values, &holds, err);
    *applies = status == HN_OK && hn_value_truth(&holds);
    return status;
}
