/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "cache/store/lookup.h"
#include "runtime/compile/source.h"
#include "tuner/export/export_parts.h"

/* The header's macros are the prelude that the template was tuned with, line by line, each name
 * prefixed: so both can not differ. */

/* The lines "#define NAME value" of a text, by name. */
static json_t *take_definitions(struct hn_text *text)
{
    static const char start[] = "#define ";
    json_t *names = json_object();
    char *lines = hn_needed(hn_text_take(text)), *rest = lines;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strncmp(line, start, strlen(start)) != 0)
            continue;
        char *name = line + strlen(start), *value = name + strcspn(name, " ");
        if (*value == ' ')
            *value++ = '\0';
        json_object_set_new(names, name, hn_string_to_json(value));
    }
    free(lines);
    return names;
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

static void append_time(struct hn_text *text, double time_us)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.9g", time_us);
    hn_text_printf(text, "%s%s", digits, strpbrk(digits, ".e") == NULL ? ".0" : "");
}

/* Macros beside the prelude: where and for what the configuration was tuned. A problem value
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
    append_time(text, tuned->best.timing.median_us);
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
static void append_problem_words(const struct hn_plan *plan, const json_t *prelude,
                                 struct hn_text *text)
{
    for (size_t i = 0; i < plan->problem_count; i++) {
        const struct hn_word_list *list = hn_plan_find_words(plan, plan->problem[i]);
        for (size_t word = 0; list != NULL && word < list->count; word++) {
            struct hn_text name = {0};
            hn_text_printf(&name, "%s_%s", list->name, list->words[word]);
            if (json_object_get(prelude, name.data) == NULL)
                hn_text_printf(text, "#define %s %zu\n", name.data, word + 1);
            hn_text_finish(&name);
        }
    }
}

void hn_export_make_macros(struct hn_export_code *code)
{
    const struct hn_export *export = code->writer->export;
    const struct hn_tuned *tuned = export->configs[code->config];
    const struct hn_bindings *problem = &tuned->identity.problem, *point = &tuned->best.point;
    struct hn_error *err = code->writer->err;
    struct hn_text prelude = {0}, others = {0};
    if (hn_failed(err))
        return;
    if (hn_source_append_prelude(export->plan, problem, point, &prelude, err) == HN_OK)
        hn_source_append_hidden(export->plan, problem, point, &others, err);
    code->macros[HN_EXPORT_PRELUDE] = take_definitions(&prelude);
    append_problem_words(export->plan, code->macros[HN_EXPORT_PRELUDE], &others);
    append_tuned(export, tuned, &others);
    code->macros[HN_EXPORT_OTHERS] = take_definitions(&others);
}

/* The prefixed definitions of a configuration that all share, or those that they do not. A word's
 * number stands for itself; a word is named. */
static void write_definitions(const struct hn_export_writer *writer, size_t config, bool shared)
{
    const char *name;
    json_t *value;
    for (int of = 0; of < HN_EXPORT_MACROS; of++)
        json_object_foreach(writer->codes[config].macros[of], name, value)
        {
            size_t having = 0;
            while (having < writer->export->count &&
                   json_equal(json_object_get(writer->codes[having].macros[of], name), value))
                having++;
            if ((having == writer->export->count) == shared)
                hn_text_printf(writer->text, "#define %s_%s %s\n", writer->export->upper, name,
                               json_string_value(value));
        }
}

/* A parameter named CONFIG would give HONE_MATMUL_CONFIG a second meaning. */
static void check_names(const struct hn_export_writer *writer)
{
    static const char *const own[] = {"APPLY",        "UNAPPLY",      "CONFIG",       "CONFIGS",
                                      "CONFIG_COUNT", "TUNED_H",      "RESULT_COUNT", "STEP_COUNT",
                                      "DEFAULT",      "TUNED_PROBLEM"};
    json_t *const *macros = writer->codes[0].macros;
    for (size_t i = 0; i < sizeof own / sizeof own[0] && !hn_failed(writer->err); i++)
        if (json_object_get(macros[HN_EXPORT_PRELUDE], own[i]) != NULL ||
            json_object_get(macros[HN_EXPORT_OTHERS], own[i]) != NULL)
            hn_fail(writer->err, HN_ECONFIG,
                    "the name '%s' can not be exported: %s_%s has a meaning of its own in the "
                    "header; rename it in the config and the template",
                    own[i], writer->export->upper, own[i]);
}

/* A configuration is stale, or was tuned from another version of the template than the chosen one.
 */
static bool is_stale(const struct hn_export *export, size_t config)
{
    return export->configs[config]->stale ||
           strcmp(export->configs[config]->version.template_hash, export->template_hash) != 0;
}

/* Macros that all configurations share come first, then those that differ, under their numbers. */
static void write_macros(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    check_names(writer);
    write_definitions(writer, 0, true);
    if (export->count == 1)
        return;
    for (size_t i = 0; i < export->count; i++) {
        hn_text_printf(writer->text, "\n#%s %s_CONFIG == %zu /* ", i == 0 ? "if" : "elif",
                       export->upper, i);
        hn_bindings_append(writer->text, &export->configs[i]->identity.problem);
        hn_text_printf(writer->text, "%s%s */\n", is_stale(export, i) ? "; STALE" : "",
                       export->configs[i]->simulated ? "; SIMULATED" : "");
        write_definitions(writer, i, false);
    }
    hn_text_append(writer->text, "#endif\n");
}

/* Whether values of `freeze` are constants at a configuration's point. */
static bool freezes(const struct hn_export *export, size_t config)
{
    return hn_plan_freezes(export->plan, &export->configs[config]->best.point);
}

/* The first configuration at whose point they are constants, or are not; -1: none. */
static int find_freezing(const struct hn_export *export, bool frozen)
{
    for (size_t i = 0; i < export->body_count; i++)
        if (freezes(export, i) == frozen)
            return (int)i;
    return -1;
}

/* The prelude of a configuration at whose point the values of `freeze` are constants, which has the
 * names of all, or of one at which they are not; of the first, where all are alike. */
static json_t *find_prelude(const struct hn_export_writer *writer, bool frozen)
{
    int found = find_freezing(writer->export, frozen);
    return writer->codes[found < 0 ? 0 : found].macros[HN_EXPORT_PRELUDE];
}

static void append_problem(const struct hn_export *export, const struct hn_tuned *tuned,
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
        append_problem(export, tuned, text);
        hn_text_append(text, export->plan->problem_count > 0 ? ", " : "");
        hn_export_append_literal(text, tuned->identity.device.name);
        hn_text_printf(text, ", %d, %d, ", tuned->identity.device.capability,
                       tuned->identity.device.sm_count);
        append_time(text, tuned->best.timing.median_us);
        hn_text_append(text, ")");
    }
}

static void write_columns(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->plan;
    hn_text_append(writer->text, "config, ");
    for (size_t i = 0; i < plan->parameter_count; i++)
        hn_export_append_wrapped(writer->text, "\n * ", "%s, ", plan->parameters[i]);
    for (size_t i = 0; i < plan->problem_count; i++)
        hn_export_append_wrapped(writer->text, "\n * ", "%s, ", plan->problem[i]);
    hn_export_append_wrapped(writer->text, "\n * ", "device, compute capability, SMs, time in us");
}

static void write_tuned_problem(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->plan;
    for (size_t i = 0; i < plan->problem_count; i++)
        hn_export_append_wrapped(writer->text, "\\\n    ", "%s_TUNED_%s%s", writer->export->upper,
                                 plan->problem[i], i + 1 < plan->problem_count ? ", " : "");
    hn_text_append(writer->text, plan->problem_count == 0 ? "0" : "");
}

json_t *hn_export_applied_to_json(const struct hn_export_writer *writer)
{
    const json_t *thawed = find_prelude(writer, false);
    json_t *names = json_array(), *value;
    const char *name;
    json_object_foreach(find_prelude(writer, true), name, value)
    {
        json_array_append_new(names, json_pack("{ss sb}", "name", name, "in_all",
                                               json_object_get(thawed, name) != NULL));
    }
    return names;
}

/* The graded lookup of cache/store/lookup.h as C: the same grades, distances and ties, so that
 * header and library give the same answer. */

/* The results in the order of hn_lookup_order, by their numbers: the first of equally good ones is
 * taken. */
static size_t *sort_results(const struct hn_export *export)
{
    size_t *order = hn_need(export->result_count, sizeof *order);
    for (size_t i = 0; i < export->result_count; i++) {
        size_t place = i;
        for (; place > 0 &&
               hn_lookup_order(export->results[i], export->results[order[place - 1]]) < 0;
             place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    return order;
}

void hn_export_append_row(const struct hn_export *export, const struct hn_tuned *tuned,
                          size_t config, struct hn_text *text)
{
    const struct hn_device_identity *device = &tuned->identity.device;
    hn_text_append(text, "    {");
    hn_export_append_literal(text, device->name);
    hn_text_printf(text, ", %d, %d, %zu, ", device->capability, device->sm_count, config);
    append_time(text, tuned->best.timing.median_us);
    hn_text_append(text, ", {");
    append_problem(export, tuned, text);
    hn_text_append(text, export->plan->problem_count > 0 ? "}},\n" : "0}},\n");
}

static void write_results(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    size_t *sorted = sort_results(export);
    for (size_t i = 0; i < export->result_count; i++)
        hn_export_append_row(export, export->results[sorted[i]], export->config_of[sorted[i]],
                             writer->text);
    free(sorted);
}

/* Problem values by what compiled code knows of them. */
enum held { WORDS = 1, NUMBERS = 2, OTHERS = 4, ALL = 7 };

static enum held held_of(const struct hn_export *export, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&export->results[0]->identity.problem, name);
    if (value->type == HN_WORD)
        return WORDS;
    return hn_plan_is_frozen(export->plan, NULL, name, value) ? NUMBERS : OTHERS;
}

/* " && row->problem.M == problem.M" of the values of these kinds. */
static void append_agreement(const struct hn_export *export, unsigned kinds, const char *before,
                             const char *line_break, struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        if ((kinds & held_of(export, name)) == 0)
            continue;
        hn_text_append(text, before);
        hn_export_append_wrapped(text, line_break, "row->problem.%s == problem.%s", name, name);
        before = " && ";
    }
}

static void write_equal(struct hn_export_writer *writer)
{
    append_agreement(writer->export, ALL, "", "\n                    ", writer->text);
    hn_text_append(writer->text, writer->export->plan->problem_count == 0 ? "1" : "");
}

/* "(config == 1 || config == 3)": whether it is one at whose point they are not. */
static void append_thawed(const struct hn_export *export, struct hn_text *text)
{
    const char *before = "(";
    for (size_t i = 0; i < export->body_count; i++)
        if (!freezes(export, i)) {
            hn_text_append(text, before);
            hn_export_append_wrapped(text, "\n            ", "config == %zu", i);
            before = " || ";
        }
    hn_text_append(text, ")");
}

static void write_frozen(struct hn_export_writer *writer)
{
    static const char line_break[] = "\n           ";
    const struct hn_export *export = writer->export;
    struct hn_text numbers = {0};
    if (find_freezing(export, false) < 0) {
        append_agreement(export, WORDS | NUMBERS, " && ", line_break, writer->text);
        return;
    }
    append_agreement(export, WORDS, " && ", line_break, writer->text);
    append_agreement(export, NUMBERS, "", line_break, &numbers);
    if (numbers.length > 0) {
        hn_text_append(writer->text, " &&\n           (");
        append_thawed(export, writer->text);
        hn_text_printf(writer->text, " ||\n            (%s))", numbers.data);
    }
    writer->text->failed = writer->text->failed || numbers.failed;
    hn_text_finish(&numbers);
}

/* Whether the header has a macro of that name: a parameter, or a problem value that the template
 * sees. */
static bool has_macro(const struct hn_export *export, const char *name)
{
    const struct hn_plan *plan = export->plan;
    const struct hn_value *value = hn_bindings_get(&export->configs[0]->identity.problem, name);
    for (size_t i = 0; i < plan->parameter_count; i++)
        if (strcmp(plan->parameters[i], name) == 0)
            return true;
    return value != NULL && hn_plan_is_frozen(plan, &export->configs[0]->best.point, name, value);
}

/* "conv2d<R, S>" as "conv2d<HONE_CONV2D_R, HONE_CONV2D_S>", which holds after the next tuning too.
 */
static void append_kernel(const struct hn_export *export, const char *entry, struct hn_text *text)
{
    bool plain = hn_text_is_word(entry);
    while (*entry != '\0') {
        size_t length =
            strspn(entry, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        char *word = hn_needed(strndup(entry, length > 0 ? length : 1));
        if (!plain && has_macro(export, word))
            hn_text_printf(text, "%s_", export->upper);
        hn_text_append(text, word);
        free(word);
        entry += length > 0 ? length : 1;
    }
}

/* "matmul<<<s.grid, s.block, s.shared_bytes>>>(A, B, C, M, N);" */
static void append_launch(const struct hn_export *export, const struct hn_step *step,
                          struct hn_text *text)
{
    const struct hn_geometry *geometry = &step->geometry;
    bool plain = geometry->cluster[0] == NULL && geometry->cooperative == NULL &&
                 geometry->programmatic == NULL && geometry->window.parts[HN_WINDOW_BYTES] == NULL;
    hn_text_append(text, plain ? "" : "cudaLaunchKernelEx(&launch, ");
    append_kernel(export, step->entry, text);
    hn_text_append(text, plain                      ? "<<<s.grid, s.block, s.shared_bytes>>>("
                         : step->argument_count > 0 ? ", "
                                                    : "");
    for (size_t i = 0; i < step->argument_count; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "" : ", ",
                       export->plan->arguments[step->arguments[i]].name);
    hn_text_append(text, ");\n");
}

/* The launches of a configuration, but for steps that it never has. */
static void write_launches(const struct hn_export_code *code, struct hn_text *text)
{
    const struct hn_export *export = code->writer->export;
    const char *declared = "struct hone_step ";
    for (size_t i = 0; i < export->plan->step_count; i++) {
        const struct hn_step *step = &export->plan->steps[i];
        char *condition = hn_export_condition(code, step->condition);
        if (strcmp(condition, "0") != 0) {
            hn_text_printf(text, "    %ss = %s_step(%s_CONFIG, %zu, problem);\n%s", declared,
                           export->lower, export->upper, i,
                           strcmp(condition, "1") != 0 ? "    if (s.runs)\n        " : "    ");
            append_launch(export, step, text);
            declared = "";
        }
        free(condition);
    }
}

static void write_calls(struct hn_export_writer *writer)
{
    if (writer->plan->pipeline == NULL)
        write_launches(&writer->codes[0], writer->text);
}

const struct hn_export_part hn_export_head_parts[] = {
    {"calls", write_calls},
    {"macros", write_macros},
    {"config_columns", write_columns},
    {"config_rows", write_rows},
    {"tuned_problem", write_tuned_problem},
    {"result_rows", write_results},
    {"equal", write_equal},
    {"and_frozen", write_frozen},
    {0},
};
