/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "cache/record/record.h"
#include "cache/store/lookup.h"
#include "runtime/compile/source.h"
#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"

/* The header's macros are the prelude that the template was tuned with, line by line, each name
 * prefixed: so both cannot differ. */

/* The lines "#define NAME value" of a text, by name. */
static json_t *take_definitions(struct hn_text *text)
{
    static const char start[] = "#define ";
    json_t *names = json_object();
    char *lines HN_FREED = hn_needed(hn_text_take(text)), *rest = lines;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strncmp(line, start, strlen(start)) != 0)
            continue;
        char *name = line + strlen(start), *value = name + strcspn(name, " ");
        if (*value == ' ')
            *value++ = '\0';
        json_object_set_new(names, name, hn_string_to_json(value));
    }
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
    const struct hn_plan *plan = export->plan;
    const struct hn_word_list *list = hn_plan_find_words(plan, name);
    bool type =
        list != NULL && list->types &&
        hn_text_is_among(name, (const char *const *)plan->parameters, plan->parameter_count);
    if (value->type == HN_WORD && !type)
        hn_text_printf(text, "%s_%s_%s", export->upper, name, value->word);
    else if (value->type == HN_BOOLEAN)
        hn_text_append(text, value->boolean ? "1" : "0");
    else if (value->type == HN_INTEGER && value->integer == INT64_MIN)
        hn_text_append(text, "(-9223372036854775807 - 1)"); /* C has no literal for it */
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
            struct hn_text name HN_ENDED_BY(hn_text_finish) = {0};
            hn_text_printf(&name, "%s_%s", list->name, list->words[word]);
            if (json_object_get(prelude, name.data) == NULL)
                hn_text_printf(text, "#define %s %zu\n", name.data, word + 1);
        }
    }
}

static void make_macros(struct hn_export_code *code)
{
    const struct hn_export *export = code->writer->export;
    const struct hn_tuned *tuned = export->configs[code->config];
    const struct hn_bindings *problem = &tuned->identity.problem, *point = &tuned->best.point;
    struct hn_error *err = code->writer->err;
    struct hn_text prelude = {0}, others = {0};
    if (hn_failed(err))
        return;
    hn_source_append_macros(export->plan, problem, point, &prelude, &others, err);
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

static void refuse_name(const struct hn_export_writer *writer, const char *name)
{
    if (!hn_failed(writer->err))
        hn_fail(writer->err, HN_ECONFIG,
                "the name '%s' cannot be exported: %s_%s has a meaning of its own in the "
                "header; rename it in the config and the template",
                name, writer->export->upper, name);
}

/* A parameter named CONFIG would give HONE_MATMUL_CONFIG, which the skeleton has, a second meaning;
 * one named TUNED_TIME_US what is said of a result. */
static void check_names(struct hn_export_writer *writer)
{
    static const char mark[] = " HONE_NAME_";
    json_t *const *macros = writer->codes[0].macros;
    const char *text = hn_export_header_skeleton, *line, *name;
    json_t *value;
    bool family = true;
    for (size_t length; hn_text_line(&text, &line, &length);) {
        if (length == strlen("{{#family}}") && memcmp(line + 3, "family}}", 8) == 0)
            family = line[2] == '/' || writer->export->rule != NULL;
        const char *at = line[0] == '#' ? memmem(line, length, mark, sizeof mark - 1) : NULL;
        if (at == NULL || !family)
            continue;
        at += sizeof mark - 1;
        const char *own = hn_need_format(&writer->memory, "%.*s", (int)hn_word_length(at), at);
        for (int of = 0; of < HN_EXPORT_MACROS; of++)
            if (json_object_get(macros[of], own) != NULL)
                refuse_name(writer, own);
    }
    json_object_foreach(macros[HN_EXPORT_PRELUDE], name, value)
    {
        if (json_object_get(macros[HN_EXPORT_OTHERS], name) != NULL)
            refuse_name(writer, name);
    }
}

/* Macros that all configurations share come first, then those that differ, under their numbers. One
 * is stale, too, that was tuned from another version of the template than the chosen one. */
static void write_macros(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    check_names(writer);
    write_definitions(writer, 0, true);
    if (export->count == 1)
        return;
    for (size_t i = 0; i < export->count; i++) {
        const struct hn_tuned *tuned = export->configs[i];
        bool stale =
            tuned->stale || strcmp(tuned->version.template_hash, export->template_hash) != 0;
        hn_text_printf(writer->text, "\n#%s %s_CONFIG == %zu /* ", i == 0 ? "if" : "elif",
                       export->upper, i);
        hn_bindings_append(writer->text, &tuned->identity.problem);
        hn_text_printf(writer->text, "%s%s */\n", stale ? "; STALE" : "",
                       tuned->simulated ? "; SIMULATED" : "");
        write_definitions(writer, i, false);
    }
    hn_text_append(writer->text, "#endif\n");
}

/* Whether values of `freeze` are constants at a configuration's point. */
static bool freezes(const struct hn_export *export, size_t config)
{
    return hn_plan_freezes(export->plan, &export->configs[config]->best.point);
}

/* The prelude of a configuration at whose point the values of `freeze` are constants, which has the
 * names of all, or of one at which they are not; of the first, where all are alike. */
static json_t *find_prelude(const struct hn_export_writer *writer, bool frozen)
{
    const size_t count = writer->export->body_count;
    size_t found = 0;
    while (found < count && freezes(writer->export, found) != frozen)
        found++;
    return writer->codes[found < count ? found : 0].macros[HN_EXPORT_PRELUDE];
}

static void add_value(const struct hn_export *export, const char *name,
                      const struct hn_bindings *bindings, json_t *values)
{
    struct hn_text text = {0};
    hn_export_append_value(export, name, hn_bindings_get(bindings, name), &text);
    json_array_append_new(values, hn_render_text(&text));
}

json_t *hn_export_row_to_json(const struct hn_export *export, const struct hn_tuned *tuned,
                              size_t config)
{
    const struct hn_device_identity *device = &tuned->identity.device;
    struct hn_text name = {0}, time = {0};
    json_t *values = json_array(), *problem = json_array();
    for (size_t i = 0; i < export->plan->parameter_count; i++)
        add_value(export, export->plan->parameters[i], &tuned->best.point, values);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        add_value(export, export->plan->problem[i], &tuned->identity.problem, problem);
    json_array_extend(values, problem);
    hn_export_append_literal(&name, device->name);
    append_time(&time, tuned->best.timing.median_us);
    return json_pack("{sI sb so so so si si so}", "config", (json_int_t)config, "more",
                     config + 1 < export->count, "values", values, "problem", problem, "device",
                     hn_render_text(&name), "capability", device->capability, "sm_count",
                     device->sm_count, "time", hn_render_text(&time));
}

static json_t *applied_to_json(const struct hn_export_writer *writer)
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

/* The results in the order of hn_lookup_order: the first of equally good ones is taken. */
static json_t *results_to_json(const struct hn_export *export)
{
    json_t *results = json_array();
    size_t *order HN_FREED = hn_need(export->result_count, sizeof *order);
    for (size_t i = 0; i < export->result_count; i++) {
        size_t place = i;
        for (; place > 0 &&
               hn_lookup_order(export->results[i], export->results[order[place - 1]]) < 0;
             place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    for (size_t i = 0; i < export->result_count; i++)
        json_array_append_new(results, hn_export_row_to_json(export, export->results[order[i]],
                                                             export->config_of[order[i]]));
    return results;
}

/* "conv2d<R, S>" as "conv2d<HONE_CONV2D_R, HONE_CONV2D_S>", which the next tuning keeps. */
static void append_kernel(const struct hn_export *export, const char *entry, struct hn_text *text)
{
    entry += *entry == '&'; /* `&scale` is the kernel where its name is no symbol's */
    bool plain = hn_text_is_word(entry);
    const struct hn_plan *plan = export->plan;
    const struct hn_tuned *first = export->configs[0];
    while (*entry != '\0') {
        size_t length = hn_word_length(entry);
        char *word HN_FREED = hn_needed(strndup(entry, length > 0 ? length : 1));
        /* Of parameters there are macros, and of problem values that the template sees. */
        const struct hn_value *value = hn_bindings_get(&first->identity.problem, word);
        bool macro =
            hn_text_is_among(word, (const char *const *)plan->parameters, plan->parameter_count) ||
            (value != NULL && hn_plan_is_frozen(plan, &first->best.point, word, value));
        if (!plain && macro)
            hn_text_printf(text, "%s_", export->upper);
        hn_text_append(text, word);
        entry += length > 0 ? length : 1;
    }
}

static json_t *names_to_json(const struct hn_plan *plan, const size_t *arguments, size_t count)
{
    json_t *names = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(names, json_string(plan->arguments[arguments[i]].name));
    return names;
}

/* The launches of the first configuration, but for steps that it never has. */
static json_t *calls_to_json(const struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->plan;
    json_t *calls = json_array();
    for (size_t i = 0; plan->pipeline == NULL && i < plan->step_count; i++) {
        const struct hn_step *step = &plan->steps[i];
        const struct hn_geometry *geometry = &step->geometry;
        const char *condition = hn_export_condition(&writer->codes[0], step->condition);
        bool plain = geometry->cluster[0] == NULL && geometry->cooperative == NULL &&
                     geometry->programmatic == NULL &&
                     geometry->window.parts[HN_WINDOW_BYTES] == NULL;
        struct hn_text kernel = {0};
        if (strcmp(condition, "0") == 0)
            continue;
        append_kernel(writer->export, step->entry, &kernel);
        json_array_append_new(
            calls, json_pack("{sI ss sb so sb so}", "number", (json_int_t)i, "declared",
                             json_array_size(calls) == 0 ? "struct hone_step " : "", "may_run",
                             strcmp(condition, "1") != 0, "kernel", hn_render_text(&kernel),
                             "plain", plain, "arguments",
                             names_to_json(plan, step->arguments, step->argument_count)));
    }
    return calls;
}

static const struct hn_export_part head_parts[] = {
    {"macros", write_macros},
    {0},
};

/* A configuration in C. */

static void fill_slots(struct hn_export_code *code)
{
    const struct hn_export *export = code->writer->export;
    const struct hn_plan *plan = export->plan;
    struct hn_blocks *memory = &code->writer->memory;
    struct hn_c_slot *slot =
        hn_need_block(memory, plan->name_count + plan->pitch_count + 1, sizeof *slot);
    code->slots = slot;
    for (size_t i = 0; i < plan->name_count; i++, slot++) {
        const struct hn_word_list *list = hn_plan_find_words(plan, plan->names[i]);
        slot->constant =
            hn_bindings_get(&export->configs[code->config]->best.point, plan->names[i]);
        if (slot->constant != NULL)
            continue;
        slot->name = hn_need_format(memory, "problem.%s", plan->names[i]);
        slot->real = hn_export_problem_is_real(export, plan->names[i]);
        slot->words = list == NULL ? NULL : (const char *const *)list->words;
        slot->word_count = list == NULL ? 0 : list->count;
    }
    for (size_t i = 0; i < plan->pitch_count; i++, slot++)
        slot->name = hn_need_format(memory, "size.%s", plan->pitches[i]);
    slot->constant = &code->clusters;
}

/* The code is zeroed before. It is to be finished in any case. */
static void make_code(struct hn_export_writer *writer, size_t config, struct hn_export_code *code)
{
    const struct hn_tuned *tuned = writer->export->configs[config];
    code->writer = writer;
    code->config = config;
    code->plan =
        writer->export->plans[config] != NULL ? writer->export->plans[config] : writer->plan;
    code->clusters = hn_integer(tuned->best.active_clusters);
    make_macros(code);
    if (hn_failed(writer->err) || code->plan->pipeline != NULL)
        return;
    fill_slots(code);
    /* A grid that asks for the clusters that run at once has what was found where it was tuned. */
    for (size_t i = 0; i < code->plan->step_count && code->clusters.integer <= 0; i++)
        if (!hn_failed(writer->err) && hn_plan_asks_clusters(code->plan, &code->plan->steps[i]))
            hn_fail(writer->err, HN_ECONFIG,
                    "a 'grid' of %s asks for '%s', and the cache does not say how many there are "
                    "at this point; measure it with `hone tune` and export again",
                    code->plan->kernel, hn_clusters_name);
    if (!hn_failed(writer->err))
        hn_plan_values(code->plan, &tuned->identity.problem, &tuned->best.point, &code->values,
                       writer->err);
}

/* Exported C is a skeleton whose holes a document fills, and parts where C has to be written. */

static void append_comment(struct hn_text *text, const char *start, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        bool begins = c == string || c[-1] == '\n';
        hn_text_append_bytes(text, start,
                             !begins      ? 0
                             : *c == '\n' ? strcspn(start, "*") + 1
                                          : strlen(start));
        hn_text_append_bytes(text, c, 1);
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*'))
            hn_text_append(text, " ");
    }
}

json_t *hn_export_tuned_to_json(const struct hn_export *export, struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    const struct hn_bindings *metrics = &tuned->best.metrics;
    int capability = tuned->identity.device.capability;
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    json_t *json = hn_needed(hn_fields_to_json(&hn_identity_structure, &tuned->identity));
    json_t *best = hn_needed(hn_record_to_json(&tuned->best)), *figures = json_array();
    for (size_t i = 0; i < metrics->count; i++)
        json_array_append_new(figures, json_sprintf("%s %.6g", metrics->names[i],
                                                    hn_value_number(&metrics->values[i])));
    if (hn_export_make_source(export, tuned, &source, err) == HN_OK) {
        json_object_set_new(json, "options", hn_render_names(source.options, source.option_count));
        json_object_set_new(json, "entries", hn_render_names(source.entries, source.entry_count));
    }
    json_object_update_missing(json, best);
    json_object_update_new(
        json,
        hn_needed(json_pack("{so so so so sb sb}", "metrics", figures, "version",
                            hn_fields_to_json(&hn_version_structure, &tuned->version), "origin",
                            hn_origin_to_json(&tuned->origin), "compute",
                            capability > 0 ? json_sprintf("%d.%d", capability / 10, capability % 10)
                                           : json_null(),
                            "stale", tuned->stale, "simulated", tuned->simulated)));
    json_decref(best);
    return json;
}

/* As the plan has them, with what C makes of each. */
static json_t *arguments_to_json(const struct hn_export *export, json_t *arguments)
{
    for (size_t i = 0; i < export->plan->argument_count; i++) {
        const struct hn_argument *argument = &export->plan->arguments[i];
        struct hn_text types = {0};
        json_t *fields = json_array();
        for (size_t m = 0; m < argument->member_count; m++)
            json_array_append_new(
                fields, json_pack("{ss ss}", "name", argument->members[m].name, "value",
                                  argument->members[m].value != NULL
                                      ? hn_expression_text(argument->members[m].value)
                                      : export->plan->arguments[argument->members[m].buffer].name));
        hn_export_append_types(export, argument, &types);
        const char *passed = argument->role == HN_ROLE_SYMBOL       ? "no"
                             : argument->role == HN_ROLE_TEXTURE    ? "texture"
                             : argument->role == HN_ROLE_TENSOR_MAP ? "map"
                             : argument->count != NULL              ? "buffer"
                             : argument->value != NULL              ? "value"
                             : argument->structure != NULL          ? "structure"
                                                                    : "contents";
        bool zeroed = argument->role == HN_ROLE_COUNTER && argument->zero != HN_ZERO_ONCE &&
                      hn_export_is_taken(export->plan, i);
        json_object_update_new(json_array_get(arguments, i),
                               json_pack("{ss so so sb sb sI}", "passed", passed, "types",
                                         hn_render_text(&types), "fields", fields, "zeroed", zeroed,
                                         "map", argument->role == HN_ROLE_TENSOR_MAP, "number",
                                         (json_int_t)hn_export_map_number(export->plan, i)));
    }
    return json_incref(arguments);
}

/* "x", "table (whole)" of the arguments of a part that are in none of the others. */
static json_t *parts_to_json(const struct hn_plan *plan, unsigned char part, unsigned char without)
{
    json_t *names = json_array();
    for (size_t i = 0; i < plan->argument_count; i++) {
        unsigned char parts = plan->pipeline->parts[i];
        if ((parts & part) != 0 && (parts & without) == 0)
            json_array_append_new(names,
                                  json_sprintf("%s%s", plan->arguments[i].name,
                                               (parts & HN_PART_CUT) != 0 ? "" : " (whole)"));
    }
    return names;
}

/* Steps of the plan, and the copies before each, in their order. */
static json_t *flow_to_json(const struct hn_plan *plan, const struct hn_launch *launch,
                            const json_t *plan_steps)
{
    json_t *steps = json_array();
    size_t place = 0;
    for (size_t s = 0; s <= launch->step_count; s++) {
        const struct hn_step *step = s < launch->step_count ? launch->steps[s].step : NULL;
        size_t end = step != NULL ? (size_t)(step - plan->steps) : plan->step_count;
        for (; place <= end; place++)
            for (size_t i = 0; i < plan->pipeline->copy_count; i++) {
                const struct hn_copy_step *copy = &plan->pipeline->copies[i];
                if (copy->before == place && launch->flow->copies[i])
                    json_array_append_new(
                        steps,
                        json_pack("{ss so}", "copy", copy->to_host ? "to host" : "to device",
                                  "arguments",
                                  names_to_json(plan, copy->arguments, copy->argument_count)));
            }
        if (step == NULL)
            break;
        json_t *own = json_copy(json_array_get(plan_steps, end));
        json_object_set_new(own, "arguments",
                            names_to_json(plan, step->arguments, step->argument_count));
        json_array_append_new(steps, own);
    }
    return steps;
}

/* A plan with a pipeline: the header says how it was tuned and has the template's macros, and
 * leaves copies, streams and launches to the program. */
static json_t *pipeline_to_json(struct hn_export_writer *writer, const json_t *of_plan)
{
    const struct hn_plan *plan = writer->plan;
    const struct hn_tuned *tuned = writer->export->configs[0];
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    char cut[128];
    if (hn_failed(writer->err) || plan->pipeline == NULL ||
        hn_launch_make(plan, &tuned->identity.problem, &tuned->best.point, &launch, writer->err) !=
            HN_OK)
        return json_null();
    const struct hn_flow *flow = launch.flow;
    json_t *json = json_copy(json_object_get(of_plan, "pipeline"));
    hn_flow_describe(flow, cut, sizeof cut);
    json_object_update_new(
        json, hn_needed(json_pack(
                  "{ss so so so so so s{sI sI sI sI sI sI si ss}}", "described", cut, "upload",
                  parts_to_json(plan, HN_PART_UPLOAD, 0), "padded",
                  parts_to_json(plan, HN_PART_PADDED, 0), "download",
                  parts_to_json(plan, HN_PART_DOWNLOAD, 0), "cut",
                  parts_to_json(plan, HN_PART_CUT, HN_PART_UPLOAD | HN_PART_DOWNLOAD), "steps",
                  flow_to_json(plan, &launch, json_object_get(of_plan, "steps")), "tuned", "over",
                  (json_int_t)flow->over, "halo", (json_int_t)flow->halo, "padding",
                  (json_int_t)flow->padding, "chunks", (json_int_t)flow->chunk_count, "streams",
                  (json_int_t)flow->streams, "pieces", (json_int_t)flow->pieces, "breadth_first",
                  flow->order == HN_BREADTH_FIRST, "host_memory",
                  hn_host_memory_names[flow->host_memory])));
    return json;
}

/* What compiled code knows of a problem: words, and the numbers of `freeze`, which are none at the
 * point of a configuration that thaws. */
static json_t *held_to_json(const struct hn_export *export)
{
    const struct hn_bindings *problem = &export->results[0]->identity.problem;
    json_t *held = json_array(), *words = json_array(), *numbers = json_array();
    json_t *thawed = json_array();
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        const struct hn_value *value = hn_bindings_get(problem, name);
        bool is_word = value->type == HN_WORD;
        if (!is_word && !hn_plan_is_frozen(export->plan, NULL, name, value))
            continue;
        json_array_append_new(held, json_string(name));
        json_array_append_new(is_word ? words : numbers, json_string(name));
    }
    for (size_t i = 0; i < export->body_count; i++)
        if (!freezes(export, i))
            json_array_append_new(thawed, json_sprintf("%zu", i));
    return json_pack("{sb so so so so}", "thaws",
                     json_array_size(thawed) > 0 && json_array_size(numbers) > 0, "held", held,
                     "words", words, "numbers", numbers, "thawed", thawed);
}

/* What holes of skeletons say; the parts of C stand in tables beside what writes them. */
static json_t *describe(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    const struct hn_plan *plan = export->plan;
    size_t dynamic = 0, clusters = 0, carveout = 0, cooperative = 0, programmatic = 0, windows = 0;
    size_t most_arguments = 1, symbols = 0;
    json_t *of_plan = hn_needed(hn_plan_to_json(plan)), *architectures = json_array();
    json_t *dynamic_steps = json_array(), *window_buffers = json_array(), *distances = json_array();
    json_t *tensor_names = json_array(), *configs = json_array();
    json_t *columns = hn_render_names(plan->parameters, plan->parameter_count);
    json_t *members = json_array();
    struct hn_text window = {0}, kernel = {0};
    for (size_t i = 0; i < plan->problem_count; i++) {
        bool real = hn_export_problem_is_real(export, plan->problem[i]);
        json_array_append_new(members, json_pack("{ss ss}", "name", plan->problem[i], "type",
                                                 real ? "double" : "int64_t"));
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct hn_geometry *geometry = &plan->steps[i].geometry;
        bool has_window = geometry->window.parts[HN_WINDOW_BYTES] != NULL;
        const char *under = has_window ? plan->arguments[geometry->window.argument].name : "";
        dynamic += geometry->shared_bytes != NULL;
        clusters += geometry->cluster[0] != NULL;
        carveout += geometry->carveout != NULL;
        cooperative += geometry->cooperative != NULL;
        programmatic += geometry->programmatic != NULL;
        windows += has_window;
        if (has_window)
            hn_text_printf(&window, "%s%s", window.length > 0 ? " or " : "", under);
        if (plan->steps[i].argument_count > most_arguments)
            most_arguments = plan->steps[i].argument_count;
        json_array_append_new(dynamic_steps, json_integer(geometry->shared_bytes != NULL));
        json_array_append_new(window_buffers,
                              has_window ? json_sprintf("argument_%s", under) : json_string("0"));
    }
    HN_EACH_OF(map, plan->arguments, plan->argument_count) {
        symbols += map->role == HN_ROLE_SYMBOL;
        if (map->role == HN_ROLE_TENSOR_MAP)
            json_array_append_new(tensor_names, json_sprintf("%s over %s", map->name, map->from));
    }
    /* By name, as hn_lookup_rank multiplies, so that both round alike. */
    const struct hn_bindings *problem = &export->results[0]->identity.problem;
    for (size_t i = 0; i < problem->count; i++)
        json_array_append_new(distances,
                              json_pack("{ss sb}", "name", problem->names[i], "words",
                                        hn_plan_find_words(plan, problem->names[i]) != NULL));
    for (size_t i = 0; i < export->count; i++)
        json_array_append_new(configs, hn_export_row_to_json(export, export->configs[i], i));
    const struct hn_export_images *images = export->images;
    for (size_t i = 0; images != NULL && i < images->count && images->items[i].config == 0; i++)
        json_array_append_new(architectures, json_string(images->items[i].architecture));
    append_comment(&kernel, "", export->kernel);
    json_array_extend(columns, json_object_get(of_plan, "problem"));
    json_t *json = hn_needed(json_pack(
        "{so so sI ss ss ss# sO sb sb so so so so so sb sI sI sI sb sI sI sI sI sI sI sI sI so so* "
        "so so so so so so so}",
        "kernel", hn_render_text(&kernel), "tensor_names", tensor_names, "symbols",
        (json_int_t)symbols, "template", basename(export->plan->template_path), "hone",
        HONE_VERSION, "template_hash", export->results[0]->version.template_hash, 12,
        "problem_names", json_object_get(of_plan, "problem"), "untuned", export->untuned,
        "embedded", export->images != NULL, "tuned", hn_export_tuned_to_json(export, writer->err),
        "arguments", arguments_to_json(export, json_object_get(of_plan, "arguments")), "family",
        hn_export_family_to_json(writer), "pipeline", pipeline_to_json(writer, of_plan), "applied",
        applied_to_json(writer), "fallback", export->fallback != NULL, "step_count",
        (json_int_t)plan->step_count, "sizes", (json_int_t)hn_export_count_sizes(plan),
        "tensor_maps", (json_int_t)hn_export_map_number(plan, plan->argument_count), "launches",
        plan->pipeline == NULL, "dynamic", (json_int_t)dynamic, "clusters", (json_int_t)clusters,
        "carveout", (json_int_t)carveout, "cooperative", (json_int_t)cooperative, "programmatic",
        (json_int_t)programmatic, "windows", (json_int_t)windows, "attributes",
        (json_int_t)(clusters + cooperative + programmatic + windows), "most_arguments",
        (json_int_t)most_arguments, "dynamic_steps", dynamic_steps, "window",
        hn_render_text(&window), "window_buffers", window_buffers, "distances", distances,
        "architectures", architectures, "calls", calls_to_json(writer), "configs", configs,
        "results", results_to_json(export), "parameters",
        images != NULL ? hn_export_parameters_to_json(writer) : json_array()));
    json_object_update_new(json, json_pack("{so so s[s] sb}", "problem_values", members, "columns",
                                           columns, "last_columns",
                                           "device, compute capability, SMs, time in us",
                                           "declares", plan->override_count > 0));
    json_object_update_new(json, hn_needed(held_to_json(export)));
    json_decref(of_plan);
    return json;
}

static const struct hn_export_part *find_part(const char *name, size_t length)
{
    static const struct hn_export_part *const lists[] = {
        head_parts, hn_export_function_parts, hn_export_rule_parts, hn_export_driver_parts};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct hn_export_part *part = lists[i]; part->name != NULL; part++)
            if (strlen(part->name) == length && memcmp(part->name, name, length) == 0)
                return part;
    return NULL;
}

/* "{{array;separator;piece;blanks}}": the piece for each item of an array, in which @ is the item
 * and @name a member of it. Lines are broken behind separators, or before one that begins with ~,
 * and go on behind so many blanks; a \ before their number ends the line, a * in its place begins
 * one of a comment, and without a number none is broken. False: there is no item. */
static bool write_list(const struct hn_export_writer *writer, const char *hole, size_t length,
                       struct hn_text *text)
{
    enum { ARRAY, SEPARATOR, PIECE, BLANKS, FIELDS };
    char copy[512], *rest = copy, *fields[FIELDS], line_break[32];
    const json_t *items, *item;
    size_t i;
    snprintf(copy, sizeof copy, "%.*s", (int)length, hole);
    for (int field = 0; field < FIELDS; field++)
        if ((fields[field] = strsep(&rest, ";")) == NULL)
            return false;
    items = json_object_get(writer->item, fields[ARRAY]);
    items = items != NULL ? items : json_object_get(writer->document, fields[ARRAY]);
    bool macro = *fields[BLANKS] == '\\', joins = *fields[SEPARATOR] == '~';
    snprintf(line_break, sizeof line_break, "%s\n%*s%s", macro ? "\\" : "",
             atoi(fields[BLANKS] + macro), "", *fields[BLANKS] == '*' ? " * " : "");
    json_array_foreach(items, i, item)
    {
        struct hn_text piece HN_ENDED_BY(hn_text_finish) = {0};
        hn_text_append(joins ? &piece : text, i > 0 ? fields[SEPARATOR] + joins : "");
        for (const char *c = fields[PIECE]; *c != '\0'; c++) {
            char name[64];
            size_t word = *c == '@' ? hn_word_length(c + 1) : 0;
            snprintf(name, sizeof name, "%.*s", (int)word, c + 1);
            if (*c == '@')
                hn_text_append(&piece,
                               json_string_value(word > 0 ? json_object_get(item, name) : item));
            else
                hn_text_append_bytes(&piece, c, 1);
            c += word;
        }
        if (*fields[BLANKS] != '\0')
            hn_export_append_wrapped(text, line_break, "%s", piece.data);
        else
            hn_text_append(text, piece.data);
    }
    return json_array_size(items) > 0;
}

/* A part goes to where the line goes, since pieces of C are wrapped by their column. */
static bool write_part(void *context, const char *name, size_t length, struct hn_text *text)
{
    struct hn_export_writer *writer = context;
    struct hn_text *outer = writer->text;
    const struct hn_export_part *part = find_part(name, length);
    if (part == NULL)
        return memchr(name, ';', length) != NULL && write_list(writer, name, length, text);
    writer->text = text;
    part->write(writer);
    writer->text = outer;
    return true;
}

/* A line with the export's prefix. */
static char *copy_line(const struct hn_export *export, const char *line, size_t length)
{
    static const char upper[] = "HONE_NAME", lower[] = "hone_NAME";
    struct hn_text own = {0};
    for (size_t at = 0; at < length;) {
        bool is_upper = strncmp(line + at, upper, strlen(upper)) == 0;
        bool is_name = is_upper || strncmp(line + at, lower, strlen(lower)) == 0;
        if (is_name)
            hn_text_append(&own, is_upper ? export->upper : export->lower);
        else
            hn_text_append_bytes(&own, line + at, 1);
        at += is_name ? strlen(upper) : 1;
    }
    return hn_needed(hn_text_take(&own));
}

static void write_line(struct hn_export_writer *writer, const json_t *item, const char *given,
                       size_t length)
{
    static const char comment[] = " * ";
    const struct hn_render_place place = {.document = writer->document,
                                          .item = item,
                                          .doubled = true,
                                          .part = write_part,
                                          .context = writer};
    struct hn_text own HN_ENDED_BY(hn_text_finish) = {0}, *text = writer->text;
    writer->item = item;
    char *line HN_FREED = copy_line(writer->export, given, length);
    if (strncmp(line, comment, strlen(comment)) == 0 && strstr(line, "{{") != NULL) {
        if (hn_render_at(&own, &place, line + strlen(comment)) && own.length > 0) {
            hn_text_append(&own, own.data[own.length - 1] == '\n' ? "" : "\n");
            append_comment(text, comment, own.data);
        }
    } else if (hn_render_at(text, &place, line)) {
        bool is_part = strncmp(line, "{{", 2) == 0 && strcspn(line, "}") + 2 == strlen(line) &&
                       find_part(line + 2, strlen(line) - 4) != NULL;
        hn_text_append(text, is_part ? "" : "\n");
    }
}

/* Lines up to the end of a section, or of all. Returns what is behind it. */
static const char *fill(struct hn_export_writer *writer, const json_t *item, const char *line,
                        bool shown)
{
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        const char *next = line + length + (line[length] != '\0');
        bool begins = strncmp(line, "{{#", 3) == 0 || strncmp(line, "{{^", 3) == 0;
        if (strncmp(line, "{{/", 3) == 0)
            return next;
        if (!begins && shown && !hn_failed(writer->err))
            write_line(writer, item, line, length);
        if (!begins) {
            line = next;
            continue;
        }
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 3, "}"), line + 3);
        const json_t *value = json_object_get(item, name);
        value = value != NULL ? value : json_object_get(writer->document, name);
        /* Not what is not there, no, nothing or empty. */
        bool holds = json_is_object(value) || json_is_true(value) || json_array_size(value) > 0 ||
                     json_number_value(value) > 0;
        bool shows = shown && holds == (line[2] == '#');
        if (json_array_size(value) == 0 || !shows)
            line = fill(writer, shows && json_is_object(value) ? value : item, next, shows);
        for (size_t i = 0; shows && i < json_array_size(value); i++)
            line = fill(writer, json_array_get(value, i), next, true);
    }
    return line;
}

/* No member of a structure in C or C++ may be called so. */
static const char keywords[] =
    "alignas alignof and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
    "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not_eq "
    "nullptr operator or_eq private protected public register reinterpret_cast requires restrict "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq";

void hn_export_write(const struct hn_export *export, const char *skeleton, struct hn_text *text,
                     struct hn_error *err)
{
    struct hn_export_writer writer = {
        .export = export, .plan = export->plan, .text = text, .err = err};
    for (size_t i = 0; i < export->plan->problem_count && !hn_failed(err); i++) {
        const char *name = export->plan->problem[i];
        if (hn_text_find_word(keywords, name, strlen(name)))
            hn_fail(err, HN_ECONFIG,
                    "problem value '%s' is a keyword of C or C++, so that a header cannot have it; "
                    "give it another name",
                    name);
    }
    if (hn_failed(err))
        return;
    writer.rule = hn_export_rule_make(&writer);
    writer.codes = hn_need_block(&writer.memory, export->body_count, sizeof *writer.codes);
    for (size_t i = 0; i < export->body_count; i++)
        make_code(&writer, i, &writer.codes[i]);
    if (!hn_failed(err)) {
        writer.document = describe(&writer);
        fill(&writer, writer.document, skeleton, true);
        json_decref(writer.document);
    }
    for (size_t i = 0; i < export->body_count; i++) {
        free(writer.codes[i].values);
        for (int of = 0; of < HN_EXPORT_MACROS; of++)
            json_decref(writer.codes[i].macros[of]);
    }
    hn_blocks_finish(&writer.memory);
}

static enum hn_status write_header(const struct hn_export *export, struct hn_text *text,
                                   struct hn_error *err)
{
    /* Where header.h.in has the helpers that the functions call: known once those are written. */
    static const char helpers_place[] = "/* helpers */\n";
    struct hn_text filled = {0}, helpers HN_ENDED_BY(hn_text_finish) = {0};
    bool needs_math = false;
    if (hn_export_need_plan(export, err) != HN_OK)
        return err->status;
    hn_export_write(export, hn_export_header_skeleton, &filled, err);
    char *header HN_FREED = hn_needed(hn_text_take(&filled));
    char *place = strstr(header, helpers_place);
    if (place != NULL) {
        hn_expression_append_c_helpers(place, export->lower, &helpers, &needs_math);
        hn_text_append_bytes(text, header, (size_t)(place - header));
        needs_math = needs_math || (export->rule != NULL && export->rule->cost != NULL);
        hn_text_append(text, needs_math ? "#include <math.h>\n\n" : "");
        hn_text_append(text, helpers.length > 0 ? helpers.data : "");
    }
    hn_text_append(text, place == NULL ? header : place + strlen(helpers_place));
    return err->status;
}

const struct hn_export_format hn_export_header = {
    .name = "header", .write = write_header, .takes_defaults = true, .has_all = true};
