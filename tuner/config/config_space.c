/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

enum { PROBLEMS_MOST = 10000 };

/* What expressions or the results call something else. */
static enum hn_status check_name(const struct hn_config_reader *reader, const struct hn_yaml *key)
{
    static const char *const taken[] = {"and",  "or",      "not",   "in",    "if",
                                        "else", "True",    "true",  "False", "false",
                                        "null", "time_us", "sizeof"};
    if (!hn_text_is_word(key->text))
        return hn_config_fail_found(reader, key, "a name ([A-Za-z_][A-Za-z0-9_]*)");
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(taken[i], key->text) == 0)
            return hn_config_fail(reader, key, "'%s' can not be a name: expressions use it",
                                  key->text);
    return HN_OK;
}

/* Values under a name, from a list or from one scalar. */
static enum hn_status read_named(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                 bool scalar, struct hn_config_parameter *parameter)
{
    enum hn_status status = check_name(reader, node->key);
    if (status != HN_OK)
        return status;
    if (scalar && node->kind == HN_YAML_SCALAR) {
        struct hn_value value;
        status = hn_config_read_value(reader, node, &value);
        if (status != HN_OK)
            return status;
        parameter->values = calloc(1, sizeof *parameter->values);
        if (parameter->values == NULL)
            return hn_fail_memory(reader->err);
        if (value.type == HN_WORD && (value.word = strdup(value.word)) == NULL)
            return hn_fail_memory(reader->err);
        parameter->values[0] = value;
        parameter->count = 1;
    } else {
        status = hn_config_read_values(reader, node, &parameter->values, &parameter->count);
    }
    if (status == HN_OK && (parameter->name = strdup(node->key->text)) == NULL)
        status = hn_fail_memory(reader->err);
    return status;
}

static enum hn_status read_mapping(const struct hn_config_reader *reader,
                                   const struct hn_yaml *mapping, bool scalars,
                                   struct hn_config_parameter **lists, size_t *count)
{
    *lists = calloc(mapping->count + 1, sizeof **lists);
    if (*lists == NULL)
        return hn_fail_memory(reader->err);
    enum hn_status status = HN_OK;
    for (const struct hn_yaml *child = mapping->child; child != NULL && status == HN_OK;
         child = child->next) {
        status = read_named(reader, child, scalars, &(*lists)[*count]);
        ++*count;
    }
    return status;
}

enum hn_status hn_config_read_parameters(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = NULL;
    enum hn_status status = hn_config_need(reader, reader->root, "parameters", &node);
    if (status == HN_OK)
        status = hn_config_check_kind(reader, node, HN_YAML_MAPPING,
                                      "a mapping of names to lists of values");
    if (status == HN_OK && node->count == 0)
        status = hn_config_fail(reader, node, "found no parameters, expected at least one");
    if (status == HN_OK)
        status = read_mapping(reader, node, false, &config->parameters, &config->parameter_count);
    return status;
}

static enum hn_status add_problem(struct hn_config_reader *reader, size_t room)
{
    struct hn_config *config = reader->config;
    if (config->problem_count >= room)
        return hn_config_fail(reader, hn_yaml_get(reader->root, "problem"),
                              "found more than %d problems, expected fewer", PROBLEMS_MOST);
    hn_bindings_init(&config->problems[config->problem_count++]);
    return HN_OK;
}

/* All combinations of the lists; the last one varies fastest. */
static enum hn_status multiply_out(struct hn_config_reader *reader,
                                   const struct hn_config_parameter *lists, size_t count)
{
    struct hn_config *config = reader->config;
    size_t total = 1;
    for (size_t i = 0; i < count && total <= PROBLEMS_MOST; i++)
        total *= lists[i].count;
    size_t room = total < PROBLEMS_MOST ? total : PROBLEMS_MOST;
    config->problems = calloc(room + 1, sizeof *config->problems);
    if (config->problems == NULL)
        return hn_fail_memory(reader->err);
    for (size_t p = 0; p < total; p++) {
        enum hn_status status = add_problem(reader, room);
        size_t rest = p;
        for (size_t i = count; i-- > 0 && status == HN_OK; rest /= lists[i].count)
            status = hn_bindings_set(&config->problems[p], lists[i].name,
                                     &lists[i].values[rest % lists[i].count], reader->err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static enum hn_status copy_names(const struct hn_config_reader *reader, char ***names,
                                 size_t *count, const struct hn_config_parameter *lists,
                                 size_t list_count)
{
    *names = calloc(list_count + 1, sizeof **names);
    if (*names == NULL)
        return hn_fail_memory(reader->err);
    for (size_t i = 0; i < list_count; i++) {
        (*names)[i] = strdup(lists[i].name);
        if ((*names)[i] == NULL)
            return hn_fail_memory(reader->err);
        *count = i + 1;
    }
    return HN_OK;
}

static void free_lists(struct hn_config_parameter *lists, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(lists[i].name);
        hn_config_free_values(lists[i].values, lists[i].count);
    }
    free(lists);
}

static enum hn_status read_one_mapping(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    struct hn_config_parameter *lists = NULL;
    size_t count = 0;
    enum hn_status status = read_mapping(reader, node, true, &lists, &count);
    if (status == HN_OK)
        status = copy_names(reader, &plan->problem, &plan->problem_count, lists, count);
    if (status == HN_OK)
        status = multiply_out(reader, lists, count);
    free_lists(lists, count);
    return status;
}

static const char *kind_of(const struct hn_value *value)
{
    return value->type == HN_WORD ? "word" : value->type == HN_BOOLEAN ? "boolean" : "number";
}

/* A problem in a list has the names of the first, each with a value of the same kind. */
static enum hn_status read_problem_value(struct hn_config_reader *reader,
                                         const struct hn_yaml *node, struct hn_bindings *problem)
{
    const struct hn_bindings *first = &reader->config->problems[0];
    struct hn_value value;
    enum hn_status status = check_name(reader, node->key);
    if (status == HN_OK)
        status = hn_config_read_value(reader, node, &value);
    if (status != HN_OK)
        return status;
    const struct hn_value *model = hn_bindings_get(first, node->key->text);
    if (problem != first && model == NULL)
        return hn_config_fail(reader, node->key, "the first problem has no '%s'", node->key->text);
    if (problem != first && strcmp(kind_of(model), kind_of(&value)) != 0)
        return hn_config_fail(reader, node, "found a %s, expected a %s as in the first problem",
                              kind_of(&value), kind_of(model));
    return hn_bindings_set(problem, node->key->text, &value, reader->err);
}

static enum hn_status read_problem_item(struct hn_config_reader *reader, const struct hn_yaml *item,
                                        size_t room)
{
    struct hn_config *config = reader->config;
    enum hn_status status =
        hn_config_check_kind(reader, item, HN_YAML_MAPPING, "a mapping of names to values");
    if (status == HN_OK)
        status = add_problem(reader, room);
    if (status != HN_OK)
        return status;
    struct hn_bindings *problem = &config->problems[config->problem_count - 1];
    for (const struct hn_yaml *child = item->child; child != NULL && status == HN_OK;
         child = child->next)
        status = read_problem_value(reader, child, problem);
    if (status == HN_OK && problem->count != config->problems[0].count)
        return hn_config_fail(reader, item,
                              "found %zu values, expected the %zu of the first problem",
                              problem->count, config->problems[0].count);
    for (size_t i = 0; i + 1 < config->problem_count && status == HN_OK; i++)
        if (hn_bindings_equal(&config->problems[i], problem))
            status = hn_config_fail(reader, item, "the problem is in the list twice");
    return status;
}

static enum hn_status read_problem_list(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    if (node->count == 0)
        return hn_config_fail(reader, node, "found an empty list, expected at least one problem");
    size_t room = node->count < PROBLEMS_MOST ? node->count : PROBLEMS_MOST;
    config->problems = calloc(room + 1, sizeof *config->problems);
    if (config->problems == NULL)
        return hn_fail_memory(reader->err);
    enum hn_status status = HN_OK;
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next)
        status = read_problem_item(reader, item, room);
    if (status != HN_OK)
        return status;
    plan->problem = calloc(node->child->count + 1, sizeof *plan->problem);
    if (plan->problem == NULL)
        return hn_fail_memory(reader->err);
    for (const struct hn_yaml *child = node->child->child; child != NULL; child = child->next) {
        plan->problem[plan->problem_count] = strdup(child->key->text);
        if (plan->problem[plan->problem_count++] == NULL)
            return hn_fail_memory(reader->err);
    }
    return HN_OK;
}

enum hn_status hn_config_read_problem(struct hn_config_reader *reader)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "problem");
    if (node == NULL)
        return multiply_out(reader, NULL, 0);
    if (node->kind == HN_YAML_MAPPING)
        return read_one_mapping(reader, node);
    if (node->kind == HN_YAML_SEQUENCE)
        return read_problem_list(reader, node);
    return hn_config_fail_found(reader, node, "a mapping of names to values, or a list of them");
}

enum hn_status hn_config_read_freeze(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "freeze");
    if (node == NULL)
        return HN_OK;
    enum hn_status status =
        hn_config_check_kind(reader, node, HN_YAML_SEQUENCE, "a list of problem values");
    if (status != HN_OK)
        return status;
    plan->freeze = calloc(node->count + 1, sizeof *plan->freeze);
    if (plan->freeze == NULL)
        return hn_fail_memory(reader->err);
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next) {
        char *name = NULL;
        status = hn_config_read_word(reader, item, "the name of a problem value", &name);
        if (status != HN_OK)
            break;
        plan->freeze[plan->freeze_count++] = name;
        if (!hn_bindings_get(&reader->config->problems[0], name))
            status =
                hn_config_fail_unknown(reader, item, "problem value", name,
                                       (const char *const *)plan->problem, plan->problem_count);
    }
    return status;
}
