/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/c_locale.h"
#include "base/json_reader.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording_parts.h"

double hn_timestamp_parse(const char *string)
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

static enum hn_status read_point(const struct hn_recording *recording, const json_t *row,
                                 struct hn_bindings *point, struct hn_error *err)
{
    for (size_t i = 0; i < recording->parameter_count; i++) {
        struct hn_value value;
        const char *name = recording->parameters[i];
        const json_t *json = json_object_get(row, name);
        if (json == NULL)
            return hn_fail(err, HN_EFORMAT, "parameter '%s' is missing", name);
        enum hn_status status = hn_value_from_json(json, &value, err);
        if (status == HN_OK)
            status = hn_bindings_set(point, name, &value, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
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

static enum hn_status read_samples(const json_t *times, struct hn_timing *timing,
                                   struct hn_error *err)
{
    size_t count = json_array_size(times);
    if (count == 0)
        return HN_OK;
    timing->samples_us = malloc(count * sizeof *timing->samples_us);
    if (timing->samples_us == NULL)
        return hn_fail_memory(err);
    timing->sample_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(times, i);
        if (!json_is_number(item))
            return hn_fail(err, HN_EFORMAT, "entry %zu of 'times' is %s, expected milliseconds", i,
                           hn_json_type_name(item));
        timing->samples_us[i] = json_number_value(item) * 1000;
    }
    return HN_OK;
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
static enum hn_status set_interval(struct hn_timing *timing, struct hn_error *err)
{
    size_t count = timing->sample_count;
    timing->low_us = timing->median_us;
    timing->high_us = timing->median_us;
    if (count < 2)
        return HN_OK;
    double *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL)
        return hn_fail_memory(err);
    memcpy(sorted, timing->samples_us, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_reals);
    size_t rank = median_rank(count);
    timing->low_us = fmin(timing->median_us, sorted[rank]);
    timing->high_us = fmax(timing->median_us, sorted[count - 1 - rank]);
    timing->unstable = timing->median_us < sorted[0] || timing->median_us > sorted[count - 1];
    free(sorted);
    return HN_OK;
}

static enum hn_status read_kernel_tuner_times(const json_t *row, struct hn_record *record,
                                              struct hn_error *err)
{
    double ms;
    const char *reason;
    enum hn_outcome outcome = hn_row_outcome(row, &ms, &reason);
    if (outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, outcome, "%s", reason);
        return HN_OK;
    }
    record->timing.median_us = ms * 1000;
    record->timing.batch = 1;
    record->objective = record->timing.median_us;
    enum hn_status status = read_samples(json_object_get(row, "times"), &record->timing, err);
    return status == HN_OK ? set_interval(&record->timing, err) : status;
}

static enum hn_status read_metrics(const struct hn_recording *recording, const json_t *row,
                                   struct hn_bindings *metrics, struct hn_error *err)
{
    const char *name;
    json_t *item;
    enum hn_status status = HN_OK;
    json_object_foreach((json_t *)(uintptr_t)row, name, item)
    {
        struct hn_value value = hn_real(json_number_value(item));
        if (status == HN_OK && json_is_number(item) && hn_text_is_word(name) &&
            !hn_row_has_member(recording, name))
            status = hn_bindings_set(metrics, name, &value, err);
    }
    return status;
}

static enum hn_status read_kernel_tuner_row(const struct hn_recording *recording, const json_t *row,
                                            struct hn_record *record, struct hn_error *err)
{
    record->costs.compile_ms = json_number_value(json_object_get(row, "compile_time"));
    record->costs.verify_ms = json_number_value(json_object_get(row, "verification_time"));
    record->costs.measure_ms = json_number_value(json_object_get(row, "benchmark_time"));
    record->time = hn_timestamp_parse(json_string_value(json_object_get(row, "timestamp")));
    record->verdict.kind = HN_NOT_RECORDED;
    enum hn_status status = read_point(recording, row, &record->point, err);
    if (status == HN_OK)
        status = read_kernel_tuner_times(row, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = read_metrics(recording, row, &record->metrics, err);
    return status;
}

/* Puts back into the hone object what hn_row_write said by the row's own members, all but the
 * samples. */
static int complete(const struct hn_recording *recording, const json_t *row, json_t *hone)
{
    json_t *point = json_object();
    json_t *timing = json_object_get(hone, "timing");
    int failed = point == NULL ? -1 : 0;
    for (size_t i = 0; failed == 0 && i < recording->parameter_count; i++)
        failed = json_object_set(point, recording->parameters[i],
                                 json_object_get(row, recording->parameters[i]));
    failed |= json_object_set_new(hone, "point", point);
    const json_t *time = json_object_get(row, "time");
    if (json_is_object(timing) && json_object_get(timing, "median_us") == NULL &&
        json_is_number(time))
        failed |=
            json_object_set_new(timing, "median_us", json_real(json_number_value(time) * 1000));
    if (json_object_get(hone, "costs") == NULL)
        failed |= json_object_set_new(
            hone, "costs",
            json_pack("{s:O*, s:O*, s:O*}", "compile_ms", json_object_get(row, "compile_time"),
                      "verify_ms", json_object_get(row, "verification_time"), "measure_ms",
                      json_object_get(row, "benchmark_time")));
    return failed;
}

/* Where the hone object repeats the row's time, more exactly, it is the same time. */
static enum hn_status check_median(const json_t *row, const json_t *hone, struct hn_error *err)
{
    const json_t *time = json_object_get(row, "time");
    const json_t *median = json_object_get(json_object_get(hone, "timing"), "median_us");
    double ms = json_number_value(time);
    double us = json_number_value(median);
    if (!json_is_number(time) || !json_is_number(median) || fabs(ms * 1000 - us) <= 1e-9 * fabs(us))
        return HN_OK;
    return hn_fail(err, HN_EFORMAT, "'time' is %g ms, 'median_us' is %g us, expected the same", ms,
                   us);
}

enum hn_status hn_row_read(const struct hn_recording *recording, const json_t *row,
                           struct hn_record *record, struct hn_error *err)
{
    if (!json_is_object(row))
        return hn_fail(err, HN_EFORMAT, "the row is %s, expected an object",
                       hn_json_type_name(row));
    const char *objective = recording->identity.objective;
    if (!recording->from_hone) {
        enum hn_status status = read_kernel_tuner_row(recording, row, record, err);
        return status == HN_OK ? hn_gate_record(record, objective, err) : status;
    }
    json_t *hone = json_object_get(row, "hone");
    if (!json_is_object(hone))
        return hn_fail(err, HN_EFORMAT, "'hone' is %s, expected an object",
                       hn_json_type_name(hone));
    for (size_t i = 0; i < recording->parameter_count; i++) {
        if (json_object_get(row, recording->parameters[i]) == NULL)
            return hn_fail(err, HN_EFORMAT, "parameter '%s' is missing", recording->parameters[i]);
    }
    enum hn_status status = check_median(row, hone, err);
    if (status != HN_OK)
        return status;
    if (complete(recording, row, hone) != 0)
        return hn_fail_memory(err);
    status = hn_record_from_json(hone, objective, record, err);
    if (status == HN_OK && json_object_get(hone, "timing") != NULL &&
        record->timing.sample_count == 0)
        status = read_samples(json_object_get(row, "times"), &record->timing, err);
    return status;
}
