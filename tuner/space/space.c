/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_internal.h"

static const struct hn_space_limits limits = {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    .points = 20000,
    .steps = 100000,
    .enough_points = 1000,
    .few_steps = 10000,
    .many_steps = 50000,
    .clearly_more = 20,
#else
    .points = 100000000,
    .steps = 1000000000,
    .enough_points = 1000000,
    .few_steps = 3000000,
    .many_steps = 60000000,
    .clearly_more = 20,
#endif
};

/* Looking for some ten million points takes half a second of a core. */
static const struct hn_space_limits hasty_limits = {
    .points = 10000000,
    .steps = 1000000000,
    .enough_points = 1000000,
    .few_steps = 300000,
    .many_steps = 300000,
    .clearly_more = 2,
};

struct hn_space *hn_space_create(void)
{
    struct hn_space *space = hn_need(1, sizeof *space);
    space->limits = limits;
    pthread_mutex_init(&space->lock, NULL);
    return space;
}

void hn_space_make_hasty(struct hn_space *space)
{
    if (space->limits.points > hasty_limits.points)
        space->limits = hasty_limits;
}

static struct hn_value copy_value(const struct hn_value *value)
{
    return value->type == HN_WORD ? hn_word(hn_need_copy(value->word)) : *value;
}

static bool is_known(const struct hn_space *space, const char *name)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        if (strcmp(space->parameters[i].name, name) == 0)
            return true;
    }
    for (size_t i = 0; i < space->constant_count; i++) {
        if (strcmp(space->constants[i].name, name) == 0)
            return true;
    }
    return false;
}

static enum hn_status fail_value(const char *name, const struct hn_value *value,
                                 const char *problem, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_value_append(&text, value);
    hn_fail(err, HN_ECONFIG, "parameter '%s': %s %s", name, text.failed ? "a value" : text.data,
            problem);
    hn_text_finish(&text);
    return HN_ECONFIG;
}

static int compare_pointed(const void *a, const void *b)
{
    return hn_value_compare(*(const struct hn_value *const *)a, *(const struct hn_value *const *)b);
}

static enum hn_status check_distinct(const char *name, const struct hn_value *values, size_t count,
                                     struct hn_error *err)
{
    const struct hn_value **sorted = hn_need(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &values[i];
    qsort(sorted, count, sizeof *sorted, compare_pointed);
    enum hn_status status = HN_OK;
    for (size_t i = 1; i < count && status == HN_OK; i++) {
        if (hn_value_equal(sorted[i - 1], sorted[i]))
            status = fail_value(name, sorted[i], "is given twice", err);
    }
    free(sorted);
    return status;
}

enum hn_status hn_space_add_parameter(struct hn_space *space, const char *name,
                                      const struct hn_value *values, size_t value_count,
                                      struct hn_error *err)
{
    if (value_count == 0)
        return hn_fail(err, HN_ECONFIG, "parameter '%s' has no values", name);
    if (value_count > UINT16_MAX)
        return hn_fail(err, HN_ECONFIG, "parameter '%s' has %zu values; at most 65535 are possible",
                       name, value_count);
    if (is_known(space, name))
        return hn_fail(err, HN_ECONFIG, "parameter '%s' is given twice", name);
    enum hn_status status = check_distinct(name, values, value_count, err);
    if (status != HN_OK)
        return status;

    struct hn_space_parameter added = {.name = hn_need_copy(name),
                                       .values = hn_need(value_count, sizeof *values),
                                       .count = value_count};
    for (size_t i = 0; i < value_count; i++)
        added.values[i] = copy_value(&values[i]);
    space->parameters =
        hn_need_more(space->parameters, space->parameter_count + 1, sizeof *space->parameters);
    space->parameters[space->parameter_count++] = added;
    return HN_OK;
}

enum hn_status hn_space_add_constant(struct hn_space *space, const char *name,
                                     const struct hn_value *value, struct hn_error *err)
{
    if (is_known(space, name))
        return hn_fail(err, HN_ECONFIG, "'%s' is given twice", name);
    space->constants =
        hn_need_more(space->constants, space->constant_count + 1, sizeof *space->constants);
    space->constants[space->constant_count++] =
        (struct hn_space_constant){hn_need_copy(name), copy_value(value)};
    return HN_OK;
}

void hn_space_add_word(struct hn_space *space, const char *word)
{
    space->words = hn_need_more(space->words, space->word_count + 1, sizeof *space->words);
    space->words[space->word_count++] = hn_need_copy(word);
}

/* Takes the expression. */
static void append_constraint(struct hn_space *space, struct hn_expression *expression,
                              const char *where)
{
    space->constraints =
        hn_need_more(space->constraints, space->constraint_count + 1, sizeof *space->constraints);
    space->constraints[space->constraint_count++] =
        (struct hn_space_constraint){expression, hn_need_copy(where)};
}

enum hn_status hn_space_add_constraint(struct hn_space *space, const char *text, const char *where,
                                       struct hn_error *err)
{
    struct hn_expression *expression = NULL;
    struct hn_error reason;
    enum hn_status status = hn_expression_parse(text, &expression, &reason);
    if (status != HN_OK)
        return hn_fail(err, status, "%s%sconstraint '%s': %s", where == NULL ? "" : where,
                       where == NULL ? "" : ": ", text, reason.message);
    append_constraint(space, expression, where);
    return HN_OK;
}

void hn_space_add_expression(struct hn_space *space, const struct hn_expression *expression,
                             const char *where)
{
    struct hn_expression *copy = NULL;
    (void)hn_expression_copy(expression, &copy, NULL);
    append_constraint(space, hn_needed(copy), where);
}

size_t hn_space_parameter_count(const struct hn_space *space)
{
    return space->parameter_count;
}

const char *hn_space_parameter_name(const struct hn_space *space, size_t parameter)
{
    return space->parameters[parameter].name;
}

size_t hn_space_value_count(const struct hn_space *space, size_t parameter)
{
    return space->parameters[parameter].count;
}

const struct hn_value *hn_space_value(const struct hn_space *space, size_t parameter, size_t index)
{
    return &space->parameters[parameter].values[index];
}

bool hn_space_is_numeric(const struct hn_space *space, size_t parameter)
{
    enum hn_value_type type = hn_space_value(space, parameter, 0)->type;
    return type == HN_INTEGER || type == HN_REAL;
}

void hn_space_order_values(const struct hn_space *space, size_t parameter, uint16_t *order)
{
    size_t count = hn_space_value_count(space, parameter);
    for (size_t i = 0; i < count; i++) {
        size_t k = i;
        double number = hn_value_number(hn_space_value(space, parameter, i));
        for (; k > 0 && hn_value_number(hn_space_value(space, parameter, order[k - 1])) > number;
             k--)
            order[k] = order[k - 1];
        order[k] = (uint16_t)i;
    }
}

double hn_space_cartesian(const struct hn_space *space)
{
    double product = 1;
    for (size_t i = 0; i < space->parameter_count; i++)
        product *= (double)space->parameters[i].count;
    return product;
}

enum hn_status hn_space_set_estimate(struct hn_space *space, const struct hn_expression *expression,
                                     struct hn_error *err)
{
    struct hn_expression *own = NULL;
    struct hn_scope scope;
    (void)hn_expression_copy(expression, &own, NULL);
    hn_space_scope_init(space, &scope);
    enum hn_status status = hn_expression_bind(hn_needed(own), &scope, err);
    hn_space_scope_finish(&scope);
    if (status == HN_OK) {
        hn_expression_destroy(space->estimate);
        space->estimate = own;
    } else {
        hn_expression_destroy(own);
    }
    return status;
}

bool hn_space_has_estimate(const struct hn_space *space)
{
    return space->estimate != NULL;
}

double hn_space_estimate(const struct hn_space *space, const uint16_t *choice)
{
    struct hn_value values[space->parameter_count + space->constant_count + 1];
    hn_space_set_values(space, choice, values);
    double estimate;
    if (hn_expression_number(space->estimate, values, &estimate, NULL) != HN_OK || !(estimate > 0))
        return NAN;
    return log(estimate);
}
