/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "runtime/device/driver.h"
#include "tuner/commands/command.h"
#include "tuner/commands/open_cache.h"
#include "tuner/commands/options.h"
#include "tuner/commands/output.h"
#include "tuner/export/export_images.h"

extern const struct hn_command hn_command_export;

enum {
    KEY_FORMAT = 1,
    KEY_DEVICE_NAME,
    KEY_PREFIX,
    KEY_REGIME,
    KEY_OBJECTIVE,
    KEY_JSON,
    KEY_CONFIG,
    KEY_RECORDED,
    KEY_ARCH,
    KEY_DEFAULTS,
    KEY_NO_FAMILY,
};

enum format {
    FORMAT_HEADER,
    FORMAT_JSON,
    FORMAT_SOURCE,
    FORMAT_CUBIN,
    FORMAT_CUBIN_HEADER,
    FORMAT_COUNT
};
static const char *const format_names[] = {"header", "json", "source", "cubin", "cubin-header"};

struct arguments {
    const char *kernel;
    const char *output; /* NULL: stdout */
    const char *device_name;
    const char *prefix;
    const char *regime;
    enum hn_front_by by;
    enum format format;
    bool quiet;
    bool defaults;
    bool no_family;
    struct hn_bindings problem;
    const char *config;
    const char **recorded;
    size_t recorded_count;
    struct hn_options options;
};

static const struct argp_option own_options[] = {
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 1},
    {"format", KEY_FORMAT, "FORMAT", 0, "header (the default), json, source, cubin or cubin-header",
     1},
    {"defaults", KEY_DEFAULTS, 0, 0,
     "Where nothing was tuned yet, the default point of --config, with a warning", 1},
    {"no-family", KEY_NO_FAMILY, 0, 0,
     "All results, without the rule that was learnt of a family of problems", 1},
    {"problem", 'p', "NAME=VALUE", 0,
     "Only configurations tuned for this problem value; may be repeated", 1},
    {"device-name", KEY_DEVICE_NAME, "NAME", 0,
     "The device whose configuration is taken, or a part of its name; else this machine's GPU, "
     "else the only one",
     1},
    {"prefix", KEY_PREFIX, "NAME", 0, "Start names with NAME instead of HONE_<KERNEL>", 1},
    {"objective", KEY_OBJECTIVE, "time|energy|energy_delay", 0,
     "Choose by this among what was measured (default time); energy is measured by `hone tune "
     "--energy`",
     1},
    {"regime", KEY_REGIME, HN_REGIMES, 0,
     "Only results of this regime (default: cold where there is a choice)", 1},
    {"config", KEY_CONFIG, "CONFIG", 0,
     "Take plan and template from CONFIG: for imported and recorded results that have none", 1},
    {"recorded", KEY_RECORDED, "PATH", 0,
     "Take the results of a recording, or of a folder of them, not of the cache; may be repeated",
     1},
    {"json", KEY_JSON, 0, 0, "The same as --format json", 1},
    {"arch", KEY_ARCH, "sm_80,sm_90", 0,
     "With cubin-header: the architectures to have machine code for (default: those that were "
     "tuned)",
     5},
    {"quiet", 'q', 0, 0, "Do not say where it went", 1},
    {0},
};

static enum format parse_format(const char *name, struct argp_state *state)
{
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(name, format_names[i]) == 0)
            return (enum format)i;
    }
    const char *nearest = hn_text_nearest(name, format_names, FORMAT_COUNT);
    argp_error(state,
               "--format: found '%s', expected header, json, source, cubin or "
               "cubin-header%s%s%s",
               name, nearest == NULL ? "" : "; nearest is '", nearest == NULL ? "" : nearest,
               nearest == NULL ? "" : "'");
    return FORMAT_HEADER;
}

/* The default point is the config's, and no result that could be listed or kept as machine code. */
static void check_defaults(const struct arguments *arguments, struct argp_state *state)
{
    if (arguments->config == NULL)
        argp_error(state, "--defaults: name the config that has them with --config");
    if (arguments->format == FORMAT_JSON || arguments->format == FORMAT_CUBIN)
        argp_error(state,
                   "--defaults: %s has results only; expected header, source or "
                   "cubin-header",
                   format_names[arguments->format]);
}

static enum hn_front_by read_objective(const char *argument, struct argp_state *state)
{
    static const char *const names[] = {[HN_FRONT_TIME] = "time",
                                        [HN_FRONT_ENERGY] = "energy",
                                        [HN_FRONT_ENERGY_DELAY] = "energy_delay"};
    for (int i = HN_FRONT_TIME; i <= HN_FRONT_ENERGY_DELAY; i++)
        if (strcmp(argument, names[i]) == 0)
            return (enum hn_front_by)i;
    argp_error(state, "--objective: found '%s', expected time, energy or energy_delay", argument);
    return HN_FRONT_TIME;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'o':
        arguments->output = argument;
        return 0;
    case 'p':
        hn_options_add_problem(&arguments->problem, argument, state);
        return 0;
    case KEY_JSON:
        arguments->format = FORMAT_JSON;
        return 0;
    case 'q':
        arguments->quiet = true;
        return 0;
    case KEY_FORMAT:
        arguments->format = parse_format(argument, state);
        return 0;
    case KEY_DEVICE_NAME:
        arguments->device_name = argument;
        return 0;
    case KEY_PREFIX:
        if (!hn_text_is_word(argument))
            argp_error(state, "--prefix: found '%s', expected a C identifier", argument);
        arguments->prefix = argument;
        return 0;
    case KEY_CONFIG:
        arguments->config = argument;
        return 0;
    case KEY_DEFAULTS:
        arguments->defaults = true;
        return 0;
    case KEY_NO_FAMILY:
        arguments->no_family = true;
        return 0;
    case KEY_ARCH:
        arguments->options.architecture = argument;
        return 0;
    case KEY_RECORDED:
        return hn_options_append(&arguments->recorded, &arguments->recorded_count, argument);
    case KEY_OBJECTIVE:
        arguments->by = read_objective(argument, state);
        return 0;
    case KEY_REGIME:
        if (!hn_regime_parse(argument, &(enum hn_regime){HN_COLD}))
            argp_error(state, "--regime: found '%s', expected " HN_REGIMES_EXPECTED, argument);
        arguments->regime = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->kernel != NULL)
            argp_error(state, "found '%s' after '%s', expected one NAME", argument,
                       arguments->kernel);
        arguments->kernel = argument;
        return 0;
    case ARGP_KEY_END:
        if (arguments->kernel == NULL)
            argp_error(
                state,
                "expected NAME, the kernel to export; `hone cache list` shows what is tuned");
        if (arguments->defaults)
            check_defaults(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* HN_EUSAGE where what should be a kernel is a config. */
static enum hn_status check_kernel(const struct arguments *arguments, struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_error ignored;
    const char *path = arguments->kernel;
    if (access(path, R_OK) != 0 || hn_config_load(path, &config, &ignored) != HN_OK)
        return HN_OK;
    struct hn_options options = arguments->options;
    options.problem = arguments->problem;
    if (arguments->regime != NULL)
        (void)hn_regime_parse(arguments->regime, &options.regime);
    char line[HN_FOLLOW_UP_SIZE];
    hn_fail(err, HN_EUSAGE, "export takes the kernel's name, and '%s' is the config of '%s': `%s`",
            path, config->plan->kernel,
            hn_follow_up(&options, "export", config->plan->kernel, line));
    hn_config_destroy(config);
    return HN_EUSAGE;
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

static enum hn_status read_cubin(struct hn_store *store, const struct hn_export *export,
                                 struct hn_text *out, struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    void *cubin = NULL;
    char *entry = NULL;
    size_t size = 0;
    enum hn_status status = hn_store_get_image(store, &tuned->identity, &tuned->version,
                                               &tuned->best.point, &cubin, &size, &entry, err);
    if (status != HN_OK)
        return status;
    hn_text_append_bytes(out, cubin, size);
    fprintf(stderr, "hone: cubin for sm_%d, entry %s\n", tuned->identity.device.capability, entry);
    free(entry);
    free(cubin);
    return out->failed ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status make_embedded(struct hn_store *store, const struct hn_export *export,
                                    const struct arguments *arguments, struct hn_text *out,
                                    struct hn_error *err)
{
    const struct hn_options *options = &arguments->options;
    struct hn_export_images images;
    const struct hn_export_images_request request = {
        .architectures = options->architecture,
        .jobs = options->jobs,
        .compile_timeout_s = options->compile_timeout_s,
        .quiet = arguments->quiet || arguments->output == NULL};
    if (export->untuned && options->architecture == NULL)
        return hn_fail(
            err, HN_EUSAGE,
            "--defaults: nothing was tuned, so no architecture is known; name it with --arch");
    hn_interrupt_install();
    enum hn_status status = hn_export_gather_images(store, export, &request, &images, err);
    if (status == HN_OK)
        status = hn_export_embedded(export, &images, out, err);
    hn_export_images_finish(&images);
    return status;
}

static enum hn_status make(struct hn_store *store, const struct hn_export *export,
                           const struct arguments *arguments, struct hn_text *out,
                           struct hn_error *err)
{
    switch (arguments->format) {
    case FORMAT_JSON:
        return hn_export_json(export, out, err);
    case FORMAT_SOURCE:
        return hn_export_source(export, out, err);
    case FORMAT_CUBIN:
        return read_cubin(store, export, out, err);
    case FORMAT_CUBIN_HEADER:
        return make_embedded(store, export, arguments, out, err);
    default:
        return hn_export_header(export, out, err);
    }
}

/* What else there is, by the names that the file has for it: only headers have any. */
static void say_more(const struct hn_export *export, enum format format)
{
    size_t more = export->result_count - 1;
    bool header = format == FORMAT_HEADER || format == FORMAT_CUBIN_HEADER;
    if (more == 0)
        return;
    if (format == FORMAT_JSON)
        fprintf(stderr, "  and %zu more result%s\n", more, more == 1 ? "" : "s");
    else if (!header)
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

static enum hn_status write_out(const struct arguments *arguments, const struct hn_export *export,
                                const struct hn_text *out, struct hn_error *err)
{
    if (export->left_out > 0)
        fprintf(stderr, "hone: left out %zu result%s tuned with other parameters\n",
                export->left_out, export->left_out == 1 ? "" : "s");
    if (arguments->output == NULL || strcmp(arguments->output, "-") == 0) {
        if (arguments->format == FORMAT_CUBIN && isatty(STDOUT_FILENO))
            return hn_fail(err, HN_EUSAGE, "a cubin is binary: name a file with -o");
        return hn_output_data(out->data, out->length, err);
    }
    enum hn_status status = hn_text_write_file(arguments->output, out->data, out->length, err);
    if (status != HN_OK || arguments->quiet)
        return status;
    fprintf(stderr, "wrote %s\n", arguments->output);
    if (!export->untuned) {
        say_chosen(export);
        say_more(export, arguments->format);
        say_family(export);
    }
    if (arguments->format == FORMAT_HEADER)
        say_how_to_use(export, arguments->output);
    return HN_OK;
}

static enum hn_status export_from(struct hn_store *store, const struct arguments *arguments,
                                  struct hn_error *err)
{
    struct hn_device present;
    struct hn_export export = {0};
    struct hn_text out = {0};
    bool has_device = arguments->device_name == NULL && find_present(&present);
    const struct hn_export_request request = {.kernel = arguments->kernel,
                                              .prefix = arguments->prefix,
                                              .device_name = arguments->device_name,
                                              .present = has_device ? &present.identity : NULL,
                                              .problem = &arguments->problem,
                                              .regime = arguments->regime,
                                              .by = arguments->by,
                                              .config = arguments->config,
                                              .recorded = arguments->recorded,
                                              .recorded_count = arguments->recorded_count,
                                              .no_family = arguments->no_family,
                                              .defaults = arguments->defaults};
    enum hn_status status = hn_export_open(store, &request, &export, err);
    if (status == HN_OK && export.untuned)
        fprintf(stderr, "hone: warning: %s at the defaults of '%s': %s\n", arguments->kernel,
                arguments->config, err->message);
    if (status == HN_OK)
        warn_of_stale(&export);
    if (status == HN_OK)
        status = make(store, &export, arguments, &out, err);
    if (status == HN_OK)
        status = write_out(arguments, &export, &out, err);
    hn_text_finish(&out);
    hn_export_finish(&export);
    return status;
}

static enum hn_status run(int argc, char **argv, struct hn_error *err)
{
    struct arguments arguments = {0};
    struct hn_options *options = &arguments.options;
    const struct hn_command_line line = {
        .name = "export",
        .arguments = "NAME",
        .summary = "Writes the tuned configuration of a kernel as a C header, as data, source or "
                   "machine code.",
        .details = "The header serves C11 and CUDA C++: prefixed constants, the launch geometry as "
                   "functions of the "
                   "problem, and a choice among several devices and problems. json lists "
                   "all configurations.",
        .groups = HN_OPTIONS_CACHE | HN_OPTIONS_COMPILE,
        .own = own_options,
        .parse = parse,
        .input = &arguments,
    };
    hn_options_init(options);
    enum hn_status status = hn_options_parse(&line, argc, argv, options);
    if (status == HN_OK)
        status = check_kernel(&arguments, err);
    if (status != HN_OK)
        goto finish_options;
    struct hn_store *store = NULL;
    status =
        arguments.recorded_count > 0 ? HN_OK : hn_cache_open(options, HN_STORE_READ, &store, err);
    if (status == HN_ENOTFOUND && arguments.defaults)
        status = HN_OK;
    if (status == HN_OK)
        status = export_from(store, &arguments, err);
    hn_store_close(store);
finish_options:
    free(arguments.recorded);
    hn_bindings_finish(&arguments.problem);
    hn_options_finish(options);
    return status;
}

const struct hn_command hn_command_export = {
    .name = "export",
    .arguments = "NAME",
    .summary = "write the best as a C header, json, source or cubin",
    .run = run,
};
