/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/source.h"
#include "tuner/export/export_parts.h"
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
    struct hn_text origin;
    hn_text_init(&origin);
    hn_origin_append(&origin, &tuned->origin);
    append_comment(text, origin.failed ? "" : origin.data);
    hn_text_finish(&origin);
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

/* The names that the call of a step is written with. */
struct call {
    const char *entry;
    const char *prefix;  /* "hone_matmul", with the step's number where there are several */
    const char *problem; /* "M, N, K" */
    const struct hn_geometry *geometry;
    const char *window; /* the argument under a window of the L2 cache */
};

static void append_arguments(const struct hn_export *export, const struct hn_step *step,
                             const char *before, struct hn_text *text)
{
    for (size_t i = 0; i < step->argument_count; i++)
        hn_text_printf(text, "%s%s", i > 0 ? ", " : before,
                       export->plan->arguments[step->arguments[i]].name);
    hn_text_append(text, ");\n");
}

/* What is set aside stays so for the context, and what persists in the L2 cache until it is reset.
 */
static void append_window(const struct call *call, struct hn_text *text)
{
    const char *prefix = call->prefix;
    const char *problem = call->problem;
    hn_text_printf(text,
                   "    attributes[config.numAttrs].id = cudaLaunchAttributeAccessPolicyWindow;\n"
                   "    attributes[config.numAttrs++].val.accessPolicyWindow = {%s, "
                   "%s_window_bytes(%s),\n"
                   "        (float)%s_window_hit_ratio(%s), "
                   "(cudaAccessProperty)%s_window_hit(%s),\n"
                   "        (cudaAccessProperty)%s_window_miss(%s)};\n",
                   call->window, prefix, problem, prefix, problem, prefix, problem, prefix,
                   problem);
}

/* What a launch with <<<>>> can not say. */
static void append_attributes(const struct call *call, struct hn_text *text)
{
    const char *prefix = call->prefix;
    const char *problem = call->problem;
    hn_text_printf(text,
                   "    cudaLaunchConfig_t config = {%s_grid(%s), %s_block(%s),\n"
                   "        %s_shared_bytes(%s)};\n    cudaLaunchAttribute attributes[3] = {};\n",
                   prefix, problem, prefix, problem, prefix, problem);
    if (call->geometry->cluster[0] != NULL)
        hn_text_printf(text,
                       "    struct hone_dim3 cluster = %s_cluster(%s);\n"
                       "    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;\n"
                       "    attributes[config.numAttrs++].val.clusterDim = {cluster.x, cluster.y, "
                       "cluster.z};\n",
                       prefix, problem);
    if (call->geometry->cooperative != NULL)
        hn_text_printf(text,
                       "    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;\n"
                       "    attributes[config.numAttrs++].val.cooperative = %s_cooperative(%s);\n",
                       prefix, problem);
    if (call->geometry->window.parts[HN_WINDOW_BYTES] != NULL)
        append_window(call, text);
    hn_text_append(text, "    config.attrs = attributes;\n");
}

/* "matmul<<<hone_matmul_grid(M, N, K), …>>>(A, B, C, M, N);" */
static void append_launch(const struct hn_export *export, const struct hn_step *step,
                          const struct call *call, struct hn_text *text)
{
    const char *prefix = call->prefix;
    const char *problem = call->problem;
    if (call->geometry->carveout != NULL)
        hn_text_printf(text,
                       "    cudaFuncSetAttribute(%s, "
                       "cudaFuncAttributePreferredSharedMemoryCarveout,\n"
                       "        %s_carveout(%s));\n",
                       call->entry, prefix, problem);
    if (call->geometry->window.parts[HN_WINDOW_BYTES] != NULL)
        hn_text_printf(text,
                       "    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, "
                       "%s_set_aside_bytes(%s)); // once\n",
                       prefix, problem);
    if (call->geometry->cluster[0] != NULL || call->geometry->cooperative != NULL ||
        call->geometry->window.parts[HN_WINDOW_BYTES] != NULL) {
        append_attributes(call, text);
        hn_text_printf(text, "    cudaLaunchKernelEx(&config, %s", call->entry);
        append_arguments(export, step, ", ", text);
        return;
    }
    hn_text_printf(text, "    %s<<<%s_grid(%s), %s_block(%s),\n        %s_shared_bytes(%s)>>>(",
                   call->entry, prefix, problem, prefix, problem, prefix, problem);
    append_arguments(export, step, "", text);
}

static enum hn_status append_call(const struct hn_export *export, const struct hn_source *source,
                                  struct hn_text *text, struct hn_error *err)
{
    struct hn_text problem = {0};
    struct hn_value *values = NULL;
    size_t next = 0;
    enum hn_status status = hn_plan_values(export->plan, &export->configs[0]->identity.problem,
                                           &export->configs[0]->best.point, &values, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(&problem, "%s%s", i > 0 ? ", " : "", export->plan->problem[i]);
    for (size_t s = 0; s < export->plan->step_count; s++) {
        const struct hn_step *step = &export->plan->steps[s];
        bool asks = hn_export_uses_problem(export->plan, step->condition);
        bool applies = false;
        hn_step_applies(step, values, &applies, NULL);
        if (!applies && !asks)
            continue;
        struct hn_text name = {0};
        hn_text_append(&name, export->lower);
        if (export->plan->step_count > 1)
            hn_text_printf(&name, "_step%zu", s + 1);
        const struct call call = {
            .entry = applies && next < source->entry_count ? source->entries[next++] : step->entry,
            .prefix = name.failed ? "" : name.data,
            .problem = problem.length > 0 ? problem.data : "",
            .geometry = &step->geometry,
            .window = export->plan->arguments[step->geometry.window.argument].name,
        };
        if (asks)
            hn_text_printf(text, "    if (%s_runs(%s)) {\n", call.prefix, call.problem);
        append_launch(export, step, &call, text);
        hn_text_append(text, asks ? "    }\n" : "");
        hn_text_finish(&name);
    }
    hn_text_finish(&problem);
    free(values);
    return HN_OK;
}

/* "  A: M * K elements of float4 (input)" */
static void append_buffer(const struct hn_export *export, const struct hn_argument *argument,
                          struct hn_text *text)
{
    char type[32];
    hn_type_format_c(argument->element, argument->lanes, type, sizeof type);
    hn_text_printf(text, "    %s: ", argument->name);
    if (argument->shape.width != NULL)
        hn_text_printf(text, "%s rows of %s elements of %s, %s_%s_pitch() bytes apart",
                       hn_expression_text(argument->shape.height),
                       hn_expression_text(argument->shape.width), type, export->lower,
                       argument->name);
    else
        hn_text_printf(text, "%s elements of %s", hn_expression_text(argument->count), type);
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
    hn_text_append(text, "\nwith the arguments\n\n");
    for (size_t i = 0; i < export->plan->argument_count; i++) {
        const struct hn_argument *argument = &export->plan->arguments[i];
        char type[32];
        hn_type_format_c(argument->element, argument->lanes, type, sizeof type);
        if (!hn_argument_is_passed(argument))
            continue;
        if (argument->role == HN_ROLE_TEXTURE)
            append_texture(argument, text);
        else if (argument->count != NULL)
            append_buffer(export, argument, text);
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
                                 "cudaMemcpyToSymbol before:\n\n");
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
                   "\nUse it in a CUDA source, after all other headers:\n\n"
                   "    #define %s_APPLY\n"
                   "    #include \"%s_tuned.h\"\n"
                   "    #include \"%s\"\n",
                   export->upper, export->kernel, base_name(export->plan->template_path));
    if (export->plan->pipeline != NULL)
        hn_text_append(text, "\n");
    enum hn_status status = export->plan->pipeline != NULL
                                ? hn_export_describe_pipeline(export, text, err)
                                : append_call(export, source, text, err);
    append_types(export, text);
    append_symbols(export, text);
    hn_text_printf(text,
                   "\n%s_APPLY gives the names that the template reads, without prefix; include "
                   "this file again with\n"
                   "%s_UNAPPLY defined to take them away. A kernel that takes more than 48 KiB of "
                   "dynamic shared\n"
                   "memory needs cudaFuncSetAttribute(kernel, "
                   "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before.\n\n"
                   "This file is generated; it is in the public domain (CC0 1.0).\n",
                   export->upper, export->upper);
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

static const char dimensions[] =
    "#ifndef HONE_DIM3\n"
    "#define HONE_DIM3\n"
    "/* The size of a grid or block; in CUDA C++ it is taken where a dim3 is. */\n"
    "struct hone_dim3 {\n"
    "    unsigned int x, y, z;\n"
    "#ifdef __CUDACC__\n"
    "    operator dim3() const { return dim3(x, y, z); }\n"
    "#endif\n"
    "};\n"
    "#endif\n\n";

/* Macros alone: nothing that would launch it. */
static enum hn_status finish_pipeline(const struct hn_export *export, struct hn_text *text,
                                      struct hn_error *err)
{
    enum hn_status status = hn_export_append_pipeline(export, text, err);
    if (status != HN_OK)
        return status;
    hn_text_printf(text, "#endif /* %s_TUNED_H */\n\n", export->upper);
    status = hn_export_append_apply(export, text, err);
    return status == HN_OK && text->failed ? hn_fail_memory(err) : status;
}

enum hn_status hn_export_header(const struct hn_export *export, struct hn_text *text,
                                struct hn_error *err)
{
    enum hn_status status = hn_export_need_plan(export, err);
    if (status == HN_OK)
        status = append_head(export, text, err);
    if (status != HN_OK)
        return status;
    hn_text_printf(text, "#ifndef %s_TUNED_H\n#define %s_TUNED_H\n\n", export->upper,
                   export->upper);
    status = hn_export_append_macros(export, text, err);
    if (status == HN_OK)
        status = hn_export_append_list(export, text, err);
    if (status != HN_OK)
        return status;
    if (export->plan->pipeline != NULL)
        return finish_pipeline(export, text, err);
    hn_text_append(text,
                   "/* Programs compiled by NVRTC have no host side and no standard headers. */\n"
                   "#ifndef __CUDACC_RTC__\n\n#include <stdint.h>\n#include <string.h>\n\n");
    hn_text_append(text, dimensions);
    status = hn_export_append_geometry(export, text, err);
    if (status == HN_OK)
        status = hn_export_append_select(export, text, err);
    if (status == HN_OK)
        status = hn_export_append_launch(export, text, err);
    if (status != HN_OK)
        return status;
    hn_text_printf(text, "#endif /* __CUDACC_RTC__ */\n\n#endif /* %s_TUNED_H */\n\n",
                   export->upper);
    status = hn_export_append_apply(export, text, err);
    if (status == HN_OK && text->failed)
        status = hn_fail_memory(err);
    return status;
}
