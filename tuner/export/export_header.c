/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/source.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"
#include "tuner/report/format.h"

/* Appends text for the inside of a comment: device and template names could hold the marks of one.
 */
static void append_comment(struct hn_text *text, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        hn_text_append_bytes(text, c, 1);
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*'))
            hn_text_append(text, " ");
    }
}

/* Where the helpers go that the functions call. */
static const char helpers_place[] = "/* helpers */\n";

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
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
}

static const char *or_unknown(const char *version)
{
    return version[0] == '\0' ? "unknown" : version;
}

static void append_provenance(const struct hn_export *export, const struct hn_source *source,
                              struct hn_text *text)
{
    const struct hn_tuned *tuned = export->configs[0];
    const struct hn_device_identity *device = &tuned->identity.device;
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
                   base_name(export->plan->template_path), tuned->version.template_hash,
                   tuned->version.protocol);
    for (size_t i = 0; i < source->option_count; i++)
        hn_text_printf(text, "%s%s%s", i == 0 ? "  options    " : " ", source->options[i],
                       i + 1 == source->option_count ? " (give them to nvcc too)\n" : "");
    hn_text_append(text, "  origin     ");
    char *origin = hn_origin_text(&tuned->origin);
    append_comment(text, origin == NULL ? "" : origin);
    free(origin);
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

/* How a step is called in the comment. */
struct call {
    size_t number;
    const char *entry;
    const struct hn_step *step;
    bool asks; /* it is launched for some problems only */
};

static void append_arguments(const struct hn_export *export, const struct hn_step *step,
                             const char *before, struct hn_text *text)
{
    for (size_t i = 0; i < step->argument_count; i++)
        hn_text_printf(text, "%s%s", i > 0 ? ", " : before,
                       export->plan->arguments[step->arguments[i]].name);
    hn_text_append(text, ");\n");
}

/* What a launch with <<<>>> can not say. */
static void append_attributes(const struct hn_export *export, const struct hn_geometry *geometry,
                              struct hn_text *text)
{
    hn_text_append(text, "    cudaLaunchConfig_t launch = {s.grid, s.block, s.shared_bytes};\n"
                         "    cudaLaunchAttribute attributes[3] = {};\n"
                         "    launch.attrs = attributes;\n");
    if (geometry->cluster[0] != NULL)
        hn_text_append(
            text, "    attributes[launch.numAttrs].id = cudaLaunchAttributeClusterDimension;\n"
                  "    attributes[launch.numAttrs++].val.clusterDim = {s.cluster.x, s.cluster.y, "
                  "s.cluster.z};\n");
    if (geometry->cooperative != NULL)
        hn_text_append(text,
                       "    attributes[launch.numAttrs].id = cudaLaunchAttributeCooperative;\n"
                       "    attributes[launch.numAttrs++].val.cooperative = s.cooperative;\n");
    if (geometry->window.parts[HN_WINDOW_BYTES] != NULL)
        hn_text_printf(
            text,
            "    attributes[launch.numAttrs].id = cudaLaunchAttributeAccessPolicyWindow;\n"
            "    attributes[launch.numAttrs++].val.accessPolicyWindow = {%s, s.window_bytes,\n"
            "        (float)s.window_hit_ratio, (cudaAccessProperty)s.window_hit, "
            "(cudaAccessProperty)s.window_miss};\n",
            export->plan->arguments[geometry->window.argument].name);
}

/* "matmul<<<s.grid, s.block, s.shared_bytes>>>(A, B, C, M, N);" What is set aside stays so for the
 * context, and what persists in the L2 cache until it is reset. */
static void append_launch(const struct hn_export *export, const struct call *call,
                          struct hn_text *text)
{
    const struct hn_geometry *geometry = &call->step->geometry;
    const char *indent = call->asks ? "        " : "    ";
    if (geometry->carveout != NULL)
        hn_text_printf(text,
                       "    cudaFuncSetAttribute(%s, "
                       "cudaFuncAttributePreferredSharedMemoryCarveout, (int)s.carveout);\n",
                       call->entry);
    if (geometry->window.parts[HN_WINDOW_BYTES] != NULL)
        hn_text_append(text, "    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, "
                             "s.set_aside_bytes); // once\n");
    bool plain = geometry->cluster[0] == NULL && geometry->cooperative == NULL &&
                 geometry->window.parts[HN_WINDOW_BYTES] == NULL;
    if (!plain)
        append_attributes(export, geometry, text);
    hn_text_append(text, call->asks ? "    if (s.runs)\n" : "");
    if (plain)
        hn_text_printf(text, "%s%s<<<s.grid, s.block, s.shared_bytes>>>(", indent, call->entry);
    else
        hn_text_printf(text, "%scudaLaunchKernelEx(&launch, %s", indent, call->entry);
    append_arguments(export, call->step, plain ? "" : ", ", text);
}

/* The launches of a configuration, but for steps that it never has. */
static enum hn_status append_launches(const struct hn_export_code *code, const char **entries,
                                      struct hn_text *text, struct hn_error *err)
{
    const struct hn_export *export = code->export;
    const char *declared = "struct hone_step ";
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < export->plan->step_count && status == HN_OK; i++) {
        const struct hn_step *step = &export->plan->steps[i];
        struct hn_text condition = {0};
        status = hn_export_append_condition(code, step->condition, &condition, err);
        if (status == HN_OK && !condition.failed && strcmp(condition.data, "0") != 0) {
            const struct call call = {i, entries[i] != NULL ? entries[i] : step->entry, step,
                                      strcmp(condition.data, "1") != 0};
            hn_text_printf(text, "    %ss = %s_step(%s_CONFIG, %zu, problem);\n", declared,
                           export->lower, export->upper, i);
            append_launch(export, &call, text);
            declared = "";
        }
        hn_text_finish(&condition);
    }
    return status;
}

static enum hn_status append_call(const struct hn_export *export, const struct hn_source *source,
                                  struct hn_text *text, struct hn_error *err)
{
    struct hn_export_code code;
    const char **entries = calloc(export->plan->step_count, sizeof *entries);
    enum hn_status status = hn_export_code_make(export, 0, &code, err);
    if (status == HN_OK && entries == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK)
        status = hn_export_find_entries(export, 0, source->entries, entries, err);
    hn_text_printf(text, "\n    struct %s_problem problem = %s_TUNED_PROBLEM;", export->lower,
                   export->upper);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "%s%s", i == 0 ? " // or {" : ", ", export->plan->problem[i]);
    hn_text_append(text, export->plan->problem_count > 0 ? "}\n" : "\n");
    if (status == HN_OK)
        status = append_launches(&code, entries, text, err);
    hn_export_code_finish(&code);
    free(entries);
    return status;
}

/* "  A: M * K elements of float4 (input)" */
static void append_buffer(const struct hn_argument *argument, struct hn_text *text)
{
    char type[32];
    hn_type_format_c(argument->element, argument->lanes, type, sizeof type);
    hn_text_printf(text, "    %s: ", argument->name);
    if (argument->shape.width != NULL)
        hn_text_printf(text, "%s rows of %s elements of %s, %s_pitch bytes apart",
                       hn_expression_text(argument->shape.height),
                       hn_expression_text(argument->shape.width), type, argument->name);
    else
        hn_text_printf(text, "%s elements of %s", hn_expression_text(argument->count), type);
    if (argument->align != NULL)
        hn_text_printf(text, ", at a multiple of %s bytes", hn_expression_text(argument->align));
    hn_text_printf(text, " (%s%s)\n", hn_role_name(argument->role),
                   argument->role == HN_ROLE_COUNTER ? ": zero before every call" : "");
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

static void append_types(const struct hn_export *export, struct hn_text *text)
{
    hn_text_append(text, "\nwith the arguments\n");
    for (size_t i = 0; i < export->plan->argument_count; i++) {
        const struct hn_argument *argument = &export->plan->arguments[i];
        char type[32];
        hn_type_format_c(argument->element, argument->lanes, type, sizeof type);
        if (!hn_argument_is_passed(argument))
            continue;
        if (argument->role == HN_ROLE_TEXTURE)
            append_texture(argument, text);
        else if (argument->count != NULL)
            append_buffer(argument, text);
        else if (argument->value != NULL)
            hn_text_printf(text, "    %s: %s, %s\n", argument->name, type,
                           hn_expression_text(argument->value));
        else
            hn_text_printf(text, "    %s: the contents of %s by value\n", argument->name,
                           argument->from);
    }
}

/* "  table: A" for each variable that the caller has to fill before a launch. */
static void append_symbols(const struct hn_export *export, struct hn_text *text)
{
    bool first = true;
    for (size_t i = 0; i < export->plan->argument_count; i++) {
        const struct hn_argument *symbol = &export->plan->arguments[i];
        if (symbol->role != HN_ROLE_SYMBOL)
            continue;
        if (first)
            hn_text_append(text, "\nThe kernel reads variables of the template; fill them with "
                                 "cudaMemcpyToSymbol before:\n");
        first = false;
        char type[32];
        hn_type_format_c(symbol->element, symbol->lanes, type, sizeof type);
        hn_text_printf(text, "    %s: ", symbol->name);
        if (symbol->from != NULL)
            hn_text_printf(text, "the contents of %s", symbol->from);
        else if (symbol->value != NULL)
            hn_text_printf(text, "%s, %s", type, hn_expression_text(symbol->value));
        else
            hn_text_printf(text, "%s, %s elements%s", type, hn_expression_text(symbol->count),
                           symbol->changes ? ", again before every launch" : "");
        if (symbol->condition != NULL)
            hn_text_printf(text, " (where %s)", hn_expression_text(symbol->condition));
        hn_text_append(text, "\n");
    }
}

static enum hn_status append_use(const struct hn_export *export, const struct hn_source *source,
                                 struct hn_text *text, struct hn_error *err)
{
    hn_text_printf(text,
                   "\nUse it in a CUDA source, after all other headers:\n"
                   "    #define %s_APPLY\n"
                   "    #include \"%s_tuned.h\"\n"
                   "    #include \"%s\"\n"
                   "    #define %s_UNAPPLY // takes the template's names away again\n"
                   "    #include \"%s_tuned.h\"\n",
                   export->upper, export->kernel, base_name(export->plan->template_path),
                   export->upper, export->kernel);
    if (export->plan->pipeline != NULL)
        hn_text_append(text, "\n");
    enum hn_status status = export->plan->pipeline != NULL
                                ? hn_export_describe_pipeline(export, text, err)
                                : append_call(export, source, text, err);
    append_types(export, text);
    append_symbols(export, text);
    for (size_t i = 0; i < export->plan->step_count; i++)
        if (export->plan->steps[i].geometry.shared_bytes != NULL) {
            hn_text_append(text, "\nA kernel that takes more than 48 KiB of dynamic shared memory "
                                 "needs cudaFuncSetAttribute(kernel,\n"
                                 "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before.\n");
            break;
        }
    hn_text_append(text, "\nThis file is generated; it is in the public domain (CC0 1.0).\n");
    return status;
}

/* Writes the lines as one block comment. */
static void append_block_comment(struct hn_text *text, const char *title, const char *lines)
{
    append_comment(text, title);
    hn_text_append(text, "\n");
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        char *line = strndup(lines, length);
        if (line == NULL) {
            text->failed = true;
            return;
        }
        hn_text_append(text, length > 0 ? " * " : " *");
        append_comment(text, line);
        hn_text_append(text, "\n");
        free(line);
        lines += length + (lines[length] == '\n');
    }
}

static enum hn_status append_head(const struct hn_export *export, struct hn_text *text,
                                  struct hn_error *err)
{
    struct hn_source source = {0};
    enum hn_status status = hn_export_make_source(export, export->configs[0], &source, err);
    if (status != HN_OK)
        return status;
    struct hn_text lines = {0};
    append_provenance(export, &source, &lines);
    status = append_use(export, &source, &lines, err);
    char *body = hn_text_take(&lines);
    hn_source_finish(&source);
    if (status == HN_OK && body == NULL)
        status = hn_fail_memory(err);
    if (status != HN_OK) {
        free(body);
        return status;
    }
    hn_text_append(text, "/* SPDX-License-Identifier: CC0-1.0 */\n");
    hn_text_append(text, "/* Tuned configuration of the kernel ");
    append_block_comment(text, export->kernel, body);
    hn_text_append(text, " */\n");
    free(body);
    return HN_OK;
}

static size_t count_launches(const struct hn_export *export)
{
    return export->plan->pipeline == NULL;
}

/* What the functions call is known once they are written: insert_helpers. */
static enum hn_status leave_helpers(const struct hn_export *export, struct hn_text *text,
                                    struct hn_error *err)
{
    (void)export;
    (void)err;
    hn_text_append(text, helpers_place);
    return HN_OK;
}

const struct hn_export_part hn_export_head_parts[] = {
    {"head", NULL, append_head},
    {"pipeline", NULL, hn_export_append_pipeline},
    {"launches", count_launches, NULL},
    {"helpers", NULL, leave_helpers},
    {NULL, NULL, NULL},
};

/* A size that is not whole is none. */
static const char whole_helper[] =
    "static inline int64_t %s_whole(double size) /* -1: it is not */\n"
    "{\n"
    "    int64_t whole = size >= -9e18 && size <= 9e18 ? (int64_t)size : -1;\n"
    "    return size > (double)whole || size < (double)whole ? -1 : whole;\n"
    "}\n\n";

static void insert_helpers(const struct hn_export *export, const char *header, struct hn_text *text)
{
    const char *place = strstr(header, helpers_place);
    struct hn_text call = {0}, helpers = {0};
    bool needs_math = false;
    if (place == NULL) {
        hn_text_append(text, header);
        return;
    }
    hn_expression_append_c_helpers(place, export->lower, &helpers, &needs_math);
    hn_text_append_bytes(text, header, (size_t)(place - header));
    hn_text_append(text, needs_math ? "#include <math.h>\n\n" : "");
    hn_text_printf(&call, "%s_whole(", export->lower);
    if (!call.failed && strstr(place, call.data) != NULL)
        hn_text_printf(text, whole_helper, export->lower);
    hn_text_append(text, helpers.length > 0 ? helpers.data : "");
    hn_text_append(text, place + strlen(helpers_place));
    text->failed = text->failed || call.failed || helpers.failed;
    hn_text_finish(&call);
    hn_text_finish(&helpers);
}

enum hn_status hn_export_header(const struct hn_export *export, struct hn_text *text,
                                struct hn_error *err)
{
    struct hn_text filled = {0};
    enum hn_status status = hn_export_need_plan(export, err);
    if (status == HN_OK)
        status = hn_export_fill(export, hn_export_header_skeleton, &filled, err);
    char *header = hn_text_take(&filled);
    if (status == HN_OK && header == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK) {
        insert_helpers(export, header, text);
        status = text->failed ? hn_fail_memory(err) : HN_OK;
    }
    free(header);
    return status;
}
