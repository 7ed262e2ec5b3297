/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/source.h"
#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"
#include "tuner/report/render.h"

/* The frame of a header, and the comment on top: what was measured, and how it is launched. */

static void write_kernel(struct hn_export_writer *writer)
{
    hn_export_append_comment(writer->text, "", writer->export->kernel);
}

static const char *base_name(const struct hn_export *export)
{
    const char *slash = strrchr(export->plan->template_path, '/');
    return slash == NULL ? export->plan->template_path : slash + 1;
}

static void write_template(struct hn_export_writer *writer)
{
    hn_export_append_comment(writer->text, "", base_name(writer->export));
}

static void append_measurement(const struct hn_tuned *tuned, struct hn_text *text)
{
    const struct hn_timing *timing = &tuned->best.timing;
    char regime[HN_FORMAT_SIZE];
    hn_format_regime(tuned->identity.regime, regime);
    hn_text_printf(text, "  time       %.6g us, 95%% interval %.6g to %.6g us, %s%s, %s ",
                   timing->median_us, timing->low_us, timing->high_us, regime,
                   timing->unstable ? ", unstable" : "",
                   tuned->simulated ? "replayed" : "measured");
    hn_export_append_date(text, tuned->best.time);
    hn_text_append(text, "\n");
    const struct hn_bindings *metrics = &tuned->best.metrics;
    for (size_t i = 0; i < metrics->count; i++)
        hn_text_printf(text, "%s%s %.6g%s", i == 0 ? "  metrics    " : ", ", metrics->names[i],
                       hn_value_number(&metrics->values[i]), i + 1 == metrics->count ? "\n" : "");
    const struct hn_bindings *observed = &tuned->best.observed;
    if (hn_observed(observed, "energy.windows") > 0)
        hn_text_printf(text, "  energy     %.6g J a launch, at %.0f W\n",
                       hn_observed(observed, "energy.joules"),
                       hn_observed(observed, "energy.power_w"));
    if (strcmp(tuned->identity.objective, "time") != 0)
        hn_text_printf(text, "  objective  %s\n", tuned->identity.objective);
}

static void append_verdict(const struct hn_verdict *verdict, struct hn_text *text)
{
    if (verdict->kind == HN_UNVERIFIED) {
        hn_text_append(text,
                       "  UNVERIFIED: the config has no reference to compare the result with\n");
        return;
    }
    if (verdict->kind == HN_NOT_RECORDED) {
        hn_text_append(text,
                       "  verification not recorded: whoever measured it does not say whether "
                       "results were compared\n");
        return;
    }
    hn_text_printf(
        text, "  verified   max error %.3g, tolerance %.3g, %d seed%s%s\n", verdict->max_error,
        verdict->tolerance, verdict->seeds, verdict->seeds == 1 ? "" : "s",
        verdict->kind == HN_SELF_VERIFIED ? "; self-verified: against the template at its defaults"
                                          : "");
    if (verdict->differed > 0)
        hn_text_printf(text,
                       "             %zu of %zu elements differ by more, as the config allows\n",
                       verdict->differed, verdict->compared);
}

static const char *or_unknown(const char *version)
{
    return version[0] == '\0' ? "unknown" : version;
}

static void write_options(struct hn_export_writer *writer)
{
    struct hn_source source;
    if (hn_export_make_source(writer->export, writer->export->configs[0], &source, writer->err) !=
        HN_OK)
        return;
    for (size_t i = 0; i < source.option_count; i++)
        hn_text_printf(writer->text, "%s%s%s", i == 0 ? "  options    " : " ", source.options[i],
                       i + 1 == source.option_count ? " (give them to nvcc too)\n" : "");
    hn_source_finish(&source);
}

/* The default point was not measured: there is nothing to tell but that. */
static void write_untuned(struct hn_export_writer *writer)
{
    const struct hn_tuned *tuned = writer->export->configs[0];
    hn_text_append(
        writer->text,
        "  NOT TUNED: nothing was measured. These are the defaults of the config, so that what "
        "includes this file builds;\n  `hone tune`, then `hone export`, replace them.\n");
    hn_text_append(writer->text, "  point      ");
    hn_bindings_append(writer->text, &tuned->best.point);
    hn_text_append(writer->text, "\n");
    write_options(writer);
}

static void write_provenance(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    struct hn_text *text = writer->text;
    const struct hn_tuned *tuned = export->configs[0];
    const struct hn_device_identity *device = &tuned->identity.device;
    if (export->untuned) {
        write_untuned(writer);
        return;
    }
    hn_text_printf(text, "  device     %s%s%s", device->name,
                   device->mig_profile[0] != '\0' ? " " : "", device->mig_profile);
    if (device->capability > 0)
        hn_text_printf(text, ", compute capability %d.%d, %d SMs", device->capability / 10,
                       device->capability % 10, device->sm_count);
    hn_text_append(text, "\n  problem    ");
    hn_bindings_append(text, &tuned->identity.problem);
    hn_text_append(text, "\n  point      ");
    hn_bindings_append(text, &tuned->best.point);
    hn_text_append(text, "\n");
    append_measurement(tuned, text);
    append_verdict(&tuned->best.verdict, text);
    hn_text_printf(text,
                   "  versions   Hone " HONE_VERSION
                   ", driver %s, NVRTC %s, template %s (%.12s), protocol %d\n",
                   or_unknown(tuned->version.driver), or_unknown(tuned->version.nvrtc),
                   base_name(export), tuned->version.template_hash, tuned->version.protocol);
    write_options(writer);
    hn_text_append(text, "  origin     ");
    hn_origin_append(text, &tuned->origin);
    hn_text_append(text, "\n");
    if (tuned->stale)
        hn_text_append(text, "  STALE: the template, the config, the driver or Hone has changed "
                             "since; tune again\n");
    if (tuned->simulated)
        hn_text_append(text, "  SIMULATED: from a search over recorded measurements, not measured "
                             "on this machine\n");
    if (export->count > 1)
        hn_text_printf(text,
                       "  This is configuration 0 of %zu; define %s_CONFIG before the first "
                       "inclusion for another.\n",
                       export->count, export->upper);
}

/* "A, B, C" */
static void append_names(const struct hn_plan *plan, const size_t *arguments, size_t count,
                         struct hn_text *text)
{
    for (size_t i = 0; i < count; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "" : ", ", plan->arguments[arguments[i]].name);
}

/* A plan with a pipeline: the header says how it was tuned and has the template's macros, and
 * leaves copies, streams and launches to the program. */
static bool make_launch(struct hn_export_writer *writer, struct hn_launch *launch)
{
    const struct hn_tuned *tuned = writer->export->configs[0];
    return !hn_failed(writer->err) &&
           hn_launch_make(writer->plan, &tuned->identity.problem, &tuned->best.point, launch,
                          writer->err) == HN_OK;
}

/* "    upload: x, y, table (whole)" */
static void append_list(const struct hn_plan *plan, const char *title, unsigned char part,
                        unsigned char without, struct hn_text *text)
{
    const char *separator = "";
    for (size_t i = 0; i < plan->argument_count; i++) {
        unsigned char parts = plan->pipeline->parts[i];
        if ((parts & part) == 0 || (parts & without) != 0)
            continue;
        if (separator[0] == '\0')
            hn_text_printf(text, "    %s: ", title);
        hn_text_printf(text, "%s%s%s", separator, plan->arguments[i].name,
                       (parts & HN_PART_CUT) != 0 ? "" : " (whole)");
        separator = ", ";
    }
    hn_text_append(text, separator[0] == '\0' ? "" : "\n");
}

static void append_dimensions(struct hn_expression *const *dimensions, struct hn_text *text)
{
    for (size_t i = 0; i < 3 && dimensions[i] != NULL; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "" : ", ", hn_expression_text(dimensions[i]));
}

static void append_copies(const struct hn_plan *plan, const struct hn_flow *flow, size_t before,
                          struct hn_text *text)
{
    for (size_t i = 0; i < plan->pipeline->copy_count; i++) {
        const struct hn_copy_step *copy = &plan->pipeline->copies[i];
        if (copy->before != before || !flow->copies[i])
            continue;
        hn_text_printf(text, "    copy %s: ", copy->to_host ? "to host" : "to device");
        append_names(plan, copy->arguments, copy->argument_count, text);
        hn_text_append(text, "\n");
    }
}

/* "    gather, grid ceil_div(chunk_count, 128), block 128: x, sums, radius" */
static void append_steps(const struct hn_plan *plan, const struct hn_launch *launch,
                         struct hn_text *text)
{
    size_t place = 0;
    for (size_t s = 0; s < launch->step_count; s++) {
        const struct hn_step *step = launch->steps[s].step;
        for (; place <= (size_t)(step - plan->steps); place++)
            append_copies(plan, launch->flow, place, text);
        hn_text_printf(text, "    %s, grid ", step->entry);
        append_dimensions(step->geometry.grid, text);
        hn_text_append(text, ", block ");
        append_dimensions(step->geometry.block, text);
        if (step->geometry.shared_bytes != NULL)
            hn_text_printf(text, ", %s bytes of dynamic shared memory",
                           hn_expression_text(step->geometry.shared_bytes));
        hn_text_append(text, ": ");
        append_names(plan, step->arguments, step->argument_count, text);
        hn_text_append(text, "\n");
    }
    for (; place <= plan->step_count; place++)
        append_copies(plan, launch->flow, place, text);
}

static void describe_pipeline(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    struct hn_text *text = writer->text;
    struct hn_launch launch;
    char cut[128];
    if (!make_launch(writer, &launch))
        return;
    hn_flow_describe(launch.flow, cut, sizeof cut);
    hn_text_printf(text,
                   "The plan is a pipeline from host memory to host memory, which this file "
                   "does not launch:\n\n    %s\n",
                   cut);
    for (size_t i = 0; i <= HN_PIPELINE_PADDING; i++)
        if (plan->pipeline->fields[i] != NULL)
            hn_text_printf(text, "    %s: %s\n", hn_pipeline_keys[i],
                           hn_expression_text(plan->pipeline->fields[i]));
    append_list(plan, "upload", HN_PART_UPLOAD, 0, text);
    append_list(plan, "padded", HN_PART_PADDED, 0, text);
    append_list(plan, "download", HN_PART_DOWNLOAD, 0, text);
    append_list(plan, "cut, on the device", HN_PART_CUT, HN_PART_UPLOAD | HN_PART_DOWNLOAD, text);
    hn_text_append(text, "\nFor each chunk, with chunk_begin, chunk_count and chunk_index in units "
                         "of what is cut, behind its upload:\n\n");
    append_steps(plan, &launch, text);
    hn_launch_finish(&launch);
}

static void write_pipeline(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    struct hn_text *text = writer->text;
    struct hn_launch launch;
    if (export->plan->pipeline == NULL || !make_launch(writer, &launch))
        return;
    const struct hn_flow *flow = launch.flow;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"OVER", flow->over},
        {"HALO", flow->halo},
        {"PADDING", flow->padding},
        {"CHUNKS", (int64_t)flow->chunk_count},
        {"STREAMS", (int64_t)flow->streams},
        {"PIECES", flow->pieces},
        {"BREADTH_FIRST", flow->order == HN_BREADTH_FIRST},
    };
    hn_text_printf(text, "/* The pipeline as it was tuned for the problem of %s_CONFIG. */\n",
                   export->upper);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hn_text_printf(text, "#define %s_PIPELINE_%s %lld\n", export->upper, numbers[i].name,
                       (long long)numbers[i].value);
    hn_text_printf(text, "#define %s_PIPELINE_HOST_MEMORY \"%s\"\n\n", export->upper,
                   hn_host_memory_names[flow->host_memory]);
    hn_launch_finish(&launch);
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
    append_names(export->plan, step->arguments, step->argument_count, text);
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
    if (writer->plan->pipeline != NULL)
        describe_pipeline(writer);
    else
        write_launches(&writer->codes[0], writer->text);
}

/* "  A: M * K elements of float4 (input)" */
static void append_buffer(const struct hn_export *export, const struct hn_argument *argument,
                          struct hn_text *text)
{
    hn_text_printf(text, "    %s: ", argument->name);
    if (argument->shape.width != NULL)
        hn_text_printf(text, "%s rows of ", hn_expression_text(argument->shape.height));
    hn_text_printf(text, "%s elements of ",
                   hn_expression_text(argument->shape.width != NULL ? argument->shape.width
                                                                    : argument->count));
    hn_export_append_types(export, argument, text);
    if (argument->shape.width != NULL)
        hn_text_printf(text, ", %s_pitch bytes apart", argument->name);
    if (argument->align != NULL)
        hn_text_printf(text, ", at a multiple of %s bytes", hn_expression_text(argument->align));
    hn_text_printf(text, " (%s%s)\n", hn_role_names[argument->role],
                   argument->role != HN_ROLE_COUNTER ? ""
                   : argument->zero == HN_ZERO_ONCE
                       ? ": zero before the first call, which all leave so"
                       : ": zero before every call");
}

static void append_texture(const struct hn_argument *argument, struct hn_text *text)
{
    const struct hn_texture *texture = &argument->texture;
    hn_text_printf(text, "    %s: a cudaTextureObject_t over %s, of cudaResourceType%s",
                   argument->name, argument->from, texture->dimensions == 1 ? "Linear" : "Pitch2D");
    if (texture->dimensions == 2)
        hn_text_printf(text, ", address modes %s, %s, filter %s, %s coordinates",
                       hn_texture_addresses[texture->address[0]],
                       hn_texture_addresses[texture->address[1]],
                       hn_texture_filters[texture->linear],
                       texture->normalized ? "normalized" : "unnormalized");
    hn_text_printf(text, ", read as %s\n", hn_texture_reads[texture->as_float]);
}

/* "    rows: int32_t, M" */
static void append_typed(const struct hn_export *export, const struct hn_argument *argument,
                         const struct hn_expression *expression, const char *end,
                         struct hn_text *text)
{
    hn_text_printf(text, "    %s: ", argument->name);
    hn_export_append_types(export, argument, text);
    hn_text_printf(text, ", %s%s", hn_expression_text(expression), end);
}

static void write_all_arguments(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *argument = &writer->plan->arguments[i];
        if (!hn_argument_is_passed(argument))
            continue;
        if (argument->role == HN_ROLE_TEXTURE)
            append_texture(argument, writer->text);
        else if (argument->role == HN_ROLE_TENSOR_MAP)
            hn_text_printf(writer->text, "    %s: a CUtensorMap over %s by value, from %s_%s\n",
                           argument->name, argument->from, writer->export->lower, argument->name);
        else if (argument->count != NULL)
            append_buffer(writer->export, argument, writer->text);
        else if (argument->value != NULL)
            append_typed(writer->export, argument, argument->value, "\n", writer->text);
        else
            hn_text_printf(writer->text, "    %s: the contents of %s by value\n", argument->name,
                           argument->from);
    }
}

static size_t count_symbols(const struct hn_export *export)
{
    size_t count = 0;
    for (size_t i = 0; i < export->plan->argument_count; i++)
        count += export->plan->arguments[i].role == HN_ROLE_SYMBOL;
    return count;
}

/* "    table: A" for each variable that the caller has to fill before a launch. */
static void write_symbols(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *symbol = &writer->plan->arguments[i];
        if (symbol->role != HN_ROLE_SYMBOL)
            continue;
        if (symbol->from != NULL)
            hn_text_printf(writer->text, "    %s: the contents of %s", symbol->name, symbol->from);
        else if (symbol->value != NULL)
            append_typed(writer->export, symbol, symbol->value, "", writer->text);
        else
            append_typed(writer->export, symbol, symbol->count,
                         symbol->changes ? " elements, again before every launch" : " elements",
                         writer->text);
        if (symbol->condition != NULL)
            hn_text_printf(writer->text, " (where %s)", hn_expression_text(symbol->condition));
        hn_text_append(writer->text, "\n");
    }
}

HN_EXPORT_COUNT(launches, export->plan->pipeline == NULL)

/* Where header.h.in has the helpers that the functions call: known once those are written. */
static const char helpers_place[] = "/* helpers */\n";

const struct hn_export_part hn_export_head_parts[] = {
    {"kernel", .write = write_kernel},
    {"template", .write = write_template},
    {"provenance", .write = write_provenance},
    {"calls", .write = write_calls},
    {"arguments", .write = write_all_arguments},
    {"symbols", .count = count_symbols, .write = write_symbols},
    {"pipeline", .write = write_pipeline},
    {"launches", .count = count_launches},
    {0},
};

enum hn_status hn_export_header(const struct hn_export *export, struct hn_text *text,
                                struct hn_error *err)
{
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
