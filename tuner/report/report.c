/* SPDX-License-Identifier: MIT */
#include "tuner/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/schema.h"
#include "base/statistics.h"
#include "cache/record/record.h"
#include "cache/store/store.h"
#include "runtime/device/health.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_files.h"
#include "tuner/report/bounds.h"
#include "tuner/report/render.h"

/* Values of a point or a problem as texts, which round nothing. */
static json_t *bindings_to_json(const struct hn_bindings *bindings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < bindings->count; i++) {
        struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
        hn_value_append(&text, &bindings->values[i]);
        json_object_set_new(object, bindings->names[i], hn_string_to_json(text.data));
    }
    return object;
}

static json_t *place_to_json(const struct hn_report_tuning *tuning, size_t record)
{
    for (size_t i = 0; record != SIZE_MAX && i < tuning->recording.records.count; i++)
        if (tuning->order[i].place == record)
            return json_integer((json_int_t)i);
    return json_null();
}

void hn_report_finish(struct hn_report *report)
{
    HN_EACH_OF(tuning, report->tunings, report->count) {
        hn_recording_finish(&tuning->recording);
        free(tuning->order);
        free(tuning->source);
        json_decref(tuning->shown);
    }
    free(report->tunings);
    *report = (struct hn_report){.count = 0};
}

/* An empty tuning behind the others. */
static struct hn_report_tuning *append(struct hn_report *report)
{
    struct hn_report_tuning *tuning = HN_NEXT(report->tunings, report->count);
    *tuning = (struct hn_report_tuning){
        .best = SIZE_MAX,
        .shown = hn_needed(json_pack("{sn sn sn sn sb sb so}", "command_line", "config", "merit",
                                     "family", "simulated", 0, "stale", 0, "ladder", json_array())),
    };
    return tuning;
}

void hn_records_recall_shared(const json_t *plan_json, const struct hn_bindings *problem,
                              struct hn_records *records)
{
    struct hn_plan *plan = NULL;
    if (plan_json != NULL && hn_plan_from_json(plan_json, &plan, NULL) == HN_OK) {
        for (size_t i = 0; i < records->count; i++)
            hn_launch_recall_shared(plan, problem, &records->items[i]);
        hn_plan_destroy(plan);
    }
}

static void order_records(struct hn_report_tuning *tuning)
{
    size_t count = tuning->recording.records.count;
    tuning->order = hn_need(count, sizeof *tuning->order);
    for (size_t i = 0; i < count; i++)
        tuning->order[i] = (struct hn_ranked){tuning->recording.records.items[i].time, i};
    qsort(tuning->order, count, sizeof *tuning->order, hn_ranked_compare);
}

/* SIZE_MAX: there is none. */
static size_t find_record(const struct hn_records *records, const struct hn_bindings *point)
{
    for (size_t i = 0; i < records->count; i++)
        if (hn_bindings_equal(&records->items[i].point, point))
            return i;
    return SIZE_MAX;
}

/* Puts the parameters into the plan's order, where they are the same. */
static void take_plan(struct hn_report_tuning *tuning, const struct hn_plan *plan, const char *path)
{
    size_t sorted = 0;
    char **names = tuning->recording.parameters;
    json_object_set_new(tuning->shown, "merit", hn_string_to_json(hn_format_merit_name(plan)));
    json_object_set_new(tuning->shown, "config", hn_string_to_json(path));
    json_object_set_new(tuning->shown, "program", json_boolean(plan->program != NULL));
    for (size_t i = 0; i < plan->parameter_count; i++) {
        size_t j = sorted;
        while (j < tuning->recording.parameter_count && strcmp(names[j], plan->parameters[i]) != 0)
            j++;
        if (j == tuning->recording.parameter_count)
            continue;
        char *found = names[j];
        memmove(&names[sorted + 1], &names[sorted], (j - sorted) * sizeof *names);
        names[sorted++] = found;
    }
}

void hn_report_apply_config(struct hn_report_tuning *tuning, struct hn_store *store,
                            const struct hn_config *config)
{
    json_t *ladder = json_object_get(tuning->shown, "ladder");
    bool has_ladder = json_array_size(ladder) > 0;
    take_plan(tuning, config->plan, config->path);
    if (hn_config_has_changed(config, store, &tuning->recording.identity,
                              &tuning->recording.version))
        json_object_set_new(tuning->shown, "stale", json_true());
    for (size_t i = 0; i < config->ladder_count && !has_ladder; i++) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) =
            hn_need_bindings(&config->plan->defaults, &config->ladder[i]);
        json_array_append_new(
            ladder,
            json_pack("{s:o, s:o}", "set", bindings_to_json(&config->ladder[i]), "record",
                      place_to_json(tuning, find_record(&tuning->recording.records, &point))));
    }
}

/* From the plan that the cache keeps; imported results have none. The ladder stands in the config
 * only: it is looked up where the config was when it was tuned. */
static void apply_plan(struct hn_report_tuning *tuning, struct hn_store *store,
                       struct hn_error *err)
{
    struct hn_stored_plan stored HN_ENDED_BY(hn_stored_plan_free) = {.json = NULL};
    struct hn_plan *plan = NULL;
    struct hn_config *config = NULL;
    if (hn_failed(err) || hn_store_get_plan(store, tuning->recording.identity.kernel,
                                            &tuning->recording.version, &stored, NULL) != HN_OK)
        return;
    hn_records_recall_shared(stored.json, &tuning->recording.identity.problem,
                             &tuning->recording.records);
    if (hn_plan_from_json(stored.json, &plan, NULL) == HN_OK) {
        take_plan(tuning, plan, plan->config);
        if (plan->config != NULL && hn_config_load(plan->config, NULL, &config, NULL) == HN_OK &&
            strcmp(config->plan->kernel, plan->kernel) == 0)
            hn_report_apply_config(tuning, store, config);
        hn_config_destroy(config);
        hn_plan_destroy(plan);
    }
}

/* "16 configurations for M 1 to 4096; at 40 sizes …", of the rule of that kernel and device. */
static void describe_family(struct hn_report_tuning *tuning, struct hn_store *store,
                            struct hn_error *err)
{
    struct hn_tuned_list rules HN_ENDED_BY(hn_tuned_list_free) = {0};
    const struct hn_identity *own = &tuning->recording.identity;
    if (hn_failed(err) ||
        hn_store_list(store, HN_STORE_RULES, own->kernel, NULL, &rules, err) != HN_OK)
        return;
    HN_EACH(stored, rules) {
        struct hn_text text = {0};
        if (!hn_device_identity_equal(&stored->identity.device, &own->device) ||
            strcmp(stored->identity.regime, own->regime) != 0 ||
            strcmp(stored->identity.objective, own->objective) != 0)
            continue;
        hn_text_printf(&text, "%zu configuration%s for ", stored->rule->configuration_count,
                       hn_plural(stored->rule->configuration_count));
        hn_rule_append_values(&text, stored->rule);
        hn_text_append(&text, "; ");
        hn_rule_append_loss(&text, stored->rule);
        json_object_set_new(tuning->shown, "family", hn_render_text(&text));
        break;
    }
}

void hn_report_add_tuned(struct hn_report *report, struct hn_store *store, const char *path,
                         const struct hn_tuned *tuned, struct hn_error *err)
{
    struct hn_text source = {0};
    struct hn_store_head head HN_ENDED_BY(hn_store_head_finish) = {0};
    struct hn_error
        ignored; /* a base's sessions are not to be had: how they were asked for is not known */
    if (hn_failed(err))
        return;
    struct hn_report_tuning *tuning = append(report);
    tuning->recording.version = tuned->version;
    hn_text_append(&source, path);
    if (hn_origin_is_foreign(&tuned->origin)) {
        char *origin HN_FREED = hn_needed(hn_origin_text(&tuned->origin));
        hn_text_printf(&source, ", %s", origin);
    }
    tuning->source = hn_needed(hn_text_take(&source));
    if (hn_identity_copy(&tuning->recording.identity, &tuned->identity, err) != HN_OK ||
        hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated,
                      &tuning->recording.records, err) != HN_OK)
        return;
    (void)hn_store_get_head(store, tuned->session_id, &head, &ignored);
    json_object_update_new(tuning->shown, json_pack("{sb sb so}", "simulated", tuned->simulated,
                                                    "stale", tuned->stale, "command_line",
                                                    hn_string_to_json(head.command)));
    describe_family(tuning, store, err);
    /* In the order of their names, until a plan or config says another. */
    if (tuning->recording.records.count > 0) {
        const struct hn_bindings *point = &tuning->recording.records.items[0].point;
        tuning->recording.parameters = hn_need(point->count, sizeof *tuning->recording.parameters);
        for (size_t i = 0; i < point->count; i++)
            tuning->recording.parameters[tuning->recording.parameter_count++] =
                hn_need_copy(point->names[i]);
    }
    order_records(tuning);
    tuning->best = find_record(&tuning->recording.records, &tuned->best.point);
    apply_plan(tuning, store, err);
}

void hn_report_add_recording(struct hn_report *report, const char *path,
                             struct hn_recording *recording)
{
    struct hn_report_tuning *tuning = append(report);
    bool stale = recording->from_hone && recording->version.protocol != HN_MEASURING_PROTOCOL;
    tuning->recorded = true;
    tuning->recording = *recording;
    json_object_update_new(tuning->shown, json_pack("{sb so}", "stale", stale, "command_line",
                                                    hn_string_to_json(recording->command)));
    hn_records_recall_shared(recording->plan.json, &tuning->recording.identity.problem,
                             &tuning->recording.records);
    const struct hn_record *items = tuning->recording.records.items;
    for (size_t i = 0; i < tuning->recording.records.count; i++)
        if (hn_record_beats(&items[i], tuning->best == SIZE_MAX ? NULL : &items[tuning->best]))
            tuning->best = i;
    tuning->source = hn_need_copy(path);
    order_records(tuning);
}

/* Of how many of the best the samples are kept, and how many of each; and how much room messages
 * have, so that ten thousand records stay below the size that a browser opens at once. */
enum { SAMPLED_RECORDS = 12, SAMPLES = 200, MESSAGE_BYTES = 600, MESSAGES_BYTES = 200 * 1024 };

static const struct hn_record *record_at(const struct hn_report_tuning *tuning, size_t place)
{
    return &tuning->recording.records.items[tuning->order[place].place];
}

/* Cut where that is too long, not within a character. */
static json_t *cut_message(const char *message)
{
    size_t length = strlen(message);
    if (length <= MESSAGE_BYTES)
        return hn_string_to_json(message);
    length = MESSAGE_BYTES;
    while (length > 0 && ((unsigned char)message[length] & 0xc0) == 0x80)
        length--;
    struct hn_text cut = {0};
    hn_text_printf(&cut, "%.*s …", (int)length, message);
    return hn_render_text(&cut);
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

/* What the page shows of a record: of samples only the best's, and how many there were. */
static json_t *record_to_json(const struct hn_record *record, double started, bool sampled)
{
    static const char *const shown[] = {"outcome", "verdict",   "costs",    "metrics",
                                        "final",   "resources", "timing",   "energy",
                                        "host",    "card",      "original", "ratio"};
    json_t *whole = hn_needed(hn_record_to_json(record)), *json = json_object();
    struct hn_text conditions HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        (void)json_object_set(json, shown[i], json_object_get(whole, shown[i]));
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
    hn_conditions_append(&conditions, &record->observed);
    json_object_set_new(json, "conditions", hn_string_to_json(conditions.data));
    json_decref(whole);
    return json;
}

/* Of the best records the samples are kept. */
static bool *choose_sampled(const struct hn_report_tuning *tuning)
{
    bool *sampled = hn_need(tuning->recording.records.count, sizeof *sampled);
    for (int k = 0; k < SAMPLED_RECORDS; k++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < tuning->recording.records.count; i++)
            if (!sampled[i] && record_at(tuning, i)->timing.sample_count > 0 &&
                hn_record_beats(record_at(tuning, i),
                                best == SIZE_MAX ? NULL : record_at(tuning, best)))
                best = i;
        if (best != SIZE_MAX)
            sampled[best] = true;
    }
    return sampled;
}

/* The records in the order in which they were made, and when that was. */
static void add_records(const struct hn_report_tuning *tuning, json_t *json)
{
    const size_t count = tuning->recording.records.count;
    json_t *records = json_array(), *told = json_object();
    bool *sampled HN_FREED = choose_sampled(tuning);
    size_t room = MESSAGES_BYTES;
    double started = 0, ended = count > 0 ? record_at(tuning, count - 1)->time : 0;
    for (size_t i = 0; i < count && started <= 0; i++)
        started = record_at(tuning, i)->time;
    for (size_t i = 0; i < count; i++) {
        const struct hn_record *record = record_at(tuning, i);
        json_t *row = record_to_json(record, started, sampled[i]);
        json_object_set_new(row, "message", message_to_json(record, told, &room));
        json_array_append_new(records, row);
    }
    json_object_set_new(json, "started", json_integer((json_int_t)started));
    json_object_set_new(json, "ended", json_integer((json_int_t)ended));
    json_object_set_new(json, "rows", records);
    json_object_set_new(
        json, "parameters",
        hn_render_names(tuning->recording.parameters, tuning->recording.parameter_count));
    json_decref(told);
}

/* Of the best, how its pipeline is set against its parts, and what the GPU counted; and the roofs,
 * whose time stamp is a whole number, which is not rounded as other figures are. */
static void add_best(const struct hn_report_tuning *tuning, json_t *json)
{
    json_t *roofs = tuning->has_roofs
                        ? hn_needed(hn_fields_to_json(&hn_roofs_structure, &tuning->roofs))
                        : json_null();
    json_t *staging = NULL, *counted = NULL;
    if (tuning->has_roofs)
        json_object_set_new(roofs, "measured", json_integer((json_int_t)tuning->roofs.measured));
    if (tuning->best != SIZE_MAX) {
        const struct hn_record *best = &tuning->recording.records.items[tuning->best];
        json_auto_t *record = hn_bounds_to_json(best, tuning->has_roofs ? &tuning->roofs : NULL, 0);
        counted = json_incref(json_object_get(record, "counted"));
        staging = json_incref(json_object_get(record, "staging"));
        if (best->timing.host_us > 0)
            json_object_set_new(staging, "host_us", json_real(best->timing.host_us));
    }
    json_object_update_new(
        json, json_pack("{so so? so?}", "roofs", roofs, "staging", staging, "counted", counted));
}

static json_t *tuning_to_json(const struct hn_report_tuning *tuning)
{
    json_t *json =
        hn_needed(hn_fields_to_json(&hn_identity_structure, &tuning->recording.identity));
    json_object_set_new(json, "problem", bindings_to_json(&tuning->recording.identity.problem));
    json_object_update(json, tuning->shown);
    json_object_update_new(
        json, hn_needed(json_pack(
                  "{so so sb sb sI so}", "version",
                  hn_fields_to_json(&hn_version_structure, &tuning->recording.version), "source",
                  hn_string_to_json(tuning->source), "kernel_tuner",
                  tuning->recording.version.protocol == HN_KERNEL_TUNER_PROTOCOL, "recorded",
                  tuning->recorded, "count", (json_int_t)tuning->recording.records.count, "best",
                  place_to_json(tuning, tuning->best))));
    add_best(tuning, json);
    add_records(tuning, json);
    return json;
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
    json_t *tunings = json_array(), *meanings = json_object();
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        json_object_set_new(meanings, hn_outcome_names[(enum hn_outcome)i],
                            json_string(hn_outcome_meanings[i]));
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(tunings, tuning_to_json(&report->tunings[i]));
    json_t *document = hn_needed(json_pack(
        "{s:i, s:s, s:I, s:i, s:o, s:o, s:o}", "format", 2, "hone", HONE_VERSION, "generated",
        (json_int_t)time(NULL), "protocol", HN_MEASURING_PROTOCOL, "outcomes", meanings, "tunings",
        tunings, "cache", hn_string_to_json(report->cache)));
    char *json HN_FREED =
        hn_needed(hn_json_text(document, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)));
    unsigned char *packed HN_FREED = NULL;
    size_t size = 0;
    enum hn_status status = hn_gzip_pack(json, strlen(json), &packed, &size, err);
    if (status != HN_OK)
        return status;
    hn_text_append_bytes(page, hn_report_template, (size_t)(place - hn_report_template));
    append_base64(page, packed, size);
    hn_text_append(page, place + sizeof mark - 1);
    return HN_OK;
}
