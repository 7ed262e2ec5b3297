/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

static const char default_relative[] = "1.0e-5";

/* Two units in the last place of the largest element: a kernel and its reference round on their
 * own. */
static const char *default_of(enum hn_element element)
{
    return element == HN_FLOAT16 ? "2.0e-3" : element == HN_BFLOAT16 ? "1.6e-2" : default_relative;
}

static enum hn_status read_bounds(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  enum hn_element element, struct hn_compare *compare)
{
    bool mapping = node != NULL && node->kind == HN_YAML_MAPPING;
    const struct hn_yaml *relative = mapping ? hn_yaml_get(node, "relative") : NULL;
    const struct hn_yaml *absolute = mapping ? hn_yaml_get(node, "absolute") : NULL;
    if (compare->mode != HN_COMPARE_MAX_NORM) {
        const struct hn_yaml *bound = relative != NULL ? relative : absolute;
        if (bound != NULL)
            return hn_config_fail(reader, bound->key, "mode %s takes no '%s'",
                                  hn_compare_mode_names[compare->mode], bound->key->text);
        return HN_OK;
    }
    if (relative == NULL && absolute == NULL)
        return hn_expression_parse(default_of(element), &compare->relative, reader->err);
    enum hn_status status = HN_OK;
    if (relative != NULL)
        status = hn_config_read_expression(reader, relative, &compare->relative);
    if (status == HN_OK && absolute != NULL)
        status = hn_config_read_expression(reader, absolute, &compare->absolute);
    return status;
}

static enum hn_status read_mode(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                enum hn_compare_mode *mode)
{
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "max_norm, exact or multiset");
    for (int i = 0; i < HN_COMPARE_MODE_COUNT; i++) {
        if (strcmp(node->text, hn_compare_mode_names[i]) != 0)
            continue;
        *mode = (enum hn_compare_mode)i;
        return HN_OK;
    }
    return hn_config_fail_unknown(reader, node, "mode", node->text, hn_compare_mode_names,
                                  HN_COMPARE_MODE_COUNT);
}

enum hn_status hn_config_read_comparison(struct hn_config_reader *reader,
                                         const struct hn_yaml *node, enum hn_element element,
                                         struct hn_compare *compare)
{
    static const char *const keys[] = {"mode", "relative", "absolute", NULL};
    enum hn_status status = HN_OK;
    const struct hn_yaml *mode = node;
    if (node != NULL && node->kind != HN_YAML_SCALAR) {
        status = hn_config_check_keys(reader, node, keys);
        mode = status == HN_OK ? hn_yaml_get(node, "mode") : NULL;
    }
    if (status == HN_OK && mode != NULL)
        status = read_mode(reader, mode, &compare->mode);
    return status == HN_OK ? read_bounds(reader, node, element, compare) : status;
}

/* Where the config gives no bounds, what halves can not keep to is not asked of them. */
static enum hn_status set_defaults(const struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        struct hn_argument *argument = &plan->arguments[i];
        if (!hn_argument_is_compared(argument) || argument->compare != NULL ||
            default_of(argument->element) == default_relative)
            continue;
        argument->compare = calloc(1, sizeof *argument->compare);
        if (argument->compare == NULL)
            return hn_fail_memory(reader->err);
        enum hn_status status = hn_expression_parse(default_of(argument->element),
                                                    &argument->compare->relative, reader->err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_config_read_compare(struct hn_config_reader *reader)
{
    struct hn_compare *compare = &reader->config->plan->compare;
    bool bounded = false;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "compare");
    if (node != NULL && node->kind == HN_YAML_MAPPING)
        bounded = hn_yaml_get(node, "relative") != NULL || hn_yaml_get(node, "absolute") != NULL;
    enum hn_status status = hn_config_read_comparison(reader, node, HN_FLOAT32, compare);
    if (status != HN_OK || bounded || compare->mode != HN_COMPARE_MAX_NORM)
        return status;
    return set_defaults(reader);
}

enum hn_status hn_config_read_judgement(struct hn_config_reader *reader, const struct hn_yaml *node,
                                        struct hn_argument *argument)
{
    const struct hn_yaml *compare = hn_yaml_get(node, "compare");
    const struct hn_yaml *length = hn_yaml_get(node, "length");
    const struct hn_yaml *either = compare != NULL ? compare : length;
    if (either != NULL && !hn_argument_is_compared(argument))
        return hn_config_fail(reader, either->key,
                              "found '%s' for role %s; only output and inout are compared",
                              either->key->text, hn_role_name(argument->role));
    enum hn_status status = HN_OK;
    if (length != NULL)
        status = hn_config_read_word(reader, length, "the name of an output", &argument->length);
    if (status != HN_OK || compare == NULL)
        return status;
    argument->compare = calloc(1, sizeof *argument->compare);
    if (argument->compare == NULL)
        return hn_fail_memory(reader->err);
    return hn_config_read_comparison(reader, compare, argument->element, argument->compare);
}

enum hn_status hn_config_check_length(const struct hn_config_reader *reader,
                                      const struct hn_yaml *item,
                                      const struct hn_argument *argument)
{
    if (argument->length == NULL)
        return HN_OK;
    const struct hn_argument *length =
        hn_plan_find_argument(reader->config->plan, argument->length);
    if (length != NULL && length != argument && hn_argument_is_compared(length) &&
        length->length == NULL && !hn_element_is_real(length->element))
        return HN_OK;
    return hn_config_fail_found(
        reader, hn_yaml_get(item, "length"),
        "the name of another argument of integers with role output or inout");
}
