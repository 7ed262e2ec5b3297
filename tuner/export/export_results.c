/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/text.h"
#include "cache/record/record.h"
#include "tuner/export/export_parts.h"

/* The results for other programs. The version is raised when a field changes its meaning. */
enum { EXPORT_VERSION = 1 };

/* 0: the file that it was imported from does not say it. */
static json_t *known(int value)
{
    return value > 0 ? json_integer(value) : json_null();
}

static json_t *error_json(const struct hn_verdict *verdict, double value)
{
    return verdict->kind == HN_NOT_RECORDED ? json_null() : json_real(value);
}

/* Tells the bytes that a thread spills, not all that it has of local memory. */
static json_t *resources_json(const struct hn_resources *resources)
{
    if (!resources->known)
        return json_null();
    json_t *json = hn_fields_to_json(&hn_resources_structure, resources);
    (void)json_object_del(json, "local_bytes");
    (void)json_object_del(json, "stack_bytes");
    return json;
}

static json_t *config_json(const struct hn_tuned *tuned)
{
    const struct hn_device_identity *device = &tuned->identity.device;
    const struct hn_version *version = &tuned->version;
    const struct hn_record *best = &tuned->best;
    const struct hn_timing *timing = &best->timing;
    const time_t seconds = (time_t)best->time;
    struct tm utc;
    char day[16];
    if (gmtime_r(&seconds, &utc) == NULL || strftime(day, sizeof day, "%Y-%m-%d", &utc) == 0)
        day[0] = '\0';
    return json_pack(
        "{s:{s:s, s:s, s:o, s:o}, s:o, s:o, s:{s:f, s:f, s:f, s:b}, s:o, s:s, s:s, s:s, s:o, s:o, "
        "s:o, s:{s:s, s:s, s:s, s:s, s:s, s:i}, s:I, s:b, s:b, s:s, s:s, s:s, s:f}",
        "device", "name", device->name, "mig_profile", device->mig_profile, "capability",
        known(device->capability), "sm_count", known(device->sm_count), "problem",
        hn_bindings_to_json(&tuned->identity.problem), "parameters",
        hn_bindings_to_json(&best->point), "time_us", "median", timing->median_us, "low",
        timing->low_us, "high", timing->high_us, "unstable", timing->unstable, "metrics",
        hn_bindings_to_json(&best->metrics), "regime", tuned->identity.regime, "objective",
        tuned->identity.objective, "verification", hn_verification_names[best->verdict.kind],
        "max_error", error_json(&best->verdict, best->verdict.max_error), "tolerance",
        error_json(&best->verdict, best->verdict.tolerance), "resources",
        resources_json(&best->resources), "version", "template", version->template_hash, "options",
        version->options_hash, "plan", version->plan_hash, "driver", version->driver, "nvrtc",
        version->nvrtc, "protocol", version->protocol, "points", (json_int_t)tuned->points,
        "simulated", tuned->simulated, "stale", tuned->stale, "date", day, "machine",
        tuned->origin.machine, "source", tuned->origin.source, "imported", tuned->origin.imported);
}

static json_t *results_to_json(const struct hn_export *export, struct hn_error *err)
{
    json_t *results = hn_needed(json_array());
    for (size_t i = 0; i < export->result_count && !hn_failed(err); i++)
        if (json_array_append_new(results, config_json(export->results[i])) != 0)
            hn_fail(err, HN_ERUN, "the results of '%s' cannot be said in JSON: a name is not UTF-8",
                    export->kernel);
    return results;
}

static enum hn_status write_json(const struct hn_export *export, struct hn_text *text,
                                 struct hn_error *err)
{
    hn_error_init(err);
    json_t *json =
        hn_needed(json_pack("{s:i, s:s, s:o}", "hone_export", EXPORT_VERSION, "kernel",
                            export->kernel, "configurations", results_to_json(export, err)));
    char *dump HN_FREED = hn_needed(hn_json_text(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER));
    hn_text_printf(text, "%s\n", dump);
    return err->status;
}

const struct hn_export_format hn_export_json = {.name = "json", .write = write_json};

/* A text of the user's, in which a line with "@{NAME}" is a row: it stands once for each result. */

enum { TEXT_MOST = 16 << 20 };

struct filling {
    const struct hn_export *export;
    const char *path;
    size_t line; /* that is filled, from 1 */
    const json_t *result;
    bool is_last;
    struct hn_text *text;
    struct hn_error *err;
};

/* A parameter or problem value by its name, anything else by its place: "device.name". */
static const json_t *find_value(const json_t *result, char *name)
{
    const char *const own[] = {"parameters", "problem"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const json_t *value = json_object_get(json_object_get(result, own[i]), name);
        if (value != NULL)
            return value;
    }
    char *rest = NULL;
    for (name = strtok_r(name, ".", &rest); name != NULL; name = strtok_r(NULL, ".", &rest))
        result = json_object_get(result, name);
    return result;
}

static void append_value(struct filling *filling, const char *name, size_t length)
{
    char *key HN_FREED = hn_needed(strndup(name, length));
    const json_t *value = find_value(filling->result, key);
    if (json_is_string(value))
        hn_text_append(filling->text, json_string_value(value));
    else if (value != NULL && !json_is_object(value)) {
        char *text HN_FREED =
            hn_needed(json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)));
        hn_text_append(filling->text, text);
    } else
        hn_fail(filling->err, HN_ECONFIG,
                "%s:%zu: found '@{%.*s}', expected a parameter, a problem value, or a value of "
                "`hone export %s --format json`, as device.name or time_us.median",
                filling->path, filling->line, (int)length, name, filling->export->kernel);
}

static void fill_line(struct filling *filling, const char *line, size_t length)
{
    const char *field;
    while (!hn_failed(filling->err) && (field = memmem(line, length, "@{", 2)) != NULL) {
        const char *name = field + 2, *end = memchr(name, '}', length - (size_t)(name - line));
        hn_text_append_bytes(filling->text, line, (size_t)(field - line));
        if (end == NULL) {
            hn_fail(filling->err, HN_ECONFIG, "%s:%zu: '@{' without '}'", filling->path,
                    filling->line);
            return;
        }
        if (end - name == 1 && *name == ',')
            hn_text_append(filling->text, filling->is_last ? "" : ",");
        else
            append_value(filling, name, (size_t)(end - name));
        length -= (size_t)(end + 1 - line);
        line = end + 1;
    }
    hn_text_append_bytes(filling->text, line, length);
    hn_text_append(filling->text, "\n");
}

static void fill(struct filling *filling, const char *at, const json_t *results)
{
    const size_t count = json_array_size(results);
    const char *line;
    size_t length, rows = 0;
    for (filling->line = 1; hn_text_line(&at, &line, &length); filling->line++) {
        bool is_row = memmem(line, length, "@{", 2) != NULL;
        rows += is_row;
        for (size_t i = 0; i < (is_row ? count : 1) && !hn_failed(filling->err); i++) {
            filling->result = json_array_get(results, i);
            filling->is_last = i + 1 == count;
            fill_line(filling, line, length);
        }
    }
    if (rows == 0 && !hn_failed(filling->err))
        hn_fail(filling->err, HN_ECONFIG,
                "'%s' has no line with '@{NAME}', which stands once for each result",
                filling->path);
}

static enum hn_status write_rows(const struct hn_export *export, struct hn_text *text,
                                 struct hn_error *err)
{
    struct filling filling = {.export = export, .path = export->rows, .text = text, .err = err};
    char *rows HN_FREED = NULL;
    hn_error_init(err);
    json_auto_t *results = results_to_json(export, err);
    if (!hn_failed(err) && hn_file_read(export->rows, TEXT_MOST, &rows, NULL, err) == HN_OK)
        fill(&filling, rows, results);
    return err->status;
}

const struct hn_export_format hn_export_rows = {.name = "--template", .write = write_rows};
