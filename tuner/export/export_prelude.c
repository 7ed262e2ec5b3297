/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"

/* What a program needs that compiles a configuration itself, by NVRTC: the #defines that stand
 * before the template's text, the options, and the kernels' names. */

/* Whether the line defines a problem value, which is then the caller's. */
static const char *problem_of_line(const struct hn_plan *plan, const char *line)
{
    static const char start[] = "#define ";
    const char *name = line + strlen(start);
    size_t length = strcspn(name, " \n");
    for (size_t i = 0; strncmp(line, start, strlen(start)) == 0 && i < plan->problem_count; i++)
        if (strlen(plan->problem[i]) == length && memcmp(plan->problem[i], name, length) == 0)
            return plan->problem[i];
    return NULL;
}

/* "#define K %lld\n", or the line as it is. */
static void append_format(const struct hn_export *export, const char *line, struct hn_text *text)
{
    const char *name = problem_of_line(export->plan, line);
    hn_text_append(text, "            \"");
    if (name != NULL)
        hn_text_printf(text, "#define %s (%s)", name,
                       hn_export_problem_is_real(export, name) ? "%#.17g" : "%lld");
    for (const char *c = line; name == NULL && *c != '\0' && *c != '\n'; c++)
        hn_text_printf(text, *c == '%' ? "%%%%" : "%c", *c);
    hn_text_append(text, "\\n\"\n");
}

static void append_call(const struct hn_export *export, const char *prelude, struct hn_text *text)
{
    hn_text_append(text, "    length = snprintf(text, size,\n");
    for (const char *line = prelude; *line != '\0'; line += strcspn(line, "\n") + 1)
        append_format(export, line, text);
    hn_text_append(text, "            \"\"");
    for (const char *line = prelude; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const char *name = problem_of_line(export->plan, line);
        if (name != NULL)
            hn_text_printf(text, ", %sproblem_%s",
                           hn_export_problem_is_real(export, name) ? "" : "(long long)", name);
    }
    hn_text_append(text, ");\n");
}

static enum hn_status make_prelude(const struct hn_export *export, size_t config, char **body,
                                   struct hn_error *err)
{
    struct hn_text prelude = {0}, text = {0};
    const struct hn_tuned *tuned = export->configs[config];
    enum hn_status status = hn_source_append_prelude(export->plan, &tuned->identity.problem,
                                                     &tuned->best.point, &prelude, err);
    if (status == HN_OK && !prelude.failed)
        append_call(export, prelude.data == NULL ? "" : prelude.data, &text);
    text.failed = text.failed || prelude.failed;
    hn_text_finish(&prelude);
    *body = hn_text_take(&text);
    return status == HN_OK && *body == NULL ? hn_fail_memory(err) : status;
}

static void append_strings(char *const *strings, size_t count, struct hn_text *text)
{
    hn_text_append(text, "    static const char *const strings[] = {");
    for (size_t i = 0; i < count; i++) {
        if (strings[i] != NULL)
            hn_export_append_literal(text, strings[i]);
        else
            hn_text_append(text, "NULL");
        hn_text_append(text, ", ");
    }
    hn_text_append(text, "NULL};\n    list = strings;\n");
}

/* A block of its own: each configuration has a table of that name. */
static enum hn_status make_strings(char *const *strings, size_t count, char **body,
                                   struct hn_error *err)
{
    struct hn_text text = {0};
    hn_text_append(&text, "    {\n");
    append_strings(strings, count, &text);
    hn_text_append(&text, "    }\n");
    *body = hn_text_take(&text);
    return *body == NULL ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status make_options(const struct hn_export *export, size_t config, char **body,
                                   struct hn_error *err)
{
    struct hn_source source;
    enum hn_status status = hn_export_make_source(export, export->configs[config], &source, err);
    if (status != HN_OK)
        return status;
    status = make_strings(source.options, source.option_count, body, err);
    hn_source_finish(&source);
    return status;
}

enum hn_status hn_export_find_entries(const struct hn_export *export, size_t config,
                                      char *const *launched, const char **entries,
                                      struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    const struct hn_tuned *tuned = export->configs[config];
    struct hn_value *values = NULL;
    size_t next = 0;
    enum hn_status status =
        hn_plan_values(plan, &tuned->identity.problem, &tuned->best.point, &values, err);
    for (size_t i = 0; status == HN_OK && i < plan->step_count; i++) {
        bool applies = false;
        const struct hn_step *step = &plan->steps[i];
        status = hn_step_applies(step, values, &applies, err);
        entries[i] = NULL;
        if (applies)
            entries[i] = launched[next++];
        else if (hn_export_uses_problem(plan, step->condition) && hn_text_is_word(step->entry))
            entries[i] = step->entry;
    }
    free(values);
    return status;
}

static enum hn_status make_entries(const struct hn_export *export, size_t config, char **body,
                                   struct hn_error *err)
{
    struct hn_source source;
    const char **entries = calloc(export->plan->step_count + 1, sizeof *entries);
    if (entries == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_export_make_source(export, export->configs[config], &source, err);
    if (status == HN_OK) {
        status = hn_export_find_entries(export, config, source.entries, entries, err);
        if (status == HN_OK)
            status = make_strings((char *const *)(uintptr_t)entries, export->plan->step_count, body,
                                  err);
        hn_source_finish(&source);
    }
    free(entries);
    return status;
}

/* The statements of all configurations under one head. */
static enum hn_status append_switch(const struct hn_export *export,
                                    enum hn_status (*make)(const struct hn_export *, size_t,
                                                           char **, struct hn_error *),
                                    struct hn_text *text, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    char **bodies = calloc(export->body_count, sizeof *bodies);
    if (bodies == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->body_count && status == HN_OK; i++)
        status = make(export, i, &bodies[i], err);
    if (status == HN_OK)
        hn_export_append_switch(bodies, export->body_count, text);
    for (size_t i = 0; i < export->body_count; i++)
        free(bodies[i]);
    free(bodies);
    return status;
}

static enum hn_status
append_list(const struct hn_export *export, const char *comment, const char *name,
            enum hn_status (*make)(const struct hn_export *, size_t, char **, struct hn_error *),
            struct hn_text *text, struct hn_error *err)
{
    hn_text_printf(text,
                   "%sstatic inline const char *const *%s_%s(int config)\n{\n"
                   "    const char *const *list = NULL;\n",
                   comment, export->lower, name);
    enum hn_status status = append_switch(export, make, text, err);
    hn_text_append(text, "    return list;\n}\n\n");
    return status;
}

enum hn_status hn_export_append_prelude(const struct hn_export *export, struct hn_text *text,
                                        struct hn_error *err)
{
    hn_text_printf(text,
                   "/* What stands before the template's text when a configuration is compiled for "
                   "a problem; written\n"
                   " * and counted as by snprintf. */\n"
                   "static inline int %s_prelude(char *text, size_t size, int config",
                   export->lower);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_append(text, ")\n{\n    int length = -1;\n");
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "    (void)problem_%s;\n", export->plan->problem[i]);
    enum hn_status status = append_switch(export, make_prelude, text, err);
    hn_text_append(text, "    return length;\n}\n\n");
    if (status == HN_OK)
        status = append_list(export,
                             "/* The compile options of a configuration, NULL behind the "
                             "last. */\n",
                             "options", make_options, text, err);
    if (status == HN_OK)
        status = append_list(export,
                             "/* The kernels of a configuration's steps: extern \"C\" names, or "
                             "name expressions with the values\n"
                             " * that it was tuned for. NULL: it has no such step. */\n",
                             "entries", make_entries, text, err);
    return status;
}
