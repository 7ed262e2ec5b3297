/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "cache/record/record_json.h"
#include "cache/recording/recording_parts.h"

/* T4, the results format of the autotuning community (github.com/odgaard/TuningSchema,
 * results-schema 1.0.0), which Kernel Tuner writes too: times in milliseconds, one result a
 * configuration. */
#define SCHEMA_VERSION "1.0.0"

static const char *invalidity(enum hn_outcome outcome)
{
    switch (outcome) {
    case HN_OUTCOME_OK:
    case HN_OUTCOME_SLOWER:
    case HN_OUTCOME_DUPLICATE:
        return "correct";
    case HN_OUTCOME_COMPILE_ERROR:
    case HN_OUTCOME_COMPILE_CRASH:
        return "compile";
    case HN_OUTCOME_COMPILE_TIMEOUT:
    case HN_OUTCOME_RUN_TIMEOUT:
        return "timeout";
    case HN_OUTCOME_INVALID_LAUNCH:
        return "constraints";
    case HN_OUTCOME_WRONG_RESULT:
    case HN_OUTCOME_OUT_OF_BOUNDS:
        return "correctness";
    default:
        return "runtime";
    }
}

static json_t *times(const struct hn_record *record)
{
    json_t *runtimes = json_array();
    for (size_t i = 0; runtimes != NULL && i < record->timing.sample_count; i++)
        (void)json_array_append_new(runtimes, json_real(record->timing.samples_us[i] / 1000));
    return json_pack("{s:f, s:f, s:f, s:i, s:i, s:o}", "compilation_time", record->costs.compile_ms,
                     "validation", record->costs.verify_ms, "benchmark", record->costs.measure_ms,
                     "framework", 0, "search_algorithm", 0, "runtimes", runtimes);
}

static void add(json_t *measurements, const char *name, double value, const char *unit)
{
    if (isfinite(value))
        (void)json_array_append_new(
            measurements, json_pack("{s:s, s:f, s:s}", "name", name, "value", value, "unit", unit));
}

/* What was stopped early is slower than the best, and by how much at least is all that is known. */
static json_t *measurements(const struct hn_record *record)
{
    json_t *all = json_array();
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE)
        add(all, "time", record->timing.median_us / 1000, "ms");
    else if (record->outcome == HN_OUTCOME_SLOWER)
        add(all, "time_lower_bound", record->timing.median_us / 1000, "ms");
    for (size_t i = 0; all != NULL && i < record->metrics.count; i++)
        add(all, record->metrics.names[i], hn_value_number(&record->metrics.values[i]), "");
    return all;
}

static json_t *result(const struct hn_recording *recording, const struct hn_record *record)
{
    const char *objective = recording->identity.objective;
    const char *invalid = invalidity(record->outcome);
    struct hn_text stamp;
    hn_text_init(&stamp);
    hn_timestamp_append(&stamp, record->time);
    json_t *json = json_pack(
        "{s:s, s:o, s:[s%], s:o, s:s, s:i, s:o}", "timestamp", stamp.failed ? "" : stamp.data,
        "configuration", hn_bindings_to_json(&record->point), "objectives", objective,
        strcspn(objective, " "), "times", times(record), "invalidity", invalid, "correctness",
        strcmp(invalid, "correctness") != 0, "measurements", measurements(record));
    hn_text_finish(&stamp);
    return json;
}

static json_t *metadata(const struct hn_recording *recording)
{
    const struct hn_identity *identity = &recording->identity;
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:s}", "timeunit", "milliseconds", "kernel",
                     identity->kernel, "device", identity->device.name, "problem",
                     hn_bindings_to_json(&identity->problem), "regime", identity->regime, "driver",
                     recording->version.driver, "nvrtc", recording->version.nvrtc);
}

enum hn_status hn_recording_save_t4(const char *path, const struct hn_recording *recording,
                                    struct hn_error *err)
{
    json_t *results = json_array();
    json_t *json = json_pack("{s:s, s:o, s:o}", "schema_version", SCHEMA_VERSION, "metadata",
                             metadata(recording), "results", results);
    bool failed = json == NULL;
    for (size_t i = 0; i < recording->records.count && !failed; i++) {
        const struct hn_record *record = &recording->records.items[i];
        if (!hn_outcome_is_open(record->outcome))
            failed = json_array_append_new(results, result(recording, record)) != 0;
    }
    struct hn_text text;
    hn_text_init(&text);
    if (!failed)
        hn_json_append(&text, json);
    hn_text_append(&text, "\n");
    json_decref(json);
    enum hn_status status = failed || text.failed
                                ? hn_fail_memory(err)
                                : hn_gzip_write(path, text.data, text.length, err);
    hn_text_finish(&text);
    return status;
}
