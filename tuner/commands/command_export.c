/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache/record/record.h"
#include "runtime/device/device.h"
#include "tuner/commands/command.h"
#include "tuner/export/export.h"

static enum hn_export_kind kind_of(const struct hn_options *options)
{
    return options->template != NULL ? HN_EXPORT_ROWS
           : options->json           ? HN_EXPORT_JSON
                                     : (enum hn_export_kind)options->format;
}

static const struct hn_export_format *format_of(const struct hn_options *options)
{
    return hn_export_formats[kind_of(options)];
}

/* HN_EUSAGE where what should be a kernel is a config. */
static void check_kernel(const struct hn_options *options, struct hn_error *err)
{
    struct hn_config *config = NULL;
    const char *path = options->arguments.items[0];
    if (access(path, R_OK) != 0 || hn_config_load(path, NULL, &config, NULL) != HN_OK)
        return;
    hn_fail(err, HN_EUSAGE, "export takes the kernel's name, and '%s' is the config of '%s': `%s`",
            path, config->plan->kernel, hn_follow_up(options, "export", config->plan->kernel));
    hn_config_destroy(config);
}

/* Only headers have names for what else there is. */
static const struct hn_view written_views[] = {
    {.line = "wrote {output}"},
    {.line = "  for {device}[, {problem}]: {time_us:.6g} us[ (SIMULATED: recorded, not measured "
             "here){?simulated}| (imported, not measured here){?foreign}]"},
    {.line = "  [and {more} more result{more:s}{?json}"
             "|without {more} more result{more:s}, which -p and --device-name choose{?!has_all}"
             "|and {more} more configuration{more:s} ({upper}_CONFIGS, {lower}_select){?each}"
             "|and for {more} more; configurations in all: {count} ({lower}_results, "
             "{lower}_select)]{?more}"},
    {.line =
         "  without {outside} result{outside:s} that the family has no configuration for, which "
         "--no-family keeps{?outside}"},
    {.line = "  for any[ other{?time_us}] problem {lower}_choose; {loss}"},
    {.line = "use it in a CUDA source, before the template's code:\n    #define {upper}_APPLY\n"
             "    #include \"{file}\"{?header}"},
    {.line = "it launches with these values, and {declares} declares its own, which `{export} "
             "--format patch` changes{?header}"},
    {NULL},
};

static json_t *written_to_json(const struct hn_options *options, const struct hn_export *export)
{
    bool declares = export->plan != NULL && export->plan->override_count > 0;
    struct hn_text loss = {0};
    if (export->rule != NULL)
        hn_rule_append_loss(&loss, export->rule);
    json_t *json = hn_needed(json_pack(
        "{ss ss* so so ss ss sb sb so*}", "export", hn_follow_up(options, "export", export->kernel),
        "declares", declares ? basename(export->plan->template_path) : NULL, "output",
        hn_string_to_json(options->output), "file", hn_string_to_json(basename(options->output)),
        "upper", export->upper, "lower", export->lower, "json",
        kind_of(options) == HN_EXPORT_JSON || options->template != NULL, "header",
        kind_of(options) == HN_EXPORT_HEADER, "loss", hn_render_text(&loss)));
    const struct hn_tuned *tuned = export->configs[0];
    if (export->untuned)
        return json;
    json_object_update_new(
        json,
        hn_needed(json_pack(
            "{so so sf sb sb sI sI sI sb sb}", "device",
            hn_string_to_json(tuned->identity.device.name), "problem",
            hn_bindings_to_json(&tuned->identity.problem), "time_us", tuned->best.timing.median_us,
            "simulated", tuned->simulated, "foreign", hn_origin_is_foreign(&tuned->origin), "more",
            (json_int_t) export->result_count - 1, "count", (json_int_t) export->count, "outside",
            (json_int_t) export->outside_family, "has_all", format_of(options)->has_all, "each",
            export->count == export->result_count)));
    return json;
}

static void write_out(const struct hn_options *options, const struct hn_export *export,
                      const struct hn_text *out, struct hn_error *err)
{
    hn_spare_inputs(options, "-o", options->output, export->plan, err);
    if (export->left_out > 0)
        fprintf(stderr, "hone: left out %zu result%s tuned with other parameters\n",
                export->left_out, export->left_out == 1 ? "" : "s");
    if (!hn_output_write(options, out,
                         kind_of(options) == HN_EXPORT_CUBIN ? "a cubin is binary" : NULL, err))
        return;
    json_auto_t *json = written_to_json(options, export);
    hn_render(json, written_views, stderr);
}

static void export_from(struct hn_store *store, const struct hn_options *options,
                        struct hn_error *err)
{
    struct hn_device present;
    struct hn_error ignored;
    struct hn_export export HN_ENDED_BY(hn_export_finish) = {0};
    const struct hn_texts *configs = &options->configs;
    struct hn_text out HN_ENDED_BY(hn_text_finish) = {0};
    bool has_device =
        options->device_name == NULL && hn_find_gpu(NULL, &present, &ignored) == HN_OK;
    const struct hn_export_request request = {
        .kernel = options->arguments.items[0],
        .prefix = options->prefix,
        .device_name = options->device_name,
        .present = has_device ? &present.identity : NULL,
        .problem = &options->problem,
        .regime = hn_options_given(options, "regime")
                      ? hn_regime_names[(enum hn_regime)options->regime]
                      : NULL,
        .by = (enum hn_front_by)options->objective,
        .config = configs->count > 0 ? configs->items[configs->count - 1] : NULL,
        .recorded = options->recorded.items,
        .recorded_count = options->recorded.count,
        .rows = options->template,
        .no_family = options->no_family || options->template != NULL,
        .rule_alone = format_of(options)->has_all,
        .defaults = options->defaults,
        .compiling = {options->architecture, (int)options->jobs, options->compile_timeout_s,
                      options->quiet || options->output == NULL}};
    if (hn_export_open(store, &request, &export, err) == HN_OK) {
        if (export.untuned && export.rule == NULL)
            fprintf(stderr, "hone: warning: %s at the defaults of '%s': %s\n", request.kernel,
                    request.config, err->message);
        if (export.left_objective != NULL && request.config == NULL && options->objective == 0)
            fprintf(stderr,
                    "hone: warning: '%s' was tuned for '%s', too: --config CONFIG says which\n",
                    export.kernel, export.left_objective);
        /* Nobody reads the comments of a header that a build makes. */
        size_t stale = 0;
        for (size_t i = 0; i < export.result_count; i++)
            stale += export.results[i]->stale;
        if (stale > 0)
            fprintf(stderr,
                    "hone: warning: stale are %zu of %zu results of '%s': template, config, driver "
                    "or Hone have changed since they were measured; tune again\n",
                    stale, export.result_count, export.kernel);
        if (format_of(options)->write(&export, &out, err) == HN_OK)
            write_out(options, &export, &out, err);
    }
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    /* The default point is the config's: no result that could be listed or kept as machine code. */
    if (options->defaults && !format_of(options)->takes_defaults)
        hn_options_misused(
            options, err,
            "--defaults: %s has results only; expected header, source, patch or cubin-header",
            format_of(options)->name);
    else if (options->architecture != NULL && kind_of(options) != HN_EXPORT_CUBIN_HEADER)
        hn_options_misused(options, err,
                           "--arch: %s has what was tuned; expected --format cubin-header, which "
                           "compiles",
                           format_of(options)->name);
    else
        check_kernel(options, err);
    if (options->recorded.count == 0)
        hn_open_cache(given, HN_STORE_READ, NULL, err);
    if (err->status == HN_ENOTFOUND && options->defaults)
        hn_error_init(err);
    if (!hn_failed(err))
        export_from(given->store, options, err);
}

const struct hn_command hn_command_export = {
    .name = "export",
    .of = HN_EXPORT,
    .arguments = "NAME",
    .summary = "write the best as a C header, json, source or cubin",
    .details =
        "The header serves C11 and CUDA C++: prefixed constants, the launch geometry as "
        "functions of the problem, and a choice among several devices and problems. json lists "
        "all configurations.",
    .examples = "hone export scale -o scale_tuned.h\n  hone export scale --format json\n  hone "
                "export scale --template table.in -o table.h",
    HN_ONE_ARGUMENT("expected NAME, the kernel to export; `hone cache list` shows what is tuned",
                    "found '%s' after '%s', expected one NAME"),
    .run = run,
};
