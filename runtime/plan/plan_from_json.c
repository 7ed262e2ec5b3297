/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_json.h"
#include "cache/record/record_json.h"
#include "runtime/plan/argument_json.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_json.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* names: parameters and problem values, sorted, none twice. */
static enum hn_status collect_names(struct hn_plan *plan, struct hn_error *err)
{
    size_t total = plan->parameter_count + plan->problem_count;
    plan->names = calloc(total + 1, sizeof *plan->names);
    if (plan->names == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < total; i++) {
        const char *name = i < plan->parameter_count ? plan->parameters[i]
                                                     : plan->problem[i - plan->parameter_count];
        plan->names[i] = strdup(name);
        if (plan->names[i] == NULL)
            return hn_fail_memory(err);
        plan->name_count++;
    }
    qsort(plan->names, total, sizeof *plan->names, compare_names);
    for (size_t i = 1; i < total; i++)
        if (strcmp(plan->names[i - 1], plan->names[i]) == 0)
            return hn_fail(err, HN_EFORMAT, "plan: '%s' is there twice", plan->names[i]);
    return HN_OK;
}

static enum hn_status read_names(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    enum hn_status status =
        hn_json_words(json, "parameters", &plan->parameters, &plan->parameter_count, err);
    if (status == HN_OK)
        status = hn_json_words(json, "problem", &plan->problem, &plan->problem_count, err);
    if (status == HN_OK)
        status = collect_names(plan, err);
    if (status == HN_OK)
        status = hn_json_words(json, "freeze", &plan->freeze, &plan->freeze_count, err);
    for (size_t i = 0; status == HN_OK && i < plan->freeze_count; i++)
        if (!hn_json_contains(plan->problem, plan->problem_count, plan->freeze[i]))
            status = hn_json_fail(err, "freeze", "a list of problem values");
    return status;
}

static enum hn_status read_word_lists(const json_t *json, struct hn_plan *plan,
                                      struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status =
        hn_json_list(json, "words", sizeof *plan->word_lists, &array, &plan->word_lists, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        struct hn_word_list *list = &plan->word_lists[plan->word_list_count++];
        const json_t *object = json_array_get(array, i);
        status = hn_json_word(object, "name", &list->name, err);
        if (status == HN_OK)
            status = hn_json_words(object, "words", &list->words, &list->count, err);
        if (status == HN_OK && !hn_json_contains(plan->names, plan->name_count, list->name))
            status = hn_json_fail(err, list->name, "a parameter or problem value");
    }
    return status;
}

/* An integer that is compared itself. */
static bool is_length(const struct hn_plan *plan, const struct hn_argument *argument)
{
    const struct hn_argument *length = hn_plan_find_argument(plan, argument->length);
    return hn_argument_is_compared(argument) && length != NULL && length != argument &&
           hn_argument_is_compared(length) && length->length == NULL &&
           !hn_element_is_real(length->element);
}

/* That what arguments name is there: symbols and values take the contents of inputs. */
static enum hn_status check_references(const struct hn_plan *plan, struct hn_error *err)
{
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        const struct hn_argument *source =
            argument->from == NULL ? NULL : hn_plan_find_argument(plan, argument->from);
        if (argument->role == HN_ROLE_TEXTURE) {
            if (source == NULL || source->count == NULL ||
                hn_texture_check(&argument->texture, source) != NULL)
                return hn_json_fail(err, argument->from, "a buffer that the texture can read");
        } else if (argument->from != NULL && (source == NULL || source->role != HN_ROLE_INPUT)) {
            return hn_json_fail(err, argument->from, "an input");
        }
        if (argument->length != NULL && !is_length(plan, argument))
            return hn_json_fail(err, argument->length, "an output of integers");
    }
    return HN_OK;
}

static enum hn_status read_arguments(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status =
        hn_json_list(json, "arguments", sizeof *plan->arguments, &array, &plan->arguments, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        plan->argument_count++;
        status = hn_argument_from_json(json_array_get(array, i), &plan->arguments[i], err);
    }
    return status == HN_OK ? check_references(plan, err) : status;
}

static enum hn_status read_dimensions(const json_t *object, const char *key,
                                      struct hn_expression **dimensions, struct hn_error *err)
{
    const json_t *array = json_object_get(object, key);
    size_t count = json_array_size(array);
    if (count < 1 || count > 3)
        return hn_json_fail(err, key, "a list of 1 to 3 expressions");
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < count; i++)
        status = hn_json_parse_expression(json_array_get(array, i), key, &dimensions[i], err);
    return status;
}

static enum hn_status read_step_arguments(const json_t *object, const struct hn_plan *plan,
                                          struct hn_step *step, struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status =
        hn_json_list(object, "arguments", sizeof *step->arguments, &array, &step->arguments, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        const json_t *index = json_array_get(array, i);
        json_int_t number = json_integer_value(index);
        if (!json_is_integer(index) || number < 0 || (size_t)number >= plan->argument_count ||
            !hn_argument_is_passed(&plan->arguments[number]))
            return hn_json_fail(err, "arguments", "a list of arguments' numbers");
        step->arguments[step->argument_count++] = (size_t)number;
    }
    return status;
}

static enum hn_status read_window(const json_t *object, const struct hn_plan *plan,
                                  struct hn_window_plan *window, struct hn_error *err)
{
    const json_t *json = json_object_get(object, "l2_window");
    const json_t *index = json_object_get(json, "argument");
    json_int_t number = json_integer_value(index);
    enum hn_status status = HN_OK;
    if (json == NULL)
        return HN_OK;
    if (!json_is_integer(index) || number < 0 || (size_t)number >= plan->argument_count ||
        !hn_argument_is_buffer(&plan->arguments[number]))
        return hn_json_fail(err, "l2_window", "a window over an argument's buffer");
    window->argument = (size_t)number;
    for (size_t i = 0; i < HN_WINDOW_PARTS && status == HN_OK; i++)
        status = hn_json_expression(json, hn_window_keys[i], &window->parts[i], err);
    if (status == HN_OK && window->parts[HN_WINDOW_BYTES] == NULL)
        status = hn_json_fail(err, "bytes", "an expression");
    return status;
}

static enum hn_status read_attributes(const json_t *object, struct hn_geometry *geometry,
                                      struct hn_error *err)
{
    enum hn_status status =
        hn_json_expression(object, "shared_bytes", &geometry->shared_bytes, err);
    if (status == HN_OK && json_object_get(object, "cluster") != NULL)
        status = read_dimensions(object, "cluster", geometry->cluster, err);
    if (status == HN_OK)
        status = hn_json_expression(object, "carveout", &geometry->carveout, err);
    if (status == HN_OK)
        status = hn_json_expression(object, "cooperative", &geometry->cooperative, err);
    return status;
}

static enum hn_status read_step(const json_t *object, const struct hn_plan *plan,
                                struct hn_step *step, struct hn_error *err)
{
    enum hn_status status = hn_json_string(object, "entry", false, &step->entry, err);
    if (status == HN_OK)
        status = hn_json_expression(object, "if", &step->condition, err);
    if (status == HN_OK)
        status = read_dimensions(object, "grid", step->geometry.grid, err);
    if (status == HN_OK)
        status = read_dimensions(object, "block", step->geometry.block, err);
    if (status == HN_OK)
        status = read_attributes(object, &step->geometry, err);
    if (status == HN_OK)
        status = read_window(object, plan, &step->geometry.window, err);
    if (status == HN_OK)
        status = read_step_arguments(object, plan, step, err);
    return status;
}

static enum hn_status read_steps(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status =
        hn_json_list(json, "steps", sizeof *plan->steps, &array, &plan->steps, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        plan->step_count++;
        status = read_step(json_array_get(array, i), plan, &plan->steps[i], err);
    }
    return status;
}

static enum hn_status read_pipeline(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    const json_t *object = json_object_get(json, "pipeline");
    if (object == NULL)
        return HN_OK;
    enum hn_status status =
        hn_pipeline_from_json(object, plan->argument_count, plan->step_count, &plan->pipeline, err);
    for (size_t i = 0; status == HN_OK && i < plan->argument_count; i++)
        if (plan->pipeline->parts[i] != 0 && plan->arguments[i].count == NULL)
            status = hn_json_fail(err, "pipeline", "about buffers");
    return status;
}

static enum hn_status read_option(const json_t *object, struct hn_option *option,
                                  struct hn_error *err)
{
    const char *text = json_string_value(json_object_get(object, "option"));
    if (text == NULL)
        return hn_json_fail(err, "option", "a string");
    enum hn_status status = hn_option_set_text(option, text, err);
    if (status == HN_OK)
        status = hn_json_expression(object, "if", &option->condition, err);
    return status == HN_ECONFIG ? HN_EFORMAT : status;
}

static enum hn_status read_options(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status =
        hn_json_list(json, "options", sizeof *plan->options, &array, &plan->options, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        plan->option_count++;
        status = read_option(json_array_get(array, i), &plan->options[i], err);
    }
    return status;
}

static enum hn_status read_reference(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    const json_t *object = json_object_get(json, "reference");
    struct hn_reference *reference = &plan->reference;
    int kind = hn_json_choice(object, "kind", hn_reference_kind_names, 3);
    if (kind < 0)
        return hn_json_fail(err, "reference", "self, none or a template");
    reference->kind = (enum hn_reference_kind)kind;
    if (reference->kind != HN_REFERENCE_TEMPLATE)
        return HN_OK;
    enum hn_status status =
        hn_json_string(object, "template", false, &reference->template_path, err);
    if (status == HN_OK)
        status = read_step(json_object_get(object, "step"), plan, &reference->step, err);
    if (status == HN_OK)
        status =
            hn_json_words(object, "depends", &reference->depends, &reference->depends_count, err);
    for (size_t i = 0; status == HN_OK && i < reference->depends_count; i++)
        if (!hn_json_contains(plan->parameters, plan->parameter_count, reference->depends[i]))
            status = hn_json_fail(err, "depends", "a list of parameters");
    return status;
}

static enum hn_status read_compare(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    return hn_compare_from_json(json_object_get(json, "compare"), &plan->compare, err);
}

static enum hn_status read_metrics(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status =
        hn_json_list(json, "metrics", sizeof *plan->metrics, &array, &plan->metrics, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        struct hn_metric *metric = &plan->metrics[plan->metric_count++];
        const json_t *object = json_array_get(array, i);
        status = hn_json_word(object, "name", &metric->name, err);
        if (status == HN_OK)
            status = hn_json_parse_expression(json_object_get(object, "expression"), "expression",
                                              &metric->expression, err);
    }
    return status;
}

/* Caches that were written before plans had them have none. */
static enum hn_status read_constraints(const json_t *json, struct hn_plan *plan,
                                       struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status = hn_json_string(json, "config", true, &plan->config, err);
    if (status != HN_OK || json_object_get(json, "constraints") == NULL)
        return status;
    status = hn_json_list(json, "constraints", sizeof(struct hn_expression *), &array,
                          &plan->constraints, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++)
        status = hn_json_parse_expression(json_array_get(array, i), "constraints",
                                          &plan->constraints[plan->constraint_count++], err);
    return status;
}

static enum hn_status read_objective(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    enum hn_status status = hn_json_word(json, "objective", &plan->objective, err);
    if (status != HN_OK)
        return status;
    plan->maximize = json_is_true(json_object_get(json, "maximize"));
    bool known = strcmp(plan->objective, "time") == 0;
    for (size_t i = 0; i < plan->metric_count; i++)
        known = known || strcmp(plan->metrics[i].name, plan->objective) == 0;
    return known ? HN_OK : hn_json_fail(err, "objective", "time or a metric");
}

static enum hn_status read_plan(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    static enum hn_status (*const parts[])(const json_t *, struct hn_plan *, struct hn_error *) = {
        read_names,    read_word_lists, read_arguments,   read_steps,
        read_pipeline, read_options,    read_reference,   read_compare,
        read_metrics,  read_objective,  read_constraints,
    };
    const json_t *format = json_object_get(json, "format");
    if (!json_is_integer(format) || json_integer_value(format) < 1)
        return hn_json_fail(err, "format", "a version");
    if (json_integer_value(format) > HN_PLAN_FORMAT)
        return hn_fail(err, HN_EFORMAT, "plan: format %lld is newer than this Hone, which knows %d",
                       (long long)json_integer_value(format), HN_PLAN_FORMAT);
    enum hn_status status = hn_json_word(json, "kernel", &plan->kernel, err);
    if (status == HN_OK)
        status = hn_json_string(json, "template", false, &plan->template_path, err);
    for (size_t i = 0; status == HN_OK && i < sizeof parts / sizeof parts[0]; i++)
        status = parts[i](json, plan, err);
    if (status == HN_OK)
        status = hn_bindings_from_json(json_object_get(json, "defaults"), &plan->defaults, err);
    if (status == HN_OK)
        status = hn_plan_name_pitches(plan, err);
    if (status == HN_OK)
        status = hn_plan_bind(plan, NULL, err);
    return status == HN_ECONFIG ? HN_EFORMAT : status;
}

enum hn_status hn_plan_from_json(const json_t *json, struct hn_plan **plan, struct hn_error *err)
{
    struct hn_plan *made = hn_plan_create();
    if (made == NULL)
        return hn_fail_memory(err);
    enum hn_status status = read_plan(json, made, err);
    if (status == HN_OK)
        *plan = made;
    else
        hn_plan_destroy(made);
    return status;
}
