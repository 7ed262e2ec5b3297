/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/schema.h"
#include "cache/record/record_json.h"
#include "runtime/bench/roofs.h"
#include "runtime/device/health.h"
#include "tuner/report/findings.h"
#include "tuner/report/report.h"
#include "tuner/report/staging.h"

/* Of how many of the best the samples are kept, and how many of each; and how much room messages
 * have, so that ten thousand records stay below the size that a browser opens at once. */
enum { SAMPLED_RECORDS = 12, SAMPLES = 200, MESSAGE_BYTES = 600, MESSAGES_BYTES = 200 * 1024 };

/* A string whatever bytes it holds. */
static json_t *string_to_json(const char *string)
{
    return string == NULL ? json_null() : hn_string_to_json(string);
}

/* A value of a parameter or problem as its text, which rounds nothing. */
static json_t *value_to_json(const struct hn_value *value)
{
    struct hn_text text = {0};
    hn_value_append(&text, value);
    json_t *json = string_to_json(text.data);
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
static void append_to(json_t *columns, const char *name, json_t *value)
{
    json_t *column = json_object_get(columns, name);
    if (column == NULL)
        json_object_set_new(columns, name, column = json_array());
    json_array_append_new(column, hn_needed(value));
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
static void append_figures(const struct hn_record *r, json_t *columns)
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
    for (size_t i = 0; i < FIGURES; i++)
        append_to(columns, figures[i].name, known(figures[i].is_known, figures[i].value));
    append_to(columns, "conditions", conditions(r));
    append_to(columns, "warnings", warnings(r));
}

/* Takes the column over. One that is the same for all is written once. */
static void set_column(json_t *columns, const char *name, json_t *column)
{
    size_t count = json_array_size(column);
    json_t *first = json_array_get(column, 0);
    bool same = count > 1 && !json_is_array(first);
    for (size_t i = 1; same && i < count; i++)
        same = json_equal(first, json_array_get(column, i));
    json_object_set(columns, name, same ? first : column);
    json_decref(column);
}

static const struct hn_record *record_at(const struct hn_report_tuning *tuning, size_t place)
{
    return &tuning->records.items[tuning->order[place]];
}

static void add_figures(const struct hn_report_tuning *tuning, json_t *columns)
{
    void *next;
    const char *name;
    json_t *column;
    for (size_t i = 0; i < tuning->records.count; i++)
        append_figures(record_at(tuning, i), columns);
    json_object_foreach_safe(columns, next, name, column)
    {
        set_column(columns, name, json_incref(column));
    }
}

/* Seconds since the first record was made. */
static void add_times(const struct hn_report_tuning *tuning, double started, json_t *columns)
{
    json_t *column = json_array();
    for (size_t i = 0; i < tuning->records.count; i++) {
        double time = record_at(tuning, i)->time;
        json_array_append_new(column, known(time > 0, round((time - started) * 1e3) / 1e3));
    }
    set_column(columns, "at", column);
}

static int compare_values(const void *a, const void *b)
{
    return hn_value_compare(a, b);
}

/* The different values of a parameter, sorted; free it. */
static struct hn_value *list_values(const struct hn_report_tuning *tuning, const char *name,
                                    size_t *count)
{
    struct hn_value *values = hn_need(tuning->records.count, sizeof *values);
    size_t found = 0;
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_value *value = hn_bindings_get(&tuning->records.items[i].point, name);
        if (value != NULL)
            values[found++] = *value;
    }
    *count = 0;
    qsort(values, found, sizeof *values, compare_values);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || !hn_value_equal(&values[i], &values[*count - 1]))
            values[(*count)++] = values[i];
    return values;
}

/* {"name": ..., "values": [...]} and a column of indices into the values. */
static void add_parameter(const struct hn_report_tuning *tuning, const char *name,
                          json_t *parameters, json_t *points)
{
    size_t count = 0;
    struct hn_value *values = list_values(tuning, name, &count);
    json_t *texts = json_array();
    json_t *column = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(texts, value_to_json(&values[i]));
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_value *value = hn_bindings_get(&record_at(tuning, i)->point, name);
        const struct hn_value *found =
            value == NULL ? NULL : bsearch(value, values, count, sizeof *values, compare_values);
        json_array_append_new(column, found == NULL ? json_null() : json_integer(found - values));
    }
    free(values);
    json_array_append_new(parameters,
                          json_pack("{s:o, s:o}", "name", string_to_json(name), "values", texts));
    json_array_append_new(points, column);
}

static void add_points(const struct hn_report_tuning *tuning, json_t *json)
{
    json_t *parameters = json_array();
    json_t *points = json_array();
    for (size_t i = 0; i < tuning->parameter_count; i++)
        add_parameter(tuning, tuning->parameters[i], parameters, points);
    json_object_set_new(json, "parameters", parameters);
    json_object_set_new(json, "points", points);
}

static json_t *metric_to_json(const struct hn_record *record, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&record->metrics, name);
    return value == NULL || value->type == HN_WORD ? json_null() : number(hn_value_number(value));
}

static void add_metrics(const struct hn_report_tuning *tuning, json_t *json)
{
    json_t *metrics = json_object();
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_bindings *own = &record_at(tuning, i)->metrics;
        for (size_t m = 0; m < own->count; m++) {
            if (json_object_get(metrics, own->names[m]) != NULL)
                continue;
            json_t *column = json_array();
            for (size_t r = 0; r < tuning->records.count; r++)
                json_array_append_new(column, metric_to_json(record_at(tuning, r), own->names[m]));
            set_column(metrics, own->names[m], column);
        }
    }
    json_object_set_new(json, "metrics", metrics);
}

/* Cut where that is too long, not within a character. */
static json_t *message_to_json(const char *message)
{
    size_t length = strlen(message);
    if (length <= MESSAGE_BYTES)
        return string_to_json(message);
    length = MESSAGE_BYTES;
    while (length > 0 && ((unsigned char)message[length] & 0xc0) == 0x80)
        length--;
    char *cut = hn_needed(strndup(message, length));
    json_t *json = string_to_json(cut);
    free(cut);
    json_t *whole = hn_needed(json_sprintf("%s …", json_string_value(json)));
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
    size_t length = json_string_length(text);
    if (place == NULL && length > *room) {
        place = json_integer(-1);
    } else if (place == NULL) {
        *room -= length;
        place = json_integer((json_int_t)json_array_size(table));
        json_object_set(places, json_string_value(text), place);
        json_array_append(table, text);
    }
    json_decref(text);
    return place;
}

static void add_messages(const struct hn_report_tuning *tuning, json_t *columns, json_t *json)
{
    json_t *table = json_array();
    json_t *places = json_object();
    json_t *column = json_array();
    size_t room = MESSAGES_BYTES;
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_record *record = record_at(tuning, i);
        /* of a duplicate `original` says it */
        const char *message =
            record->outcome == HN_OUTCOME_DUPLICATE && record->original ? NULL : record->message;
        json_array_append_new(column, place_message(message, table, places, &room));
    }
    json_decref(places);
    set_column(columns, "message", column);
    json_object_set_new(json, "messages", table);
}

/* {"cards": [{"host", "card"}]} and a column of places in it; nothing where none is told. */
static void add_cards(const struct hn_report_tuning *tuning, json_t *columns, json_t *json)
{
    json_t *table = json_array();
    json_t *places = json_object();
    json_t *column = json_array();
    for (size_t i = 0; i < tuning->records.count; i++) {
        const struct hn_record *record = record_at(tuning, i);
        char text[128];
        snprintf(text, sizeof text, "%s %s", record->host, record->card);
        if (record->card[0] == '\0') {
            json_array_append_new(column, json_null());
            continue;
        }
        json_t *place = json_object_get(places, text);
        if (place == NULL) {
            place = json_integer((json_int_t)json_array_size(table));
            json_object_set_new(places, text, place);
            json_array_append_new(table,
                                  json_pack("{s:o, s:o}", "host", string_to_json(record->host),
                                            "card", string_to_json(record->card)));
        }
        json_array_append(column, place);
    }
    json_decref(places);
    set_column(columns, "card", column);
    json_object_set_new(json, "cards", table);
}

static void add_originals(const struct hn_report_tuning *tuning, json_t *columns)
{
    json_t *places = json_object();
    json_t *column = json_array();
    for (size_t i = 0; i < tuning->records.count; i++) {
        char *text = hn_needed(hn_bindings_text(&record_at(tuning, i)->point));
        json_object_set_new(places, text, json_integer((json_int_t)i));
        free(text);
    }
    for (size_t i = 0; i < tuning->records.count; i++) {
        const char *original = record_at(tuning, i)->original;
        json_t *place = original == NULL ? NULL : json_object_get(places, original);
        json_array_append_new(column, place == NULL ? json_null() : json_incref(place));
    }
    json_decref(places);
    set_column(columns, "original", column);
}

/* The records as columns. */
static void add_columns(const struct hn_report_tuning *tuning, json_t *json)
{
    double started = 0;
    for (size_t i = 0; i < tuning->records.count && started <= 0; i++)
        started = record_at(tuning, i)->time;
    double ended =
        tuning->records.count == 0 ? 0 : record_at(tuning, tuning->records.count - 1)->time;
    json_t *columns = json_object();
    add_figures(tuning, columns);
    add_times(tuning, started, columns);
    add_messages(tuning, columns, json);
    add_cards(tuning, columns, json);
    add_originals(tuning, columns);
    json_object_set_new(json, "columns", columns);
    json_object_set_new(json, "started", json_integer((json_int_t)started));
    json_object_set_new(json, "ended", json_integer((json_int_t)ended));
    add_points(tuning, json);
    add_metrics(tuning, json);
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

/* Of the best. */
static void add_samples(const struct hn_report_tuning *tuning, json_t *json)
{
    json_t *kept = json_array();
    int place = -1;
    for (int k = 0; k < SAMPLED_RECORDS; k++) {
        place = next_best(tuning, place);
        if (place < 0)
            break;
        const struct hn_timing *timing = &record_at(tuning, (size_t)place)->timing;
        json_t *samples = json_array();
        for (size_t i = 0; i < timing->sample_count && i < SAMPLES; i++)
            json_array_append_new(samples, number(timing->samples_us[i]));
        json_array_append_new(kept, json_pack("{s:i, s:o}", "record", place, "us", samples));
    }
    json_object_set_new(json, "samples", kept);
}

static json_t *names_of_outcomes(void)
{
    json_t *names = json_array();
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        json_array_append_new(names, json_string(hn_outcome_name((enum hn_outcome)i)));
    return names;
}

static json_t *meanings_of_outcomes(void)
{
    json_t *meanings = json_array();
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        json_array_append_new(meanings, json_string(hn_outcome_meaning((enum hn_outcome)i)));
    return meanings;
}

static json_t *bindings_to_json(const struct hn_bindings *bindings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < bindings->count; i++)
        json_object_set_new(object, bindings->names[i], value_to_json(&bindings->values[i]));
    return object;
}

static json_t *device_to_json(const struct hn_device_identity *device)
{
    return json_pack("{s:o, s:i, s:i, s:o}", "name", string_to_json(device->name), "capability",
                     device->capability, "sm_count", device->sm_count, "mig_profile",
                     string_to_json(device->mig_profile));
}

static json_t *version_to_json(const struct hn_version *version)
{
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:i}", "driver", string_to_json(version->driver),
                     "nvrtc", string_to_json(version->nvrtc), "template", version->template_hash,
                     "options", version->options_hash, "plan", version->plan_hash, "protocol",
                     version->protocol);
}

/* The time stamp as a whole number, which is not rounded as other figures are. */
static json_t *roofs_to_json(const struct hn_report_tuning *tuning)
{
    if (!tuning->has_roofs)
        return json_null();
    json_t *json = hn_roofs_to_json(&tuning->roofs);
    if (json != NULL)
        json_object_set_new(json, "measured", json_integer((json_int_t)tuning->roofs.measured));
    return json;
}

static size_t place_of(const struct hn_report_tuning *tuning, size_t record)
{
    for (size_t i = 0; record != SIZE_MAX && i < tuning->records.count; i++)
        if (tuning->order[i] == record)
            return i;
    return SIZE_MAX;
}

static json_t *place_to_json(const struct hn_report_tuning *tuning, size_t record)
{
    size_t place = place_of(tuning, record);
    return place == SIZE_MAX ? json_null() : json_integer((json_int_t)place);
}

static json_t *ladder_to_json(const struct hn_report_tuning *tuning)
{
    json_t *ladder = json_array();
    for (size_t i = 0; i < tuning->ladder_count; i++) {
        const struct hn_report_step *step = &tuning->ladder[i];
        json_array_append_new(ladder, json_pack("{s:o, s:o}", "set", bindings_to_json(&step->set),
                                                "record", place_to_json(tuning, step->record)));
    }
    return ladder;
}

/* Of the best, how its pipeline is set against its parts. */
static json_t *staging_to_json(const struct hn_report_tuning *tuning)
{
    if (tuning->best == SIZE_MAX ||
        !hn_observed_any(&tuning->records.items[tuning->best].observed, "staging"))
        return json_null();
    const struct hn_record *best = &tuning->records.items[tuning->best];
    json_t *json = hn_record_to_json(best);
    hn_staging_add_json(best, json);
    json_t *staging = json_incref(json_object_get(json, "staging"));
    json_decref(json);
    if (best->timing.host_us > 0 && staging != NULL)
        json_object_set_new(staging, "host_us", json_real(best->timing.host_us));
    return staging;
}

/* Of the best, what the GPU counted. */
static json_t *counted_to_json(const struct hn_report_tuning *tuning)
{
    struct hn_findings findings;
    if (tuning->best == SIZE_MAX)
        return json_null();
    hn_findings_make(&tuning->records.items[tuning->best],
                     tuning->has_roofs ? &tuning->roofs : NULL, 0, &findings);
    return findings.known ? hn_findings_to_json(&findings) : json_null();
}

static json_t *tuning_to_json(const struct hn_report_tuning *tuning)
{
    const struct hn_identity *identity = &tuning->identity;
    bool kernel_tuners = tuning->version.protocol == HN_KERNEL_TUNER_PROTOCOL;
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:I}",
        "kernel", string_to_json(identity->kernel), "signature",
        string_to_json(identity->signature), "problem", bindings_to_json(&identity->problem),
        "regime", string_to_json(identity->regime), "objective",
        string_to_json(identity->objective), "device", device_to_json(&identity->device), "version",
        version_to_json(&tuning->version), "source", string_to_json(tuning->source), "command_line",
        string_to_json(tuning->command), "config", string_to_json(tuning->config), "merit",
        string_to_json(tuning->merit), "simulated", tuning->simulated, "stale", tuning->stale,
        "kernel_tuner", kernel_tuners, "recorded", tuning->recorded, "count",
        (json_int_t)tuning->records.count);
    hn_needed(json);
    json_object_set_new(json, "best", place_to_json(tuning, tuning->best));
    json_object_set_new(json, "family", string_to_json(tuning->family));
    json_object_set_new(json, "roofs", roofs_to_json(tuning));
    json_object_set_new(json, "staging", staging_to_json(tuning));
    json_object_set_new(json, "counted", counted_to_json(tuning));
    json_object_set_new(json, "ladder", ladder_to_json(tuning));
    add_columns(tuning, json);
    add_samples(tuning, json);
    return json;
}

static json_t *report_to_json(const struct hn_report *report)
{
    json_t *tunings = json_array();
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(tunings, tuning_to_json(&report->tunings[i]));
    return json_pack("{s:i, s:s, s:I, s:i, s:o, s:o, s:o, s:o}", "format", 1, "hone", HONE_VERSION,
                     "generated", (json_int_t)time(NULL), "protocol", HN_MEASURING_PROTOCOL,
                     "outcomes", names_of_outcomes(), "meanings", meanings_of_outcomes(), "tunings",
                     tunings, "cache", string_to_json(report->cache));
}

/* Six digits tell times apart that the measurement can. */
enum { DIGITS = 6 };

/* Where the template wants the data. */
static const char mark[] = "@HONE_DATA@";

/* Base64 (RFC 4648). No text of a kernel, message or parameter can end the element that the data
 * stands in. */
static void append_base64(struct hn_text *page, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned all = bytes[i] * 0x10000u;
        all += (i + 1 < size ? bytes[i + 1] * 0x100u : 0) + (i + 2 < size ? bytes[i + 2] : 0);
        char four[4] = {digits[all >> 18], digits[all >> 12 & 63], digits[all >> 6 & 63],
                        digits[all & 63]};
        if (i + 2 >= size)
            four[3] = '=';
        if (i + 1 >= size)
            four[2] = '=';
        hn_text_append_bytes(page, four, sizeof four);
    }
}

enum hn_status hn_report_page(const struct hn_report *report, struct hn_text *page,
                              struct hn_error *err)
{
    const char *place = strstr(hn_report_template, mark);
    json_t *document = hn_needed(report_to_json(report));
    char *json = hn_needed(json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)));
    json_decref(document);
    unsigned char *packed = NULL;
    size_t size = 0;
    enum hn_status status = hn_gzip_pack(json, strlen(json), &packed, &size, err);
    free(json);
    if (status != HN_OK)
        return status;
    hn_text_append_bytes(page, hn_report_template, (size_t)(place - hn_report_template));
    append_base64(page, packed, size);
    hn_text_append(page, place + sizeof mark - 1);
    free(packed);
    return HN_OK;
}
