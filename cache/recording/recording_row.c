/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/schema.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording_internal.h"

/* Kernel Tuner's members of a row, apart from the parameters; what else is a number is a metric. */
static const char *const members[] = {
    "time",           "times",         "compile_time",   "verification_time",
    "benchmark_time", "strategy_time", "framework_time", "timestamp",
    "hone",
};

static bool has_member(const struct hn_recording *recording, const char *name)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i], name) == 0)
            return true;
    }
    for (size_t i = 0; i < recording->parameter_count; i++) {
        if (strcmp(recording->parameters[i], name) == 0)
            return true;
    }
    return false;
}

/* "2026-11-21 09:54:05.502007+00:00", as Kernel Tuner stamps its rows. */
static void append_timestamp(struct hn_text *text, double time)
{
    /* up to the year 9999; a record from elsewhere may hold anything */
    double whole = time >= 0 && time < 253402300800.0 ? floor(time) : 0;
    if (whole == 0)
        time = 0;
    int microseconds = (int)lround((time - whole) * 1e6);
    time_t seconds = (time_t)whole + microseconds / 1000000;
    microseconds %= 1000000;
    struct tm parts;
    char date[32] = "1970-01-01 00:00:00";
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &parts);
    hn_text_printf(text, "%s.%06d+00:00", date, microseconds);
}

/* Microseconds as milliseconds; false when no number of milliseconds gives exactly these back. */
static bool milliseconds(double us, double *ms)
{
    *ms = us / 1000;
    const double candidates[] = {*ms, nextafter(*ms, -INFINITY), nextafter(*ms, INFINITY)};
    for (int i = 0; i < 3; i++) {
        if (candidates[i] * 1000 == us) {
            *ms = candidates[i];
            return isfinite(us);
        }
    }
    return false;
}

static const char *failure_name(enum hn_outcome outcome)
{
    switch (outcome) {
    case HN_OUTCOME_OK:
    case HN_OUTCOME_SLOWER:
    case HN_OUTCOME_DUPLICATE:
        return NULL;
    case HN_OUTCOME_COMPILE_ERROR:
    case HN_OUTCOME_COMPILE_TIMEOUT:
    case HN_OUTCOME_COMPILE_CRASH:
        return "CompilationFailedConfig";
    case HN_OUTCOME_SKIPPED:
    case HN_OUTCOME_COMPILE_STOPPED:
    case HN_OUTCOME_INVALID_LAUNCH:
        return "InvalidConfig";
    default:
        return "RuntimeFailedConfig";
    }
}

static json_t *samples_in_ms(const struct hn_timing *timing, bool *exact)
{
    struct hn_builder times = hn_build_array();
    *exact = true;
    for (size_t i = 0; i < timing->sample_count; i++) {
        double ms;
        if (!milliseconds(timing->samples_us[i], &ms))
            *exact = false;
        hn_build_append(&times, json_real(isfinite(ms) ? ms : 0));
    }
    return hn_build_finish(&times);
}

/* Sets time and times, and takes out of the hone object what they say exactly. */
static void write_times(struct hn_builder *row, json_t *hone, const struct hn_record *record)
{
    const char *failure = failure_name(record->outcome);
    json_t *timing = json_object_get(hone, "timing");
    double ms;
    bool exact = milliseconds(record->timing.median_us, &ms);
    if (failure != NULL || !isfinite(ms)) {
        hn_build_string(row, "time", failure != NULL ? failure : "RuntimeFailedConfig");
        return;
    }
    hn_build_set(row, "time", json_real(ms));
    if (exact)
        (void)json_object_del(timing, "median_us");
    if (record->timing.sample_count == 0)
        return;
    hn_build_set(row, "times", samples_in_ms(&record->timing, &exact));
    if (exact)
        (void)json_object_del(timing, "samples_us");
}

static void write_costs(struct hn_builder *row, json_t *hone, const struct hn_costs *costs)
{
    bool finite =
        isfinite(costs->compile_ms) && isfinite(costs->verify_ms) && isfinite(costs->measure_ms);
    if (finite)
        (void)json_object_del(hone, "costs");
    hn_build_set(row, "compile_time", json_real(finite ? costs->compile_ms : 0));
    hn_build_set(row, "verification_time", json_real(finite ? costs->verify_ms : 0));
    hn_build_set(row, "benchmark_time", json_real(finite ? costs->measure_ms : 0));
    hn_build_set(row, "strategy_time", json_integer(0));
    hn_build_set(row, "framework_time", json_integer(0));
}

static void write_timestamp(struct hn_builder *row, double time)
{
    struct hn_text text;
    hn_text_init(&text);
    append_timestamp(&text, isfinite(time) && fabs(time) < 1e11 ? time : 0);
    hn_build_set(row, "timestamp", text.failed ? NULL : json_string(text.data));
    hn_text_finish(&text);
}

json_t *hn_row_write(const struct hn_recording *recording, const struct hn_record *record)
{
    struct hn_builder row = hn_build_object();
    json_t *hone = hn_record_to_json(record);
    for (size_t i = 0; i < recording->parameter_count; i++) {
        const char *name = recording->parameters[i];
        hn_build_set(&row, name, hn_value_to_json(hn_bindings_get(&record->point, name)));
    }
    write_times(&row, hone, record);
    write_costs(&row, hone, &record->costs);
    write_timestamp(&row, record->time);
    for (size_t i = 0; i < record->metrics.count; i++) {
        /* A copy that Kernel Tuner's tools find; the hone object holds what counts. */
        if (!has_member(recording, record->metrics.names[i]))
            hn_build_set(&row, record->metrics.names[i],
                         hn_value_to_json(&record->metrics.values[i]));
    }
    (void)json_object_del(hone, "point");
    hn_build_set(&row, "hone", hone);
    return hn_build_finish(&row);
}

/* 0 for what is no time. */
static double parse_timestamp(const char *string)
{
    struct tm parts = {0};
    double fraction = 0;
    int hours = 0;
    int minutes = 0;
    const char *rest = string == NULL ? NULL : strptime(string, "%Y-%m-%d", &parts);
    if (rest != NULL && (*rest == ' ' || *rest == 'T'))
        rest = strptime(rest + 1, "%H:%M:%S", &parts);
    if (rest == NULL)
        return 0;
    if (*rest == '.') {
        char *end;
        fraction = hn_c_strtod(rest, &end);
        rest = end;
    }
    double offset = 0;
    if ((*rest == '+' || *rest == '-') && sscanf(rest + 1, "%2d:%2d", &hours, &minutes) == 2)
        offset = (*rest == '+' ? 1 : -1) * (hours * 3600.0 + minutes * 60.0);
    return (double)timegm(&parts) + fraction - offset;
}

/* The outcome of a failure by Kernel Tuner's name; HN_OUTCOME_OK when it is no such name. */
static enum hn_outcome named_failure(const char *name)
{
    static const struct {
        const char *name;
        enum hn_outcome outcome;
    } failures[] = {
        {"CompilationFailedConfig", HN_OUTCOME_COMPILE_ERROR},
        {"RuntimeFailedConfig", HN_OUTCOME_LAUNCH_ERROR},
        {"InvalidConfig", HN_OUTCOME_INVALID_LAUNCH},
        {"ErrorConfig", HN_OUTCOME_LAUNCH_ERROR},
    };
    for (size_t i = 0; name != NULL && i < sizeof failures / sizeof *failures; i++)
        if (strcmp(failures[i].name, name) == 0)
            return failures[i].outcome;
    return HN_OUTCOME_OK;
}

enum hn_outcome hn_row_outcome(const json_t *row, double *ms, const char **reason)
{
    static const double failed_from_ms = 1e19;
    static const double shortest_ms = 1e-6;
    const json_t *time = json_object_get(row, "time");
    const char *name;
    json_t *member;
    *reason = "";
    *ms = json_is_number(time) ? json_number_value(time) : NAN;
    if (*ms >= shortest_ms && *ms < failed_from_ms)
        return HN_OUTCOME_OK;
    *reason = json_is_string(time) ? json_string_value(time)
              : *ms < shortest_ms  ? "the time is not above 0"
                                   : "Kernel Tuner noted no time";
    *ms = NAN;
    json_object_foreach((json_t *)(uintptr_t)row, name, member)
    {
        enum hn_outcome outcome = named_failure(json_string_value(member));
        if (outcome != HN_OUTCOME_OK) {
            *reason = json_string_value(member);
            return outcome;
        }
    }
    return HN_OUTCOME_LAUNCH_ERROR;
}

static void read_point(struct hn_json_reader *reader, const struct hn_recording *recording,
                       const json_t *row, struct hn_bindings *point)
{
    for (size_t i = 0; reader->status == HN_OK && i < recording->parameter_count; i++) {
        struct hn_value value;
        const char *name = recording->parameters[i];
        if (hn_json_take(reader,
                         hn_value_from_json(json_object_get(row, name), &value, reader->err)))
            hn_json_take(reader, hn_bindings_set(point, name, &value, reader->err));
    }
}

static double *allocate(struct hn_json_reader *reader, size_t count)
{
    double *reals = calloc(count, sizeof *reals);
    if (reals == NULL)
        reader->status = hn_fail_memory(reader->err);
    return reals;
}

static void read_samples(struct hn_json_reader *reader, const json_t *times,
                         struct hn_timing *timing)
{
    size_t count = json_array_size(times);
    if (reader->status != HN_OK || count == 0)
        return;
    timing->samples_us = allocate(reader, count);
    for (size_t i = 0; reader->status == HN_OK && i < count; i++) {
        double ms = 0;
        hn_json_finite(reader, json_array_get(times, i), "times", &ms);
        timing->samples_us[i] = ms * 1000;
        timing->sample_count = i + 1;
    }
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rank from either end, counted from 0, between which the median lies with 95% probability,
 * whatever the distribution: a sample is below the median as often as a coin shows heads. */
static size_t median_rank(size_t count)
{
    enum { EXACT = 1000 };
    if (count > EXACT)
        return (size_t)((double)count / 2 - 0.98 * sqrt((double)count));
    double probability = pow(0.5, (double)count);
    double below = probability;
    size_t rank = 0;
    while (below + probability * (double)(count - rank) / (double)(rank + 1) <= 0.025) {
        probability *= (double)(count - rank) / (double)(rank + 1);
        below += probability;
        rank++;
    }
    return rank;
}

/* Kernel Tuner's time is a mean, which may lie outside the interval of the median, and in some
 * files times are of something else than time: then the interval is opened up to hold it, and the
 * record is flagged. */
static void set_interval(struct hn_json_reader *reader, struct hn_timing *timing)
{
    size_t count = timing->sample_count;
    timing->low_us = timing->median_us;
    timing->high_us = timing->median_us;
    double *sorted = reader->status != HN_OK || count < 2 ? NULL : allocate(reader, count);
    if (sorted == NULL)
        return;
    memcpy(sorted, timing->samples_us, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_reals);
    size_t rank = median_rank(count);
    timing->low_us = fmin(timing->median_us, sorted[rank]);
    timing->high_us = fmax(timing->median_us, sorted[count - 1 - rank]);
    timing->unstable = timing->median_us < sorted[0] || timing->median_us > sorted[count - 1];
    free(sorted);
}

static void read_metrics(struct hn_json_reader *reader, const struct hn_recording *recording,
                         const json_t *row, struct hn_bindings *metrics)
{
    const char *name;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)row, name, item)
    {
        struct hn_value value = hn_real(json_number_value(item));
        if (reader->status == HN_OK && json_is_number(item) && hn_text_is_word(name) &&
            !has_member(recording, name))
            hn_json_take(reader, hn_bindings_set(metrics, name, &value, reader->err));
    }
}

static void read_kernel_tuner_row(struct hn_json_reader *reader,
                                  const struct hn_recording *recording, const json_t *row,
                                  struct hn_record *record)
{
    double ms;
    const char *reason;
    enum hn_outcome outcome = hn_row_outcome(row, &ms, &reason);
    record->costs.compile_ms = json_number_value(json_object_get(row, "compile_time"));
    record->costs.verify_ms = json_number_value(json_object_get(row, "verification_time"));
    record->costs.measure_ms = json_number_value(json_object_get(row, "benchmark_time"));
    record->time = parse_timestamp(json_string_value(json_object_get(row, "timestamp")));
    record->verdict.kind = HN_NOT_RECORDED;
    read_point(reader, recording, row, &record->point);
    if (outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, outcome, "%s", reason);
        return;
    }
    record->timing.median_us = ms * 1000;
    record->timing.batch = 1;
    record->objective = record->timing.median_us;
    read_samples(reader, json_object_get(row, "times"), &record->timing);
    set_interval(reader, &record->timing);
    read_metrics(reader, recording, row, &record->metrics);
}

/* Puts back into the hone object what hn_row_write said by the row's own members, all but the
 * samples. */
static void complete(struct hn_json_reader *reader, const struct hn_recording *recording,
                     const json_t *row, json_t *hone)
{
    struct hn_builder point = hn_build_object();
    json_t *timing = json_object_get(hone, "timing");
    const json_t *time = json_object_get(row, "time");
    for (size_t i = 0; i < recording->parameter_count; i++)
        hn_build_set(&point, recording->parameters[i],
                     json_incref(json_object_get(row, recording->parameters[i])));
    int failed = json_object_set_new(hone, "point", hn_build_finish(&point));
    if (json_is_object(timing) && json_object_get(timing, "median_us") == NULL &&
        json_is_number(time))
        failed |= json_object_set_new(timing, "median_us",
                                      json_real(fmin(json_number_value(time) * 1000, DBL_MAX)));
    if (json_object_get(hone, "costs") == NULL)
        failed |= json_object_set_new(
            hone, "costs",
            json_pack("{s:O*, s:O*, s:O*}", "compile_ms", json_object_get(row, "compile_time"),
                      "verify_ms", json_object_get(row, "verification_time"), "measure_ms",
                      json_object_get(row, "benchmark_time")));
    if (failed != 0)
        reader->status = hn_fail_memory(reader->err);
}

/* Where the hone object repeats the row's time, more exactly, it is the same time. */
static void check_median(struct hn_json_reader *reader, const json_t *row, const json_t *hone)
{
    const json_t *time = json_object_get(row, "time");
    const json_t *median = json_object_get(json_object_get(hone, "timing"), "median_us");
    double ms = json_number_value(time);
    double us = json_number_value(median);
    bool same =
        !json_is_number(time) || !json_is_number(median) || fabs(ms * 1000 - us) <= 1e-9 * fabs(us);
    if (reader->status == HN_OK && !same)
        reader->status =
            hn_fail(reader->err, HN_EFORMAT,
                    "'time' is %g ms, 'median_us' is %g us, expected the same", ms, us);
}

static void read_hone_row(struct hn_json_reader *reader, const struct hn_recording *recording,
                          const json_t *row, struct hn_record *record)
{
    json_t *hone = json_object_get(row, "hone");
    hn_json_expect(reader, json_is_object(hone), "hone", "an object");
    check_median(reader, row, hone);
    if (reader->status == HN_OK)
        complete(reader, recording, row, hone);
    if (reader->status == HN_OK)
        hn_json_take(reader,
                     hn_record_from_json(hone, recording->identity.objective, record, reader->err));
    if (json_object_get(hone, "timing") != NULL && record->timing.sample_count == 0)
        read_samples(reader, json_object_get(row, "times"), &record->timing);
}

void hn_row_read(const struct hn_recording *recording, const json_t *row, struct hn_record *record,
                 struct hn_error *err)
{
    struct hn_json_reader reader = {"row", HN_OK, err, NULL};
    if (!json_is_object(row))
        hn_fail(err, HN_EFORMAT, "the row is %s, expected an object", hn_json_type_name(row));
    for (size_t i = 0; i < recording->parameter_count && !hn_failed(err); i++)
        if (json_object_get(row, recording->parameters[i]) == NULL)
            hn_fail(err, HN_EFORMAT, "parameter '%s' is missing", recording->parameters[i]);
    if (hn_failed(err))
        return;
    if (recording->from_hone)
        read_hone_row(&reader, recording, row, record);
    else
        read_kernel_tuner_row(&reader, recording, row, record);
    err->status = reader.status;
    if (reader.status == HN_OK)
        hn_gate_record(record, recording->identity.objective, err);
}

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
    struct hn_builder runtimes = hn_build_array();
    for (size_t i = 0; i < record->timing.sample_count; i++)
        hn_build_append(&runtimes, json_real(record->timing.samples_us[i] / 1000));
    return json_pack("{s:f, s:f, s:f, s:i, s:i, s:o}", "compilation_time", record->costs.compile_ms,
                     "validation", record->costs.verify_ms, "benchmark", record->costs.measure_ms,
                     "framework", 0, "search_algorithm", 0, "runtimes", hn_build_finish(&runtimes));
}

static void add(struct hn_builder *measurements, const char *name, double value, const char *unit)
{
    if (isfinite(value))
        hn_build_append(measurements,
                        json_pack("{s:s, s:f, s:s}", "name", name, "value", value, "unit", unit));
}

/* What was stopped early is slower than the best, and by how much at least is all that is known. */
static json_t *measurements(const struct hn_record *record)
{
    struct hn_builder all = hn_build_array();
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE)
        add(&all, "time", record->timing.median_us / 1000, "ms");
    else if (record->outcome == HN_OUTCOME_SLOWER)
        add(&all, "time_lower_bound", record->timing.median_us / 1000, "ms");
    for (size_t i = 0; i < record->metrics.count; i++)
        add(&all, record->metrics.names[i], hn_value_number(&record->metrics.values[i]), "");
    return hn_build_finish(&all);
}

static json_t *result(const struct hn_recording *recording, const struct hn_record *record)
{
    const char *objective = recording->identity.objective;
    const char *invalid = invalidity(record->outcome);
    struct hn_text stamp;
    hn_text_init(&stamp);
    append_timestamp(&stamp, record->time);
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
    struct hn_text text;
    struct hn_builder results = hn_build_array();
    for (size_t i = 0; i < recording->records.count; i++)
        if (!hn_outcome_is_open(recording->records.items[i].outcome))
            hn_build_append(&results, result(recording, &recording->records.items[i]));
    json_t *json = json_pack("{s:s, s:o, s:o}", "schema_version", SCHEMA_VERSION, "metadata",
                             metadata(recording), "results", hn_build_finish(&results));
    hn_text_init(&text);
    text.failed = json == NULL;
    hn_json_append(&text, json);
    hn_text_append(&text, "\n");
    json_decref(json);
    enum hn_status status =
        text.failed ? hn_fail_memory(err) : hn_gzip_write(path, text.data, text.length, err);
    hn_text_finish(&text);
    return status;
}
