/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tuner/config/config_parts.h"

/* How results are compared: for all, and an argument's own way. */

static const char default_relative[] = "1.0e-5";

/* Two units in the last place of the largest element: a kernel and its reference round on their
 * own. */
static const char *default_of(enum hn_element element)
{
    return element == HN_FLOAT16 ? "2.0e-3" : element == HN_BFLOAT16 ? "1.6e-2" : default_relative;
}

static void set_default(struct hn_config_reader *reader, enum hn_element element,
                        struct hn_compare *compare)
{
    if (reader->status == HN_OK)
        hn_config_take(reader,
                       hn_expression_parse(default_of(element), &compare->relative, reader->err));
}

static bool has_bounds(const struct hn_compare *compare)
{
    return compare->relative != NULL || compare->absolute != NULL;
}

/* A mode, or a mapping of it and its bounds; no node: what counts without one. */
static void read_comparison(struct hn_config_reader *reader, const struct hn_yaml *node,
                            struct hn_compare *compare)
{
    static const struct hn_config_mapping mapping = {&hn_compare_structure, NULL, NULL};
    if (node == NULL || node->kind == HN_YAML_SCALAR) {
        int mode = hn_config_read_choice(reader, node, "mode", hn_compare_mode_names,
                                         HN_COMPARE_MODE_COUNT);
        compare->mode = (enum hn_compare_mode)mode;
        return;
    }
    hn_config_check_mapping(reader, node, &mapping);
    hn_config_read_mapping(reader, node, &mapping, compare);
    if (compare->mode == HN_COMPARE_MAX_NORM || !has_bounds(compare))
        return;
    const struct hn_yaml *bound =
        hn_yaml_get(node, compare->relative != NULL ? "relative" : "absolute");
    hn_config_fail(reader, bound->key, "mode %s takes no '%s'",
                   hn_compare_mode_names[compare->mode], bound->key->text);
}

void hn_config_read_own_compare(struct hn_config_reader *reader, const struct hn_yaml *node,
                                void *owner)
{
    struct hn_argument *argument = owner;
    argument->compare = hn_config_allocate(reader, 1, sizeof *argument->compare);
    if (argument->compare == NULL)
        return;
    read_comparison(reader, node, argument->compare);
    if (argument->compare->mode == HN_COMPARE_MAX_NORM && !has_bounds(argument->compare))
        set_default(reader, argument->element, argument->compare);
}

/* Where the config gives no bounds, what halves can not keep to is not asked of them. */
static void set_defaults(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    set_default(reader, HN_FLOAT32, &plan->compare);
    for (size_t i = 0; i < plan->argument_count && reader->status == HN_OK; i++) {
        struct hn_argument *argument = &plan->arguments[i];
        if (!hn_argument_is_compared(argument) || argument->compare != NULL ||
            default_of(argument->element) == default_relative)
            continue;
        argument->compare = hn_config_allocate(reader, 1, sizeof *argument->compare);
        if (argument->compare != NULL)
            set_default(reader, argument->element, argument->compare);
    }
}

void hn_config_read_compare(struct hn_config_reader *reader)
{
    struct hn_compare *compare = &reader->config->plan->compare;
    read_comparison(reader, hn_yaml_get(reader->root, "compare"), compare);
    if (compare->mode == HN_COMPARE_MAX_NORM && !has_bounds(compare))
        set_defaults(reader);
}
