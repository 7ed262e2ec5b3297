/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "runtime/device/health.h"
#include "tuner/report/report.h"

/* Of how many of the best the samples are kept, and how many of each; and how much room messages
 * have, so that ten thousand records stay below the size that a browser opens at once. */
enum { SAMPLED_RECORDS = 12, SAMPLES = 200, MESSAGE_BYTES = 600, MESSAGES_BYTES = 200 * 1024 };

json_t *hn_report_string(const char *string)
{
    return string == NULL ? json_null() : hn_string_to_json(string);
}

json_t *hn_report_value(const struct hn_value *value)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_value_append(&text, value);
    json_t *json = text.failed ? NULL : hn_report_string(text.data);
    hn_text_finish(&text);
    return json;
}

/* A whole number without a point, what JSON can not say as null. */
static json_t *number(double value)
{
    if (!isfinite(value))
        return json_null();
    if (value == floor(value) && fabs(value) < 1e15)
        return json_integer((json_int_t)value);
    return json_real(value);
}

static json_t *known(bool is_known, double value)
{
    return is_known ? number(value) : json_null();
}

static bool has_time(const struct hn_record *record)
{
    bool timed = record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER ||
                 record->outcome == HN_OUTCOME_DUPLICATE;
    return timed && record->timing.median_us > 0;
}

static bool was_compared(const struct hn_record *record)
{
    return record->verdict.kind == HN_SELF_VERIFIED || record->verdict.kind == HN_VERIFIED;
}

static double tenths(double value)
{
    return round(value * 10) / 10;
}

/* Takes the value over. */
static int append_to(json_t *columns, const char *name, json_t *value)
{
    json_t *column = json_object_get(columns, name);
    if (column == NULL)
        json_object_set_new(columns, name, column = json_array());
    return json_array_append_new(column, value);
}

static json_t *conditions(const struct hn_record *r)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_conditions_append(&text, &r->observed);
    json_t *line = text.length > 0 ? json_string(text.data) : json_null();
    hn_text_finish(&text);
    return line;
}

static json_t *warnings(const struct hn_record *r)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_warnings_append(&text, r->resources.warnings);
    json_t *list = text.length > 0 ? json_string(text.data) : json_null();
    hn_text_finish(&text);
    return list;
}

enum { FIGURES = 21 };

/* Appends what each column has of a record to it. */
static int append_figures(const struct hn_record *r, json_t *columns)
{
    const struct hn_timing *timing = &r->timing;
    const struct hn_resources *used = &r->resources;
    const bool timed = has_time(r);
    const bool compared = was_compared(r);
    const bool weighed = hn_observed(&r->observed, "energy.windows") > 0;
    const struct {
        const char *name;
        bool is_known;
        double value;
    } figures[FIGURES] = {
        {"outcome", true, r->outcome},
        {"time", timed, timing->median_us},
        {"low", timed, timing->low_us},
        {"high", timed, timing->high_us},
        {"final", true, r->final},
        {"unstable", true, timed && timing->unstable},
        {"samples", timed, (double)timing->sample_count},
        {"batch", timed, timing->batch},
        {"clock", timed && timing->clock_mhz > 0, round(timing->clock_mhz)},
        {"joules", weighed, hn_observed(&r->observed, "energy.joules")},
        {"watts", weighed, tenths(hn_observed(&r->observed, "energy.power_w"))},
        {"ratio", r->ratio > 0, r->ratio}, /* how much longer its card takes than the first */
        {"verification", true, r->verdict.kind},
        {"max_error", compared, r->verdict.max_error},
        {"tolerance", compared, r->verdict.tolerance},
        {"registers", used->known, used->registers},
        {"shared", used->known, (double)hn_resources_shared_bytes(used)},
        {"spills", used->known, used->spill_store_bytes + used->spill_load_bytes},
        {"occupancy", used->known, used->occupancy},
        {"compile_ms", true, tenths(r->costs.compile_ms)},
        {"run_ms", true, tenths(r->costs.verify_ms + r->costs.measure_ms)},
    };
    int failed = 0;
    for (size_t i = 0; i < FIGURES; i++)
        failed |= append_to(columns, figures[i].name, known(figures[i].is_known, figures[i].value));
    failed |= append_to(columns, "conditions", conditions(r));
    return append_to(columns, "warnings", warnings(r)) | failed;
}

/* Takes the column over. One that is the same for all is written once. */
static int set_column(json_t *columns, const char *name, json_t *column)
{
    size_t count = json_array_size(column);
    json_t *first = json_array_get(column, 0);
    bool same = count > 1 && !json_is_array(first);
    for (size_t i = 1; same && i < count; i++)
        same = json_equal(first, json_array_get(column, i));
    if (!same)
        return json_object_set_new(columns, name, column);
    int failed = json_object_set(columns, name, first);
    json_decref(column);
    return failed;
}

static const struct hn_record *record_at(const struct hn_report_tuning *tuning, size_t place)
{
    return &tuning->records.items[tuning->order[place]];
}

static int add_figures(const struct hn_report_tuning *tuning, json_t *columns)
{
    int failed = 0;
    void *next;
    const char *name;
    json_t *column;
    for (size_t i = 0; i < tuning->records.count; i++)
        failed |= append_figures(record_at(tuning, i), columns);
    json_object_foreach_safe(columns, next, name, column) failed |=
        set_column(columns, name, json_incref(column));
    return failed;
}

/* Seconds since the first record was made. */
static int add_times(const struct hn_report_tuning *tuning, double started, json_t *columns)
{
    json_t *column = json_array();
    int failed = 0;
    for (size_t i = 0; i < tuning->records.count; i++) {
        double time = record_at(tuning, i)->time;
        failed |=
            json_array_append_new(column, known(time > 0, round((time - started) * 1e3) / 1e3));
    }
    return set_column(columns, "at", column) | failed;
}

static int compare_values(const void *a, const void *b)
{
    return hn_value_compare(a, b);
}

/* The different values of a parameter, sorted; NULL when out of memory. Free it. */
static struct hn_value *list_values(const struct hn_report_tuning *tuning, const char *name,
                                    size_t *count)
{
    struct hn_value *values = calloc(tuning->records.count + 1, sizeof *values);
    size_t found = 0;
    for (size_t i = 0; values != NULL && i < tuning->records.count; i++) {
        const struct hn_value *value = hn_bindings_get(&tuning->records.items[i].point, name);
        if (value != NULL)
            values[found++] = *value;
    }
    *count = 0;
    if (values == NULL || found == 0)
        return values;
    qsort(values, found, sizeof *values, compare_values);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || !hn_value_equal(&values[i], &values[*count - 1]))
            values[(*count)++] = values[i];
    return values;
}

/* {"name": ..., "values": [...]} and a column of indices into the values. */
static int add_parameter(const struct hn_report_tuning *tuning, const char *name,
                         json_t *parameters, json_t *points)
{
    size_t count = 0;
    struct hn_value *values = list_values(tuning, name, &count);
    json_t *texts = json_array();
    json_t *column = json_array();
    int failed = values == NULL ? -1 : 0;
    for (size_t i = 0; i < count; i++)
        failed |= json_array_append_new(texts, hn_report_value(&values[i]));
    for (size_t i = 0; failed == 0 && i < tuning->records.count; i++) {
        const struct hn_value *value = hn_bindings_get(&record_at(tuning, i)->point, name);
        const struct hn_value *found =
            value == NULL ? NULL : bsearch(value, values, count, sizeof *values, compare_values);
        failed = json_array_append_new(column,
                                       found == NULL ? json_null() : json_integer(found - values));
    }
    free(values);
    failed |= json_array_append_new(
        parameters, json_pack("{s:o, s:o}", "name", hn_report_string(name), "values", texts));
    return json_array_append_new(points, column) | failed;
}

static int add_points(const struct hn_report_tuning *tuning, json_t *json)
{
    json_t *parameters = json_array();
    json_t *points = json_array();
    int failed = 0;
    for (size_t i = 0; i < tuning->parameter_count; i++)
        failed |= add_parameter(tuning, tuning->parameters[i], parameters, points);
    failed |= json_object_set_new(json, "parameters", parameters);
    return json_object_set_new(json, "points", points) | failed;
}

static json_t *metric_to_json(const struct hn_record *record, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&record->metrics, name);
    return value == NULL || value->type == HN_WORD ? json_null() : number(hn_value_number(value));
}

static int add_metrics(const struct hn_report_tuning *tuning, json_t *json)
{
    json_t *metrics = json_object();
    int failed = 0;
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_bindings *own = &record_at(tuning, i)->metrics;
        for (size_t m = 0; m < own->count; m++) {
            if (json_object_get(metrics, own->names[m]) != NULL)
                continue;
            json_t *column = json_array();
            for (size_t r = 0; r < tuning->records.count; r++)
                failed |= json_array_append_new(
                    column, metric_to_json(record_at(tuning, r), own->names[m]));
            failed |= set_column(metrics, own->names[m], column);
        }
    }
    return json_object_set_new(json, "metrics", metrics) | failed;
}

/* Cut where that is too long, not within a character. */
static json_t *message_to_json(const char *message)
{
    size_t length = strlen(message);
    if (length <= MESSAGE_BYTES)
        return hn_report_string(message);
    length = MESSAGE_BYTES;
    while (length > 0 && ((unsigned char)message[length] & 0xc0) == 0x80)
        length--;
    char *cut = strndup(message, length);
    json_t *json = cut == NULL ? NULL : hn_report_string(cut);
    free(cut);
    json_t *whole = json == NULL ? NULL : json_sprintf("%s …", json_string_value(json));
    json_decref(json);
    return whole;
}

/* The place of a message in the table, which grows by it; null where there is none, -1 when the
 * room for messages is used up. */
static json_t *place_message(const char *message, json_t *table, json_t *places, size_t *room)
{
    if (message == NULL || message[0] == '\0')
        return json_null();
    json_t *text = message_to_json(message);
    json_t *place = json_incref(json_object_get(places, json_string_value(text)));
    if (text == NULL || place != NULL) {
        json_decref(text);
        return place;
    }
    size_t length = json_string_length(text);
    bool fits = length <= *room;
    if (fits) {
        *room -= length;
        place = json_integer((json_int_t)json_array_size(table));
        if (json_object_set(places, json_string_value(text), place) != 0 ||
            json_array_append(table, text) != 0) {
            json_decref(place);
            place = NULL;
        }
    }
    json_decref(text);
    return fits ? place : json_integer(-1);
}

static int add_messages(const struct hn_report_tuning *tuning, json_t *columns, json_t *json)
{
    json_t *table = json_array();
    json_t *places = json_object();
    json_t *column = json_array();
    size_t room = MESSAGES_BYTES;
    int failed = 0;
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_record *record = record_at(tuning, i);
        /* of a duplicate `original` says it */
        const char *message =
            record->outcome == HN_OUTCOME_DUPLICATE && record->original ? NULL : record->message;
        failed |= json_array_append_new(column, place_message(message, table, places, &room));
    }
    json_decref(places);
    failed |= set_column(columns, "message", column);
    return json_object_set_new(json, "messages", table) | failed;
}

/* {"cards": [{"host", "card"}]} and a column of places in it; nothing where none is told. */
static int add_cards(const struct hn_report_tuning *tuning, json_t *columns, json_t *json)
{
    json_t *table = json_array();
    json_t *places = json_object();
    json_t *column = json_array();
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < tuning->records.count; i++) {
        const struct hn_record *record = record_at(tuning, i);
        char text[128];
        snprintf(text, sizeof text, "%s %s", record->host, record->card);
        if (record->card[0] == '\0') {
            failed = json_array_append_new(column, json_null());
            continue;
        }
        json_t *place = json_object_get(places, text);
        if (place == NULL) {
            failed =
                json_object_set_new(places, text, json_integer((json_int_t)json_array_size(table)));
            failed |= json_array_append_new(table, json_pack("{s:o, s:o}", "host",
                                                             hn_report_string(record->host), "card",
                                                             hn_report_string(record->card)));
            place = json_object_get(places, text);
        }
        failed |= json_array_append(column, place);
    }
    json_decref(places);
    failed |= set_column(columns, "card", column);
    return json_object_set_new(json, "cards", table) | failed;
}

static int add_originals(const struct hn_report_tuning *tuning, json_t *columns)
{
    json_t *places = json_object();
    json_t *column = json_array();
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < tuning->records.count; i++) {
        char *text = hn_bindings_text(&record_at(tuning, i)->point);
        failed = text == NULL ? -1 : json_object_set_new(places, text, json_integer((json_int_t)i));
        free(text);
    }
    for (size_t i = 0; i < tuning->records.count; i++) {
        const char *original = record_at(tuning, i)->original;
        json_t *place = original == NULL ? NULL : json_object_get(places, original);
        failed |= json_array_append_new(column, place == NULL ? json_null() : json_incref(place));
    }
    json_decref(places);
    return set_column(columns, "original", column) | failed;
}

int hn_report_add_columns(const struct hn_report_tuning *tuning, json_t *json)
{
    double started = 0;
    for (size_t i = 0; i < tuning->records.count && started <= 0; i++)
        started = record_at(tuning, i)->time;
    double ended =
        tuning->records.count == 0 ? 0 : record_at(tuning, tuning->records.count - 1)->time;
    json_t *columns = json_object();
    int failed = add_figures(tuning, columns);
    failed |= add_times(tuning, started, columns);
    failed |= add_messages(tuning, columns, json);
    failed |= add_cards(tuning, columns, json);
    failed |= add_originals(tuning, columns);
    failed |= json_object_set_new(json, "columns", columns);
    failed |= json_object_set_new(json, "started", json_integer((json_int_t)started));
    failed |= json_object_set_new(json, "ended", json_integer((json_int_t)ended));
    failed |= add_points(tuning, json);
    return add_metrics(tuning, json) | failed;
}

/* The place of the best record behind `last` in the order of the objective; -1: there is none. */
static int next_best(const struct hn_report_tuning *tuning, int last)
{
    int next = -1;
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_record *record = record_at(tuning, i);
        const struct hn_record *before = last < 0 ? NULL : record_at(tuning, (size_t)last);
        if (record->outcome != HN_OUTCOME_OK || record->timing.sample_count == 0)
            continue;
        if (before != NULL && (record->objective < before->objective ||
                               (record->objective == before->objective && (int)i <= last)))
            continue;
        if (next < 0 || record->objective < record_at(tuning, (size_t)next)->objective)
            next = (int)i;
    }
    return next;
}

int hn_report_add_samples(const struct hn_report_tuning *tuning, json_t *json)
{
    json_t *kept = json_array();
    int failed = 0;
    int place = -1;
    for (int k = 0; k < SAMPLED_RECORDS; k++) {
        place = next_best(tuning, place);
        if (place < 0)
            break;
        const struct hn_timing *timing = &record_at(tuning, (size_t)place)->timing;
        json_t *samples = json_array();
        for (size_t i = 0; i < timing->sample_count && i < SAMPLES; i++)
            failed |= json_array_append_new(samples, number(timing->samples_us[i]));
        failed |=
            json_array_append_new(kept, json_pack("{s:i, s:o}", "record", place, "us", samples));
    }
    return json_object_set_new(json, "samples", kept) | failed;
}
