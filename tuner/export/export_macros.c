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
static void append_problem_words(const struct hn_export *export, const char *prelude,
                                 struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const struct hn_word_list *list = hn_export_words(export, export->plan->problem[i]);
        for (size_t word = 0; list != NULL && word < list->count; word++) {
            struct hn_text name = {0};
            hn_text_printf(&name, "%s_%s", list->name, list->words[word]);
            if (!name.failed && !has_name(prelude, name.data, name.length))
                hn_text_printf(text, "#define %s %zu\n", name.data, word + 1);
            hn_text_finish(&name);
        }
    }
}

void hn_export_append_others(const struct hn_export *export, size_t config, const char *prelude,
                             struct hn_text *text)
{
    append_problem_words(export, prelude, text);
    append_tuned(export, export->configs[config], text);
}

/* Whether the first `count` configurations all have it. */
static bool is_shared(char *const *preludes, size_t count, const struct definition *definition)
{
    for (size_t i = 0; i < count; i++)
        if (!has_definition(preludes[i], definition))
            return false;
    return true;
}

/* The prefixed definitions of a configuration that all share, or those that they do not. A word's
 * number stands for itself; a word is named. */
static void write_definitions(const struct hn_export_writer *writer, char *const *preludes,
                              size_t config, bool shared)
{
    const struct hn_export *export = writer->export;
    const char *line = preludes[config];
    struct definition definition;
    while (next_definition(&line, &definition)) {
        if (is_shared(preludes, export->count, &definition) == shared)
            hn_text_printf(writer->text, "#define %s_%.*s %.*s\n", export->upper,
                           (int)definition.name_length, definition.name,
                           (int)definition.value_length, definition.value);
    }
}

/* A parameter named CONFIG would give HONE_MATMUL_CONFIG a second meaning. */
static enum hn_status check_names(const struct hn_export_writer *writer)
{
    static const char *const own[] = {"APPLY",        "UNAPPLY",      "CONFIG",       "CONFIGS",
                                      "CONFIG_COUNT", "TUNED_H",      "RESULT_COUNT", "STEP_COUNT",
                                      "DEFAULT",      "TUNED_PROBLEM"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (has_name(writer->preludes[0], own[i], strlen(own[i])) ||
            has_name(writer->others[0], own[i], strlen(own[i])))
            return hn_fail(writer->err, HN_ECONFIG,
                           "the name '%s' can not be exported: %s_%s has a meaning of its own in "
                           "the header; rename it "
                           "in the config and the template",
                           own[i], writer->export->upper, own[i]);
    }
    return HN_OK;
}

/* What all configurations share, then what differs, under their numbers. */
static void write_macros(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    hn_export_note(writer, check_names(writer));
    write_definitions(writer, writer->preludes, 0, true);
    write_definitions(writer, writer->others, 0, true);
    for (size_t i = 0; i<export->count &&export->count> 1; i++) {
        hn_text_printf(writer->text, "\n#%s %s_CONFIG == %zu /* ", i == 0 ? "if" : "elif",
                       export->upper, i);
        hn_bindings_append(writer->text, &export->configs[i]->identity.problem);
        hn_text_printf(writer->text, "%s%s */\n", hn_export_is_stale(export, i) ? "; STALE" : "",
                       export->configs[i]->simulated ? "; SIMULATED" : "");
        write_definitions(writer, writer->preludes, i, false);
        write_definitions(writer, writer->others, i, false);
    }
    hn_text_append(writer->text, export->count > 1 ? "#endif\n" : "");
}

/* A configuration at whose point the values of `freeze` are constants, which has the names of all;
 * or one at which they are not. The first, where all are alike. */
static size_t find_prelude(const struct hn_export *export, bool frozen)
{
    int found = hn_export_find_freezing(export, frozen);
    return found < 0 ? 0 : (size_t)found;
}

/* A line for each name that the template reads: "#define K HONE_MATMUL_K". Some configurations may
 * not have it. */
static void write_apply(struct hn_export_writer *writer)
{
    const char *thawed = writer->preludes[find_prelude(writer->export, false)];
    const char *line = writer->preludes[find_prelude(writer->export, true)];
    struct definition definition;
    while (next_definition(&line, &definition)) {
        int length = (int)definition.name_length;
        bool in_all = has_name(thawed, definition.name, definition.name_length);
        if (!in_all)
            hn_text_printf(writer->text, "#ifdef %s_%.*s\n", writer->export->upper, length,
                           definition.name);
        hn_text_printf(writer->text, "#define %.*s %s_%.*s\n", length, definition.name,
                       writer->export->upper, length, definition.name);
        hn_text_append(writer->text, in_all ? "" : "#endif\n");
    }
}

static void write_unapply(struct hn_export_writer *writer)
{
    const char *line = writer->preludes[find_prelude(writer->export, true)];
    struct definition definition;
    while (next_definition(&line, &definition))
        hn_text_printf(writer->text, "#undef %.*s\n", (int)definition.name_length, definition.name);
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
static void write_rows(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    struct hn_text *text = writer->text;
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
}

static void write_columns(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    hn_text_append(writer->text, "config, ");
    for (size_t i = 0; i < plan->parameter_count; i++)
        hn_export_append_wrapped(writer->text, "\n * ", "%s, ", plan->parameters[i]);
    for (size_t i = 0; i < plan->problem_count; i++)
        hn_export_append_wrapped(writer->text, "\n * ", "%s, ", plan->problem[i]);
    hn_export_append_wrapped(writer->text, "\n * ", "device, compute capability, SMs, time in us");
}

static void write_problem_names(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    for (size_t i = 0; i < plan->problem_count; i++)
        hn_text_printf(writer->text, "%s%s", i > 0 ? ", " : "", plan->problem[i]);
}

static void write_tuned_problem(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    for (size_t i = 0; i < plan->problem_count; i++)
        hn_export_append_wrapped(writer->text, "\\\n    ", "%s_TUNED_%s%s", writer->export->upper,
                                 plan->problem[i], i + 1 < plan->problem_count ? ", " : "");
    hn_text_append(writer->text, plan->problem_count == 0 ? "0" : "");
}

HN_EXPORT_COUNT(configs, export->count)
HN_EXPORT_COUNT(last, export->count - 1)
HN_EXPORT_COUNT(bodies, export->body_count)
HN_EXPORT_COUNT(fallback, export->fallback != NULL)

const struct hn_export_part hn_export_macro_parts[] = {
    {"config_count", .count = count_configs},
    {"last_config", .count = count_last},
    {"body_count", .count = count_bodies},
    {"fallback", .count = count_fallback},
    {"macros", .write = write_macros},
    {"config_columns", .write = write_columns},
    {"config_rows", .write = write_rows},
    {"problem_names", .write = write_problem_names},
    {"tuned_problem", .write = write_tuned_problem},
    {"apply", .write = write_apply},
    {"unapply", .write = write_unapply},
    {0},
};
