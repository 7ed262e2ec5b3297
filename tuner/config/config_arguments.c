/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

enum hn_status hn_config_read_type(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node, struct hn_argument *argument)
{
    const char *names[HN_ELEMENT_COUNT];
    for (int i = 0; i < HN_ELEMENT_COUNT; i++)
        names[i] = hn_element_name((enum hn_element)i);
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "an element type such as float32 or float32x4");
    if (hn_type_parse(node->text, &argument->element, &argument->lanes))
        return HN_OK;
    size_t base = strcspn(node->text, "x");
    for (int i = 0; i < HN_ELEMENT_COUNT; i++)
        if (strlen(names[i]) == base && strncmp(node->text, names[i], base) == 0)
            return hn_config_fail_found(reader, node, "a vector of 2, 3, 4, 8 or 16, as float32x4");
    return hn_config_fail_unknown(reader, node, "element type", node->text, names,
                                  HN_ELEMENT_COUNT);
}

/* What is passed by value, or held by a symbol, as one. */
enum hn_status hn_config_check_scalar(const struct hn_config_reader *reader,
                                      const struct hn_yaml *type,
                                      const struct hn_argument *argument)
{
    if (argument->lanes == 1)
        return HN_OK;
    return hn_config_fail(reader, type, "'%s' has a value, so its type can not be a vector",
                          argument->name);
}

/* The roles of buffers; those of scalars and symbols are not written. */
static enum hn_status read_role(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                enum hn_role *role)
{
    const char *names[HN_ROLE_COUNT];
    size_t count = 0;
    for (int i = 0; i < HN_ROLE_COUNT; i++)
        if (i != HN_ROLE_VALUE && i != HN_ROLE_SYMBOL && i != HN_ROLE_TEXTURE)
            names[count++] = hn_role_name((enum hn_role)i);
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "a role such as output");
    if (!hn_role_parse(node->text, role) || *role == HN_ROLE_VALUE || *role == HN_ROLE_SYMBOL ||
        *role == HN_ROLE_TEXTURE)
        return hn_config_fail_unknown(reader, node, "role", node->text, names, count);
    return HN_OK;
}

enum hn_status hn_config_refuse(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                const char *const *keys, const char *because)
{
    for (; *keys != NULL; keys++) {
        const struct hn_yaml *child = hn_yaml_get(node, *keys);
        if (child != NULL)
            return hn_config_fail(reader, child->key, "'%s' %s, so it can not have a '%s'",
                                  hn_yaml_get(node, "name")->text, because, *keys);
    }
    return HN_OK;
}

static enum hn_status read_scalar(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_argument *argument)
{
    static const char *const for_buffers[] = {"count", "width",   "height", "pitch",   "role",
                                              "zero",  "fill",    "file",   "compare", "length",
                                              "from",  "texture", NULL};
    const struct hn_yaml *type = NULL;
    argument->role = HN_ROLE_VALUE;
    enum hn_status status = hn_config_refuse(reader, node, for_buffers, "has a value");
    if (status == HN_OK)
        status = hn_config_need(reader, node, "type", &type);
    if (status == HN_OK)
        status = hn_config_read_type(reader, type, argument);
    if (status == HN_OK)
        status = hn_config_check_scalar(reader, type, argument);
    if (status == HN_OK)
        status = hn_config_read_expression(reader, hn_yaml_get(node, "value"), &argument->value);
    return status;
}

/* The contents of an input that is looked up once all arguments are read. */
static enum hn_status read_from(struct hn_config_reader *reader, const struct hn_yaml *node,
                                struct hn_argument *argument)
{
    static const char *const for_others[] = {"type",   "count",   "width", "height", "pitch",
                                             "role",   "zero",    "fill",  "file",   "compare",
                                             "length", "texture", NULL};
    argument->role = HN_ROLE_VALUE;
    enum hn_status status = hn_config_refuse(reader, node, for_others, "has a 'from'");
    return status == HN_OK ? hn_config_read_word(reader, hn_yaml_get(node, "from"),
                                                 "the name of an input", &argument->from)
                           : status;
}

/* Whether a counter is zeroed within the time of a launch. */
static enum hn_status read_zero(const struct hn_config_reader *reader, const struct hn_yaml *parent,
                                struct hn_argument *argument)
{
    const struct hn_yaml *node = hn_yaml_get(parent, "zero");
    if (node == NULL)
        return HN_OK;
    if (argument->role != HN_ROLE_COUNTER)
        return hn_config_fail(reader, node->key, "found 'zero' for role %s; only counter has it",
                              hn_role_name(argument->role));
    bool scalar = node->kind == HN_YAML_SCALAR;
    argument->zero_inside = scalar && strcmp(node->text, "inside") == 0;
    if (!argument->zero_inside && (!scalar || strcmp(node->text, "outside") != 0))
        return hn_config_fail_found(reader, node, "inside or outside (of the time)");
    return HN_OK;
}

/* "device", or an expression. */
static enum hn_status read_pitch(struct hn_config_reader *reader, const struct hn_yaml *node,
                                 struct hn_shape *shape)
{
    if (node == NULL)
        return HN_OK;
    shape->device = node->kind == HN_YAML_SCALAR && strcmp(node->text, "device") == 0;
    return shape->device ? HN_OK : hn_config_read_expression(reader, node, &shape->pitch);
}

static enum hn_status read_shape(struct hn_config_reader *reader, const struct hn_yaml *node,
                                 struct hn_argument *argument)
{
    static const char *const for_others[] = {"count", NULL};
    const struct hn_yaml *height = NULL;
    enum hn_status status = hn_config_refuse(reader, node, for_others, "has a 'width'");
    if (status == HN_OK && (argument->role == HN_ROLE_COUNTER || argument->role == HN_ROLE_METRIC))
        status = hn_config_fail(reader, hn_yaml_get(node, "width")->key,
                                "found 'width' for role %s; only input, output, inout and scratch "
                                "have rows",
                                hn_role_name(argument->role));
    if (status == HN_OK)
        status = hn_config_need(reader, node, "height", &height);
    if (status == HN_OK)
        status =
            hn_config_read_expression(reader, hn_yaml_get(node, "width"), &argument->shape.width);
    if (status == HN_OK)
        status = hn_config_read_expression(reader, height, &argument->shape.height);
    if (status == HN_OK)
        status = read_pitch(reader, hn_yaml_get(node, "pitch"), &argument->shape);
    return status == HN_OK ? hn_argument_set_count(argument, reader->err) : status;
}

/* `count`, or `width` and `height`. */
static enum hn_status read_size(struct hn_config_reader *reader, const struct hn_yaml *node,
                                struct hn_argument *argument)
{
    static const char *const for_rows[] = {"height", "pitch", NULL};
    const struct hn_yaml *count = hn_yaml_get(node, "count");
    if (hn_yaml_get(node, "width") != NULL)
        return read_shape(reader, node, argument);
    enum hn_status status = hn_config_refuse(reader, node, for_rows, "has no 'width'");
    return status == HN_OK ? hn_config_read_expression(reader, count, &argument->count) : status;
}

static enum hn_status read_buffer(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_argument *argument)
{
    static const char *const for_filled[] = {"fill", "file"};
    const struct hn_yaml *type = NULL;
    const struct hn_yaml *count = hn_yaml_get(node, "count");
    const struct hn_yaml *role = hn_yaml_get(node, "role");
    argument->role = HN_ROLE_INPUT;
    enum hn_status status = hn_config_need(reader, node, "type", &type);
    if (status == HN_OK)
        status = hn_config_read_type(reader, type, argument);
    if (status == HN_OK && count == NULL && hn_yaml_get(node, "width") == NULL)
        return hn_config_fail(
            reader, node,
            "argument '%s' has neither 'count' (a buffer), 'width' (its rows), 'value' "
            "(a scalar), 'from' (the contents of an input, by value) nor "
            "'texture'",
            argument->name);
    if (status == HN_OK && role != NULL)
        status = read_role(reader, role, &argument->role);
    if (status == HN_OK)
        status = read_size(reader, node, argument);
    if (status == HN_OK)
        status = read_zero(reader, node, argument);
    if (status == HN_OK)
        status = hn_config_read_judgement(reader, node, argument);
    if (status == HN_OK && hn_argument_is_filled(argument))
        return hn_config_read_fill(reader, node, argument);
    for (size_t i = 0; i < 2 && status == HN_OK; i++) {
        const struct hn_yaml *fill = hn_yaml_get(node, for_filled[i]);
        if (fill != NULL)
            status = hn_config_fail(reader, fill->key,
                                    "found '%s' for role %s; only input and inout are filled",
                                    for_filled[i], hn_role_name(argument->role));
    }
    return status;
}

static enum hn_status read_argument(struct hn_config_reader *reader, const struct hn_yaml *node,
                                    struct hn_argument *argument)
{
    static const char *const keys[] = {
        "name", "type",    "count",      "width",   "height",  "pitch",      "value",
        "from", "texture", "dimensions", "address", "filter",  "normalized", "read",
        "role", "zero",    "fill",       "file",    "compare", "length",     NULL};
    const struct hn_yaml *name = NULL;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "name", &name);
    if (status == HN_OK)
        status = hn_config_read_word(reader, name, "a name", &argument->name);
    if (status != HN_OK)
        return status;
    if (hn_yaml_get(node, "value") != NULL)
        return read_scalar(reader, node, argument);
    if (hn_yaml_get(node, "from") != NULL)
        return read_from(reader, node, argument);
    if (hn_yaml_get(node, "texture") != NULL)
        return hn_config_read_texture(reader, node, argument);
    return hn_config_refuse_texture(reader, node) == HN_OK ? read_buffer(reader, node, argument)
                                                           : HN_ECONFIG;
}

enum hn_status hn_config_find_source(const struct hn_config_reader *reader,
                                     const struct hn_yaml *item, struct hn_argument *argument)
{
    if (argument->from == NULL)
        return HN_OK;
    if (argument->role == HN_ROLE_TEXTURE)
        return hn_config_find_texture(reader, item, argument);
    const struct hn_argument *input = hn_plan_find_argument(reader->config->plan, argument->from);
    if (input == NULL || input->role != HN_ROLE_INPUT)
        return hn_config_fail_found(reader, hn_yaml_get(item, "from"),
                                    "the name of an argument with role input");
    argument->element = input->element;
    argument->lanes = input->lanes;
    return HN_OK;
}

enum hn_status hn_config_check_unique(const struct hn_config_reader *reader,
                                      const struct hn_yaml *item)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_argument *last = &plan->arguments[plan->argument_count - 1];
    if (hn_plan_find_argument(plan, last->name) == last)
        return HN_OK;
    return hn_config_fail(reader, hn_yaml_get(item, "name"), "%s '%s' is there twice",
                          last->role == HN_ROLE_SYMBOL ? "symbol or argument" : "argument",
                          last->name);
}

/* The kernel is judged by what it writes. */
static enum hn_status check_results(const struct hn_config_reader *reader,
                                    const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == HN_ROLE_OUTPUT || plan->arguments[i].role == HN_ROLE_INOUT)
            return HN_OK;
    return hn_config_fail(reader, node,
                          "no argument has role output or inout, so nothing could be verified");
}

static enum hn_status name_pitches(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node)
{
    struct hn_error reason = {""};
    enum hn_status status = hn_plan_name_pitches(reader->config->plan, &reason);
    if (status == HN_ENOMEM)
        return hn_fail_memory(reader->err);
    return status == HN_OK ? HN_OK : hn_config_fail(reader, node, "%s", reason.message);
}

enum hn_status hn_config_read_arguments(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = NULL;
    enum hn_status status = hn_config_need(reader, reader->root, "arguments", &node);
    if (status == HN_OK)
        status = hn_config_check_kind(reader, node, HN_YAML_SEQUENCE, "a list of arguments");
    if (status == HN_OK && node->count > HN_CONFIG_ARGUMENTS)
        status = hn_config_fail(reader, node, "found %zu arguments, expected at most %d",
                                node->count, HN_CONFIG_ARGUMENTS);
    if (status != HN_OK)
        return status;
    plan->arguments = calloc(node->count + 1, sizeof *plan->arguments);
    if (plan->arguments == NULL)
        return hn_fail_memory(reader->err);
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next) {
        plan->argument_count++;
        status = read_argument(reader, item, &plan->arguments[plan->argument_count - 1]);
        if (status == HN_OK)
            status = hn_config_check_unique(reader, item);
    }
    struct hn_argument *argument = plan->arguments;
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next, argument++) {
        status = hn_config_check_length(reader, item, argument);
        if (status == HN_OK)
            status = hn_config_find_source(reader, item, argument);
    }
    if (status == HN_OK)
        status = check_results(reader, node);
    return status == HN_OK ? name_pitches(reader, node) : status;
}
