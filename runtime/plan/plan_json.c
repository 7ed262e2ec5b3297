/* SPDX-License-Identifier: MIT */
#include "runtime/plan/plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_json.h"
#include "cache/record/record_json.h"
#include "runtime/plan/argument_json.h"
#include "runtime/plan/plan.h"

const char *const hn_reference_kind_names[] = {
    [HN_REFERENCE_SELF] = "self",
    [HN_REFERENCE_NONE] = "none",
    [HN_REFERENCE_TEMPLATE] = "template",
};

static json_t *dimensions_json(struct hn_expression *const *dimensions)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < 3 && dimensions[i] != NULL; i++)
        hn_build_append(&array, hn_expression_to_json(dimensions[i]));
    return hn_build_finish(&array);
}

static json_t *window_json(const struct hn_window_plan *window)
{
    struct hn_builder object = hn_build_object();
    hn_build_set(&object, "argument", json_integer((json_int_t)window->argument));
    for (size_t i = 0; i < HN_WINDOW_PARTS; i++)
        hn_build_expression(&object, hn_window_keys[i], window->parts[i]);
    return hn_build_finish(&object);
}

static json_t *step_json(const struct hn_step *step)
{
    struct hn_builder object = hn_build_object();
    struct hn_builder arguments = hn_build_array();
    for (size_t i = 0; i < step->argument_count; i++)
        hn_build_append(&arguments, json_integer((json_int_t)step->arguments[i]));
    hn_build_string(&object, "entry", step->entry);
    hn_build_expression(&object, "if", step->condition);
    hn_build_set(&object, "grid", dimensions_json(step->geometry.grid));
    hn_build_set(&object, "block", dimensions_json(step->geometry.block));
    hn_build_expression(&object, "shared_bytes", step->geometry.shared_bytes);
    if (step->geometry.cluster[0] != NULL)
        hn_build_set(&object, "cluster", dimensions_json(step->geometry.cluster));
    hn_build_expression(&object, "carveout", step->geometry.carveout);
    hn_build_expression(&object, "cooperative", step->geometry.cooperative);
    if (step->geometry.window.parts[HN_WINDOW_BYTES] != NULL)
        hn_build_set(&object, "l2_window", window_json(&step->geometry.window));
    hn_build_set(&object, "arguments", hn_build_finish(&arguments));
    return hn_build_finish(&object);
}

static json_t *steps_json(const struct hn_plan *plan)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < plan->step_count; i++)
        hn_build_append(&array, step_json(&plan->steps[i]));
    return hn_build_finish(&array);
}

static json_t *arguments_json(const struct hn_plan *plan)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < plan->argument_count; i++)
        hn_build_append(&array, hn_argument_to_json(&plan->arguments[i]));
    return hn_build_finish(&array);
}

static json_t *options_json(const struct hn_plan *plan)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < plan->option_count; i++) {
        struct hn_builder object = hn_build_object();
        hn_build_expression(&object, "if", plan->options[i].condition);
        hn_build_string(&object, "option", plan->options[i].text);
        hn_build_append(&array, hn_build_finish(&object));
    }
    return hn_build_finish(&array);
}

static json_t *reference_json(const struct hn_reference *reference, const char *template_path)
{
    struct hn_builder object = hn_build_object();
    hn_build_string(&object, "kind", hn_reference_kind_names[reference->kind]);
    if (reference->kind == HN_REFERENCE_TEMPLATE) {
        hn_build_string(&object, "template", template_path);
        hn_build_set(&object, "step", step_json(&reference->step));
        hn_build_set(&object, "depends",
                     hn_strings_to_json(reference->depends, reference->depends_count));
    }
    return hn_build_finish(&object);
}

static json_t *words_json(const struct hn_plan *plan)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < plan->word_list_count; i++) {
        const struct hn_word_list *list = &plan->word_lists[i];
        struct hn_builder object = hn_build_object();
        hn_build_string(&object, "name", list->name);
        hn_build_set(&object, "words", hn_strings_to_json(list->words, list->count));
        hn_build_append(&array, hn_build_finish(&object));
    }
    return hn_build_finish(&array);
}

static json_t *constraints_json(const struct hn_plan *plan)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < plan->constraint_count; i++)
        hn_build_append(&array, hn_expression_to_json(plan->constraints[i]));
    return hn_build_finish(&array);
}

static json_t *metrics_json(const struct hn_plan *plan)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < plan->metric_count; i++) {
        struct hn_builder object = hn_build_object();
        hn_build_string(&object, "name", plan->metrics[i].name);
        hn_build_expression(&object, "expression", plan->metrics[i].expression);
        hn_build_append(&array, hn_build_finish(&object));
    }
    return hn_build_finish(&array);
}

json_t *hn_plan_to_json(const struct hn_plan *plan)
{
    struct hn_builder object = hn_build_object();
    hn_build_set(&object, "format", json_integer(HN_PLAN_FORMAT));
    hn_build_string(&object, "kernel", plan->kernel);
    hn_build_string(&object, "template", plan->template_path);
    hn_build_set(&object, "parameters",
                 hn_strings_to_json(plan->parameters, plan->parameter_count));
    hn_build_set(&object, "problem", hn_strings_to_json(plan->problem, plan->problem_count));
    hn_build_set(&object, "freeze", hn_strings_to_json(plan->freeze, plan->freeze_count));
    hn_build_set(&object, "words", words_json(plan));
    hn_build_set(&object, "arguments", arguments_json(plan));
    hn_build_set(&object, "steps", steps_json(plan));
    if (plan->pipeline != NULL)
        hn_build_set(&object, "pipeline", hn_pipeline_to_json(plan->pipeline));
    hn_build_set(&object, "options", options_json(plan));
    hn_build_set(&object, "reference",
                 reference_json(&plan->reference, plan->reference.template_path));
    hn_build_set(&object, "compare", hn_compare_to_json(&plan->compare));
    hn_build_set(&object, "metrics", metrics_json(plan));
    hn_build_string(&object, "objective", plan->objective);
    hn_build_set(&object, "maximize", json_boolean(plan->maximize));
    hn_build_set(&object, "defaults", hn_bindings_to_json(&plan->defaults));
    if (plan->constraint_count > 0)
        hn_build_set(&object, "constraints", constraints_json(plan));
    hn_build_string(&object, "config", plan->config);
    return hn_build_finish(&object);
}

/* Takes json. Out of memory gives the hash of nothing, which equals no plan's. */
static struct hn_hash hash_json(json_t *json)
{
    char *text = json == NULL ? NULL : json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
    struct hn_hash hash = hn_hash_string(text == NULL ? "" : text);
    free(text);
    json_decref(json);
    return hash;
}

static const char *base_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Data is known by its contents: hn_plan_add_data_hash. */
static json_t *arguments_without_folders(const struct hn_plan *plan)
{
    json_t *arguments = arguments_json(plan);
    size_t index;
    json_t *argument;
    json_array_foreach(arguments, index, argument)
    {
        json_t *fill = json_object_get(argument, "fill");
        if (plan->arguments[index].fill.file != NULL)
            json_object_set_new(fill, "file",
                                json_string(base_name(plan->arguments[index].fill.file)));
    }
    return arguments;
}

struct hn_hash hn_plan_hash(const struct hn_plan *plan)
{
    struct hn_builder object = hn_build_object();
    hn_build_set(&object, "arguments", arguments_without_folders(plan));
    hn_build_set(&object, "steps", steps_json(plan));
    if (plan->pipeline != NULL)
        hn_build_set(&object, "pipeline", hn_pipeline_to_json(plan->pipeline));
    hn_build_set(&object, "freeze", hn_strings_to_json(plan->freeze, plan->freeze_count));
    hn_build_set(&object, "compare", hn_compare_to_json(&plan->compare));
    /* Without its folder: a checkout elsewhere is the same plan. */
    hn_build_set(&object, "reference",
                 reference_json(&plan->reference, base_name(plan->reference.template_path)));
    if (plan->reference.kind == HN_REFERENCE_SELF)
        hn_build_set(&object, "defaults", hn_bindings_to_json(&plan->defaults));
    return hash_json(hn_build_finish(&object));
}

struct hn_hash hn_plan_options_hash(const struct hn_plan *plan)
{
    return hash_json(options_json(plan));
}
