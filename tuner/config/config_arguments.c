/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

static enum hn_status read_element(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node, enum hn_element *element)
{
    const char *names[HN_ELEMENT_COUNT];
    for (int i = 0; i < HN_ELEMENT_COUNT; i++)
        names[i] = hn_element_name((enum hn_element)i);
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "an element type such as float32");
    if (!hn_element_parse(node->text, element))
        return hn_config_fail_unknown(reader, node, "element type", node->text, names,
                                      HN_ELEMENT_COUNT);
    return HN_OK;
}

/* The roles of buffers; a scalar's is not written. */
static enum hn_status read_role(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                enum hn_role *role)
{
    const char *names[HN_ROLE_COUNT];
    size_t count = 0;
    for (int i = 0; i < HN_ROLE_COUNT; i++)
        if (i != HN_ROLE_VALUE)
            names[count++] = hn_role_name((enum hn_role)i);
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "a role such as output");
    if (!hn_role_parse(node->text, role) || *role == HN_ROLE_VALUE)
        return hn_config_fail_unknown(reader, node, "role", node->text, names, count);
    return HN_OK;
}

static bool is_real(enum hn_element element)
{
    return element == HN_FLOAT32 || element == HN_FLOAT64;
}

/* [low, high] of an integer type, as doubles; the ends of 64 bits are rounded inwards by the use of
 * < 2^63. */
static void integer_bounds(enum hn_element element, double *low, double *high)
{
    bool is_unsigned = hn_element_name(element)[0] == 'u';
    int bits = 8 * (int)hn_element_size(element);
    *low = is_unsigned ? 0 : -ldexp(1, bits - 1);
    *high = ldexp(1, is_unsigned ? bits : bits - 1) - 1;
}

static enum hn_status check_fill(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                 enum hn_element element, const struct hn_fill *fill)
{
    if (fill->kind == HN_FILL_UNIFORM && fill->a > fill->b)
        return hn_config_fail_found(reader, node, "uniform(low, high) with the lower bound first");
    if (fill->kind == HN_FILL_NORMAL && fill->b < 0)
        return hn_config_fail_found(reader, node, "a deviation of at least 0");
    if (is_real(element))
        return HN_OK;
    double low, high;
    integer_bounds(element, &low, &high);
    if (fill->a != floor(fill->a) || (fill->kind != HN_FILL_NORMAL && fill->b != floor(fill->b)))
        return hn_config_fail(reader, node, "found '%s' for elements of %s, expected whole numbers",
                              node->text, hn_element_name(element));
    bool fits = fill->a >= low && fill->a <= high;
    if (fill->kind == HN_FILL_UNIFORM)
        fits = fits && fill->b >= low && fill->b <= high;
    if (!fits)
        return hn_config_fail(reader, node, "found '%s', which does not fit into %s", node->text,
                              hn_element_name(element));
    return HN_OK;
}

/* "name(a, b)" into its parts; false when it is something else. */
static bool split_fill(const char *text, struct hn_fill *fill)
{
    char name[16];
    size_t length = strcspn(text, "( ");
    int numbers = 0;
    if (length >= sizeof name)
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    if (!hn_fill_kind_parse(name, &fill->kind, &numbers))
        return false;

    const char *at = text + length + strspn(text + length, " ");
    double values[2] = {0, 0};
    for (int i = 0; i < numbers; i++) {
        char *end = NULL;
        if (*at != (i == 0 ? '(' : ','))
            return false;
        values[i] = strtod(at + 1, &end);
        if (end == at + 1 || !isfinite(values[i]))
            return false;
        at = end + strspn(end, " ");
    }
    fill->a = values[0];
    fill->b = values[1];
    return strcmp(at, ")") == 0;
}

static enum hn_status read_fill(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                struct hn_argument *argument)
{
    if (node == NULL) {
        argument->fill = is_real(argument->element) ? (struct hn_fill){HN_FILL_UNIFORM, -1, 1}
                                                    : (struct hn_fill){HN_FILL_UNIFORM, 0, 100};
        return HN_OK;
    }
    enum hn_status status = hn_config_check_cut(reader, node);
    if (status != HN_OK)
        return status;
    if (node->kind != HN_YAML_SCALAR || !split_fill(node->text, &argument->fill))
        return hn_config_fail_found(reader, node,
                                    "uniform(low, high), normal(mean, deviation), "
                                    "iota(start, step) or constant(value)");
    return check_fill(reader, node, argument->element, &argument->fill);
}

static enum hn_status read_scalar(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_argument *argument)
{
    static const char *const for_buffers[] = {"count", "role", "fill"};
    for (size_t i = 0; i < 3; i++) {
        const struct hn_yaml *child = hn_yaml_get(node, for_buffers[i]);
        if (child != NULL)
            return hn_config_fail(reader, child->key,
                                  "argument '%s' has a value, so it can not have a '%s'",
                                  argument->name, for_buffers[i]);
    }
    argument->role = HN_ROLE_VALUE;
    return hn_config_read_expression(reader, hn_yaml_get(node, "value"), &argument->value);
}

static enum hn_status read_buffer(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_argument *argument)
{
    const struct hn_yaml *count = hn_yaml_get(node, "count");
    const struct hn_yaml *role = hn_yaml_get(node, "role");
    const struct hn_yaml *fill = hn_yaml_get(node, "fill");
    argument->role = HN_ROLE_INPUT;
    if (count == NULL)
        return hn_config_fail(reader, node,
                              "argument '%s' has neither 'count' (a buffer) nor 'value' (a scalar)",
                              argument->name);
    enum hn_status status = hn_config_read_expression(reader, count, &argument->count);
    if (status == HN_OK && role != NULL)
        status = read_role(reader, role, &argument->role);
    if (status != HN_OK)
        return status;
    if (argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT)
        return read_fill(reader, fill, argument);
    if (fill != NULL)
        return hn_config_fail(reader, fill->key,
                              "found 'fill' for role %s; only input and inout are filled",
                              hn_role_name(argument->role));
    return HN_OK;
}

static enum hn_status read_argument(struct hn_config_reader *reader, const struct hn_yaml *node,
                                    struct hn_argument *argument)
{
    static const char *const keys[] = {"name", "type", "count", "value", "role", "fill", NULL};
    const struct hn_yaml *name = NULL;
    const struct hn_yaml *type = NULL;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "name", &name);
    if (status == HN_OK)
        status = hn_config_read_word(reader, name, "a name", &argument->name);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "type", &type);
    if (status == HN_OK)
        status = read_element(reader, type, &argument->element);
    if (status != HN_OK)
        return status;
    return hn_yaml_get(node, "value") != NULL ? read_scalar(reader, node, argument)
                                              : read_buffer(reader, node, argument);
}

static enum hn_status check_unique(const struct hn_config_reader *reader,
                                   const struct hn_yaml *item)
{
    const struct hn_plan *plan = reader->config->plan;
    const char *name = plan->arguments[plan->argument_count - 1].name;
    for (size_t i = 0; i + 1 < plan->argument_count; i++)
        if (strcmp(plan->arguments[i].name, name) == 0)
            return hn_config_fail(reader, hn_yaml_get(item, "name"), "argument '%s' is there twice",
                                  name);
    return HN_OK;
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

enum hn_status hn_config_read_arguments(struct hn_config_reader *reader)
{
    enum { ARGUMENTS_MOST = 256 };
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = NULL;
    enum hn_status status = hn_config_need(reader, reader->root, "arguments", &node);
    if (status == HN_OK)
        status = hn_config_check_kind(reader, node, HN_YAML_SEQUENCE, "a list of arguments");
    if (status == HN_OK && node->count > ARGUMENTS_MOST)
        status = hn_config_fail(reader, node, "found %zu arguments, expected at most %d",
                                node->count, ARGUMENTS_MOST);
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
            status = check_unique(reader, item);
    }
    return status == HN_OK ? check_results(reader, node) : status;
}
