/* SPDX-License-Identifier: MIT */
#include "tuner/space/space.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_begin.h"

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
    struct hn_space *space = calloc(1, sizeof *space);
    if (space == NULL)
        return NULL;
    space->limits = limits;
    pthread_mutex_init(&space->lock, NULL);
    return space;
}

void hn_space_make_hasty(struct hn_space *space)
{
    if (space->limits.points > hasty_limits.points)
        space->limits = hasty_limits;
}

static void free_value(struct hn_value *value)
{
    if (value->type == HN_WORD)
        free((char *)value->word);
}

static void free_values(struct hn_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free_value(&values[i]);
    free(values);
}

void hn_space_destroy(struct hn_space *space)
{
    if (space == NULL || hn_space_abandon(space))
        return;
    hn_space_clear(space);
    pthread_mutex_destroy(&space->lock);
    for (size_t i = 0; i < space->parameter_count; i++) {
        free(space->parameters[i].name);
        free_values(space->parameters[i].values, space->parameters[i].count);
    }
    for (size_t i = 0; i < space->constant_count; i++) {
        free(space->constants[i].name);
        free_value(&space->constants[i].value);
    }
    for (size_t i = 0; i < space->constraint_count; i++) {
        hn_expression_destroy(space->constraints[i].expression);
        free(space->constraints[i].where);
    }
    for (size_t i = 0; i < space->word_count; i++)
        free(space->words[i]);
    hn_expression_destroy(space->estimate);
    free(space->words);
    free(space->parameters);
    free(space->constants);
    free(space->constraints);
    free(space);
}

static bool copy_value(const struct hn_value *value, struct hn_value *copy)
{
    *copy = *value;
    if (value->type == HN_WORD)
        copy->word = strdup(value->word);
    return value->type != HN_WORD || copy->word != NULL;
}

static struct hn_value *copy_values(const struct hn_value *values, size_t count)
{
    struct hn_value *copies = calloc(count, sizeof *copies);
    for (size_t i = 0; copies != NULL && i < count; i++) {
        if (!copy_value(&values[i], &copies[i])) {
            free_values(copies, i);
            return NULL;
        }
    }
    return copies;
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
    const struct hn_value **sorted = calloc(count, sizeof *sorted);
    if (sorted == NULL)
        return hn_fail_memory(err);
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

    size_t count = space->parameter_count;
    struct hn_space_parameter *parameters =
        realloc(space->parameters, (count + 1) * sizeof *parameters);
    if (parameters == NULL)
        return hn_fail_memory(err);
    space->parameters = parameters;
    struct hn_space_parameter added = {
        .name = strdup(name), .values = copy_values(values, value_count), .count = value_count};
    if (added.name == NULL || added.values == NULL)
        goto free_copies;
    parameters[count] = added;
    space->parameter_count++;
    return HN_OK;

free_copies:
    if (added.values != NULL)
        free_values(added.values, value_count);
    free(added.name);
    return hn_fail_memory(err);
}

enum hn_status hn_space_add_constant(struct hn_space *space, const char *name,
                                     const struct hn_value *value, struct hn_error *err)
{
    if (is_known(space, name))
        return hn_fail(err, HN_ECONFIG, "'%s' is given twice", name);
    size_t count = space->constant_count;
    struct hn_space_constant *constants =
        realloc(space->constants, (count + 1) * sizeof *constants);
    if (constants == NULL)
        return hn_fail_memory(err);
    space->constants = constants;
    struct hn_space_constant added = {.name = strdup(name)};
    if (added.name == NULL || !copy_value(value, &added.value)) {
        free(added.name);
        return hn_fail_memory(err);
    }
    constants[count] = added;
    space->constant_count++;
    return HN_OK;
}

enum hn_status hn_space_add_word(struct hn_space *space, const char *word, struct hn_error *err)
{
    char **words = realloc(space->words, (space->word_count + 1) * sizeof *words);
    if (words == NULL)
        return hn_fail_memory(err);
    space->words = words;
    words[space->word_count] = strdup(word);
    if (words[space->word_count] == NULL)
        return hn_fail_memory(err);
    space->word_count++;
    return HN_OK;
}

/* Takes the expression; frees it when that fails. */
static enum hn_status append_constraint(struct hn_space *space, struct hn_expression *expression,
                                        const char *where, struct hn_error *err)
{
    size_t count = space->constraint_count;
    struct hn_space_constraint *constraints =
        realloc(space->constraints, (count + 1) * sizeof *constraints);
    char *own_where = where == NULL ? NULL : strdup(where);
    if (constraints != NULL)
        space->constraints = constraints;
    if (constraints == NULL || (where != NULL && own_where == NULL)) {
        free(own_where);
        hn_expression_destroy(expression);
        return hn_fail_memory(err);
    }
    constraints[count] = (struct hn_space_constraint){expression, own_where};
    space->constraint_count++;
    return HN_OK;
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
    return append_constraint(space, expression, where, err);
}

enum hn_status hn_space_add_expression(struct hn_space *space,
                                       const struct hn_expression *expression, const char *where,
                                       struct hn_error *err)
{
    struct hn_expression *copy = NULL;
    enum hn_status status = hn_expression_copy(expression, &copy, err);
    return status == HN_OK ? append_constraint(space, copy, where, err) : status;
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
