/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"

/* What the functions of the header have in common: problem values as parameters, parameters as
 * constants, a body for each configuration. */

void hn_export_append_problem_parameters(const struct hn_export *export, const char *before,
                                         struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        hn_text_printf(text, "%s%s problem_%s", i == 0 ? before : ", ",
                       hn_export_problem_is_real(export, name) ? "double" : "int64_t", name);
    }
}

void hn_export_append_problem_arguments(const struct hn_export *export, const char *before,
                                        struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "%sproblem_%s", i == 0 ? before : ", ", export->plan->problem[i]);
}

void hn_export_slots_finish(struct hn_export_slots *slots)
{
    for (size_t i = 0; slots->names != NULL && i < slots->count; i++)
        hn_text_finish(&slots->names[i]);
    free(slots->names);
    free(slots->items);
}

enum hn_status hn_export_slots_make(const struct hn_export *export, size_t config,
                                    struct hn_export_slots *slots, struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[config];
    const struct hn_plan *plan = export->plan;
    slots->count = plan->name_count + plan->pitch_count;
    slots->items = calloc(slots->count + 1, sizeof *slots->items);
    slots->names = calloc(slots->count + 1, sizeof *slots->names);
    if (slots->items == NULL || slots->names == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < plan->pitch_count; i++) {
        size_t slot = plan->name_count + i;
        hn_text_printf(&slots->names[slot], "%s_config_%s(config", export->lower, plan->pitches[i]);
        hn_export_append_problem_arguments(export, ", ", &slots->names[slot]);
        hn_text_append(&slots->names[slot], ")");
        if (slots->names[slot].failed)
            return hn_fail_memory(err);
        slots->items[slot].name = slots->names[slot].data;
    }
    for (size_t i = 0; i < plan->name_count; i++) {
        const char *name = plan->names[i];
        slots->items[i].constant = hn_bindings_get(&tuned->best.point, name);
        if (slots->items[i].constant != NULL)
            continue;
        hn_text_printf(&slots->names[i], "problem_%s", name);
        if (slots->names[i].failed)
            return hn_fail_memory(err);
        const struct hn_word_list *list = hn_export_words(export, name);
        slots->items[i].name = slots->names[i].data;
        slots->items[i].real = hn_export_problem_is_real(export, name);
        slots->items[i].words = list == NULL ? NULL : (const char *const *)list->words;
        slots->items[i].word_count = list == NULL ? 0 : list->count;
    }
    return HN_OK;
}

/* Whether an earlier configuration has the same body, which then stands under both. */
static bool is_said(char *const *bodies, size_t config)
{
    for (size_t i = 0; i < config; i++)
        if (strcmp(bodies[i], bodies[config]) == 0)
            return true;
    return false;
}

void hn_export_append_switch(char *const *bodies, size_t count, struct hn_text *text)
{
    bool equal = true;
    for (size_t i = 1; i < count; i++)
        equal = equal && strcmp(bodies[i], bodies[0]) == 0;
    if (equal) {
        hn_text_printf(text, "    (void)config;\n%s", bodies[0]);
        return;
    }
    hn_text_append(text, "    switch (config) {\n");
    for (size_t i = 0; i < count; i++) {
        if (is_said(bodies, i))
            continue;
        for (size_t other = i; other < count; other++)
            if (strcmp(bodies[other], bodies[i]) == 0)
                hn_text_printf(text, "    case %zu:\n", other);
        hn_text_printf(text, "%s    break;\n", bodies[i]);
    }
    hn_text_append(text, "    default:\n    break;\n    }\n");
}

static void append_definition(const struct hn_export *export,
                              const struct hn_export_function *function, char *const *bodies,
                              struct hn_text *text)
{
    hn_text_printf(text, "static inline %s %s_config_%s(int config", function->type, export->lower,
                   function->name);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_printf(text, ")\n{\n    %s %s = %s;\n", function->type, function->variable,
                   function->initial);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "    (void)problem_%s;\n", export->plan->problem[i]);
    hn_export_append_switch(bodies, export->body_count, text);
    hn_text_printf(text, "    return %s;\n}\n\n", function->variable);

    hn_text_printf(text, "static inline %s %s_%s(", function->type, export->lower, function->name);
    if (export->plan->problem_count == 0)
        hn_text_append(text, "void");
    hn_export_append_problem_parameters(export, "", text);
    hn_text_printf(text, ")\n{\n    return %s_config_%s(%s_CONFIG", export->lower, function->name,
                   export->upper);
    hn_export_append_problem_arguments(export, ", ", text);
    hn_text_append(text, ");\n}\n\n");
}

static enum hn_status make_body(const struct hn_export *export, size_t config,
                                const struct hn_export_function *function, char **body,
                                struct hn_error *err)
{
    struct hn_export_slots slots = {0};
    struct hn_text text = {0};
    enum hn_status status = hn_export_slots_make(export, config, &slots, err);
    if (status == HN_OK)
        status = function->append_body(export, config, &slots, function->context, &text, err);
    hn_export_slots_finish(&slots);
    *body = hn_text_take(&text);
    return status == HN_OK && *body == NULL ? hn_fail_memory(err) : status;
}

enum hn_status hn_export_append_function(const struct hn_export *export,
                                         const struct hn_export_function *function,
                                         struct hn_text *text, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    char **bodies = calloc(export->body_count, sizeof *bodies);
    if (bodies == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->body_count && status == HN_OK; i++)
        status = make_body(export, i, function, &bodies[i], err);
    if (status == HN_OK)
        append_definition(export, function, bodies, text);
    for (size_t i = 0; i < export->body_count; i++)
        free(bodies[i]);
    free(bodies);
    return status;
}
