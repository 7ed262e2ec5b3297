/* SPDX-License-Identifier: MIT */
#include "runtime/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/plan/data_file.h"

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

void hn_geometry_list(const struct hn_geometry *geometry,
                      struct hn_expression *list[HN_GEOMETRY_EXPRESSIONS])
{
    for (size_t i = 0; i < 3; i++) {
        list[i] = geometry->grid[i];
        list[3 + i] = geometry->block[i];
        list[6 + i] = geometry->cluster[i];
    }
    list[9] = geometry->shared_bytes;
    list[10] = geometry->carveout;
    list[11] = geometry->cooperative;
    for (size_t i = 0; i < HN_WINDOW_PARTS; i++)
        list[12 + i] = geometry->window.parts[i];
}

static void finish_geometry(struct hn_geometry *geometry)
{
    struct hn_expression *list[HN_GEOMETRY_EXPRESSIONS];
    hn_geometry_list(geometry, list);
    for (size_t i = 0; i < HN_GEOMETRY_EXPRESSIONS; i++)
        hn_expression_destroy(list[i]);
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

static void finish_step(struct hn_step *step)
{
    hn_expression_destroy(step->condition);
    free(step->entry);
    free(step->arguments);
    finish_geometry(&step->geometry);
}

static void finish_option(struct hn_option *option)
{
    for (size_t i = 0; option->holes != NULL && i < option->hole_count; i++)
        hn_expression_destroy(option->holes[i]);
    free(option->holes);
    hn_expression_destroy(option->condition);
    free(option->text);
}

static void free_arguments(struct hn_plan *plan)
{
    for (size_t i = 0; plan->arguments != NULL && i < plan->argument_count; i++)
        hn_argument_finish(&plan->arguments[i]);
    free(plan->arguments);
}

static void free_lists(struct hn_plan *plan)
{
    for (size_t i = 0; plan->steps != NULL && i < plan->step_count; i++)
        finish_step(&plan->steps[i]);
    free(plan->steps);
    hn_pipeline_destroy(plan->pipeline);
    for (size_t i = 0; plan->options != NULL && i < plan->option_count; i++)
        finish_option(&plan->options[i]);
    free(plan->options);
    for (size_t i = 0; plan->word_lists != NULL && i < plan->word_list_count; i++) {
        free(plan->word_lists[i].name);
        free_strings(plan->word_lists[i].words, plan->word_lists[i].count);
    }
    free(plan->word_lists);
    for (size_t i = 0; plan->metrics != NULL && i < plan->metric_count; i++) {
        free(plan->metrics[i].name);
        hn_expression_destroy(plan->metrics[i].expression);
    }
    free(plan->metrics);
    for (size_t i = 0; plan->constraints != NULL && i < plan->constraint_count; i++)
        hn_expression_destroy(plan->constraints[i]);
    free(plan->constraints);
}

void hn_reference_finish(struct hn_reference *reference)
{
    free(reference->template_path);
    finish_step(&reference->step);
    free_strings(reference->depends, reference->depends_count);
    *reference = (struct hn_reference){.kind = HN_REFERENCE_SELF};
}

void hn_plan_destroy(struct hn_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->kernel);
    free(plan->template_path);
    free_strings(plan->names, plan->name_count);
    free_strings(plan->pitches, plan->pitch_count);
    free_strings(plan->parameters, plan->parameter_count);
    free_strings(plan->problem, plan->problem_count);
    free_strings(plan->freeze, plan->freeze_count);
    free_arguments(plan);
    free_lists(plan);
    hn_reference_finish(&plan->reference);
    hn_compare_finish(&plan->compare);
    free(plan->objective);
    hn_bindings_finish(&plan->defaults);
    free(plan->config);
    free(plan);
}

char *hn_plan_signature(const struct hn_plan *plan)
{
    struct hn_text text;
    hn_text_init(&text);
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        char type[HN_TYPE_SIZE];
        if (strncmp(argument->name, HN_EXPECTED_PREFIX, strlen(HN_EXPECTED_PREFIX)) == 0)
            continue;
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

size_t hn_plan_source(const struct hn_plan *plan, size_t argument)
{
    if (plan->arguments[argument].from == NULL)
        return argument;
    return (size_t)(hn_plan_find_argument(plan, plan->arguments[argument].from) - plan->arguments);
}

enum hn_status hn_plan_add_data_hash(const struct hn_plan *plan, struct hn_hash *hash,
                                     struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++) {
        struct hn_hash own;
        if (plan->arguments[i].fill.file == NULL)
            continue;
        status = hn_data_file_hash(plan->arguments[i].fill.file, &own, err);
        if (status == HN_OK)
            *hash = hn_hash_join(hash, &own);
    }
    return status;
}

bool hn_plan_is_frozen(const struct hn_plan *plan, const char *name, const struct hn_value *value)
{
    if (value->type == HN_WORD)
        return true;
    for (size_t i = 0; i < plan->freeze_count; i++)
        if (strcmp(plan->freeze[i], name) == 0)
            return true;
    return false;
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
