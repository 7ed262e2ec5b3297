/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tuner/commands/command.h"
#include "tuner/report/report.h"

struct input {
    struct hn_given *given;
    struct hn_report report;
    bool in_folder; /* which may hold roofs beside recordings */
};

static const char roofs_file[] = "roofs.json";

/* Those that -p and --device-name leave out are not. */
static void add_recording(const char *path, void *context, struct hn_error *err)
{
    struct input *input = context;
    struct hn_recording recording;
    if (input->in_folder && strcmp(basename(path), roofs_file) == 0)
        return;
    if (hn_failed(err) || hn_recording_load(path, &recording, err) != HN_OK)
        return;
    if (hn_cache_fits(input->given, &recording.identity))
        hn_report_add_recording(&input->report, path, &recording);
    else
        hn_recording_finish(&recording);
}

/* The cache is opened once it is needed; recordings do without one. */
static void open_cache(struct input *input, struct hn_error *err)
{
    hn_open_cache(input->given, HN_STORE_READ, NULL, err);
    input->report.cache = input->given->options->cache != NULL ? input->given->cache : NULL;
}

static void add_kernel(struct input *input, const char *kernel, struct hn_error *err)
{
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    open_cache(input, err);
    hn_cache_select(input->given, kernel, &list, err);
    for (size_t i = 0; i < list.count; i++)
        hn_report_add_tuned(&input->report, input->given->store, input->given->cache,
                            &list.items[i], err);
}

static void gather(struct input *input, struct hn_error *err)
{
    const struct hn_texts *names = &input->given->options->arguments;
    if (names->count == 0)
        add_kernel(input, NULL, err);
    for (size_t i = 0; !hn_failed(err) && i < names->count; i++) {
        const char *name = names->items[i];
        if (hn_text_is_among(name, names->items, i))
            continue; /* it is in already */
        input->in_folder = hn_is_folder(name);
        if (strchr(name, '/') != NULL || hn_ends_in(name, hn_recording_ends))
            hn_files_visit(name, hn_recording_ends, add_recording, input, err);
        else
            add_kernel(input, name, err);
    }
    if (!hn_failed(err) && input->report.count == 0)
        hn_fail(err, HN_ENOTFOUND, "none of the recordings fits");
}

static void apply_config(const char *path, void *context, struct hn_error *err)
{
    struct input *input = context;
    struct hn_config *config;
    if (hn_config_load(path, NULL, &config, err) != HN_OK)
        return;
    hn_spare_inputs(input->given->options, "-o", input->given->options->output, config->plan, err);
    HN_EACH_OF(tuning, input->report.tunings, input->report.count) {
        if (strcmp(tuning->recording.identity.kernel, config->plan->kernel) == 0)
            hn_report_apply_config(tuning, input->given->store, config);
    }
    hn_config_destroy(config);
}

/* In a folder, a config that cannot be read is told and left out. */
static void try_config(const char *path, void *input, struct hn_error *err)
{
    apply_config(path, input, err);
    if (err->status != HN_ECONFIG)
        return;
    fprintf(stderr, "hone: left out: %s\n", err->message);
    hn_error_init(err);
}

/* From what `hone device --json` printed. */
static enum hn_status read_roofs(const json_t *document, struct hn_report_tuning *tuning,
                                 struct hn_error *err)
{
    const json_t *device;
    size_t i;
    hn_error_init(err);
    json_array_foreach(json_object_get(document, "devices"), i, device)
    {
        const char *name = json_string_value(json_object_get(device, "name"));
        const json_t *roofs = json_object_get(device, "roofs");
        if (name == NULL || strcmp(name, tuning->recording.identity.device.name) != 0 ||
            !json_is_object(roofs))
            continue;
        tuning->has_roofs = true;
        tuning->roofs = (struct hn_roofs){.measured = 0};
        hn_fields_read("roofs", &hn_roofs_structure, roofs, &tuning->roofs, err);
        break;
    }
    return err->status;
}

/* NULL: there is none, or it failed. */
static json_t *load_roofs(const char *path, struct hn_error *err)
{
    enum { LIMIT = 16 << 20 };
    char *text HN_FREED = NULL;
    if (path == NULL || hn_file_read(path, LIMIT, &text, NULL, err) != HN_OK)
        return NULL;
    json_t *document = json_loads(text, 0, NULL);
    if (json_is_array(json_object_get(document, "devices")))
        return document;
    json_decref(document);
    hn_fail(err, HN_EFORMAT, "--roofs: '%s' is not what `hone device --json` prints", path);
    return NULL;
}

/* A recording has the roofs of its device in a file beside it, or beside its folder; what cannot
 * be read is no such file. */
static void find_roofs(struct hn_report_tuning *tuning)
{
    static const char *const places[] = {"", "../"};
    int folder = (int)(basename(tuning->source) - tuning->source);
    for (size_t i = 0; !tuning->has_roofs && i < sizeof places / sizeof *places; i++) {
        struct hn_error ignored = {.status = HN_OK};
        struct hn_text path HN_ENDED_BY(hn_text_finish) = {0};
        hn_text_printf(&path, "%.*s%s%s", folder, tuning->source, places[i], roofs_file);
        json_auto_t *document = load_roofs(path.data, &ignored);
        tuning->has_roofs = read_roofs(document, tuning, &ignored) == HN_OK && tuning->has_roofs;
    }
}

static void apply_roofs(struct input *input, struct hn_error *err)
{
    struct hn_error ignored = {.status = HN_OK};
    if (hn_failed(err))
        return;
    json_auto_t *document = load_roofs(input->given->options->roofs, err);
    open_cache(input, hn_failed(err) ? err : &ignored);
    for (size_t i = 0; !hn_failed(err) && i < input->report.count; i++) {
        struct hn_report_tuning *tuning = &input->report.tunings[i];
        tuning->has_roofs =
            input->given->store != NULL &&
            hn_store_get_roofs(input->given->store, &tuning->recording.identity.device, NULL,
                               &tuning->roofs, &ignored) == HN_OK;
        if (!tuning->has_roofs && read_roofs(document, tuning, err) == HN_OK &&
            !tuning->has_roofs && tuning->recorded)
            find_roofs(tuning);
    }
}

static void run(struct hn_given *given, struct hn_error *err)
{
    static const char *const ends[] = {".yaml", ".yml", NULL};
    struct input input = {.given = given};
    struct hn_text page HN_ENDED_BY(hn_text_finish) = {0};
    gather(&input, err);
    for (size_t i = 0; !hn_failed(err) && i < given->options->configs.count; i++) {
        const char *path = given->options->configs.items[i];
        hn_files_visit(path, ends, hn_is_folder(path) ? try_config : apply_config, &input, err);
    }
    apply_roofs(&input, err);
    hn_spare_inputs(given->options, "-o", given->options->output, NULL, err);
    if (!hn_failed(err))
        hn_report_page(&input.report, &page, err);
    if (hn_output_write(given->options, &page, "a report is a page of HTML", err))
        fprintf(stderr, "wrote %s: %zu tuning%s, %.0f KiB\n", given->options->output,
                input.report.count, hn_plural(input.report.count), (double)page.length / 1024);
    hn_report_finish(&input.report);
}

const struct hn_command hn_command_report = {
    .name = "report",
    .of = HN_REPORT,
    .arguments = "[NAME|FILE...]",
    .listed = "[NAME...]",
    .summary = "write what was tuned as one HTML page to look at",
    .details =
        "NAME is a kernel of the cache, FILE a recorded tuning or a folder of them (anything "
        "with a '/', or that ends in .json or .json.gz); without either, all that the cache "
        "holds. The page needs neither network nor server.",
    .examples = "hone report scale -o scale.html",
    .most = SIZE_MAX,
    .run = run,
};
