/* SPDX-License-Identifier: MIT */
#include "tuner/export/export_cases_part.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 110 };

/* What a statement depends on. */
enum dependence { ON_NOTHING, ON_CONFIG, ON_STEP, ON_BOTH };

enum hn_status hn_export_cases_make(struct hn_export_cases *cases, size_t configs, size_t steps,
                                    size_t count, struct hn_error *err)
{
    *cases = (struct hn_export_cases){configs, steps, count, NULL, false};
    cases->statements = calloc(configs * steps * count + 1, sizeof *cases->statements);
    return cases->statements == NULL ? hn_fail_memory(err) : HN_OK;
}

void hn_export_cases_finish(struct hn_export_cases *cases)
{
    size_t all = cases->configs * cases->steps * cases->count;
    for (size_t i = 0; cases->statements != NULL && i < all; i++)
        free(cases->statements[i]);
    free(cases->statements);
}

static char **place(const struct hn_export_cases *cases, size_t config, size_t step,
                    size_t statement)
{
    return &cases->statements[(config * cases->steps + step) * cases->count + statement];
}

void hn_export_cases_set(struct hn_export_cases *cases, size_t config, size_t step,
                         size_t statement, struct hn_text *text)
{
    char **own = place(cases, config, step, statement);
    *own = hn_text_take(text);
    cases->failed = cases->failed || *own == NULL;
}

static const char *get(const struct hn_export_cases *cases, size_t config, size_t step,
                       size_t statement)
{
    const char *text = *place(cases, config, step, statement);
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
static void append_body(const struct hn_export_cases *cases, enum dependence on, size_t number,
                        struct hn_text *body)
{
    size_t config = on == ON_CONFIG ? number : on == ON_BOTH ? number / cases->steps : 0;
    size_t step = on == ON_STEP ? number : on == ON_BOTH ? number % cases->steps : 0;
    for (size_t i = 0; i < cases->count; i++) {
        const char *statement = get(cases, config, step, i);
        if (statement[0] != '\0' && find_dependence(cases, i) == on)
            hn_text_printf(body, "        %s\n", statement);
    }
}

void hn_export_append_wrapped(struct hn_text *text, const char *line_break, const char *format, ...)
{
    va_list arguments;
    char *piece = NULL;
    size_t column = 0;
    va_start(arguments, format);
    int size = vasprintf(&piece, format, arguments);
    va_end(arguments);
    if (size < 0) {
        text->failed = true;
        return;
    }
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
    for (size_t i = first; i < count; i++) {
        if (strcmp(bodies[i], body) == 0)
            hn_export_append_wrapped(&labels, "\n   ", "%scase %zu:", i == first ? "    " : " ", i);
    }
    const char *start = body + strspn(body, " ");
    size_t length = strcspn(start, "\n");
    bool one_line = start[length + 1] == '\0' && labels.length + length + 9 <= LINE_MOST;
    if (!labels.failed && one_line)
        hn_text_printf(text, "%s %.*s break;\n", labels.data, (int)length, start);
    else if (!labels.failed)
        hn_text_printf(text, "%s\n%s        break;\n", labels.data, body);
    text->failed = text->failed || labels.failed;
    hn_text_finish(&labels);
}

static void append_switch(char *const *bodies, size_t count, const char *value,
                          struct hn_text *text)
{
    hn_text_printf(text, "    switch (%s) {\n", value);
    for (size_t i = 0; i < count; i++) {
        bool said = bodies[i][0] == '\0';
        for (size_t before = 0; before < i && !said; before++)
            said = strcmp(bodies[before], bodies[i]) == 0;
        if (!said)
            append_case(bodies, count, i, text);
    }
    hn_text_append(text, "    default: break;\n    }\n");
}

/* The switch over what depends on the same; nothing where nothing does. */
static void append_dependent(const struct hn_export_cases *cases, enum dependence on,
                             struct hn_text *text)
{
    size_t count = (on == ON_STEP ? 1 : cases->configs) * (on == ON_CONFIG ? 1 : cases->steps);
    char **bodies = calloc(count, sizeof *bodies), value[64] = "config";
    bool any = false;
    for (size_t i = 0; bodies != NULL && i < count && !text->failed; i++) {
        struct hn_text body = {0};
        append_body(cases, on, i, &body);
        bodies[i] = hn_text_take(&body);
        text->failed = bodies[i] == NULL;
        any = any || (!text->failed && bodies[i][0] != '\0');
    }
    if (on != ON_CONFIG)
        snprintf(value, sizeof value, on == ON_STEP ? "step" : "config * %zu + step", cases->steps);
    text->failed = text->failed || bodies == NULL;
    if (any && !text->failed)
        append_switch(bodies, count, value, text);
    for (size_t i = 0; bodies != NULL && i < count; i++)
        free(bodies[i]);
    free(bodies);
}

void hn_export_cases_append(const struct hn_export_cases *cases, struct hn_text *text)
{
    for (size_t i = 0; i < cases->count; i++)
        if (get(cases, 0, 0, i)[0] != '\0' && find_dependence(cases, i) == ON_NOTHING)
            hn_text_printf(text, "    %s\n", get(cases, 0, 0, i));
    append_dependent(cases, ON_CONFIG, text);
    append_dependent(cases, ON_STEP, text);
    append_dependent(cases, ON_BOTH, text);
}
