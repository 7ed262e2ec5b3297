/* SPDX-License-Identifier: MIT */
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
#include "tuner/report/render.h"
#include "tuner/report/report.h"
#include "tuner/report/roof.h"

/* Of how many of the best the samples are kept, and how many of each; and how much room messages
 * have, so that ten thousand records stay below the size that a browser opens at once. */
enum { SAMPLED_RECORDS = 12, SAMPLES = 200, MESSAGE_BYTES = 600, MESSAGES_BYTES = 200 * 1024 };

/* A string whatever bytes it holds. */
static json_t *string_to_json(const char *string)
{
    return string == NULL ? json_null() : hn_string_to_json(string);
}

/* Values of a point or a problem as texts, which round nothing. */
static json_t *bindings_to_json(const struct hn_bindings *bindings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < bindings->count; i++) {
        struct hn_text text = {0};
        hn_value_append(&text, &bindings->values[i]);
        json_object_set_new(object, bindings->names[i], string_to_json(text.data));
        hn_text_finish(&text);
    }
    return object;
}

static const struct hn_record *record_at(const struct hn_report_tuning *tuning, size_t place)
{
    return &tuning->records.items[tuning->order[place]];
}

/* Cut where that is too long, not within a character. */
static json_t *cut_message(const char *message)
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

/* told: the messages so far, of which one that many records have counts once. */
static json_t *message_to_json(const struct hn_record *record, json_t *told, size_t *room)
{
    /* Of a duplicate `original` says it. */
    if (record->message == NULL || record->message[0] == '\0' ||
        (record->outcome == HN_OUTCOME_DUPLICATE && record->original != NULL))
        return json_null();
    json_t *message = cut_message(record->message);
    size_t length = json_string_length(message);
    bool known = json_object_get(told, json_string_value(message)) != NULL;
    if (!known && length > *room) {
        json_decref(message);
        return json_string("(left out of the report for its size)");
    }
    *room -= known ? 0 : length;
    json_object_set(told, json_string_value(message), json_true());
    return message;
}

static json_t *conditions_to_json(const struct hn_record *record)
{
    struct hn_text text = {0};
    hn_conditions_append(&text, &record->observed);
    json_t *json = text.length > 0 ? json_string(text.data) : json_null();
    hn_text_finish(&text);
    return json;
}

/* What the page shows of a record. Samples are left out but of the best; how many there were is
 * told. */
static json_t *record_to_json(const struct hn_record *record, double started, bool sampled)
{
    static const char *const shown[] = {"outcome", "verdict",   "costs",    "metrics",
                                        "final",   "resources", "timing",   "energy",
                                        "host",    "card",      "original", "ratio"};
    json_t *whole = hn_needed(hn_record_to_json(record)), *json = json_object();
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (json_object_get(whole, shown[i]) != NULL)
            json_object_set(json, shown[i], json_object_get(whole, shown[i]));
    json_t *timing = json_object_get(json, "timing");
    json_t *samples = json_object_get(timing, "samples_us");
    (void)json_object_set_new(timing, "samples",
                              json_integer((json_int_t)record->timing.sample_count));
    while (sampled && json_array_size(samples) > SAMPLES)
        json_array_remove(samples, json_array_size(samples) - 1);
    if (!sampled)
        (void)json_object_del(timing, "samples_us");
    json_object_set_new(json, "point", bindings_to_json(&record->point));
    /* Seconds since the first record was made. */
    json_object_set_new(json, "at",
                        record->time > 0 ? json_real(record->time - started) : json_null());
    json_object_set_new(json, "conditions", conditions_to_json(record));
    json_decref(whole);
    return json;
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

/* The records in the order in which they were made, and when that was. */
static void add_records(const struct hn_report_tuning *tuning, json_t *json)
{
    const size_t count = tuning->records.count;
    json_t *records = json_array(), *told = json_object();
    bool *sampled = hn_need(count, sizeof *sampled);
    size_t room = MESSAGES_BYTES;
    double started = 0;
    for (int place = -1, k = 0; k < SAMPLED_RECORDS && (place = next_best(tuning, place)) >= 0; k++)
        sampled[place] = true;
    for (size_t i = 0; i < count && started <= 0; i++)
        started = record_at(tuning, i)->time;
    for (size_t i = 0; i < count; i++) {
        const struct hn_record *record = record_at(tuning, i);
        json_t *row = record_to_json(record, started, sampled[i]);
        json_object_set_new(row, "message", message_to_json(record, told, &room));
        json_array_append_new(records, row);
    }
    json_object_set_new(json, "started", json_integer((json_int_t)started));
    json_object_set_new(
        json, "ended",
        json_integer(count > 0 ? (json_int_t)record_at(tuning, count - 1)->time : 0));
    json_object_set_new(json, "rows", records);
    json_object_set_new(json, "parameters",
                        hn_render_names(tuning->parameters, tuning->parameter_count));
    json_decref(told);
    free(sampled);
}

/* By name what each outcome means. */
static json_t *outcomes_to_json(void)
{
    json_t *meanings = json_object();
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        json_object_set_new(meanings, hn_outcome_name((enum hn_outcome)i),
                            json_string(hn_outcome_meaning((enum hn_outcome)i)));
    return meanings;
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

static json_t *place_to_json(const struct hn_report_tuning *tuning, size_t record)
{
    for (size_t i = 0; record != SIZE_MAX && i < tuning->records.count; i++)
        if (tuning->order[i] == record)
            return json_integer((json_int_t)i);
    return json_null();
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
    json_t *json = hn_needed(hn_fields_to_json(&hn_identity_structure, &tuning->identity));
    json_object_set_new(json, "problem", bindings_to_json(&tuning->identity.problem));
    json_object_update_new(
        json, hn_needed(json_pack(
                  "{so so so so so sb sb sb sb sI}", "version",
                  hn_fields_to_json(&hn_version_structure, &tuning->version), "source",
                  string_to_json(tuning->source), "command_line", string_to_json(tuning->command),
                  "config", string_to_json(tuning->config), "merit", string_to_json(tuning->merit),
                  "simulated", tuning->simulated, "stale", tuning->stale, "kernel_tuner",
                  tuning->version.protocol == HN_KERNEL_TUNER_PROTOCOL, "recorded",
                  tuning->recorded, "count", (json_int_t)tuning->records.count)));
    json_object_set_new(json, "best", place_to_json(tuning, tuning->best));
    json_object_set_new(json, "family", string_to_json(tuning->family));
    json_object_set_new(json, "roofs", roofs_to_json(tuning));
    json_object_set_new(json, "staging", staging_to_json(tuning));
    json_object_set_new(json, "counted", counted_to_json(tuning));
    json_object_set_new(json, "ladder", ladder_to_json(tuning));
    add_records(tuning, json);
    return json;
}

static json_t *report_to_json(const struct hn_report *report)
{
    json_t *tunings = json_array();
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(tunings, tuning_to_json(&report->tunings[i]));
    return json_pack("{s:i, s:s, s:I, s:i, s:o, s:o, s:o}", "format", 2, "hone", HONE_VERSION,
                     "generated", (json_int_t)time(NULL), "protocol", HN_MEASURING_PROTOCOL,
                     "outcomes", outcomes_to_json(), "tunings", tunings, "cache",
                     string_to_json(report->cache));
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
