/* SPDX-License-Identifier: MIT */
#include "runtime/plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "cache/record_json.h"
#include "runtime/plan.h"

const char *const hn_reference_kind_names[] = {
    [HN_REFERENCE_SELF] = "self",
    [HN_REFERENCE_NONE] = "none",
    [HN_REFERENCE_TEMPLATE] = "template",
};

const char *const hn_compare_mode_names[] = {
    [HN_COMPARE_MAX_NORM] = "max_norm",
    [HN_COMPARE_EXACT] = "exact",
};

/* An object or array that is being filled; `failed` once, it stays so. */
struct builder {
    json_t *json;
    bool failed;
};

static struct builder build_object(void)
{
    json_t *json = json_object();
    return (struct builder){json, json == NULL};
}

static struct builder build_array(void)
{
    json_t *json = json_array();
    return (struct builder){json, json == NULL};
}

static json_t *finish(struct builder *builder)
{
    if (!builder->failed)
        return builder->json;
    json_decref(builder->json);
    return NULL;
}

static void set(struct builder *object, const char *key, json_t *value)
{
    if (json_object_set_new(object->json, key, value) != 0)
        object->failed = true;
}

static void append(struct builder *array, json_t *value)
{
    if (json_array_append_new(array->json, value) != 0)
        array->failed = true;
}

static void set_string(struct builder *object, const char *key, const char *string)
{
    if (string != NULL)
        set(object, key, json_string(string));
}

static json_t *expression_json(const struct hn_expression *expression)
{
    return json_string(hn_expression_text(expression));
}

static void set_expression(struct builder *object, const char *key,
                           const struct hn_expression *expression)
{
    if (expression != NULL)
        set(object, key, expression_json(expression));
}

static json_t *strings_json(char *const *strings, size_t count)
{
    struct builder array = build_array();
    for (size_t i = 0; i < count; i++)
        append(&array, json_string(strings[i]));
    return finish(&array);
}

static json_t *dimensions_json(struct hn_expression *const *dimensions)
{
    struct builder array = build_array();
    for (size_t i = 0; i < 3 && dimensions[i] != NULL; i++)
        append(&array, expression_json(dimensions[i]));
    return finish(&array);
}

static json_t *step_json(const struct hn_step *step)
{
    struct builder object = build_object();
    struct builder arguments = build_array();
    for (size_t i = 0; i < step->argument_count; i++)
        append(&arguments, json_integer((json_int_t)step->arguments[i]));
    set_string(&object, "entry", step->entry);
    set(&object, "grid", dimensions_json(step->geometry.grid));
    set(&object, "block", dimensions_json(step->geometry.block));
    set_expression(&object, "shared_bytes", step->geometry.shared_bytes);
    set(&object, "arguments", finish(&arguments));
    return finish(&object);
}

static json_t *steps_json(const struct hn_plan *plan)
{
    struct builder array = build_array();
    for (size_t i = 0; i < plan->step_count; i++)
        append(&array, step_json(&plan->steps[i]));
    return finish(&array);
}

static json_t *fill_json(const struct hn_fill *fill)
{
    return json_pack("{s:s, s:f, s:f}", "kind", hn_fill_kind_name(fill->kind), "a", fill->a, "b",
                     fill->b);
}

static json_t *argument_json(const struct hn_argument *argument)
{
    struct builder object = build_object();
    set_string(&object, "name", argument->name);
    set_string(&object, "type", hn_element_name(argument->element));
    set_string(&object, "role", hn_role_name(argument->role));
    set_expression(&object, "count", argument->count);
    set_expression(&object, "value", argument->value);
    if (argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT)
        set(&object, "fill", fill_json(&argument->fill));
    return finish(&object);
}

static json_t *arguments_json(const struct hn_plan *plan)
{
    struct builder array = build_array();
    for (size_t i = 0; i < plan->argument_count; i++)
        append(&array, argument_json(&plan->arguments[i]));
    return finish(&array);
}

static json_t *options_json(const struct hn_plan *plan)
{
    struct builder array = build_array();
    for (size_t i = 0; i < plan->option_count; i++) {
        struct builder object = build_object();
        set_expression(&object, "if", plan->options[i].condition);
        set_string(&object, "option", plan->options[i].text);
        append(&array, finish(&object));
    }
    return finish(&array);
}

static json_t *reference_json(const struct hn_reference *reference, const char *template_path)
{
    struct builder object = build_object();
    set_string(&object, "kind", hn_reference_kind_names[reference->kind]);
    if (reference->kind == HN_REFERENCE_TEMPLATE) {
        set_string(&object, "template", template_path);
        set(&object, "step", step_json(&reference->step));
        set(&object, "depends", strings_json(reference->depends, reference->depends_count));
    }
    return finish(&object);
}

static json_t *compare_json(const struct hn_compare *compare)
{
    struct builder object = build_object();
    set_string(&object, "mode", hn_compare_mode_names[compare->mode]);
    set_expression(&object, "relative", compare->relative);
    set_expression(&object, "absolute", compare->absolute);
    return finish(&object);
}

static json_t *words_json(const struct hn_plan *plan)
{
    struct builder array = build_array();
    for (size_t i = 0; i < plan->word_list_count; i++) {
        const struct hn_word_list *list = &plan->word_lists[i];
        struct builder object = build_object();
        set_string(&object, "name", list->name);
        set(&object, "words", strings_json(list->words, list->count));
        append(&array, finish(&object));
    }
    return finish(&array);
}

static json_t *metrics_json(const struct hn_plan *plan)
{
    struct builder array = build_array();
    for (size_t i = 0; i < plan->metric_count; i++) {
        struct builder object = build_object();
        set_string(&object, "name", plan->metrics[i].name);
        set_expression(&object, "expression", plan->metrics[i].expression);
        append(&array, finish(&object));
    }
    return finish(&array);
}

json_t *hn_plan_to_json(const struct hn_plan *plan)
{
    struct builder object = build_object();
    set(&object, "format", json_integer(HN_PLAN_FORMAT));
    set_string(&object, "kernel", plan->kernel);
    set_string(&object, "template", plan->template_path);
    set(&object, "parameters", strings_json(plan->parameters, plan->parameter_count));
    set(&object, "problem", strings_json(plan->problem, plan->problem_count));
    set(&object, "freeze", strings_json(plan->freeze, plan->freeze_count));
    set(&object, "words", words_json(plan));
    set(&object, "arguments", arguments_json(plan));
    set(&object, "steps", steps_json(plan));
    set(&object, "options", options_json(plan));
    set(&object, "reference", reference_json(&plan->reference, plan->reference.template_path));
    set(&object, "compare", compare_json(&plan->compare));
    set(&object, "metrics", metrics_json(plan));
    set_string(&object, "objective", plan->objective);
    set(&object, "maximize", json_boolean(plan->maximize));
    set(&object, "defaults", hn_bindings_to_json(&plan->defaults));
    return finish(&object);
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

struct hn_hash hn_plan_hash(const struct hn_plan *plan)
{
    struct builder object = build_object();
    set(&object, "arguments", arguments_json(plan));
    set(&object, "steps", steps_json(plan));
    set(&object, "freeze", strings_json(plan->freeze, plan->freeze_count));
    set(&object, "compare", compare_json(&plan->compare));
    /* Without its folder: a checkout elsewhere is the same plan. */
    set(&object, "reference",
        reference_json(&plan->reference, base_name(plan->reference.template_path)));
    if (plan->reference.kind == HN_REFERENCE_SELF)
        set(&object, "defaults", hn_bindings_to_json(&plan->defaults));
    return hash_json(finish(&object));
}

struct hn_hash hn_plan_options_hash(const struct hn_plan *plan)
{
    return hash_json(options_json(plan));
}
