/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/driver.h"
#include "tuner/commands/command.h"
#include "tuner/commands/open_cache.h"
#include "tuner/export/export.h"

static enum hn_export_kind kind_of(const struct hn_options *options)
{
    return options->json ? HN_EXPORT_JSON : (enum hn_export_kind)options->format;
}

static const struct hn_export_format *format_of(const struct hn_options *options)
{
    return &hn_export_formats[kind_of(options)];
}

/* HN_EUSAGE where what should be a kernel is a config. */
static void check_kernel(const struct hn_options *options, struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_error ignored;
    const char *path = options->arguments.items[0];
    char line[HN_FOLLOW_UP_SIZE];
    if (access(path, R_OK) != 0 || hn_config_load(path, &config, &ignored) != HN_OK)
        return;
    hn_fail(err, HN_EUSAGE, "export takes the kernel's name, and '%s' is the config of '%s': `%s`",
            path, config->plan->kernel,
            hn_follow_up(options, "export", config->plan->kernel, line));
    hn_config_destroy(config);
}

/* The GPU of this machine, where there is one; that there is none is no error here. */
static bool find_present(struct hn_device *device)
{
    struct hn_driver driver;
    struct hn_error ignored;
    if (hn_driver_open(&driver, &ignored) != HN_OK)
        return false;
    bool found = hn_driver_select(&driver, NULL, device, &ignored) == HN_OK;
    hn_driver_close(&driver);
    return found;
}

/* What else there is, by the names that the file has for it: only headers have any. */
static void say_more(const struct hn_export *export, const struct hn_options *options)
{
    size_t more = export->result_count - 1;
    if (more == 0)
        return;
    if (kind_of(options) == HN_EXPORT_JSON)
        fprintf(stderr, "  and %zu more result%s\n", more, more == 1 ? "" : "s");
    else if (!format_of(options)->has_all)
        fprintf(stderr, "  without %zu more result%s, which -p and --device-name choose\n", more,
                more == 1 ? "" : "s");
    else if (export->count == export->result_count)
        fprintf(stderr, "  and %zu more configuration%s (%s_CONFIGS, %s_select)\n", more,
                more == 1 ? "" : "s", export->upper, export->lower);
    else
        fprintf(stderr, "  and for %zu more; configurations in all: %zu (%s_results, %s_select)\n",
                more, export->count, export->lower, export->lower);
}

/* Nobody reads the comments of a header that a build makes. */
static void warn_of_stale(const struct hn_export *export)
{
    size_t stale = 0;
    for (size_t i = 0; i < export->result_count; i++)
        stale += export->results[i]->stale;
    if (stale > 0)
        fprintf(stderr,
                "hone: warning: stale are %zu of %zu results of '%s': template, config, driver or "
                "Hone have changed since they were measured; tune again\n",
                stale, export->result_count, export->kernel);
}

static void say_chosen(const struct hn_export *export)
{
    const struct hn_tuned *tuned = export->configs[0];
    struct hn_text problem = {0};
    hn_bindings_append(&problem, &tuned->identity.problem);
    fprintf(stderr, "  for %s%s%s: %.6g us%s\n", tuned->identity.device.name,
            problem.length > 0 ? ", " : "", problem.length > 0 ? problem.data : "",
            tuned->best.timing.median_us,
            tuned->simulated                       ? " (SIMULATED: recorded, not measured here)"
            : hn_origin_is_foreign(&tuned->origin) ? " (imported, not measured here)"
                                                   : "");
    hn_text_finish(&problem);
}

static void say_family(const struct hn_export *export)
{
    struct hn_text loss = {0};
    if (export->outside_family > 0)
        fprintf(
            stderr,
            "  without %zu result%s that the family has no configuration for, which --no-family "
            "keeps\n",
            export->outside_family, export->outside_family == 1 ? "" : "s");
    hn_export_append_loss(export, &loss);
    if (loss.length > 0)
        fprintf(stderr, "  for any other problem %s_choose; %s\n", export->lower, loss.data);
    hn_text_finish(&loss);
}

static void say_how_to_use(const struct hn_export *export, const char *output)
{
    const char *slash = strrchr(output, '/');
    fprintf(stderr,
            "use it in a CUDA source, before the template's code:\n    #define %s_APPLY\n    "
            "#include \"%s\"\n",
            export->upper, slash == NULL ? output : slash + 1);
}

static void write_out(const struct hn_options *options, const struct hn_export *export,
                      const struct hn_text *out, struct hn_error *err)
{
    if (export->left_out > 0)
        fprintf(stderr, "hone: left out %zu result%s tuned with other parameters\n",
                export->left_out, export->left_out == 1 ? "" : "s");
    if (!hn_output_write(options, out,
                         kind_of(options) == HN_EXPORT_CUBIN ? "a cubin is binary" : NULL, err))
        return;
    fprintf(stderr, "wrote %s\n", options->output);
    if (!export->untuned) {
        say_chosen(export);
        say_more(export, options);
        say_family(export);
    }
    if (kind_of(options) == HN_EXPORT_HEADER)
        say_how_to_use(export, options->output);
}

static void export_from(struct hn_store *store, const struct hn_options *options,
                        struct hn_error *err)
{
    struct hn_device present;
    struct hn_export export = {0};
    const struct hn_texts *configs = &options->configs;
    struct hn_text out = {0};
    bool has_device = options->device_name == NULL && find_present(&present);
    const struct hn_export_request request = {
        .kernel = options->arguments.items[0],
        .prefix = options->prefix,
        .device_name = options->device_name,
        .present = has_device ? &present.identity : NULL,
        .problem = &options->problem,
        .regime = hn_options_given(options, "regime")
                      ? hn_regime_name((enum hn_regime)options->regime)
                      : NULL,
        .by = (enum hn_front_by)options->objective,
        .config = configs->count > 0 ? configs->items[configs->count - 1] : NULL,
        .recorded = options->recorded.items,
        .recorded_count = options->recorded.count,
        .no_family = options->no_family,
        .defaults = options->defaults,
        .compiling = {options->architecture, (int)options->jobs, options->compile_timeout_s,
                      options->quiet || options->output == NULL}};
    if (hn_export_open(store, &request, &export, err) == HN_OK) {
        if (export.untuned)
            fprintf(stderr, "hone: warning: %s at the defaults of '%s': %s\n", request.kernel,
                    request.config, err->message);
        warn_of_stale(&export);
        if (format_of(options)->write(&export, &out, err) == HN_OK)
            write_out(options, &export, &out, err);
    }
    hn_text_finish(&out);
    hn_export_finish(&export);
}

static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    struct hn_store *store = NULL;
    /* The default point is the config's: no result that could be listed or kept as machine code. */
    if (options->defaults && !format_of(options)->takes_defaults)
        return hn_options_misused(
            options, "--defaults: %s has results only; expected header, source or cubin-header",
            format_of(options)->name);
    hn_error_init(err);
    check_kernel(options, err);
    if (!hn_failed(err) && options->recorded.count == 0)
        hn_cache_open(options, HN_STORE_READ, &store, err);
    if (err->status == HN_ENOTFOUND && options->defaults)
        hn_error_init(err);
    if (!hn_failed(err))
        export_from(store, options, err);
    hn_store_close(store);
    return err->status;
}

const struct hn_command hn_command_export = {
    .name = "export",
    .of = HN_EXPORT,
    .arguments = "NAME",
    .summary = "write the best as a C header, json, source or cubin",
    .help = "Writes the tuned configuration of a kernel as a C header, as data, source or machine "
            "code.",
    .details =
        "The header serves C11 and CUDA C++: prefixed constants, the launch geometry as "
        "functions of the problem, and a choice among several devices and problems. json lists "
        "all configurations.",
    .examples = "hone export scale -o scale_tuned.h\n  hone export scale --format json",
    .least = 1,
    .most = 1,
    .missing = "expected NAME, the kernel to export; `hone cache list` shows what is tuned",
    .extra = "found '%s' after '%s', expected one NAME",
    .run = run,
};
