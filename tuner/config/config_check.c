/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_parts.h"

static void bind_all(struct hn_config_reader *reader)
{
    const struct hn_expression *failed = NULL;
    struct hn_error reason = {0};
    if (hn_failed(reader->err))
        return;
    hn_plan_bind(reader->config->plan, &failed, &reason);
    hn_config_take_in(reader, failed == NULL ? reader->root : hn_config_place(reader, failed),
                      failed == NULL ? "" : hn_expression_text(failed), &reason);
}

/* Defaults and ladder. */

static void fail_default(struct hn_config_reader *reader, size_t problem,
                         const struct hn_config_constraint *broken)
{
    const struct hn_config *config = reader->config;
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, &config->problems[problem]);
    hn_config_fail(reader, hn_yaml_get(reader->root, "defaults"),
                   "the default point is not valid%s%s: constraint '%s' (%s) does not hold",
                   text.length == 0 ? "" : " for problem ", text.length == 0 ? "" : text.data,
                   broken->text, broken->where);
    hn_text_finish(&text);
}

/* Complete defaults are tested against the constraints, for which no space has to be built. */
static void take_defaults(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    for (size_t i = 0; i < config->problem_count; i++) {
        const struct hn_config_constraint *broken =
            hn_config_find_broken(config, i, &config->defaults, reader->err);
        if (broken != NULL)
            fail_default(reader, i, broken);
    }
    if (!hn_failed(reader->err))
        hn_bindings_copy(&config->plan->defaults, &config->defaults, reader->err);
}

static bool has_choices(const struct hn_bindings *point, const struct hn_bindings *choices)
{
    for (size_t i = 0; i < choices->count; i++) {
        const struct hn_value *value = hn_bindings_get(point, choices->names[i]);
        if (value == NULL || !hn_value_equal(value, &choices->values[i]))
            return false;
    }
    return true;
}

static void find_default(struct hn_config_reader *reader, size_t problem, struct hn_bindings *point)
{
    const struct hn_config *config = reader->config;
    struct hn_space *space = NULL;
    if (hn_config_space(config, problem, &space, reader->err) != HN_OK)
        return;
    hn_config_default_point(config, space, point, reader->err);
    hn_space_destroy(space);
    if (!has_choices(point, &config->defaults))
        hn_config_fail(reader, hn_yaml_get(reader->root, "defaults"),
                       "no valid point has these defaults");
}

/* Partial defaults are completed by the first valid point that has them. */
static void complete_defaults(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    size_t count = config->defaults.count > 0 ? config->problem_count : 1;
    for (size_t i = 0; i < count && !hn_failed(reader->err); i++) {
        struct hn_bindings point;
        hn_bindings_init(&point);
        find_default(reader, i, i == 0 ? &config->plan->defaults : &point);
        hn_bindings_finish(&point);
    }
}

/* The default point with what another says of it. */
static struct hn_bindings complete(struct hn_config_reader *reader, const struct hn_bindings *part)
{
    struct hn_bindings whole;
    hn_bindings_copy(&whole, &reader->config->plan->defaults, reader->err);
    hn_bindings_merge(&whole, part, reader->err);
    return whole;
}

/* It says nothing of points, and is right for each problem that it is for, if not worth a search.
 */
static void check_other_default(struct hn_config_reader *reader, struct hn_default *other)
{
    const struct hn_config *config = reader->config;
    const struct hn_plan *plan = config->plan;
    if (hn_failed(reader->err))
        return;
    const char *parameter = hn_plan_parameter_used(plan, other->condition);
    if (parameter != NULL)
        hn_config_fail(reader, hn_config_place(reader, other->condition),
                       "'%s' is a parameter; expected an expression of problem values, since it "
                       "says which problems the point is for",
                       parameter);
    struct hn_bindings whole = complete(reader, &other->point);
    hn_bindings_finish(&other->point);
    other->point = whole;
    for (size_t i = 0; i < config->problem_count; i++) {
        const struct hn_config_constraint *broken = NULL;
        struct hn_value *values = NULL, holds = hn_boolean(false);
        if (hn_plan_values(plan, &config->problems[i], &plan->defaults, &values, NULL) == HN_OK &&
            hn_expression_evaluate(other->condition, values, &holds, NULL) == HN_OK &&
            hn_value_truth(&holds))
            broken = hn_config_find_broken(config, i, &other->point, reader->err);
        if (broken != NULL && !broken->promising)
            fail_default(reader, i, broken);
        free(values);
    }
}

/* An entry that no problem can have is a mistake; one that only some have is left to those. */
static void check_ladder_entry(struct hn_config_reader *reader, const struct hn_yaml *node,
                               const struct hn_bindings *entry)
{
    const struct hn_config *config = reader->config;
    const struct hn_config_constraint *broken = NULL;
    if (hn_failed(reader->err))
        return;
    struct hn_bindings point = complete(reader, entry);
    for (size_t i = 0; i < config->problem_count && (i == 0 || broken != NULL); i++)
        broken = hn_config_find_broken(config, i, &point, reader->err);
    if (broken != NULL)
        hn_config_fail(reader, node,
                       "the ladder entry, completed from the default point, is not valid: "
                       "constraint '%s' (%s) does not hold",
                       broken->text, broken->where);
    hn_bindings_finish(&point);
}

static void check_ladder(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "ladder");
    node = node == NULL ? NULL : node->child;
    for (size_t i = 0; i < config->ladder_count; i++, node = node->next)
        check_ladder_entry(reader, node, &config->ladder[i]);
}

/* The default point of one problem, at which everything is evaluated once. */
struct trial {
    struct hn_config_reader *reader;
    struct hn_value *values;
    char *where; /* "M=4096,TILE_WIDTH=16", for messages */
};

static void fail_trial(const struct trial *trial, const struct hn_expression *expression,
                       const char *reason)
{
    hn_config_fail(trial->reader, hn_config_place(trial->reader, expression),
                   "%s (at the default point: %s)", reason, trial->where);
}

/* That the expression, when there is one, is a whole number in these bounds there. */
static void try_integer(const struct trial *trial, const struct hn_expression *expression,
                        int64_t least, int64_t most)
{
    struct hn_error reason = {0};
    int64_t result = 0;
    if (expression == NULL)
        return;
    if (hn_expression_integer(expression, trial->values, &result, &reason) == HN_OK) {
        if (result >= least && result <= most)
            return;
        hn_fail(&reason, HN_ECONFIG, "'%.60s' is %lld, expected %s %lld",
                hn_expression_text(expression), (long long)result,
                result < least ? "at least" : "at most",
                (long long)(result < least ? least : most));
    }
    fail_trial(trial, expression, reason.message);
}

static void try_number(const struct trial *trial, const struct hn_expression *expression,
                       double least)
{
    struct hn_error reason = {0};
    double result = 0;
    if (expression == NULL)
        return;
    if (hn_expression_number(expression, trial->values, &result, &reason) == HN_OK) {
        if (result >= least)
            return;
        hn_fail(&reason, HN_ECONFIG, "'%.60s' is %g, expected at least %g",
                hn_expression_text(expression), result, least);
    }
    fail_trial(trial, expression, reason.message);
}

/* That the expression, when there is one, has a value there. */
static void try_condition(const struct trial *trial, const struct hn_expression *expression)
{
    struct hn_error reason = {0};
    struct hn_value result;
    if (expression != NULL &&
        hn_expression_evaluate(expression, trial->values, &result, &reason) != HN_OK)
        fail_trial(trial, expression, reason.message);
}

/* The values that expressions may have, by their keys; one without a row has only to have a value.
 */
static const struct bounds {
    const char *key;
    bool real;
    int64_t least, most;
} bounds[] = {
    {"grid", false, 1, INT32_MAX},
    {"block", false, 1, INT32_MAX},
    {"shared_bytes", false, 0, INT32_MAX},
    {"cluster", false, 1, HN_MAX_CLUSTER},
    {"carveout", false, HN_NO_CARVEOUT, 100},
    {"bytes", false, 0, INT32_MAX},
    {"set_aside", false, 0, INT32_MAX},
    {"hit_ratio", true, 0, 0},
    {"relative", true, 0, 0},
    {"absolute", true, 0, 0},
    {"mismatches", false, 0, INT64_MAX},
};

static void try_field(void *context, struct hn_expression *expression, const struct hn_field *field,
                      size_t item)
{
    const struct trial *trial = context;
    (void)item;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        if (strcmp(bounds[i].key, field->key) != 0)
            continue;
        if (bounds[i].real)
            try_number(trial, expression, (double)bounds[i].least);
        else
            try_integer(trial, expression, bounds[i].least, bounds[i].most);
        return;
    }
    try_condition(trial, expression);
}

/* That a tensor map's fields have values; what they may be is a matter of each point. */
static void try_tensor(const struct trial *trial, const struct hn_argument *argument)
{
    const struct hn_plan *plan = trial->reader->config->plan;
    struct hn_error reason = {0};
    struct hn_tensor tensor;
    if (argument->role == HN_ROLE_TENSOR_MAP && !hn_failed(trial->reader->err) &&
        hn_argument_evaluate_tensor(argument, hn_plan_find_argument(plan, argument->from),
                                    trial->values, &tensor, &reason) != HN_OK)
        fail_trial(trial, argument->tensor_map.dims[0], reason.message);
}

static void try_step(struct trial *trial, struct hn_step *step)
{
    struct hn_error reason = {0};
    struct hn_l2_window window;
    bool applies = false;
    if (hn_expression_holds(step->condition, trial->values, &applies, &reason) != HN_OK)
        fail_trial(trial, step->condition, reason.message);
    if (!applies)
        return;
    hn_expressions_walk(&hn_step_structure, step, try_field, trial);
    if (hn_l2_window_evaluate(&step->geometry.window, trial->values, &window, &reason) != HN_OK)
        fail_trial(trial, step->geometry.window.parts[HN_WINDOW_BYTES], reason.message);
    for (size_t i = 0; i < step->argument_count; i++)
        try_tensor(trial, &trial->reader->config->plan->arguments[step->arguments[i]]);
}

static void try_buffer(const struct trial *trial, const struct hn_argument *argument)
{
    struct hn_config_reader *reader = trial->reader;
    struct hn_error reason = {0};
    uint64_t align;
    try_integer(trial, argument->count, 1, INT64_MAX / (int64_t)hn_argument_bytes(argument));
    if (hn_argument_evaluate_align(argument, trial->values, &align, &reason) != HN_OK)
        fail_trial(trial, argument->align, reason.message);
    if (!hn_failed(reader->err) && hn_argument_is_filled(argument))
        hn_config_check_fill(reader, argument, trial->values, trial->where);
}

static void try_scalar(const struct trial *trial, const struct hn_argument *argument)
{
    int64_t low, high;
    if (hn_element_is_real(argument->element)) {
        try_number(trial, argument->value, -HUGE_VAL);
        return;
    }
    hn_element_range(argument->element, &low, &high);
    try_integer(trial, argument->value, low, high);
}

static void try_argument(struct trial *trial, const struct hn_argument *argument)
{
    struct hn_error reason = {0};
    bool applies = false;
    if (hn_expression_holds(argument->condition, trial->values, &applies, &reason) != HN_OK)
        fail_trial(trial, argument->condition, reason.message);
    if (!applies || argument->from != NULL)
        return;
    if (argument->compare != NULL)
        hn_expressions_walk(&hn_compare_structure, argument->compare, try_field, trial);
    if (argument->count != NULL)
        try_buffer(trial, argument);
    else
        try_scalar(trial, argument);
}

static void try_plan(struct trial *trial)
{
    struct hn_plan *plan = trial->reader->config->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        try_argument(trial, &plan->arguments[i]);
    for (size_t i = 0; i < plan->step_count; i++)
        try_step(trial, &plan->steps[i]);
    for (size_t i = 0; i < plan->option_count; i++)
        try_condition(trial, plan->options[i].condition);
    try_step(trial, &plan->reference.step);
    hn_expressions_walk(&hn_compare_structure, &plan->compare, try_field, trial);
}

char *hn_config_describe_default(const struct hn_config *config, size_t problem)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, &config->problems[problem]);
    hn_text_append(&text, text.length > 0 ? "," : "");
    hn_bindings_append(&text, &config->plan->defaults);
    return hn_needed(hn_text_take(&text));
}

static void try_problem(struct hn_config_reader *reader, size_t problem)
{
    const struct hn_config *config = reader->config;
    struct trial trial = {.reader = reader};
    struct hn_error reason = {0};
    if (hn_config_find_broken(config, problem, &config->plan->defaults, reader->err) != NULL ||
        hn_failed(reader->err))
        return;
    trial.where = hn_config_describe_default(config, problem);
    if (hn_plan_values(config->plan, &config->problems[problem], &config->plan->defaults,
                       &trial.values, &reason) == HN_OK)
        try_plan(&trial);
    else
        hn_config_fail(reader, hn_yaml_get(reader->root, "arguments"),
                       "%s (at the default point: %s)", reason.message, trial.where);
    hn_config_try_pipeline(reader, problem, trial.where);
    free(trial.values);
    free(trial.where);
}

static bool depends_on(const struct hn_reference *reference, const char *name)
{
    for (size_t i = 0; i < reference->depends_count; i++)
        if (strcmp(reference->depends[i], name) == 0)
            return true;
    return false;
}

/* The reference is run once for each value of what it depends on: nothing else may reach it. */
static void check_reference_use(struct hn_config_reader *reader,
                                const struct hn_expression *expression)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; expression != NULL && i < plan->name_count; i++) {
        const char *name = plan->names[i];
        if (hn_bindings_get(&plan->defaults, name) != NULL && hn_plan_uses(plan, expression, i) &&
            !depends_on(&plan->reference, name))
            hn_config_fail(reader, hn_config_place(reader, expression),
                           "the reference uses parameter '%s', which its 'depends' does not list",
                           name);
    }
}

static void check_reference_expression(void *reader, struct hn_expression *expression,
                                       const struct hn_field *field, size_t item)
{
    (void)field;
    (void)item;
    check_reference_use(reader, expression);
}

static void check_reference(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    struct hn_step *step = &plan->reference.step;
    hn_expressions_walk(&hn_step_structure, step, check_reference_expression, reader);
    for (size_t i = 0; i < step->argument_count; i++)
        check_reference_use(reader, plan->arguments[step->arguments[i]].value);
}

/* One program is compiled for a point, and may serve all problems. */
static void check_freeze(struct hn_config_reader *reader)
{
    const struct hn_plan *plan = reader->config->plan;
    const char *name = !hn_failed(reader->err) ? hn_plan_problem_used(plan, plan->freeze_if) : NULL;
    if (name != NULL)
        hn_config_fail(reader, hn_config_place(reader, plan->freeze_if),
                       "'%s' is a problem value; expected an expression of parameters, since the "
                       "point says what is frozen",
                       name);
}

/* What launches consume is measured of many, one behind the other. */
static void check_energy(struct hn_config_reader *reader)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *place = hn_yaml_get(reader->root, "objective");
    enum hn_front_by by;
    if (hn_failed(reader->err) || !hn_plan_weighs(plan, &by))
        return;
    if (plan->pipeline != NULL)
        hn_config_fail(reader, place,
                       "objective '%s' is not measured of pipelines: expected time, or a metric",
                       plan->objective);
    for (size_t i = 0; i < plan->argument_count; i++)
        if (!hn_argument_is_repeatable(&plan->arguments[i]))
            hn_config_fail(reader, place,
                           "objective '%s' is measured of launches one behind the other, and "
                           "argument '%s' has to be restored between them: expected time, or a "
                           "metric",
                           plan->objective, plan->arguments[i].name);
}

void hn_config_check(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    bool has_template = config->plan->template_path != NULL;
    bind_all(reader);
    check_freeze(reader);
    if (config->defaults.count == config->parameter_count)
        take_defaults(reader);
    else if (has_template)
        complete_defaults(reader);
    if (!has_template || hn_failed(reader->err))
        return;
    for (size_t i = 0; i < config->plan->other_default_count; i++)
        check_other_default(reader, &config->plan->other_defaults[i]);
    hn_config_check_pipeline(reader);
    check_energy(reader);
    check_reference(reader);
    check_ladder(reader);
    for (size_t i = 0; i < config->problem_count; i++)
        try_problem(reader, i);
}
