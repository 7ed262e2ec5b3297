/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <time.h>

#include "cache/record/record_json.h"
#include "cache/recording/recording_parts.h"

/* Kernel Tuner's members of a row, apart from the parameters; what else is a number is a metric. */
static const char *const members[] = {
    "time",           "times",         "compile_time",   "verification_time",
    "benchmark_time", "strategy_time", "framework_time", "timestamp",
    "hone",
};

bool hn_row_has_member(const struct hn_recording *recording, const char *name)
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

void hn_timestamp_append(struct hn_text *text, double time)
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

bool hn_row_milliseconds(double us, double *ms)
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
    case HN_OUTCOME_INVALID_LAUNCH:
        return "InvalidConfig";
    default:
        return "RuntimeFailedConfig";
    }
}

static json_t *samples_in_ms(const struct hn_timing *timing, bool *exact)
{
    json_t *times = json_array();
    *exact = true;
    for (size_t i = 0; times != NULL && i < timing->sample_count; i++) {
        double ms;
        if (!hn_row_milliseconds(timing->samples_us[i], &ms))
            *exact = false;
        (void)json_array_append_new(times, json_real(isfinite(ms) ? ms : 0));
    }
    return times;
}

/* Sets time and times, and takes out of the hone object what they say exactly. */
static int write_times(json_t *row, json_t *hone, const struct hn_record *record)
{
    const char *failure = failure_name(record->outcome);
    json_t *timing = json_object_get(hone, "timing");
    double ms;
    bool exact = hn_row_milliseconds(record->timing.median_us, &ms);
    if (failure != NULL || !isfinite(ms))
        return json_object_set_new(row, "time",
                                   json_string(failure != NULL ? failure : "RuntimeFailedConfig"));
    int failed = json_object_set_new(row, "time", json_real(ms));
    if (exact && timing != NULL)
        (void)json_object_del(timing, "median_us");
    if (record->timing.sample_count == 0)
        return failed;
    failed |= json_object_set_new(row, "times", samples_in_ms(&record->timing, &exact));
    if (exact)
        (void)json_object_del(timing, "samples_us");
    return failed;
}

static int write_costs(json_t *row, json_t *hone, const struct hn_costs *costs)
{
    bool finite =
        isfinite(costs->compile_ms) && isfinite(costs->verify_ms) && isfinite(costs->measure_ms);
    if (finite)
        (void)json_object_del(hone, "costs");
    int failed =
        json_object_set_new(row, "compile_time", json_real(finite ? costs->compile_ms : 0));
    failed |=
        json_object_set_new(row, "verification_time", json_real(finite ? costs->verify_ms : 0));
    failed |= json_object_set_new(row, "benchmark_time", json_real(finite ? costs->measure_ms : 0));
    failed |= json_object_set_new(row, "strategy_time", json_integer(0));
    return failed | json_object_set_new(row, "framework_time", json_integer(0));
}

static int write_timestamp(json_t *row, double time)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_timestamp_append(&text, isfinite(time) && fabs(time) < 1e11 ? time : 0);
    int failed = text.failed ? -1 : json_object_set_new(row, "timestamp", json_string(text.data));
    hn_text_finish(&text);
    return failed;
}

json_t *hn_row_write(const struct hn_recording *recording, const struct hn_record *record)
{
    json_t *row = json_object();
    json_t *hone = hn_record_to_json(record);
    int failed = row == NULL || hone == NULL ? -1 : 0;
    for (size_t i = 0; failed == 0 && i < recording->parameter_count; i++) {
        const char *name = recording->parameters[i];
        failed =
            json_object_set_new(row, name, hn_value_to_json(hn_bindings_get(&record->point, name)));
    }
    if (failed == 0)
        failed = write_times(row, hone, record) | write_costs(row, hone, &record->costs) |
                 write_timestamp(row, record->time);
    for (size_t i = 0; failed == 0 && i < record->metrics.count; i++) {
        /* A copy that Kernel Tuner's tools find; the hone object holds what counts. */
        if (!hn_row_has_member(recording, record->metrics.names[i]))
            failed = json_object_set_new(row, record->metrics.names[i],
                                         hn_value_to_json(&record->metrics.values[i]));
    }
    if (failed == 0) {
        (void)json_object_del(hone, "point");
        failed = json_object_set(row, "hone", hone);
    }
    json_decref(hone);
    if (failed == 0)
        return row;
    json_decref(row);
    return NULL;
}
