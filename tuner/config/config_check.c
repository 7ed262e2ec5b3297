/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_json.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_read.h"

/* The default point of one problem, at which everything is evaluated once. */
struct trial {
    struct hn_config_reader *reader;
    struct hn_value *values;
    char *where; /* "M=4096,TILE_WIDTH=16", for messages */
};

static enum hn_status bind_all(struct hn_config_reader *reader)
{
    const struct hn_expression *failed = NULL;
    struct hn_error reason = {""};
    enum hn_status status = hn_plan_bind(reader->config->plan, &failed, &reason);
    if (status == HN_OK)
        return HN_OK;
    const struct hn_yaml *node = failed == NULL ? NULL : hn_config_place(reader, failed);
    if (status == HN_ENOMEM)
        return hn_fail_memory(reader->err);
    return hn_config_fail(reader, node == NULL ? reader->root : node, "in '%.60s': %s",
                          failed == NULL ? "" : hn_expression_text(failed), reason.message);
}

static enum hn_status fail_default(const struct hn_config_reader *reader, size_t problem,
                                   const struct hn_config_constraint *broken)
{
    const struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "defaults");
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, &config->problems[problem]);
    enum hn_status status = hn_config_fail(
        reader, node, "the default point is not valid%s%s: constraint '%s' (%s) does not hold",
        text.length == 0 ? "" : " for problem ", text.length == 0 ? "" : text.data, broken->text,
        broken->where);
    hn_text_finish(&text);
    return status;
}

/* Complete defaults are tested against the constraints, for which no space has to be built. */
static enum hn_status take_defaults(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    for (size_t i = 0; i < config->problem_count; i++) {
        const struct hn_config_constraint *broken = NULL;
        enum hn_status status =
            hn_config_test_point(config, i, &config->defaults, &broken, reader->err);
        if (status != HN_OK)
            return status;
        if (broken != NULL)
            return fail_default(reader, i, broken);
    }
    return hn_bindings_copy(&config->plan->defaults, &config->defaults, reader->err);
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

static enum hn_status find_default(struct hn_config_reader *reader, size_t problem,
                                   struct hn_bindings *point)
{
    const struct hn_config *config = reader->config;
    struct hn_space *space = NULL;
    enum hn_status status = hn_config_space(config, problem, &space, reader->err);
    if (status == HN_OK)
        status = hn_config_default_point(config, space, point, reader->err);
    hn_space_destroy(space);
    if (status == HN_OK && !has_choices(point, &config->defaults))
        return hn_config_fail(reader, hn_yaml_get(reader->root, "defaults"),
                              "no valid point has these defaults");
    return status;
}

/* Partial defaults are completed by the first valid point that has them. */
static enum hn_status complete_defaults(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    enum hn_status status = find_default(reader, 0, &config->plan->defaults);
    for (size_t i = 1; i < config->problem_count && config->defaults.count > 0 && status == HN_OK;
         i++) {
        struct hn_bindings point;
        hn_bindings_init(&point);
        status = find_default(reader, i, &point);
        hn_bindings_finish(&point);
    }
    return status;
}

/* An entry that no problem can have is a mistake; one that only some have is left to those. */
static enum hn_status check_ladder_entry(const struct hn_config_reader *reader,
                                         const struct hn_yaml *node,
                                         const struct hn_bindings *entry)
{
    const struct hn_config *config = reader->config;
    const struct hn_config_constraint *broken = NULL;
    struct hn_bindings point;
    hn_bindings_init(&point);
    enum hn_status status = hn_bindings_copy(&point, &config->plan->defaults, reader->err);
    if (status == HN_OK)
        status = hn_bindings_merge(&point, entry, reader->err);
    for (size_t i = 0; i < config->problem_count && status == HN_OK; i++) {
        status = hn_config_test_point(config, i, &point, &broken, reader->err);
        if (broken == NULL)
            break;
    }
    if (status == HN_OK && broken != NULL)
        status = hn_config_fail(reader, node,
                                "the ladder entry, completed from the default point, is not valid: "
                                "constraint '%s' (%s) does not hold",
                                broken->text, broken->where);
    hn_bindings_finish(&point);
    return status;
}

static enum hn_status check_ladder(const struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    const struct hn_yaml *ladder = hn_yaml_get(reader->root, "ladder");
    const struct hn_yaml *node = ladder == NULL ? NULL : ladder->child;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < config->ladder_count && status == HN_OK; i++, node = node->next)
        status = check_ladder_entry(reader, node, &config->ladder[i]);
    return status;
}

static enum hn_status fail_trial(const struct trial *trial, const struct hn_expression *expression,
                                 const char *reason)
{
    const struct hn_yaml *node = hn_config_place(trial->reader, expression);
    return hn_config_fail(trial->reader, node == NULL ? trial->reader->root : node,
                          "%s (at the default point: %s)", reason, trial->where);
}

/* That the expression, when there is one, is a whole number of at least `least` there. */
static enum hn_status try_integer(const struct trial *trial, const struct hn_expression *expression,
                                  int64_t least, int64_t most)
{
    struct hn_error reason = {""};
    int64_t result = 0;
    if (expression == NULL)
        return HN_OK;
    if (hn_expression_integer(expression, trial->values, &result, &reason) != HN_OK)
        return fail_trial(trial, expression, reason.message);
    if (result >= least && result <= most)
        return HN_OK;
    hn_fail(&reason, HN_ECONFIG, "'%.60s' is %lld, expected %s %lld",
            hn_expression_text(expression), (long long)result,
            result < least ? "at least" : "at most", (long long)(result < least ? least : most));
    return fail_trial(trial, expression, reason.message);
}

static enum hn_status try_number(const struct trial *trial, const struct hn_expression *expression,
                                 double least)
{
    struct hn_error reason = {""};
    double result = 0;
    if (expression == NULL)
        return HN_OK;
    if (hn_expression_number(expression, trial->values, &result, &reason) != HN_OK)
        return fail_trial(trial, expression, reason.message);
    if (result >= least)
        return HN_OK;
    hn_fail(&reason, HN_ECONFIG, "'%.60s' is %g, expected at least %g",
            hn_expression_text(expression), result, least);
    return fail_trial(trial, expression, reason.message);
}

/* That the expression, when there is one, has a value there. */
static enum hn_status try_condition(const struct trial *trial,
                                    const struct hn_expression *expression)
{
    struct hn_error reason = {""};
    struct hn_value result;
    if (expression == NULL ||
        hn_expression_evaluate(expression, trial->values, &result, &reason) == HN_OK)
        return HN_OK;
    return fail_trial(trial, expression, reason.message);
}

static enum hn_status try_window(const struct trial *trial, const struct hn_window_plan *plan)
{
    struct hn_error reason = {""};
    struct hn_l2_window window;
    enum hn_status status = try_integer(trial, plan->parts[HN_WINDOW_BYTES], 0, INT32_MAX);
    if (status == HN_OK)
        status = try_integer(trial, plan->parts[HN_WINDOW_SET_ASIDE], 0, INT32_MAX);
    if (status == HN_OK)
        status = try_number(trial, plan->parts[HN_WINDOW_HIT_RATIO], 0);
    if (status == HN_OK && hn_l2_window_evaluate(plan, trial->values, &window, &reason) != HN_OK)
        status = fail_trial(trial, plan->parts[HN_WINDOW_BYTES], reason.message);
    return status;
}

static enum hn_status try_step(const struct trial *trial, const struct hn_step *step)
{
    struct hn_error reason = {""};
    enum hn_status status = HN_OK;
    bool applies = false;
    if (hn_step_applies(step, trial->values, &applies, &reason) != HN_OK)
        return fail_trial(trial, step->condition, reason.message);
    if (!applies)
        return HN_OK;
    for (size_t i = 0; i < 3 && status == HN_OK; i++)
        status = try_integer(trial, step->geometry.grid[i], 1, INT32_MAX);
    for (size_t i = 0; i < 3 && status == HN_OK; i++)
        status = try_integer(trial, step->geometry.block[i], 1, INT32_MAX);
    for (size_t i = 0; i < 3 && status == HN_OK; i++)
        status = try_integer(trial, step->geometry.cluster[i], 1, HN_MAX_CLUSTER);
    if (status == HN_OK)
        status = try_integer(trial, step->geometry.shared_bytes, 0, INT32_MAX);
    if (status == HN_OK)
        status = try_integer(trial, step->geometry.carveout, HN_NO_CARVEOUT, 100);
    if (status == HN_OK)
        status = try_condition(trial, step->geometry.cooperative);
    return status == HN_OK ? try_window(trial, &step->geometry.window) : status;
}

static enum hn_status try_compare(const struct trial *trial, const struct hn_compare *compare)
{
    enum hn_status status = try_number(trial, compare->relative, 0);
    return status == HN_OK ? try_number(trial, compare->absolute, 0) : status;
}

static enum hn_status try_argument(const struct trial *trial, const struct hn_argument *argument)
{
    size_t size = hn_argument_bytes(argument);
    struct hn_error reason = {""};
    bool applies = false;
    if (hn_argument_applies(argument, trial->values, &applies, &reason) != HN_OK)
        return fail_trial(trial, argument->condition, reason.message);
    if (!applies || argument->from != NULL)
        return HN_OK;
    if (argument->compare != NULL) {
        enum hn_status status = try_compare(trial, argument->compare);
        if (status != HN_OK)
            return status;
    }
    if (argument->count != NULL) {
        enum hn_status status = try_integer(trial, argument->count, 1, INT64_MAX / (int64_t)size);
        if (status == HN_OK && hn_argument_is_filled(argument))
            status = hn_config_check_fill(trial->reader, argument, trial->values, trial->where);
        return status;
    }
    if (hn_element_is_real(argument->element))
        return try_number(trial, argument->value, -HUGE_VAL);
    int64_t low, high;
    hn_element_range(argument->element, &low, &high);
    return try_integer(trial, argument->value, low, high);
}

static enum hn_status try_plan(const struct trial *trial)
{
    const struct hn_plan *plan = trial->reader->config->plan;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++)
        status = try_argument(trial, &plan->arguments[i]);
    for (size_t i = 0; i < plan->step_count && status == HN_OK; i++)
        status = try_step(trial, &plan->steps[i]);
    for (size_t i = 0; i < plan->option_count && status == HN_OK; i++)
        status = try_condition(trial, plan->options[i].condition);
    if (status == HN_OK)
        status = try_step(trial, &plan->reference.step);
    return status == HN_OK ? try_compare(trial, &plan->compare) : status;
}

static enum hn_status try_problem(struct hn_config_reader *reader, size_t problem)
{
    const struct hn_config *config = reader->config;
    const struct hn_config_constraint *broken = NULL;
    struct trial trial = {.reader = reader};
    enum hn_status status =
        hn_config_test_point(config, problem, &config->plan->defaults, &broken, reader->err);
    if (status != HN_OK || broken != NULL)
        return status;
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, &config->problems[problem]);
    hn_text_append(&text, text.length > 0 ? "," : "");
    hn_bindings_append(&text, &config->plan->defaults);
    trial.where = hn_text_take(&text);
    if (trial.where == NULL)
        return hn_fail_memory(reader->err);
    struct hn_error reason = {""};
    status = hn_plan_values(config->plan, &config->problems[problem], &config->plan->defaults,
                            &trial.values, &reason);
    if (status == HN_ENOMEM)
        hn_fail_memory(reader->err);
    else if (status != HN_OK)
        status = hn_config_fail(reader, hn_yaml_get(reader->root, "arguments"),
                                "%s (at the default point: %s)", reason.message, trial.where);
    else
        status = try_plan(&trial);
    if (status == HN_OK)
        status = hn_config_try_pipeline(reader, problem, trial.where);
    free(trial.values);
    free(trial.where);
    return status;
}

static bool depends_on(const struct hn_reference *reference, const char *name)
{
    for (size_t i = 0; i < reference->depends_count; i++)
        if (strcmp(reference->depends[i], name) == 0)
            return true;
    return false;
}

/* The reference is run once for each value of what it depends on: nothing else may reach it. */
static enum hn_status check_reference_use(const struct hn_config_reader *reader,
                                          const struct hn_expression *expression)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; expression != NULL && i < plan->name_count; i++) {
        const char *name = plan->names[i];
        if (hn_bindings_get(&plan->defaults, name) == NULL || !hn_plan_uses(plan, expression, i) ||
            depends_on(&plan->reference, name))
            continue;
        const struct hn_yaml *node = hn_config_place(reader, expression);
        return hn_config_fail(
            reader, node == NULL ? reader->root : node,
            "the reference uses parameter '%s', which its 'depends' does not list", name);
    }
    return HN_OK;
}

struct reference_check {
    const struct hn_config_reader *reader;
    enum hn_status status;
};

static void check_reference_expression(void *context, struct hn_expression *expression,
                                       const struct hn_field *field, size_t item)
{
    struct reference_check *check = context;
    (void)field;
    (void)item;
    if (check->status == HN_OK)
        check->status = check_reference_use(check->reader, expression);
}

static enum hn_status check_reference(const struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    struct hn_step *step = &plan->reference.step;
    struct reference_check check = {reader, HN_OK};
    hn_expressions_walk(&hn_step_structure, step, check_reference_expression, &check);
    for (size_t i = 0; i < step->argument_count && check.status == HN_OK; i++)
        check.status = check_reference_use(reader, plan->arguments[step->arguments[i]].value);
    return check.status;
}

enum hn_status hn_config_check(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    enum hn_status status = bind_all(reader);
    if (status == HN_OK && config->defaults.count == config->parameter_count)
        status = take_defaults(reader);
    else if (status == HN_OK && config->plan->template_path != NULL)
        status = complete_defaults(reader);
    if (status != HN_OK || config->plan->template_path == NULL)
        return status;
    status = hn_config_check_pipeline(reader);
    if (status == HN_OK)
        status = check_reference(reader);
    if (status == HN_OK)
        status = check_ladder(reader);
    for (size_t i = 0; i < config->problem_count && status == HN_OK; i++)
        status = try_problem(reader, i);
    return status;
}
