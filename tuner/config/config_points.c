/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"
#include "tuner/config/family.h"

static const struct hn_config_parameter *find_parameter(const struct hn_config *config,
                                                        const char *name)
{
    for (size_t i = 0; i < config->parameter_count; i++)
        if (strcmp(config->parameters[i].name, name) == 0)
            return &config->parameters[i];
    return NULL;
}

static void fail_not_listed(struct hn_config_reader *reader, const struct hn_yaml *node,
                            const struct hn_config_parameter *parameter)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_config_append_values(&text, parameter->values, parameter->count);
    hn_config_fail(reader, node, "found '%s', expected a value of '%s': %s", node->text,
                   parameter->name, text.data == NULL ? "" : text.data);
    hn_text_finish(&text);
}

static void read_choice(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_bindings *point)
{
    const struct hn_config *config = reader->config;
    const struct hn_config_parameter *parameter = find_parameter(config, node->key->text);
    if (parameter == NULL) {
        hn_config_fail_unknown(reader, node->key, "parameter", node->key->text,
                               (const char *const *)config->plan->parameters,
                               config->plan->parameter_count);
        return;
    }
    struct hn_value value = hn_config_read_value(reader, node);
    if (reader->status != HN_OK)
        return;
    const struct hn_value *listed =
        hn_config_find_value(parameter->values, parameter->count, &value);
    if (listed == NULL)
        fail_not_listed(reader, node, parameter);
    else
        hn_config_take(reader, hn_bindings_set(point, parameter->name, listed, reader->err));
}

/* A point, maybe partial, without what is said of it. */
static void read_point(struct hn_config_reader *reader, const struct hn_yaml *node,
                       const struct hn_yaml *beside, struct hn_bindings *point)
{
    hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping of parameters to values");
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child))
        if (child != beside)
            read_choice(reader, child, point);
}

/* One for problems of which `if` holds. */
static void read_other(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *condition =
        node->kind == HN_YAML_MAPPING ? hn_yaml_get(node, "if") : NULL;
    struct hn_default *other = &plan->other_defaults[plan->other_default_count++];
    hn_bindings_init(&other->point);
    if (condition == NULL)
        hn_config_fail(reader, node,
                       "expected 'if' here: of several default points only the last is for all "
                       "problems of which no condition holds");
    else
        hn_config_read_expression(reader, condition, &other->condition);
    read_point(reader, node, condition, &other->point);
}

/* A point, or a list of points, of which the last has no condition. */
static void read_defaults(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    if (node == NULL || node->kind != HN_YAML_SEQUENCE) {
        read_point(reader, node, NULL, &reader->config->defaults);
        return;
    }
    plan->other_defaults = hn_config_allocate(reader, node->count, sizeof *plan->other_defaults);
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item))
        if (item->next != NULL)
            read_other(reader, item);
        else if (item->kind == HN_YAML_MAPPING && hn_yaml_get(item, "if") != NULL)
            hn_config_fail(reader, hn_yaml_get(item, "if")->key,
                           "the last of several default points is for all other problems; put one "
                           "without 'if' behind it");
        else
            read_point(reader, item, NULL, &reader->config->defaults);
}

static void read_ladder(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_bindings **ladder, size_t *count)
{
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of points"))
        return;
    *ladder = hn_config_allocate(reader, node->count, sizeof **ladder);
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item)) {
        struct hn_bindings *point = &(*ladder)[(*count)++];
        hn_bindings_init(point);
        read_point(reader, item, NULL, point);
    }
}

void hn_config_read_points(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    struct hn_family *family = config->family;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "family");
    read_defaults(reader, hn_yaml_get(reader->root, "defaults"));
    if (family != NULL) {
        read_point(reader, hn_yaml_get(node, "defaults"), NULL, &family->defaults);
        read_ladder(reader, hn_yaml_get(node, "ladder"), &family->ladder, &family->ladder_count);
    }
    read_ladder(reader, hn_yaml_get(reader->root, "ladder"), &config->ladder,
                &config->ladder_count);
}

/* The values of names for constraints: the point before the problem. */
static bool gather_values(const struct hn_plan *plan, const struct hn_bindings *problem,
                          const struct hn_bindings *point, struct hn_value *values)
{
    for (size_t i = 0; i < plan->name_count; i++) {
        const struct hn_value *value = hn_bindings_get(point, plan->names[i]);
        if (value == NULL)
            value = hn_bindings_get(problem, plan->names[i]);
        if (value == NULL)
            return false;
        values[i] = *value;
    }
    return true;
}

static enum hn_status test_constraint(const struct hn_config_constraint *constraint,
                                      const struct hn_value *values, bool *holds,
                                      struct hn_error *err)
{
    struct hn_value result;
    struct hn_error reason = {0};
    enum hn_status status =
        hn_expression_evaluate(constraint->expression, values, &result, &reason);
    if (status == HN_OK)
        *holds = hn_value_truth(&result);
    else
        status = hn_fail(err, HN_ECONFIG, "%s: in '%s': %s", constraint->where, constraint->text,
                         reason.message);
    return status;
}

enum hn_status hn_config_test_point(const struct hn_config *config, size_t problem,
                                    const struct hn_bindings *point,
                                    const struct hn_config_constraint **broken,
                                    struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    struct hn_value *values = calloc(plan->name_count + 1, sizeof *values);
    enum hn_status status = HN_OK;
    *broken = NULL;
    if (values == NULL)
        status = hn_fail_memory(err);
    else if (!gather_values(plan, &config->problems[problem], point, values))
        status = hn_fail(err, HN_ECONFIG, "a point without a value for every parameter");
    for (size_t i = 0; i < config->constraint_count && *broken == NULL && status == HN_OK; i++) {
        bool holds = false;
        status = test_constraint(&config->constraints[i], values, &holds, err);
        if (status == HN_OK && !holds)
            *broken = &config->constraints[i];
    }
    free(values);
    return status;
}

/* The index of a parameter's value in the space, or -1 when the space has not got it. */
static int choose(const struct hn_space *space, size_t parameter, const struct hn_bindings *point)
{
    const struct hn_value *wanted =
        hn_bindings_get(point, hn_space_parameter_name(space, parameter));
    for (size_t v = 0; wanted != NULL && v < hn_space_value_count(space, parameter); v++)
        if (hn_value_equal(hn_space_value(space, parameter, v), wanted))
            return (int)v;
    return -1;
}

bool hn_config_has_defaults(const struct hn_config *config, const struct hn_space *space)
{
    size_t count = hn_space_parameter_count(space);
    uint16_t *choice = calloc(count + 1, sizeof *choice);
    bool has = choice != NULL;
    for (size_t i = 0; has && i < count; i++) {
        int chosen = choose(space, i, &config->defaults);
        has = chosen >= 0;
        choice[i] = has ? (uint16_t)chosen : 0;
    }
    has = has && hn_space_contains(space, choice);
    free(choice);
    return has;
}

enum hn_status hn_config_default_point(const struct hn_config *config, const struct hn_space *space,
                                       struct hn_bindings *point, struct hn_error *err)
{
    size_t count = hn_space_parameter_count(space);
    int *wanted = calloc(count + 1, sizeof *wanted);
    uint16_t *choice = calloc(count + 1, sizeof *choice);
    enum hn_status status = HN_ENOMEM;
    if (wanted == NULL || choice == NULL) {
        hn_fail_memory(err);
        goto free_arrays;
    }
    for (size_t i = 0; i < count; i++)
        wanted[i] = choose(space, i, &config->defaults);
    /* -p and -s may leave no valid point with the defaults of the file. */
    if (!hn_space_first(space, wanted, choice))
        hn_space_first(space, NULL, choice);
    status = hn_space_bindings(space, choice, point, err);

free_arrays:
    free(choice);
    free(wanted);
    return status;
}

static enum hn_status fail_invalid(const struct hn_config *config, const struct hn_bindings *point,
                                   struct hn_error *err)
{
    const struct hn_config_constraint *broken = NULL;
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, point);
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < config->problem_count && broken == NULL && status == HN_OK; i++)
        status = hn_config_test_point(config, i, point, &broken, err);
    if (status == HN_OK && broken != NULL)
        status =
            hn_fail(err, HN_ECONFIG, "point %s is not valid: constraint '%s' (%s) does not hold",
                    text.data, broken->text, broken->where);
    else if (status == HN_OK)
        status = hn_fail(err, HN_ECONFIG, "point %s is not in the space", text.data);
    hn_text_finish(&text);
    return status;
}

enum hn_status hn_config_complete(const struct hn_config *config, const struct hn_space *space,
                                  const struct hn_bindings *partial, struct hn_bindings *point,
                                  struct hn_error *err)
{
    uint16_t *choice = calloc(hn_space_parameter_count(space) + 1, sizeof *choice);
    if (choice == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_config_default_point(config, space, point, err);
    if (status == HN_OK)
        status = hn_bindings_merge(point, partial, err);
    if (status == HN_OK)
        status = hn_space_choice(space, point, choice, err);
    if (status == HN_OK && !hn_space_contains(space, choice))
        status = fail_invalid(config, point, err);
    free(choice);
    return status;
}
