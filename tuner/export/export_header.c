/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "cache/record/record_json.h"
#include "runtime/compile/source.h"
#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"
#include "tuner/report/render.h"

/* Exported C is a skeleton whose holes a document fills, and parts where C has to be written. */

json_t *hn_export_text_json(struct hn_text *text)
{
    char *taken = hn_needed(hn_text_take(text));
    json_t *json = hn_string_to_json(taken);
    free(taken);
    return json;
}

static const char *base_name(const struct hn_export *export)
{
    const char *slash = strrchr(export->plan->template_path, '/');
    return slash == NULL ? export->plan->template_path : slash + 1;
}

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
    const struct hn_timing *timing = &tuned->best.timing;
    const struct hn_bindings *metrics = &tuned->best.metrics;
    int capability = tuned->identity.device.capability;
    struct hn_source source;
    json_t *json = hn_needed(hn_fields_to_json(&hn_identity_structure, &tuned->identity));
    json_t *best = hn_needed(hn_record_to_json(&tuned->best));
    json_t *options = json_array(), *entries = json_array(), *figures = json_array();
    for (size_t i = 0; i < metrics->count; i++)
        json_array_append_new(figures, json_sprintf("%s %.6g", metrics->names[i],
                                                    hn_value_number(&metrics->values[i])));
    if (hn_export_make_source(export, tuned, &source, err) == HN_OK) {
        for (size_t i = 0; i < source.option_count; i++)
            json_array_append_new(options, hn_string_to_json(source.options[i]));
        for (size_t i = 0; i < source.entry_count; i++)
            json_array_append_new(entries, hn_string_to_json(source.entries[i]));
        hn_source_finish(&source);
    }
    json_object_update_new(
        json,
        hn_needed(json_pack(
            "{sO sO* sO* so so so s{sf sf sf sb} sf so so so sb sb}", "point",
            json_object_get(best, "point"), "verdict", json_object_get(best, "verdict"), "energy",
            json_object_get(best, "energy"), "metrics", figures, "options", options, "entries",
            entries, "timing", "median_us", timing->median_us, "low_us", timing->low_us, "high_us",
            timing->high_us, "unstable", timing->unstable, "time", tuned->best.time, "version",
            hn_fields_to_json(&hn_version_structure, &tuned->version), "origin",
            hn_origin_to_json(&tuned->origin), "compute",
            capability > 0 ? json_sprintf("%d.%d", capability / 10, capability % 10) : json_null(),
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
        hn_export_append_types(export, argument, &types);
        const char *passed = !hn_argument_is_passed(argument)       ? "no"
                             : argument->role == HN_ROLE_TEXTURE    ? "texture"
                             : argument->role == HN_ROLE_TENSOR_MAP ? "map"
                             : argument->count != NULL              ? "buffer"
                             : argument->value != NULL              ? "value"
                                                                    : "contents";
        bool zeroed = argument->role == HN_ROLE_COUNTER && argument->zero != HN_ZERO_ONCE &&
                      hn_export_is_taken(export->plan, i);
        json_object_update_new(json_array_get(arguments, i),
                               json_pack("{ss so sb sb sI}", "passed", passed, "types",
                                         hn_export_text_json(&types), "zeroed", zeroed, "map",
                                         argument->role == HN_ROLE_TENSOR_MAP, "number",
                                         (json_int_t)hn_export_map_number(export->plan, i)));
    }
    return json_incref(arguments);
}

static json_t *names_to_json(const struct hn_plan *plan, const size_t *arguments, size_t count)
{
    json_t *names = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(names, json_string(plan->arguments[arguments[i]].name));
    return names;
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
    struct hn_launch launch;
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
    hn_launch_finish(&launch);
    return json;
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
    json_t *tensor_names = json_array();
    struct hn_text window = {0}, kernel = {0};
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
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *map = &plan->arguments[i];
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
    const struct hn_export_images *images = export->images;
    for (size_t i = 0; images != NULL && i < images->count && images->items[i].config == 0; i++)
        json_array_append_new(architectures, json_string(images->items[i].architecture));
    append_comment(&kernel, "", export->kernel);
    json_t *json = hn_needed(json_pack(
        "{so so sI sI ss ss ss# sO sb so so so so so sI sI sI sb sI sI sI sI sb sI sI sI sI sI sI "
        "sI sI so "
        "so so so so}",
        "kernel", hn_export_text_json(&kernel), "tensor_names", tensor_names, "symbols",
        (json_int_t)symbols, "problem", (json_int_t)plan->problem_count, "template",
        base_name(export), "hone", HONE_VERSION, "template_hash",
        export->results[0]->version.template_hash, 12, "problem_names",
        json_object_get(of_plan, "problem"), "untuned", export->untuned, "tuned",
        hn_export_tuned_to_json(export, writer->err), "arguments",
        arguments_to_json(export, json_object_get(of_plan, "arguments")), "family",
        hn_export_family_to_json(export), "pipeline", pipeline_to_json(writer, of_plan), "applied",
        hn_export_applied_to_json(writer), "config_count", (json_int_t) export->count,
        "last_config", (json_int_t) export->count - 1, "body_count",
        (json_int_t) export->body_count, "fallback", export->fallback != NULL, "result_count",
        (json_int_t) export->result_count, "step_count", (json_int_t)plan->step_count, "sizes",
        (json_int_t)hn_export_count_sizes(plan), "tensor_maps",
        (json_int_t)hn_export_map_number(plan, plan->argument_count), "launches",
        plan->pipeline == NULL, "dynamic", (json_int_t)dynamic, "clusters", (json_int_t)clusters,
        "carveout", (json_int_t)carveout, "cooperative", (json_int_t)cooperative, "programmatic",
        (json_int_t)programmatic, "windows", (json_int_t)windows, "attributes",
        (json_int_t)(clusters + cooperative + programmatic + windows), "most_arguments",
        (json_int_t)most_arguments, "dynamic_steps", dynamic_steps, "window",
        hn_export_text_json(&window), "window_buffers", window_buffers, "distances", distances,
        "architectures", architectures));
    json_decref(of_plan);
    return json;
}

static const struct hn_export_part *find_part(const char *name, size_t length)
{
    static const struct hn_export_part *const lists[] = {
        hn_export_head_parts, hn_export_function_parts, hn_export_rule_parts,
        hn_export_driver_parts};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct hn_export_part *part = lists[i]; part->name != NULL; part++)
            if (strlen(part->name) == length && memcmp(part->name, name, length) == 0)
                return part;
    return NULL;
}

/* A part goes to where the line goes, since pieces of C are wrapped by their column. */
static bool write_part(void *context, const char *name, size_t length, struct hn_text *text)
{
    struct hn_export_writer *writer = context;
    struct hn_text *outer = writer->text;
    const struct hn_export_part *part = find_part(name, length);
    if (part == NULL)
        return false;
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
    struct hn_text own = {0}, *text = writer->text;
    char *line = copy_line(writer->export, given, length);
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
    hn_text_finish(&own);
    free(line);
}

/* Whether lines of a section stay: it is not there, no, nothing or empty. */
static bool holds(const json_t *value)
{
    return json_is_object(value) || json_is_true(value) || json_array_size(value) > 0 ||
           json_number_value(value) > 0;
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
        bool shows = shown && holds(value) == (line[2] == '#');
        if (json_array_size(value) == 0 || !shows)
            line = fill(writer, shows && json_is_object(value) ? value : item, next, shows);
        for (size_t i = 0; shows && i < json_array_size(value); i++)
            line = fill(writer, json_array_get(value, i), next, true);
    }
    return line;
}

void hn_export_fill(struct hn_export_writer *writer, const char *skeleton)
{
    fill(writer, writer->document, skeleton, true);
}

void hn_export_write(const struct hn_export *export, const char *skeleton, struct hn_text *text,
                     struct hn_error *err)
{
    struct hn_export_writer writer = {
        .export = export, .plan = export->plan, .text = text, .err = err};
    if (hn_failed(err))
        return;
    writer.rule = hn_export_rule_make(&writer);
    writer.codes = hn_need(export->body_count, sizeof *writer.codes);
    for (size_t i = 0; i < export->body_count; i++)
        hn_export_code_make(&writer, i, &writer.codes[i]);
    if (!hn_failed(err)) {
        writer.document = describe(&writer);
        hn_export_fill(&writer, skeleton);
        json_decref(writer.document);
    }
    for (size_t i = 0; i < export->body_count; i++)
        hn_export_code_finish(&writer.codes[i]);
    hn_export_rule_destroy(writer.rule);
    free(writer.codes);
}

enum hn_status hn_export_header(const struct hn_export *export, struct hn_text *text,
                                struct hn_error *err)
{
    /* Where header.h.in has the helpers that the functions call: known once those are written. */
    static const char helpers_place[] = "/* helpers */\n";
    struct hn_text filled = {0}, helpers = {0};
    bool needs_math = false;
    if (hn_export_need_plan(export, err) != HN_OK)
        return err->status;
    hn_error_init(err);
    hn_export_write(export, hn_export_header_skeleton, &filled, err);
    char *header = hn_needed(hn_text_take(&filled));
    char *place = strstr(header, helpers_place);
    if (place != NULL) {
        hn_expression_append_c_helpers(place, export->lower, &helpers, &needs_math);
        hn_text_append_bytes(text, header, (size_t)(place - header));
        hn_text_append(text, needs_math ? "#include <math.h>\n\n" : "");
        hn_text_append(text, helpers.length > 0 ? helpers.data : "");
        hn_text_finish(&helpers);
    }
    hn_text_append(text, place == NULL ? header : place + strlen(helpers_place));
    free(header);
    return err->status;
}
