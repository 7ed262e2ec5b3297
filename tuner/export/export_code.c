/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"

/* Expressions of the plan as C: parameters are known and folded, so that each configuration has its
 * own; problem values and pitches are members of structs. And the functions in which configurations
 * differ. */

void hn_export_code_finish(struct hn_export_code *code)
{
    size_t count = code->slots == NULL ? 0 : code->plan->name_count + code->plan->pitch_count;
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)code->slots[i].name);
    free(code->slots);
    free(code->values);
    for (int of = 0; of < HN_EXPORT_MACROS; of++)
        free(code->macros[of]);
}

/* "problem.M" and the like. */
static char *name_member(const char *of, const char *name)
{
    struct hn_text text = {0};
    hn_text_printf(&text, "%s.%s", of, name);
    return hn_needed(hn_text_take(&text));
}

static void fill_slots(struct hn_export_code *code)
{
    const struct hn_export *export = code->writer->export;
    const struct hn_plan *plan = export->plan;
    struct hn_c_slot *slot = hn_need(plan->name_count + plan->pitch_count + 1, sizeof *slot);
    code->slots = slot;
    for (size_t i = 0; i < plan->name_count; i++, slot++) {
        const struct hn_word_list *list = hn_plan_find_words(plan, plan->names[i]);
        slot->constant =
            hn_bindings_get(&export->configs[code->config]->best.point, plan->names[i]);
        if (slot->constant != NULL)
            continue;
        slot->name = name_member("problem", plan->names[i]);
        slot->real = hn_export_problem_is_real(export, plan->names[i]);
        slot->words = list == NULL ? NULL : (const char *const *)list->words;
        slot->word_count = list == NULL ? 0 : list->count;
    }
    for (size_t i = 0; i < plan->pitch_count; i++, slot++)
        slot->name = name_member("size", plan->pitches[i]);
    slot->constant = &code->clusters;
}

/* A grid that asks for the clusters that run at once has what was found where it was tuned. */
static void check_clusters(const struct hn_export_code *code, struct hn_error *err)
{
    const struct hn_plan *plan = code->plan;
    for (size_t i = 0; i < plan->step_count && code->clusters.integer <= 0; i++)
        if (!hn_failed(err) && hn_plan_asks_clusters(plan, &plan->steps[i]))
            hn_fail(err, HN_ECONFIG,
                    "a 'grid' of %s asks for '%s', and the cache does not say how many there are "
                    "at this point; measure it with `hone tune` and export again",
                    plan->kernel, hn_clusters_name);
}

void hn_export_code_make(struct hn_export_writer *writer, size_t config,
                         struct hn_export_code *code)
{
    const struct hn_tuned *tuned = writer->export->configs[config];
    code->writer = writer;
    code->config = config;
    code->plan = hn_export_plan_of(writer->export, config);
    code->clusters = hn_integer(tuned->best.active_clusters);
    hn_export_make_macros(code);
    if (hn_failed(writer->err) || code->plan->pipeline != NULL)
        return;
    fill_slots(code);
    check_clusters(code, writer->err);
    if (!hn_failed(writer->err))
        hn_plan_values(code->plan, &tuned->identity.problem, &tuned->best.point, &code->values,
                       writer->err);
}

void hn_export_append_expression(const struct hn_export_code *code,
                                 const struct hn_expression *expression, bool *real,
                                 struct hn_text *text)
{
    if (!hn_failed(code->writer->err))
        hn_expression_append_c(expression, code->slots, code->writer->export->lower, real, text,
                               code->writer->err);
}

void hn_export_append_number(const struct hn_export_code *code,
                             const struct hn_expression *expression, const char *missing,
                             struct hn_text *text)
{
    bool real = false;
    struct hn_text number = {0};
    if (expression == NULL)
        hn_text_append(&number, missing);
    else
        hn_export_append_expression(code, expression, &real, &number);
    char *taken = hn_needed(hn_text_take(&number));
    if (real)
        hn_text_printf(text, "%s_whole(%s)", code->writer->export->lower, taken);
    else
        hn_text_append(text, taken);
    free(taken);
}

/* "(problem.K == 32 && …)" */
static void append_own_problem(const struct hn_export_code *code,
                               const struct hn_expression *condition, struct hn_text *text)
{
    const struct hn_export *export = code->writer->export;
    const struct hn_bindings *problem = &export->configs[code->config]->identity.problem;
    const char *separator = "(";
    for (size_t slot = 0; slot < export->plan->name_count; slot++) {
        const char *name = export->plan->names[slot];
        const struct hn_value *value = hn_bindings_get(problem, name);
        if (value == NULL || !hn_plan_uses(export->plan, condition, slot))
            continue;
        hn_text_printf(text, "%sproblem.%s == ", separator, name);
        hn_export_append_value(export, name, value, text);
        separator = " && ";
    }
    hn_text_append(text, ")");
}

char *hn_export_condition(const struct hn_export_code *code, const struct hn_expression *condition)
{
    const struct hn_export *export = code->writer->export;
    struct hn_text text = {0};
    struct hn_error reason;
    if (hn_failed(code->writer->err) || condition == NULL)
        return hn_need_copy("1");
    if (hn_plan_problem_used(export->plan, condition) == NULL)
        return hn_need_copy(hn_expression_truth(condition, code->values) == HN_TRUE ? "1" : "0");
    if (hn_expression_append_c_condition(condition, code->slots, export->lower, &text, &reason) !=
            HN_OK ||
        text.length == 0) {
        hn_text_finish(&text);
        append_own_problem(code, condition, &text);
    }
    return hn_needed(hn_text_take(&text));
}

enum { LINE_MOST = 110 };

/* A statement depends on the configuration, on the step, on both or neither. */
enum dependence { ON_NOTHING, ON_CONFIG, ON_STEP, ON_BOTH };

struct hn_export_cases hn_export_cases_begin(struct hn_export_writer *writer, size_t steps,
                                             size_t count)
{
    size_t configs = writer->export->body_count;
    return (struct hn_export_cases){writer, configs, steps, count,
                                    hn_need(configs * steps * count, sizeof(char *))};
}

char **hn_export_cases_at(const struct hn_export_cases *cases, size_t config, size_t step,
                          size_t statement)
{
    return &cases->statements[(config * cases->steps + step) * cases->count + statement];
}

static const char *get(const struct hn_export_cases *cases, size_t config, size_t step,
                       size_t statement)
{
    const char *text = *hn_export_cases_at(cases, config, step, statement);
    return text == NULL ? "" : text;
}

static enum dependence find_dependence(const struct hn_export_cases *cases, size_t statement)
{
    bool on_config = false, on_step = false;
    for (size_t c = 0; c < cases->configs; c++)
        for (size_t s = 0; s < cases->steps; s++) {
            const char *own = get(cases, c, s, statement);
            on_config = on_config || strcmp(own, get(cases, 0, s, statement)) != 0;
            on_step = on_step || strcmp(own, get(cases, c, 0, statement)) != 0;
        }
    return on_config && on_step ? ON_BOTH : on_config ? ON_CONFIG : on_step ? ON_STEP : ON_NOTHING;
}

/* The statements of a case that depend on the same, a line each. */
static char *make_body(const struct hn_export_cases *cases, enum dependence on, size_t number)
{
    struct hn_text body = {0};
    size_t config = on == ON_CONFIG ? number : on == ON_BOTH ? number / cases->steps : 0;
    size_t step = on == ON_STEP ? number : on == ON_BOTH ? number % cases->steps : 0;
    for (size_t i = 0; i < cases->count; i++) {
        const char *statement = get(cases, config, step, i);
        if (statement[0] != '\0' && find_dependence(cases, i) == on)
            hn_text_printf(&body, on == ON_NOTHING ? "    %s\n" : "        %s\n", statement);
    }
    return hn_needed(hn_text_take(&body));
}

void hn_export_append_wrapped(struct hn_text *text, const char *line_break, const char *format, ...)
{
    va_list arguments;
    char *piece = NULL;
    size_t column = 0;
    va_start(arguments, format);
    int size = vasprintf(&piece, format, arguments);
    va_end(arguments);
    hn_needed(size < 0 ? NULL : piece);
    while (column < text->length && text->data[text->length - column - 1] != '\n')
        column++;
    if (column + (size_t)size > LINE_MOST) {
        while (line_break[0] == '\n' && text->length > 0 && text->data[text->length - 1] == ' ')
            text->data[--text->length] = '\0';
        hn_text_append(text, line_break);
    }
    hn_text_append(text, piece);
    free(piece);
}

/* "    case 0: case 3:", then the body, on the same line where it is short. */
static void append_case(char *const *bodies, size_t count, size_t first, struct hn_text *text)
{
    struct hn_text labels = {0};
    const char *body = bodies[first];
    for (size_t i = first; i < count; i++)
        if (strcmp(bodies[i], body) == 0)
            hn_export_append_wrapped(&labels, "\n   ", "%scase %zu:", i == first ? "    " : " ", i);
    const char *start = body + strspn(body, " ");
    size_t length = strcspn(start, "\n");
    bool one_line = start[length + 1] == '\0' && labels.length + length + 9 <= LINE_MOST;
    if (one_line)
        hn_text_printf(text, "%s %.*s break;\n", labels.data, (int)length, start);
    else
        hn_text_printf(text, "%s\n%s        break;\n", labels.data, body);
    hn_text_finish(&labels);
}

/* The switch over what depends on the same; nothing where nothing does. */
static void append_switch(const struct hn_export_cases *cases, enum dependence on,
                          struct hn_text *text)
{
    size_t count = (on == ON_STEP ? 1 : cases->configs) * (on == ON_CONFIG ? 1 : cases->steps);
    char **bodies = hn_need(count, sizeof *bodies);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bodies[i] = make_body(cases, on, i);
        any = any || bodies[i][0] != '\0';
    }
    if (any && on == ON_BOTH)
        hn_text_printf(text, "    switch (config * %zu + step) {\n", cases->steps);
    else if (any)
        hn_text_printf(text, "    switch (%s) {\n", on == ON_STEP ? "step" : "config");
    for (size_t i = 0; i < count; i++) {
        bool said = bodies[i][0] == '\0';
        for (size_t before = 0; before < i && !said; before++)
            said = strcmp(bodies[before], bodies[i]) == 0;
        if (!said)
            append_case(bodies, count, i, text);
    }
    hn_text_append(text, any ? "    default: break;\n    }\n" : "");
    for (size_t i = 0; i < count; i++)
        free(bodies[i]);
    free(bodies);
}

void hn_export_cases_write(struct hn_export_cases *cases, bool in_sizes)
{
    const char *lower = cases->writer->export->lower;
    struct hn_text body = {0};
    if (!hn_failed(cases->writer->err)) {
        char *same = make_body(cases, ON_NOTHING, 0);
        hn_text_append(&body, same);
        free(same);
        for (enum dependence on = ON_CONFIG; on <= ON_BOTH; on++)
            append_switch(cases, on, &body);
    }
    if (!in_sizes && body.length > 0 && strstr(body.data, "size.") != NULL)
        hn_text_printf(cases->writer->text,
                       "    struct %s_sizes size = %s_size(config, problem);\n", lower, lower);
    hn_text_append(cases->writer->text, body.length > 0 ? body.data : "");
    hn_text_finish(&body);
    for (size_t i = 0; i < cases->configs * cases->steps * cases->count; i++)
        free(cases->statements[i]);
    free(cases->statements);
}
