/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/source.h"
#include "tuner/export/export_cases_part.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* The header's macros are the prelude that the template was tuned with, line by line, each name
 * prefixed: so both can not differ. */

/* A line "#define NAME value" of a prelude; pointers into it. */
struct definition {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
};

/* Moves *line past the next definition; false at the end. */
static bool next_definition(const char **line, struct definition *definition)
{
    static const char start[] = "#define ";
    while (**line != '\0') {
        const char *here = *line;
        size_t length = strcspn(here, "\n");
        *line = here + length + (here[length] == '\n');
        if (strncmp(here, start, strlen(start)) != 0)
            continue;
        definition->name = here + strlen(start);
        definition->name_length = strcspn(definition->name, " \n");
        definition->value = definition->name + definition->name_length;
        definition->value += *definition->value == ' ';
        definition->value_length = (size_t)(here + length - definition->value);
        return true;
    }
    return false;
}

static bool same_definition(const struct definition *a, const struct definition *b)
{
    return a->name_length == b->name_length && a->value_length == b->value_length &&
           memcmp(a->name, b->name, a->name_length) == 0 &&
           memcmp(a->value, b->value, a->value_length) == 0;
}

static bool has_definition(const char *prelude, const struct definition *wanted)
{
    struct definition definition;
    while (next_definition(&prelude, &definition)) {
        if (same_definition(&definition, wanted))
            return true;
    }
    return false;
}

static bool has_name(const char *prelude, const char *name, size_t length)
{
    struct definition definition;
    while (next_definition(&prelude, &definition)) {
        if (definition.name_length == length && memcmp(definition.name, name, length) == 0)
            return true;
    }
    return false;
}

/* '?' is escaped because "??/" would be a trigraph. */
void hn_export_append_literal(struct hn_text *text, const char *string)
{
    if (string == NULL) {
        hn_text_append(text, "NULL");
        return;
    }
    hn_text_append(text, "\"");
    for (const char *c = string; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte < 0x20 || byte == 0x7f)
            hn_text_printf(text, "\\%03o", (unsigned)byte);
        else
            hn_text_printf(text, "%s%c", strchr("\"\\?", byte) != NULL ? "\\" : "", *c);
    }
    hn_text_append(text, "\"");
}

void hn_export_append_value(const struct hn_export *export, const char *name,
                            const struct hn_value *value, struct hn_text *text)
{
    if (value->type == HN_WORD)
        hn_text_printf(text, "%s_%s_%s", export->upper, name, value->word);
    else if (value->type == HN_BOOLEAN)
        hn_text_append(text, value->boolean ? "1" : "0");
    else
        hn_value_append(text, value);
}

void hn_export_append_time(struct hn_text *text, double time_us)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.9g", time_us);
    hn_text_printf(text, "%s%s", digits, strpbrk(digits, ".e") == NULL ? ".0" : "");
}

/* What the prelude does not hold: where and for what the configuration was tuned. A problem value
 * of the same name, as SM_COUNT, stands for the device's. */
static void append_tuned(const struct hn_export *export, const struct hn_tuned *tuned,
                         struct hn_text *text)
{
    const struct hn_device_identity *device = &tuned->identity.device;
    const struct hn_bindings *problem = &tuned->identity.problem;
    hn_text_append(text, "#define TUNED_DEVICE ");
    hn_export_append_literal(text, device->name);
    hn_text_printf(text, "\n#define TUNED_CAPABILITY %d\n", device->capability);
    if (hn_bindings_get(problem, "SM_COUNT") == NULL)
        hn_text_printf(text, "#define TUNED_SM_COUNT %d\n", device->sm_count);
    hn_text_append(text, "#define TUNED_TIME_US ");
    hn_export_append_time(text, tuned->best.timing.median_us);
    hn_text_append(text, "\n");
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        hn_text_printf(text, "#define TUNED_%s ", name);
        hn_export_append_value(export, name, hn_bindings_get(problem, name), text);
        hn_text_append(text, "\n");
    }
}

/* The words of problem values are needed by hone_…_select even where the template does not see
 * them. */
static void append_problem_words(const struct hn_export *export, struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const struct hn_word_list *list = hn_export_words(export, export->plan->problem[i]);
        for (size_t word = 0; list != NULL && word < list->count; word++) {
            struct hn_text name = {0};
            hn_text_printf(&name, "%s_%s", list->name, list->words[word]);
            if (!name.failed &&
                (text->data == NULL || !has_name(text->data, name.data, name.length)))
                hn_text_printf(text, "#define %s %zu\n", name.data, word + 1);
            hn_text_finish(&name);
        }
    }
}

static enum hn_status make_prelude(const struct hn_export *export, size_t config, char **prelude,
                                   struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[config];
    struct hn_text text = {0};
    enum hn_status status = hn_source_append_prelude(export->plan, &tuned->identity.problem,
                                                     &tuned->best.point, &text, err);
    if (status == HN_OK) {
        append_problem_words(export, &text);
        append_tuned(export, tuned, &text);
        *prelude = hn_text_take(&text);
        if (*prelude == NULL)
            status = hn_fail_memory(err);
    }
    hn_text_finish(&text);
    return status;
}

static void free_preludes(char **preludes, size_t count)
{
    for (size_t i = 0; preludes != NULL && i < count; i++)
        free(preludes[i]);
    free(preludes);
}

static enum hn_status make_preludes(const struct hn_export *export, char ***preludes,
                                    struct hn_error *err)
{
    *preludes = calloc(export->count, sizeof **preludes);
    if (*preludes == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < export->count && status == HN_OK; i++)
        status = make_prelude(export, i, &(*preludes)[i], err);
    if (status != HN_OK)
        free_preludes(*preludes, export->count);
    return status;
}

static void append_prefixed(const struct hn_export *export, const char *prelude,
                            const struct definition *definition, struct hn_text *text)
{
    hn_text_printf(text, "#define %s_%.*s ", export->upper, (int)definition->name_length,
                   definition->name);
    if (has_name(prelude, definition->value, definition->value_length))
        hn_text_printf(text, "%s_", export->upper);
    hn_text_append_bytes(text, definition->value, definition->value_length);
    hn_text_append(text, "\n");
}

/* The definitions of configuration `config` that all configurations share, or those that they do
 * not. */
static void append_definitions(const struct hn_export *export, char *const *preludes, size_t config,
                               bool shared, struct hn_text *text)
{
    const char *line = preludes[config];
    struct definition definition;
    while (next_definition(&line, &definition)) {
        bool in_all = true;
        for (size_t i = 0; i < export->count && in_all; i++)
            in_all = has_definition(preludes[i], &definition);
        if (in_all == shared)
            append_prefixed(export, preludes[config], &definition, text);
    }
}

/* A parameter named CONFIG would give HONE_MATMUL_CONFIG a second meaning. */
static enum hn_status check_names(const struct hn_export *export, const char *prelude,
                                  struct hn_error *err)
{
    static const char *const own[] = {"APPLY",         "UNAPPLY", "CONFIG",       "CONFIGS",
                                      "CONFIG_COUNT",  "TUNED_H", "RESULT_COUNT", "STEP_COUNT",
                                      "TUNED_PROBLEM", "DEFAULT"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (has_name(prelude, own[i], strlen(own[i])))
            return hn_fail(err, HN_ECONFIG,
                           "the name '%s' can not be exported: %s_%s has a meaning of its own in "
                           "the header; rename it "
                           "in the config and the template",
                           own[i], export->upper, own[i]);
    }
    return HN_OK;
}

/* What differs between the configurations, each under its number. */
static void append_alternatives(const struct hn_export *export, char *const *preludes,
                                struct hn_text *text)
{
    for (size_t i = 0; i < export->count; i++) {
        hn_text_printf(text, "\n#%s %s_CONFIG == %zu /* ", i == 0 ? "if" : "elif", export->upper,
                       i);
        hn_bindings_append(text, &export->configs[i]->identity.problem);
        hn_text_printf(text, "%s%s */\n",
                       hn_export_is_stale(export, i) ? "; tuned with another template" : "",
                       export->configs[i]->simulated ? "; SIMULATED" : "");
        append_definitions(export, preludes, i, false, text);
    }
    hn_text_append(text, "#endif\n");
}

/* Every value that a row has is there. */
static enum hn_status check_values(const struct hn_export *export, struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < plan->parameter_count; i++) {
        if (hn_bindings_get(&export->configs[0]->best.point, plan->parameters[i]) == NULL)
            return hn_fail(err, HN_EFORMAT, "the cached point of '%s' has no value for '%s'",
                           export->kernel, plan->parameters[i]);
    }
    for (size_t i = 0; i < plan->problem_count; i++) {
        if (hn_bindings_get(&export->configs[0]->identity.problem, plan->problem[i]) == NULL)
            return hn_fail(err, HN_EFORMAT, "the cached problem of '%s' has no value for '%s'",
                           export->kernel, plan->problem[i]);
    }
    return HN_OK;
}

static enum hn_status append_macros(const struct hn_export *export, struct hn_text *text,
                                    struct hn_error *err)
{
    char **preludes;
    enum hn_status status = check_values(export, err);
    if (status == HN_OK)
        status = make_preludes(export, &preludes, err);
    if (status != HN_OK)
        return status;
    status = check_names(export, preludes[0], err);
    if (status == HN_OK) {
        append_definitions(export, preludes, 0, true, text);
        if (export->count > 1)
            append_alternatives(export, preludes, text);
    }
    free_preludes(preludes, export->count);
    return status;
}

/* A line for each name that the template reads: "#define K HONE_MATMUL_K", or "#undef K". */
static enum hn_status append_names(const struct hn_export *export, const char *directive,
                                   bool defined, struct hn_text *text, struct hn_error *err)
{
    struct hn_text prelude = {0};
    const struct hn_tuned *tuned = export->configs[0];
    enum hn_status status = hn_source_append_prelude(export->plan, &tuned->identity.problem,
                                                     &tuned->best.point, &prelude, err);
    struct definition definition;
    const char *line =
        status != HN_OK || prelude.failed || prelude.data == NULL ? "" : prelude.data;
    while (next_definition(&line, &definition)) {
        int length = (int)definition.name_length;
        hn_text_printf(text, "%s %.*s", directive, length, definition.name);
        if (defined)
            hn_text_printf(text, " %s_%.*s", export->upper, length, definition.name);
        hn_text_append(text, "\n");
    }
    text->failed = text->failed || prelude.failed;
    hn_text_finish(&prelude);
    return status;
}

static enum hn_status append_apply(const struct hn_export *export, struct hn_text *text,
                                   struct hn_error *err)
{
    return append_names(export, "#define", true, text, err);
}

static enum hn_status append_unapply(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err)
{
    return append_names(export, "#undef", false, text, err);
}

void hn_export_append_problem(const struct hn_export *export, const struct hn_tuned *tuned,
                              struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        hn_text_append(text, i > 0 ? ", " : "");
        hn_export_append_value(export, name, hn_bindings_get(&tuned->identity.problem, name), text);
    }
}

/* The values of each configuration as the arguments of X. */
static enum hn_status append_rows(const struct hn_export *export, struct hn_text *text,
                                  struct hn_error *err)
{
    (void)err;
    for (size_t c = 0; c < export->count; c++) {
        const struct hn_tuned *tuned = export->configs[c];
        hn_text_printf(text, " \\\n    X(%zu, ", c);
        for (size_t i = 0; i < export->plan->parameter_count; i++) {
            const char *name = export->plan->parameters[i];
            hn_export_append_value(export, name, hn_bindings_get(&tuned->best.point, name), text);
            hn_text_append(text, ", ");
        }
        hn_export_append_problem(export, tuned, text);
        hn_text_append(text, export->plan->problem_count > 0 ? ", " : "");
        hn_export_append_literal(text, tuned->identity.device.name);
        hn_text_printf(text, ", %d, %d, ", tuned->identity.device.capability,
                       tuned->identity.device.sm_count);
        hn_export_append_time(text, tuned->best.timing.median_us);
        hn_text_append(text, ")");
    }
    return HN_OK;
}

/* "VARIANT, TILE_WIDTH" behind what is there. */
static void append_list(char *const *names, size_t count, const char *before, const char *prefix,
                        const char *line_break, struct hn_text *text)
{
    for (size_t i = 0; i < count; i++) {
        struct hn_text piece = {0};
        hn_text_printf(&piece, "%s%s", prefix, names[i]);
        hn_text_append(text, i > 0 ? ", " : before);
        hn_export_append_wrapped(text, line_break, piece.failed ? "" : piece.data);
        text->failed = text->failed || piece.failed;
        hn_text_finish(&piece);
    }
}

static enum hn_status append_columns(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    (void)err;
    hn_text_append(text, "config");
    append_list(plan->parameters, plan->parameter_count, ", ", "", "\n * ", text);
    append_list(plan->problem, plan->problem_count, ", ", "", "\n * ", text);
    hn_text_append(text, ", ");
    hn_export_append_wrapped(text, "\n * ", "device, compute capability, SMs, time in us");
    return HN_OK;
}

static enum hn_status append_problem_names(const struct hn_export *export, struct hn_text *text,
                                           struct hn_error *err)
{
    (void)err;
    append_list(export->plan->problem, export->plan->problem_count, "", "", "", text);
    return HN_OK;
}

static enum hn_status append_tuned_problem(const struct hn_export *export, struct hn_text *text,
                                           struct hn_error *err)
{
    struct hn_text prefix = {0};
    (void)err;
    hn_text_printf(&prefix, "%s_TUNED_", export->upper);
    append_list(export->plan->problem, export->plan->problem_count, "",
                prefix.failed ? "" : prefix.data, "\\\n    ", text);
    hn_text_append(text, export->plan->problem_count == 0 ? "0" : "");
    text->failed = text->failed || prefix.failed;
    hn_text_finish(&prefix);
    return HN_OK;
}

static size_t count_configs(const struct hn_export *export)
{
    return export->count;
}

static size_t count_last(const struct hn_export *export)
{
    return export->count - 1;
}

static size_t count_bodies(const struct hn_export *export)
{
    return export->body_count;
}

static size_t count_fallback(const struct hn_export *export)
{
    return export->fallback != NULL;
}

const struct hn_export_part hn_export_macro_parts[] = {
    {"config_count", count_configs, NULL},
    {"last_config", count_last, NULL},
    {"body_count", count_bodies, NULL},
    {"fallback", count_fallback, NULL},
    {"macros", NULL, append_macros},
    {"config_columns", NULL, append_columns},
    {"config_rows", NULL, append_rows},
    {"problem_names", NULL, append_problem_names},
    {"tuned_problem", NULL, append_tuned_problem},
    {"apply", NULL, append_apply},
    {"unapply", NULL, append_unapply},
    {NULL, NULL, NULL},
};
