/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_cases_part.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* The part of the header for programs that use the driver: what they compile, and a launch of the
 * whole plan. */

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

static enum hn_status make_preludes(const struct hn_export *export, char **preludes,
                                    struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < export->body_count && status == HN_OK; i++) {
        const struct hn_tuned *tuned = export->configs[i];
        struct hn_text text = {0};
        status = hn_source_append_prelude(export->plan, &tuned->identity.problem,
                                          &tuned->best.point, &text, err);
        preludes[i] = hn_text_take(&text);
        if (status == HN_OK && preludes[i] == NULL)
            status = hn_fail_memory(err);
    }
    return status;
}

static bool has_line(const char *text, const char *line, size_t length)
{
    for (; *text != '\0'; text += strcspn(text, "\n") + 1)
        if (strcspn(text, "\n") == length && memcmp(text, line, length) == 0)
            return true;
    return false;
}

/* A line as part of a string literal; where it is a format, "#define K (%lld)\n". */
static void append_line(const struct hn_export *export, const char *line, bool format,
                        struct hn_text *text)
{
    const char *name = format ? problem_of_line(export->plan, line) : NULL;
    if (name != NULL)
        hn_text_printf(text, "#define %s (%s)", name,
                       hn_export_problem_is_real(export, name) ? "%#.17g" : "%lld");
    for (const char *c = line; name == NULL && *c != '\n' && *c != '\0'; c++)
        hn_text_printf(text, format && *c == '%' ? "%%%%" : "%c", *c);
    hn_text_append(text, "\\n");
}

/* A string literal of the lines that all configurations have and of the problem's; or of the
 * others. */
static void append_lines(const struct hn_export *export, char *const *preludes, size_t config,
                         bool shared, struct hn_text *text)
{
    for (const char *line = preludes[config]; *line != '\0'; line += strcspn(line, "\n") + 1) {
        bool in_all = true;
        for (size_t i = 0; i < export->body_count && in_all; i++)
            in_all = has_line(preludes[i], line, strcspn(line, "\n"));
        if (shared != (in_all || problem_of_line(export->plan, line) != NULL))
            continue;
        struct hn_text piece = {0};
        append_line(export, line, shared, &piece);
        hn_export_append_wrapped(text, "\"\n                    \"",
                                 piece.failed ? "" : piece.data);
        text->failed = text->failed || piece.failed;
        hn_text_finish(&piece);
    }
}

static void free_strings(char **strings, size_t count)
{
    for (size_t i = 0; strings != NULL && i < count; i++)
        free(strings[i]);
    free(strings);
}

static enum hn_status append_format(const struct hn_export *export, struct hn_text *text,
                                    struct hn_error *err)
{
    char **preludes = calloc(export->body_count, sizeof *preludes);
    if (preludes == NULL)
        return hn_fail_memory(err);
    enum hn_status status = make_preludes(export, preludes, err);
    if (status == HN_OK) {
        hn_text_append(text, "                    \"");
        append_lines(export, preludes, 0, true, text);
        hn_text_append(text, "\"\n");
    }
    free_strings(preludes, export->body_count);
    return status;
}

/* What the format takes: problem values in the order of their lines. */
static enum hn_status append_values(const struct hn_export *export, struct hn_text *text,
                                    struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    struct hn_text prelude = {0};
    enum hn_status status = hn_source_append_prelude(export->plan, &tuned->identity.problem,
                                                     &tuned->best.point, &prelude, err);
    const char *line =
        status != HN_OK || prelude.failed || prelude.data == NULL ? "" : prelude.data;
    for (; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const char *name = problem_of_line(export->plan, line);
        if (name != NULL)
            hn_text_printf(text, ", %sproblem.%s",
                           hn_export_problem_is_real(export, name) ? "" : "(long long)", name);
    }
    text->failed = text->failed || prelude.failed;
    hn_text_finish(&prelude);
    return status;
}

/* "{"a", NULL}" with a NULL behind the last. */
static void append_strings(const char *const *strings, size_t count, struct hn_text *text)
{
    hn_text_append(text, "{");
    for (size_t i = 0; i < count; i++) {
        hn_export_append_literal(text, strings[i]);
        hn_text_append(text, ", ");
    }
    hn_text_append(text, "NULL}");
}

/* Columns of the table of options, which end with NULL. */
static size_t count_options(const struct hn_export *export)
{
    return export->plan->option_count + 1;
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

static enum hn_status append_code(const struct hn_export *export, size_t config,
                                  char *const *preludes, const char **entries, struct hn_text *text,
                                  struct hn_error *err)
{
    struct hn_source source;
    enum hn_status status = hn_export_make_source(export, export->configs[config], &source, err);
    if (status != HN_OK)
        return status;
    hn_text_append(text, "    {\"");
    append_lines(export, preludes, config, false, text);
    hn_text_append(text, "\", ");
    append_strings((const char *const *)source.options, source.option_count, text);
    status = hn_export_find_entries(export, config, source.entries, entries, err);
    hn_text_append(text, ",\n     ");
    if (status == HN_OK)
        append_strings(entries, export->plan->step_count, text);
    hn_text_append(text, "},\n");
    hn_source_finish(&source);
    return status;
}

static enum hn_status append_codes(const struct hn_export *export, struct hn_text *text,
                                   struct hn_error *err)
{
    char **preludes = calloc(export->body_count, sizeof *preludes);
    const char **entries = calloc(export->plan->step_count, sizeof *entries);
    enum hn_status status = preludes == NULL || entries == NULL
                                ? hn_fail_memory(err)
                                : make_preludes(export, preludes, err);
    for (size_t i = 0; i < export->body_count && status == HN_OK; i++)
        status = append_code(export, i, preludes, entries, text, err);
    free_strings(preludes, export->body_count);
    free(entries);
    return status;
}

/* The contents of an argument are where the caller has them. */
static bool is_by_value(const struct hn_argument *argument)
{
    return argument->role != HN_ROLE_TEXTURE && argument->count == NULL &&
           (argument->value == NULL || argument->lanes > 1);
}

/* ", CUdeviceptr argument_A" of each argument that the caller gives. */
static enum hn_status append_parameters(const struct hn_export *export, struct hn_text *text,
                                        struct hn_error *err)
{
    static const char line_break[] = "\n    ";
    const struct hn_plan *plan = export->plan;
    (void)err;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        bool half = argument->element == HN_FLOAT16 || argument->element == HN_BFLOAT16;
        char type[32];
        struct hn_text piece = {0};
        if (!hn_export_is_taken(plan, i) || !hn_export_is_given(argument))
            continue;
        hn_type_format_c(argument->element, 1, type, sizeof type);
        hn_text_printf(&piece, "%s%sargument_%s",
                       argument->role == HN_ROLE_TEXTURE ? "CUtexObject"
                       : argument->count != NULL         ? "CUdeviceptr"
                       : is_by_value(argument)           ? "const void"
                       : half                            ? "uint16_t"
                                                         : type,
                       is_by_value(argument) ? " *" : " ", argument->name);
        hn_text_append(text, ", ");
        hn_export_append_wrapped(text, line_break, piece.failed ? "" : piece.data);
        text->failed = text->failed || piece.failed;
        hn_text_finish(&piece);
    }
    return HN_OK;
}

static size_t count_most_arguments(const struct hn_export *export)
{
    size_t most = 1;
    for (size_t i = 0; i < export->plan->step_count; i++)
        if (export->plan->steps[i].argument_count > most)
            most = export->plan->steps[i].argument_count;
    return most;
}

/* The addresses of a step's arguments. */
static enum hn_status append_addresses(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err)
{
    (void)err;
    for (size_t s = 0; s < export->plan->step_count; s++) {
        const struct hn_step *step = &export->plan->steps[s];
        hn_text_append(text, "        {");
        for (size_t i = 0; i < step->argument_count; i++) {
            const struct hn_argument *argument = &export->plan->arguments[step->arguments[i]];
            struct hn_text piece = {0};
            if (!hn_export_is_given(argument))
                hn_text_printf(&piece, "&size.%s_value", argument->name);
            else
                hn_text_printf(&piece, "%sargument_%s",
                               is_by_value(argument) ? "(void *)(uintptr_t)" : "&", argument->name);
            hn_text_append(&piece, i + 1 < step->argument_count ? ", " : "");
            hn_export_append_wrapped(text, "\n         ", piece.failed ? "" : piece.data);
            text->failed = text->failed || piece.failed;
            hn_text_finish(&piece);
        }
        hn_text_append(text, step->argument_count > 0 ? "},\n" : "NULL},\n");
    }
    return HN_OK;
}

static enum hn_status append_zeroing(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    (void)err;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const char *name = plan->arguments[i].name;
        if (plan->arguments[i].role == HN_ROLE_COUNTER && hn_export_is_taken(plan, i))
            hn_text_printf(
                text,
                "    if (result == CUDA_SUCCESS && argument_%s != 0)\n"
                "        result = cuMemsetD8Async(argument_%s, 0, size.%s_size, stream);\n",
                name, name, name);
    }
    return HN_OK;
}

/* How many steps have an expression of a kind. */
static size_t count_geometry(const struct hn_export *export,
                             struct hn_expression *(*get)(const struct hn_geometry *))
{
    size_t count = 0;
    for (size_t i = 0; i < export->plan->step_count; i++)
        count += get(&export->plan->steps[i].geometry) != NULL;
    return count;
}

#define COUNT_GEOMETRY(name, expression)                                                           \
    static struct hn_expression *get_##name(const struct hn_geometry *geometry)                    \
    {                                                                                              \
        return geometry->expression;                                                               \
    }                                                                                              \
    static size_t count_##name(const struct hn_export *export)                                     \
    {                                                                                              \
        return count_geometry(export, get_##name);                                                 \
    }
COUNT_GEOMETRY(dynamic, shared_bytes)
COUNT_GEOMETRY(clusters, cluster[0])
COUNT_GEOMETRY(carveout, carveout)
COUNT_GEOMETRY(cooperative, cooperative)
COUNT_GEOMETRY(windows, window.parts[HN_WINDOW_BYTES])

static size_t count_attributes(const struct hn_export *export)
{
    return count_clusters(export) + count_cooperative(export) + count_windows(export);
}

static enum hn_status append_dynamic(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err)
{
    (void)err;
    for (size_t i = 0; i < export->plan->step_count; i++)
        hn_text_printf(text, "%s%d", i > 0 ? ", " : "",
                       export->plan->steps[i].geometry.shared_bytes != NULL);
    return HN_OK;
}

/* The buffer under each step's window. */
static enum hn_status append_windows(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err)
{
    (void)err;
    for (size_t i = 0; i < export->plan->step_count; i++) {
        const struct hn_window_plan *window = &export->plan->steps[i].geometry.window;
        hn_text_append(text, i > 0 ? ", " : "");
        if (window->parts[HN_WINDOW_BYTES] != NULL)
            hn_text_printf(text, "argument_%s", export->plan->arguments[window->argument].name);
        else
            hn_text_append(text, "0");
    }
    return HN_OK;
}

/* Programs with embedded machine code compile nothing. */
static size_t count_compiles(const struct hn_export *export)
{
    return export->images == NULL;
}

static enum hn_status append_driver(const struct hn_export *export, struct hn_text *text,
                                    struct hn_error *err)
{
    return export->driver ? hn_export_fill(export, hn_export_driver_skeleton, text, err) : HN_OK;
}

enum hn_status hn_export_driver_header(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err)
{
    struct hn_export with_driver = *export;
    with_driver.driver = true;
    enum hn_status status = hn_export_refuse_pipeline(export, err);
    return status == HN_OK ? hn_export_header(&with_driver, text, err) : status;
}

const struct hn_export_part hn_export_driver_parts[] = {
    {"driver_part", NULL, append_driver},
    {"compiles", count_compiles, NULL},
    {"prelude_format", NULL, append_format},
    {"prelude_arguments", NULL, append_values},
    {"most_options", count_options, NULL},
    {"code_rows", NULL, append_codes},
    {"launch_parameters", NULL, append_parameters},
    {"most_arguments", count_most_arguments, NULL},
    {"address_rows", NULL, append_addresses},
    {"zeroing", NULL, append_zeroing},
    {"dynamic", count_dynamic, NULL},
    {"dynamic_steps", NULL, append_dynamic},
    {"clusters", count_clusters, NULL},
    {"carveout", count_carveout, NULL},
    {"cooperative", count_cooperative, NULL},
    {"windows", count_windows, NULL},
    {"window_buffers", NULL, append_windows},
    {"attributes", count_attributes, NULL},
    {NULL, NULL, NULL},
};
