/* SPDX-License-Identifier: MIT */
#include "runtime/plan/plan.h"

#include <stdlib.h>
#include <string.h>

struct hn_plan *hn_plan_create(void)
{
    struct hn_plan *plan = calloc(1, sizeof *plan);
    if (plan != NULL)
        hn_bindings_init(&plan->defaults);
    return plan;
}

static void free_strings(char **strings, size_t count)
{
    for (size_t i = 0; strings != NULL && i < count; i++)
        free(strings[i]);
    free(strings);
}

enum hn_status hn_step_applies(const struct hn_step *step, const struct hn_value *values,
                               bool *applies, struct hn_error *err)
{
    struct hn_value holds = hn_boolean(true);
    enum hn_status status = HN_OK;
    if (step->condition != NULL)
        status = hn_expression_evaluate(step->condition, values, &holds, err);
    *applies = status == HN_OK && hn_value_truth(&holds);
    return status;
}

void hn_reference_finish(struct hn_reference *reference)
{
    hn_fields_finish(&hn_reference_structure, reference);
    *reference = (struct hn_reference){.kind = HN_REFERENCE_SELF};
}

bool hn_reference_is_kernel(const struct hn_reference *reference)
{
    return reference->kind == HN_REFERENCE_SELF || reference->kind == HN_REFERENCE_TEMPLATE;
}

enum hn_status hn_reference_add_file(struct hn_reference *reference, size_t argument,
                                     const char *file, struct hn_error *err)
{
    struct hn_expected_file *grown =
        realloc(reference->files, (reference->file_count + 1) * sizeof *grown);
    if (grown == NULL)
        return hn_fail_memory(err);
    reference->kind = HN_REFERENCE_FILES;
    reference->files = grown;
    grown[reference->file_count] = (struct hn_expected_file){argument, strdup(file)};
    if (grown[reference->file_count].file == NULL)
        return hn_fail_memory(err);
    reference->file_count++;
    return HN_OK;
}

void hn_plan_destroy(struct hn_plan *plan)
{
    if (plan == NULL)
        return;
    hn_fields_finish(&hn_plan_structure, plan);
    free_strings(plan->names, plan->name_count);
    free_strings(plan->pitches, plan->pitch_count);
    free(plan);
}

char *hn_plan_signature(const struct hn_plan *plan)
{
    struct hn_text text;
    hn_text_init(&text);
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        char type[HN_TYPE_SIZE];
        hn_argument_format_type(argument, type);
        hn_text_printf(&text, "%s%s:%s:%s", i == 0 ? "" : ",", argument->name, type,
                       hn_role_name(argument->role));
    }
    return hn_text_take(&text);
}

const struct hn_argument *hn_plan_find_argument(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].name != NULL && strcmp(plan->arguments[i].name, name) == 0)
            return &plan->arguments[i];
    return NULL;
}

const struct hn_compare *hn_plan_comparison(const struct hn_plan *plan,
                                            const struct hn_argument *argument)
{
    return argument->compare != NULL ? argument->compare : &plan->compare;
}

bool hn_plan_compares_in_part(const struct hn_plan *plan, const struct hn_argument *argument)
{
    const struct hn_compare *compare = hn_plan_comparison(plan, argument);
    return argument->role == HN_ROLE_OUTPUT && compare->partial &&
           compare->mode != HN_COMPARE_MULTISET;
}

size_t hn_plan_source(const struct hn_plan *plan, size_t argument)
{
    if (plan->arguments[argument].from == NULL)
        return argument;
    return (size_t)(hn_plan_find_argument(plan, plan->arguments[argument].from) - plan->arguments);
}

/* Of the names only parameters have values here. One that the point does not have, as it was tuned
 * before there was such a parameter, takes the default. */
bool hn_plan_freezes(const struct hn_plan *plan, const struct hn_bindings *point)
{
    struct hn_value holds = hn_boolean(true);
    if (plan->freeze_if == NULL || point == NULL)
        return true;
    struct hn_value *values = calloc(hn_plan_slot_count(plan) + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < plan->name_count; i++) {
        const struct hn_value *value = hn_bindings_get(point, plan->names[i]);
        if (value == NULL)
            value = hn_bindings_get(&plan->defaults, plan->names[i]);
        values[i] = value == NULL ? hn_integer(0) : *value;
    }
    bool known =
        values != NULL && hn_expression_evaluate(plan->freeze_if, values, &holds, NULL) == HN_OK;
    free(values);
    return !known || hn_value_truth(&holds);
}

bool hn_plan_is_frozen(const struct hn_plan *plan, const struct hn_bindings *point,
                       const char *name, const struct hn_value *value)
{
    if (value->type == HN_WORD)
        return true;
    for (size_t i = 0; i < plan->freeze_count; i++)
        if (strcmp(plan->freeze[i], name) == 0)
            return hn_plan_freezes(plan, point);
    return false;
}

enum hn_status hn_plan_program_values(const struct hn_plan *plan, const struct hn_bindings *point,
                                      const struct hn_bindings *problem, struct hn_bindings *values,
                                      struct hn_error *err)
{
    enum hn_status status = HN_OK;
    hn_bindings_init(values);
    for (size_t i = 0; i < problem->count && status == HN_OK; i++)
        if (hn_plan_is_frozen(plan, point, problem->names[i], &problem->values[i]))
            status = hn_bindings_set(values, problem->names[i], &problem->values[i], err);
    return status;
}

enum hn_status hn_word_list_add(struct hn_word_list *list, const char *word, struct hn_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->words[i], word) == 0)
            return HN_OK;
    char **words = realloc(list->words, (list->count + 1) * sizeof *words);
    if (words == NULL)
        return hn_fail_memory(err);
    list->words = words;
    words[list->count] = strdup(word);
    if (words[list->count] == NULL)
        return hn_fail_memory(err);
    list->count++;
    return HN_OK;
}
