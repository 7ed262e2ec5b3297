/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
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
    if (!hn_failed(reader->err))
        hn_expression_parse(hn_config_default_relative(element), &compare->relative, reader->err);
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
    const struct hn_field_rule *broken =
        hn_config_broken_rule(reader, node, hn_compare_structure.rules, compare);
    if (broken != NULL)
        hn_config_fail(reader, hn_yaml_get(node, broken->key)->key, "mode %s takes no '%s'",
                       hn_compare_mode_names[compare->mode], broken->key);
}

void hn_config_read_own_compare(struct hn_config_reader *reader, const struct hn_yaml *node,
                                void *owner)
{
    struct hn_argument *argument = owner;
    argument->compare = hn_need(1, sizeof *argument->compare);
    read_comparison(reader, node, argument->compare);
    if (argument->compare->mode == HN_COMPARE_MAX_NORM && !has_bounds(argument->compare))
        set_default(reader, argument->element, argument->compare);
}

/* Where the config gives no bounds, what halves can not keep to is not asked of them. */
static void set_defaults(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    set_default(reader, HN_FLOAT32, &plan->compare);
    for (size_t i = 0; i < plan->argument_count && !hn_failed(reader->err); i++) {
        struct hn_argument *argument = &plan->arguments[i];
        if (!hn_argument_is_compared(argument) || argument->compare != NULL ||
            (hn_config_default_relative(argument->element) == default_relative &&
             !hn_config_is_typed(reader->config, i)))
            continue;
        argument->compare = hn_need(1, sizeof *argument->compare);
        argument->compare->partial = plan->compare.partial;
        argument->compare->mismatch_share = plan->compare.mismatch_share;
        if (plan->compare.mismatches != NULL)
            hn_expression_copy(plan->compare.mismatches, &argument->compare->mismatches,
                               reader->err);
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

/* Metrics and the objective. */

static void read_metric(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_metric *metric)
{
    const struct hn_plan *plan = reader->config->plan;
    const char *name = node->key->text;
    hn_config_expect(reader, hn_text_is_word(name), node->key, "a name for a metric");
    if (strcmp(name, "time") == 0 || strcmp(name, "time_us") == 0)
        hn_config_fail(reader, node->key, "'%s' is measured, it can not be a metric", name);
    if (hn_plan_is_taken(plan, name))
        hn_config_fail(reader, node->key,
                       "metric '%s' has the name of a parameter, problem value, word or metric "
                       "argument; rename it",
                       name);
    metric->name = hn_need_copy(name);
    hn_config_read_expression(reader, node, &metric->expression);
}

static const char *const measured[] = {"time", "energy", "energy_delay"};
enum { MEASURED_COUNT = sizeof measured / sizeof *measured };

static void read_objective(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    size_t count = plan->metric_count + MEASURED_COUNT;
    const char **known = hn_need(count, sizeof *known);
    for (size_t i = 0; i < count; i++)
        known[i] = i < MEASURED_COUNT ? measured[i] : plan->metrics[i - MEASURED_COUNT].name;
    hn_config_expect_kind(reader, node, HN_YAML_SCALAR,
                          "time, energy, energy_delay or the name of a metric");
    plan->objective =
        hn_need_copy(known[hn_config_read_choice(reader, node, "objective", known, count)]);
    free(known);
}

static void read_direction(struct hn_config_reader *reader, const struct hn_yaml *objective)
{
    static const char *const directions[] = {"minimize", "maximize"};
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "direction");
    enum hn_front_by by;
    bool least = strcmp(plan->objective, "time") == 0 || hn_plan_weighs(plan, &by);
    if (node == NULL && !least)
        hn_config_fail(reader, objective,
                       "objective '%s' needs 'direction: minimize' or 'direction: maximize'",
                       plan->objective);
    plan->maximize = hn_config_read_choice(reader, node, "direction", directions, 2) == 1;
    if (least && plan->maximize)
        hn_config_fail(reader, node, "%s can only be minimized", plan->objective);
}

void hn_config_read_metrics(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "metrics");
    const struct hn_yaml *objective = hn_yaml_get(reader->root, "objective");
    const struct hn_yaml *child =
        hn_config_pairs(reader, node, "a mapping of names to expressions");
    if (hn_failed(reader->err))
        return;
    plan->metrics = hn_need(hn_config_count(node), sizeof *plan->metrics);
    for (; child != NULL; child = child->next)
        read_metric(reader, child, &plan->metrics[plan->metric_count++]);
    read_objective(reader, objective);
    read_direction(reader, objective);
}

/* `prior`: what a point may cost. It changes nothing of what is measured, so that the limits of the
 * device that it names are no problem values, and where the device is not known those of an H200
 * do. */

static void take_limits(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    for (size_t i = 0; i < HN_DEVICE_LIMITS && !hn_failed(reader->err); i++) {
        const char *name = hn_device_limit_names[i];
        struct hn_error reason = {0};
        if (hn_plan_has_name(config->plan, name) ||
            !hn_config_mentions(hn_expression_text(config->prior), name))
            continue;
        int64_t found = reader->use != NULL ? hn_config_find_limit(reader, i, &reason) : 0;
        const struct hn_value value = hn_integer(found > 0 ? found : hn_config_nominal_limit(i));
        hn_bindings_set(&config->prior_limits, name, &value, reader->err);
    }
}

/* That it is above 0 at the default point of a problem, where there is one. */
static void try_default(struct hn_config_reader *reader, const struct hn_yaml *node, size_t problem)
{
    const struct hn_config *config = reader->config;
    const struct hn_plan *plan = config->plan;
    const struct hn_bindings *limits = &config->prior_limits;
    struct hn_error reason = {0};
    struct hn_value *own = NULL;
    double estimate = 0;
    if (plan->defaults.count == 0 || hn_failed(reader->err))
        return;
    bool known =
        hn_plan_values(plan, &config->problems[problem], &plan->defaults, &own, &reason) == HN_OK;
    struct hn_value *values = hn_need(plan->name_count + limits->count, sizeof *values);
    for (size_t i = 0; i < plan->name_count && known; i++)
        values[i] = own[i];
    for (size_t i = 0; i < limits->count; i++)
        values[plan->name_count + i] = limits->values[i];
    if (known && hn_expression_number(config->prior, values, &estimate, &reason) == HN_OK &&
        !(estimate > 0))
        hn_fail(&reason, HN_ECONFIG, "'%.60s' is %g, expected a time, above 0",
                hn_expression_text(config->prior), estimate);
    char *where = hn_config_describe_default(config, problem);
    if (hn_failed(&reason))
        hn_config_fail(reader, node, "%s (at the default point: %s)", reason.message, where);
    free(where);
    free(values);
    free(own);
}

void hn_config_read_prior(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "prior");
    if (node == NULL || hn_failed(reader->err))
        return;
    hn_config_read_expression(reader, node, &config->prior);
    if (hn_failed(reader->err))
        return;
    take_limits(reader);
    struct hn_scope scope =
        hn_config_scope(config->plan, config->prior_limits.names, config->prior_limits.count);
    hn_config_bind(reader, node, node->text, config->prior, &scope);
    hn_config_finish_scope(&scope);
    for (size_t i = 0; i < config->problem_count; i++)
        try_default(reader, node, i);
}
