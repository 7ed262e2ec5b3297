/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"

/* Records and what they belong to as JSON, and the gate that what is read passes. */

enum { NAME_SIZE = 160, WORD_MOST = 60 };

json_t *hn_value_to_json(const struct hn_value *value)
{
    switch (value->type) {
    case HN_INTEGER:
        return json_integer(value->integer);
    case HN_REAL:
        return hn_real_to_json(value->real);
    case HN_BOOLEAN:
        return json_boolean(value->boolean);
    case HN_WORD:
        return json_string(value->word);
    }
    return NULL;
}

json_t *hn_bindings_to_json(const struct hn_bindings *bindings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < bindings->count; i++)
        hn_build_set(&object, bindings->names[i], hn_value_to_json(&bindings->values[i]));
    return object;
}

enum hn_status hn_value_from_json(const json_t *json, struct hn_value *value, struct hn_error *err)
{
    const char *word = json_string_value(json);
    double real = 0;
    if (json_is_integer(json))
        *value = hn_integer(json_integer_value(json));
    else if (json_is_boolean(json))
        *value = hn_boolean(json_is_true(json));
    else if (hn_real_from_json(json, &real))
        *value = hn_real(real);
    else if (word == NULL)
        return hn_fail(err, HN_EFORMAT, "found %s, expected a value", hn_json_type_name(json));
    else if (!hn_text_is_word(word))
        return hn_fail(err, HN_EFORMAT, "found the string '%.60s', expected a word", word);
    else
        *value = hn_word(word);
    return HN_OK;
}

enum hn_status hn_bindings_from_json(const json_t *json, struct hn_bindings *bindings,
                                     struct hn_error *err)
{
    if (!json_is_object(json))
        return hn_fail(err, HN_EFORMAT, "found %s, expected an object of names and values",
                       hn_json_type_name(json));
    const char *name;
    json_t *item;
    json_object_foreach((json_t *)json, name, item)
    {
        struct hn_value value;
        if (!hn_text_is_word(name))
            return hn_fail(err, HN_EFORMAT, "found the name '%.60s', expected a word", name);
        enum hn_status status = hn_value_from_json(item, &value, err);
        if (status == HN_OK)
            status = hn_bindings_set(bindings, name, &value, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static void read_bindings(struct hn_json_reader *reader, const struct hn_field *field,
                          const json_t *json, void *member)
{
    (void)field;
    (void)hn_bindings_from_json(json, member, reader->err);
}

static json_t *build_bindings(const struct hn_field *field, const void *member)
{
    (void)field;
    return hn_bindings_to_json(member);
}

static void finish_bindings(void *member)
{
    hn_bindings_finish(member);
}

const struct hn_field_own hn_bindings_field = {read_bindings, build_bindings, finish_bindings};

static json_t *build_group(const struct hn_field *field, const void *member)
{
    return hn_observed_any(member, field->key) ? hn_observed_to_json(member, field->key)
                                               : json_null();
}

static const struct hn_field_own observed_field = {NULL, build_group, NULL};

static void read_set(struct hn_bindings *observed, const char *name, const json_t *list,
                     struct hn_error *err)
{
    size_t index;
    const json_t *item;
    char flag[NAME_SIZE + WORD_MOST + 2];
    json_array_foreach(list, index, item)
    {
        const char *word = json_string_value(item);
        if (word == NULL || !hn_text_is_word(word) || strlen(word) > WORD_MOST)
            continue;
        snprintf(flag, sizeof flag, "%s.%.*s", name, (int)WORD_MOST, word);
        hn_observed_set(observed, flag, hn_boolean(true), err);
    }
}

/* Takes an object of a record that is none of its parts; HN_EFORMAT for all but numbers and lists
 * in it. */
static void read_observed(struct hn_bindings *observed, const char *group, const json_t *object,
                          struct hn_error *err)
{
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)object, key, item)
    {
        char name[NAME_SIZE];
        struct hn_value value;
        if (hn_failed(err))
            return;
        if (!hn_text_is_word(group) || !hn_text_is_word(key) ||
            snprintf(name, sizeof name, "%s.%s", group, key) >= (int)sizeof name)
            hn_fail(err, HN_EFORMAT, "record: found '%.60s' in '%.60s', expected words", key,
                    group);
        else if (json_is_array(item))
            read_set(observed, name, item, err);
        else if (!json_is_number(item) || hn_value_from_json(item, &value, err) != HN_OK)
            hn_fail(err, HN_EFORMAT, "record: '%s' is not a number", key);
        else
            (void)hn_bindings_set(observed, name, &value, err);
    }
}

/* The gate: what is read is what it can be. */

enum { SIGNATURE_MOST = 1 << 16, LINE_MOST = 1024 };

/* The metric of "NAME minimize" or "NAME maximize"; false for anything else. */
static bool read_metric(const char *objective, char name[256], bool *maximize)
{
    const char *space = strchr(objective, ' ');
    if (space == NULL || space - objective > 255)
        return false;
    memcpy(name, objective, (size_t)(space - objective));
    name[space - objective] = '\0';
    *maximize = strcmp(space, " maximize") == 0;
    return hn_text_is_word(name) && (*maximize || strcmp(space, " minimize") == 0);
}

void hn_gate_identity(const struct hn_identity *identity, struct hn_error *err)
{
    const struct hn_device_identity *device = &identity->device;
    enum hn_regime regime;
    char metric[256];
    bool maximize;
    if (hn_failed(err))
        return;
    hn_gate_expect(err, hn_text_is_word(identity->kernel),
                   "the kernel is named '%.60s', expected a word", identity->kernel);
    hn_gate_expect(err,
                   hn_regime_parse(identity->regime, &regime) ||
                       strcmp(identity->regime, HN_REGIME_UNKNOWN) == 0,
                   "the regime is '%.60s', expected " HN_REGIMES_EXPECTED ", or unknown",
                   identity->regime);
    hn_gate_expect(err,
                   strcmp(identity->objective, "time") == 0 ||
                       read_metric(identity->objective, metric, &maximize),
                   "the objective is '%.60s', expected time, or a metric with minimize or maximize",
                   identity->objective);
    hn_gate_expect(
        err,
        device->capability >= 0 && device->capability <= 1000 && device->sm_count >= 0 &&
            device->sm_count <= 1000000,
        "the device has compute capability %d and %d SMs, expected 0 to 1000 and 0 to 1000000",
        device->capability, device->sm_count);
    hn_gate_line("the signature", identity->signature, SIGNATURE_MOST, err);
    hn_gate_line("the device's name", device->name, sizeof device->name - 1, err);
    hn_gate_line("the MIG profile", device->mig_profile, LINE_MOST, err);
}

static void check_version(struct hn_json_reader *reader, void *owner)
{
    const struct hn_version *version = owner;
    struct hn_error *err = reader->err;
    hn_gate_hash("template", version->template_hash, err);
    hn_gate_hash("options", version->options_hash, err);
    hn_gate_hash("plan", version->plan_hash, err);
    hn_gate_line("the driver's version", version->driver, LINE_MOST, err);
    hn_gate_line("NVRTC's version", version->nvrtc, LINE_MOST, err);
}

static bool is_time(double us)
{
    return us >= 1e-3 && us <= 3.2e13;
}

/* 0 where it was not taken. */
static bool is_time_or_none(double us)
{
    return us == 0 || is_time(us);
}

static bool is_amount(double amount)
{
    return amount >= 0 && isfinite(amount);
}

static bool has_time(enum hn_outcome outcome)
{
    return outcome == HN_OUTCOME_OK || outcome == HN_OUTCOME_SLOWER;
}

static void gate_timing(const struct hn_record *record, bool timed, struct hn_error *err)
{
    /* Recordings have the time in milliseconds, and the interval in microseconds. */
    const double above = 1 + 1e-9;
    const struct hn_timing *timing = &record->timing;
    bool none = timing->low_us == 0 && timing->high_us == 0;
    hn_gate_expect(err, timed ? is_time(timing->median_us) : is_time_or_none(timing->median_us),
                   "the time is %g us, expected 0.001 us to a year", timing->median_us);
    hn_gate_expect(err,
                   none || (is_time_or_none(timing->low_us) && is_time(timing->high_us) &&
                            timing->low_us <= above * timing->median_us &&
                            timing->median_us <= above * timing->high_us),
                   "the interval is %g to %g us, expected one around the time of %g us",
                   timing->low_us, timing->high_us, timing->median_us);
    hn_gate_expect(
        err,
        is_time_or_none(timing->host_us) && is_amount(timing->resolution_us) &&
            is_amount(timing->clock_mhz),
        "host time, resolution or clock is %g us, %g us, %g MHz, expected numbers that are not "
        "negative",
        timing->host_us, timing->resolution_us, timing->clock_mhz);
    hn_gate_expect(err,
                   timing->processes <= 0 ||
                       (is_time(timing->fastest_us) && is_time(timing->slowest_us) &&
                        timing->fastest_us <= timing->middle_us &&
                        timing->middle_us <= timing->slowest_us),
                   "the times of %d processes are %g to %g us, expected 0.001 us to a year",
                   timing->processes, timing->fastest_us, timing->slowest_us);
    for (size_t i = 0; i < timing->sample_count && !hn_failed(err); i++)
        hn_gate_expect(err, is_time(timing->samples_us[i]),
                       "sample %zu is %g us, expected 0.001 us to a year", i,
                       timing->samples_us[i]);
}

static void gate_objective(const struct hn_record *record, const char *objective,
                           struct hn_error *err)
{
    char name[256];
    bool maximize = false;
    double expected = record->timing.median_us;
    if (!has_time(record->outcome) || isnan(record->objective))
        return;
    if (read_metric(objective, name, &maximize)) {
        const struct hn_value *metric = hn_bindings_get(&record->metrics, name);
        enum hn_front_by by = hn_front_parse(name);
        expected = metric == NULL ? NAN : hn_value_number(metric) * (maximize ? -1 : 1);
        if (metric == NULL && !maximize && by != HN_FRONT_TIME)
            expected = hn_front_objective(record, by);
    }
    /* Older versions kept infinite ones. */
    hn_gate_expect(err,
                   record->objective == expected ||
                       fabs(record->objective - expected) <= 1e-9 * fabs(expected),
                   "the objective (%s) is %.17g, expected %.17g", objective, record->objective,
                   expected);
}

static void gate_resources(const struct hn_resources *resources, struct hn_error *err)
{
    hn_gate_expect(err, resources->occupancy >= 0 && resources->occupancy <= 1,
                   "'occupancy' is %g, expected 0 to 1", resources->occupancy);
}

void hn_gate_record(const struct hn_record *record, const char *objective, struct hn_error *err)
{
    const struct hn_bindings *observed = &record->observed;
    gate_timing(record, objective != NULL && has_time(record->outcome), err);
    hn_gate_amount("compile_ms", record->costs.compile_ms, err);
    hn_gate_amount("verify_ms", record->costs.verify_ms, err);
    hn_gate_amount("measure_ms", record->costs.measure_ms, err);
    for (size_t i = 0; i < observed->count; i++)
        hn_gate_amount(strchr(observed->names[i], '.') + 1, hn_value_number(&observed->values[i]),
                       err);
    hn_gate_moment("time", record->time, err);
    gate_resources(&record->resources, err);
    if (objective != NULL)
        gate_objective(record, objective, err);
}

/* Far more than any measurement takes, small enough to refuse nonsense before it is allocated. */
enum { SAMPLES_MOST = 1 << 20 };
enum { NUMBER_MOST = 1000000 };

/* Called as its member is: written always, or where it says something; what is not there is 0. */
#define ALWAYS(type, member, what)                                                                 \
    .key = #member, .always = true, .kind = (what), HN_AT(type, member)
#define IF_ANY(type, member, what) .key = #member, .kind = (what), HN_AT(type, member)

/* Of versions and devices, which have all of their parts. */
#define CHARS(type, member) HN_NEEDED(#member), HN_CHARS(type, member)
#define NUMBER(type, member)                                                                       \
    HN_NEEDED(#member), .kind = HN_FIELD_COUNT, .most = NUMBER_MOST, HN_AT(type, member)

static void check_resources(struct hn_json_reader *reader, void *owner)
{
    gate_resources(owner, reader->err);
    ((struct hn_resources *)owner)->known = true;
}

static const struct hn_field resources_fields[] = {
    {ALWAYS(hn_resources, registers, HN_FIELD_COUNT)},
    {ALWAYS(hn_resources, shared_bytes, HN_FIELD_COUNT)},
    {ALWAYS(hn_resources, local_bytes, HN_FIELD_COUNT)},
    {ALWAYS(hn_resources, stack_bytes, HN_FIELD_COUNT)},
    {ALWAYS(hn_resources, spill_store_bytes, HN_FIELD_COUNT)},
    {ALWAYS(hn_resources, spill_load_bytes, HN_FIELD_COUNT)},
    {ALWAYS(hn_resources, occupancy, HN_FIELD_REAL)},
    {IF_ANY(hn_resources, dynamic_shared_bytes, HN_FIELD_COUNT)},
    {.key = "warnings", HN_OWN(hn_resources, warnings, hn_warnings_field)},
};
const struct hn_structure hn_resources_structure =
    HN_STRUCTURE(hn_resources, resources_fields, check_resources);

static const struct hn_field verdict_fields[] = {
    {HN_NEEDED("kind"), HN_CHOICE(hn_verdict, kind, hn_verification_names)},
    {ALWAYS(hn_verdict, max_error, HN_FIELD_REAL)},
    {ALWAYS(hn_verdict, tolerance, HN_FIELD_REAL)},
    {ALWAYS(hn_verdict, max_reference, HN_FIELD_REAL)},
    {ALWAYS(hn_verdict, seeds, HN_FIELD_COUNT)},
    {IF_ANY(hn_verdict, seed, HN_FIELD_INTEGER)},
    {IF_ANY(hn_verdict, launches, HN_FIELD_COUNT)},
    {IF_ANY(hn_verdict, compared, HN_FIELD_INDEX)},
    {IF_ANY(hn_verdict, differed, HN_FIELD_INDEX)},
    {IF_ANY(hn_verdict, empty, HN_FIELD_INDEX)},
};
static const struct hn_structure verdict_structure = HN_STRUCTURE(hn_verdict, verdict_fields, NULL);

static const struct hn_field sample_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_REAL}};
static const struct hn_structure sample_list = {sizeof(double), sample_fields, 1, NULL};

static const struct hn_field timing_fields[] = {
    {ALWAYS(hn_timing, median_us, HN_FIELD_REAL)},
    {ALWAYS(hn_timing, low_us, HN_FIELD_REAL)},
    {ALWAYS(hn_timing, high_us, HN_FIELD_REAL)},
    {ALWAYS(hn_timing, resolution_us, HN_FIELD_REAL)},
    {ALWAYS(hn_timing, batch, HN_FIELD_COUNT)},
    {ALWAYS(hn_timing, dropped, HN_FIELD_COUNT)},
    {ALWAYS(hn_timing, clock_mhz, HN_FIELD_REAL)},
    {ALWAYS(hn_timing, unstable, HN_FIELD_FLAG)},
    {IF_ANY(hn_timing, host_us, HN_FIELD_REAL)},
    {IF_ANY(hn_timing, processes, HN_FIELD_COUNT)},
    {IF_ANY(hn_timing, fastest_us, HN_FIELD_REAL)},
    {IF_ANY(hn_timing, middle_us, HN_FIELD_REAL)},
    {IF_ANY(hn_timing, slowest_us, HN_FIELD_REAL)},
    {IF_ANY(hn_timing, copy_gb_per_s, HN_FIELD_AMOUNT)},
    {.key = "samples_us",
     .most = SAMPLES_MOST,
     HN_LIST(hn_timing, samples_us, sample_count, sample_list)},
};
static const struct hn_structure timing_structure = HN_STRUCTURE(hn_timing, timing_fields, NULL);

static const struct hn_field costs_fields[] = {
    {ALWAYS(hn_costs, compile_ms, HN_FIELD_REAL)},
    {ALWAYS(hn_costs, verify_ms, HN_FIELD_REAL)},
    {ALWAYS(hn_costs, measure_ms, HN_FIELD_REAL)},
};
static const struct hn_structure costs_structure = HN_STRUCTURE(hn_costs, costs_fields, NULL);

static bool is_compiled(const void *record)
{
    return ((const struct hn_record *)record)->resources.known;
}

static void check_record(struct hn_json_reader *reader, void *owner)
{
    struct hn_record *record = owner;
    char *const texts[] = {record->message, record->original, record->host, record->card};
    (void)reader;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] != NULL)
            hn_gate_clean(texts[i]);
}

static const struct hn_field record_fields[] = {
    {HN_NEEDED("point"), HN_OWN(hn_record, point, hn_bindings_field)},
    {HN_NEEDED("outcome"), HN_CHOICE(hn_record, outcome, hn_outcome_names)},
    {ALWAYS(hn_record, code_hash, HN_FIELD_HASH)},
    {.key = "verdict", .always = true, HN_STRUCT(hn_record, verdict, verdict_structure)},
    {.key = "costs", .always = true, HN_STRUCT(hn_record, costs, costs_structure)},
    {.key = "metrics", HN_OWN(hn_record, metrics, hn_bindings_field)},
    {.key = "counters", HN_OWN(hn_record, observed, observed_field)},
    {ALWAYS(hn_record, objective, HN_FIELD_REAL)},
    {ALWAYS(hn_record, final, HN_FIELD_FLAG)},
    {ALWAYS(hn_record, time, HN_FIELD_REAL)},
    {IF_ANY(hn_record, active_clusters, HN_FIELD_COUNT)},
    {IF_ANY(hn_record, message, HN_FIELD_STRING)},
    {IF_ANY(hn_record, original, HN_FIELD_STRING)},
    {.key = "suspicion", HN_CHOICE(hn_record, suspicion, hn_suspicion_names)},
    {.key = "resources",
     HN_STRUCT(hn_record, resources, hn_resources_structure),
     .told = is_compiled},
    {.key = "timing", HN_STRUCT(hn_record, timing, timing_structure)},
    {.key = "staging", HN_OWN(hn_record, observed, observed_field)},
    {.key = "energy", HN_OWN(hn_record, observed, observed_field)},
    {IF_ANY(hn_record, estimated_w, HN_FIELD_AMOUNT)},
    {.key = "conditions", HN_OWN(hn_record, observed, observed_field)},
    {.key = "host", HN_CHARS(hn_record, host)},
    {.key = "card", HN_CHARS(hn_record, card)},
    {IF_ANY(hn_record, ratio, HN_FIELD_AMOUNT)},
};
static const struct hn_structure record_structure =
    HN_STRUCTURE(hn_record, record_fields, check_record);

static const struct hn_field device_fields[] = {
    {CHARS(hn_device_identity, name)},
    {NUMBER(hn_device_identity, capability)},
    {NUMBER(hn_device_identity, sm_count)},
    {CHARS(hn_device_identity, mig_profile)},
};
const struct hn_structure hn_device_identity_structure =
    HN_STRUCTURE(hn_device_identity, device_fields, NULL);

#define TEXT(type, member) HN_NEEDED(#member), .kind = HN_FIELD_STRING, HN_AT(type, member)
static const struct hn_field identity_fields[] = {
    {TEXT(hn_identity, kernel)},
    {TEXT(hn_identity, signature)},
    {HN_NEEDED("problem"), HN_OWN(hn_identity, problem, hn_bindings_field)},
    {TEXT(hn_identity, regime)},
    {TEXT(hn_identity, objective)},
    {HN_NEEDED("device"), HN_STRUCT(hn_identity, device, hn_device_identity_structure)},
};
const struct hn_structure hn_identity_structure = HN_STRUCTURE(hn_identity, identity_fields, NULL);

static const struct hn_field version_fields[] = {
    {CHARS(hn_version, template_hash)}, {CHARS(hn_version, options_hash)},
    {CHARS(hn_version, plan_hash)},     {CHARS(hn_version, driver)},
    {CHARS(hn_version, nvrtc)},         {NUMBER(hn_version, protocol)},
};
const struct hn_structure hn_version_structure =
    HN_STRUCTURE(hn_version, version_fields, check_version);

static void check_file(struct hn_json_reader *reader, void *owner)
{
    const struct hn_text_file *file = owner;
    hn_gate_line("the name of a template", file->name, HN_NAME_MOST, reader->err);
}

static const struct hn_field file_fields[] = {
    {TEXT(hn_text_file, name)},
    {TEXT(hn_text_file, text)},
};
const struct hn_structure hn_text_file_structure =
    HN_STRUCTURE(hn_text_file, file_fields, check_file);

json_t *hn_record_to_json(const struct hn_record *record)
{
    json_t *object = hn_fields_to_json(&record_structure, record);
    for (size_t i = 0; i < record->observed.count; i++) {
        const char *name = record->observed.names[i];
        char group[NAME_SIZE];
        snprintf(group, sizeof group, "%.*s", (int)strcspn(name, "."), name);
        if (json_object_get(object, group) == NULL)
            hn_build_set(&object, group, hn_observed_to_json(&record->observed, group));
    }
    return object;
}

enum hn_status hn_record_from_json(const json_t *json, const char *objective,
                                   struct hn_record *record, struct hn_error *err)
{
    /* Members that may be objects. All others are what observers saw. */
    static const char *const parts[] = {"point",  "verdict", "costs",     "metrics",
                                        "timing", "time",    "resources", "objective"};
    hn_error_init(err);
    const char *key;
    json_t *item;
    hn_fields_read("record", &record_structure, json, record, err);
    json_object_foreach((json_t *)(uintptr_t)json, key, item)
    {
        if (!hn_failed(err) && json_is_object(item) &&
            !hn_text_is_among(key, parts, sizeof parts / sizeof *parts))
            read_observed(&record->observed, key, item, err);
    }
    hn_gate_record(record, objective, err);
    return err->status;
}
