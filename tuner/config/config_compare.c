/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/c_locale.h"
#include "tuner/config/config_parts.h"

/* How results are compared: for all, and an argument's own way. */

static const char default_relative[] = "1.0e-5";

/* Two units in the last place of the largest element: a kernel and its reference round on their
 * own. */
const char *hn_config_default_relative(enum hn_element element)
{
    return element == HN_FLOAT16       ? "2.0e-3"
           : element == HN_BFLOAT16    ? "1.6e-2"
           : element == HN_FLOAT8_E4M3 ? "2.5e-1"
                                       : default_relative;
}

static void set_default(struct hn_config_reader *reader, enum hn_element element,
                        struct hn_compare *compare)
{
    if (reader->status == HN_OK)
        hn_config_take(reader, hn_expression_parse(hn_config_default_relative(element),
                                                   &compare->relative, reader->err));
}

static bool has_bounds(const struct hn_compare *compare)
{
    return compare->relative != NULL || compare->absolute != NULL;
}

/* "10", an expression of the problem and the parameters, or a share: "0.1%". */
static void read_mismatches(struct hn_config_reader *reader, const struct hn_yaml *node,
                            void *owner)
{
    static const char expected[] =
        "a number of elements, or a share of them from 0% to less than 100%, as 0.1%";
    struct hn_compare *compare = owner;
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected))
        return;
    size_t length = strlen(node->text);
    if (length == 0 || node->text[length - 1] != '%') {
        hn_config_read_expression(reader, node, &compare->mismatches);
        return;
    }
    char *end = NULL;
    double percent = hn_c_strtod(node->text, &end);
    bool fits =
        end == node->text + length - 1 && end != node->text && percent >= 0 && percent < 100;
    if (hn_config_expect(reader, fits, node, expected))
        compare->mismatch_share = percent / 100;
}

static const struct hn_config_form compare_forms[] = {
    {"mismatches", read_mismatches}, {"mismatch_share", NULL}, {NULL, NULL}};

/* What a mode does not have: a multiset knows no places, and neither it nor what is exact an error.
 */
static void refuse(struct hn_config_reader *reader, const struct hn_yaml *node,
                   const struct hn_compare *compare, const char *key)
{
    const struct hn_yaml *child = hn_yaml_get(node, key);
    if (child != NULL)
        hn_config_fail(reader, child->key, "mode %s takes no '%s'",
                       hn_compare_mode_names[compare->mode], child->key->text);
}

/* A mode, or a mapping of it and its bounds; no node: what counts without one. */
static void read_comparison(struct hn_config_reader *reader, const struct hn_yaml *node,
                            struct hn_compare *compare)
{
    static const struct hn_config_mapping mapping = {&hn_compare_structure, compare_forms, NULL};
    if (node == NULL || node->kind == HN_YAML_SCALAR) {
        int mode = hn_config_read_choice(reader, node, "mode", hn_compare_mode_names,
                                         HN_COMPARE_MODE_COUNT);
        compare->mode = (enum hn_compare_mode)mode;
        return;
    }
    hn_config_check_mapping(reader, node, &mapping);
    hn_config_read_mapping(reader, node, &mapping, compare);
    if (compare->mode != HN_COMPARE_MAX_NORM) {
        refuse(reader, node, compare, "relative");
        refuse(reader, node, compare, "absolute");
    }
    if (compare->mode == HN_COMPARE_MULTISET) {
        refuse(reader, node, compare, "partial");
        refuse(reader, node, compare, "mismatches");
    }
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
            (hn_config_default_relative(argument->element) == default_relative &&
             !hn_config_is_typed(reader->config, i)))
            continue;
        argument->compare = hn_config_allocate(reader, 1, sizeof *argument->compare);
        if (argument->compare == NULL)
            return;
        argument->compare->partial = plan->compare.partial;
        argument->compare->mismatch_share = plan->compare.mismatch_share;
        if (plan->compare.mismatches != NULL)
            hn_config_take(reader, hn_expression_copy(plan->compare.mismatches,
                                                      &argument->compare->mismatches, reader->err));
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
