/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "cache/record/gate.h"

enum { RECORDING_FORMAT = 1 };

static void read_format(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    int format = 0;
    (void)member;
    hn_field_read(reader, &(struct hn_field){.key = field->key, .kind = HN_FIELD_COUNT}, json,
                  &format);
    if (!hn_failed(reader->err) && (format < 1 || format > RECORDING_FORMAT))
        hn_fail(reader->err, HN_EFORMAT,
                "it has format %d, this Hone knows up to %d: use the newer Hone", format,
                RECORDING_FORMAT);
}

static json_t *build_format(const struct hn_field *field, const void *member)
{
    (void)field;
    (void)member;
    return json_integer(RECORDING_FORMAT);
}

static const struct hn_field_own format = {read_format, build_format, NULL};

static void check_head(struct hn_json_reader *reader, void *owner)
{
    const struct hn_recording *recording = owner;
    if (recording->command != NULL)
        hn_gate_line("command", recording->command, HN_COMMAND_MOST, reader->err);
    if (recording->date != NULL)
        hn_gate_line("date", recording->date, HN_COMMAND_MOST, reader->err);
    if (!hn_failed(reader->err) && recording->rule != NULL && recording->identity.problem.count > 0)
        hn_fail(reader->err, HN_EFORMAT,
                "it has a rule of a family and a problem, expected one of them");
}

/* Bytes as hexadecimal digits: gzip finds in them what repeats, as it does not in base 64. */
static void read_code(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *member)
{
    struct hn_recording_code *code = member;
    const char *digits = json_is_string(json) ? json_string_value(json) : "";
    size_t count = strspn(digits, "0123456789abcdef");
    if (!hn_json_expect(reader, count > 0 && count % 2 == 0 && digits[count] == '\0', field->key,
                        "bytes as hexadecimal digits"))
        return;
    unsigned char *bytes = hn_allocate(count / 2, 1, reader->err);
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        unsigned digit = (unsigned)(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
        bytes[i / 2] = (unsigned char)((unsigned)bytes[i / 2] << 4 | digit);
    }
    *code = (struct hn_recording_code){bytes, bytes == NULL ? 0 : count / 2};
}

static json_t *build_code(const struct hn_field *field, const void *member)
{
    const struct hn_recording_code *code = member;
    struct hn_text digits HN_ENDED_BY(hn_text_finish) = {0};
    (void)field;
    for (size_t i = 0; i < code->size; i++)
        hn_text_printf(&digits, "%02x", ((const unsigned char *)code->bytes)[i]);
    return digits.failed ? NULL : json_string(digits.data);
}

static void finish_code(void *member)
{
    free(((struct hn_recording_code *)member)->bytes);
}

static const struct hn_field_own code = {read_code, build_code, finish_code};
static const struct hn_field image_fields[] = {
    {HN_NEEDED("problem"), HN_OWN(hn_recording_image, problem, hn_bindings_field)},
    {HN_NEEDED("point"), HN_OWN(hn_recording_image, point, hn_bindings_field)},
    {HN_NEEDED("entry"), .kind = HN_FIELD_TEXT, HN_AT(hn_recording_image, entry)},
    {HN_NEEDED("cubin"), HN_OWN(hn_recording_image, cubin, code)},
};
static const struct hn_structure image_structure =
    HN_STRUCTURE(hn_recording_image, image_fields, NULL);

#define STRING(member) .kind = HN_FIELD_STRING, HN_AT(hn_recording, member)

/* The "hone" object at the top. */
static const struct hn_field head_fields[] = {
    {HN_NEEDED("format"), .kind = HN_FIELD_OWN, .of = &format},
    {HN_NEEDED("signature"), STRING(identity.signature)},
    {HN_NEEDED("problem"), HN_OWN(hn_recording, identity.problem, hn_bindings_field)},
    {HN_NEEDED("regime"), STRING(identity.regime)},
    {HN_NEEDED("objective"), STRING(identity.objective)},
    {HN_NEEDED("device"), HN_STRUCT(hn_recording, identity.device, hn_device_identity_structure)},
    {HN_NEEDED("version"), HN_STRUCT(hn_recording, version, hn_version_structure)},
    {.key = "source", HN_STRUCT(hn_recording, plan, hn_stored_plan_structure)},
    {.key = "rule", .kind = HN_FIELD_POINTER, .of = &hn_rule_structure, HN_AT(hn_recording, rule)},
    {.key = "learnt", .kind = HN_FIELD_REAL, HN_AT(hn_recording, learnt)},
    {.key = "images", HN_LIST(hn_recording, images, image_count, image_structure)},
    {.key = "command", STRING(command)},
    {.key = "date", STRING(date)},
};
static const struct hn_structure head_structure =
    HN_STRUCTURE(hn_recording, head_fields, check_head);

static const struct hn_field parameter_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_WORD}};
static const struct hn_structure parameter_list = {sizeof(char *), parameter_fields, 1, NULL};

/* What is around it, as Kernel Tuner has it too. */
static const struct hn_field root_fields[] = {
    {HN_NEEDED("kernel_name"), STRING(identity.kernel)},
    {HN_NEEDED("tune_params_keys"),
     HN_LIST(hn_recording, parameters, parameter_count, parameter_list)},
    {.key = "hone", .kind = HN_FIELD_STRUCT, .of = &head_structure},
};
static const struct hn_structure root_structure = HN_STRUCTURE(hn_recording, root_fields, NULL);

void hn_recording_finish(struct hn_recording *recording)
{
    hn_fields_finish(&root_structure, recording);
    hn_records_free(&recording->records);
    *recording = (struct hn_recording){.from_hone = false};
}

/* The costs of a row, as Kernel Tuner calls them. */
static const struct {
    const char *name;
    size_t offset;
} costs[] = {
    {"compile_time", offsetof(struct hn_costs, compile_ms)},
    {"verification_time", offsetof(struct hn_costs, verify_ms)},
    {"benchmark_time", offsetof(struct hn_costs, measure_ms)},
};
enum { COST_COUNT = sizeof costs / sizeof *costs };

static double *cost_of(const struct hn_costs *of, size_t place)
{
    return (double *)(void *)((char *)(uintptr_t)of + costs[place].offset);
}

/* What an outcome without a time is called by Kernel Tuner (NULL: it has a time), and in T4. */
static const struct {
    const char *failure;
    const char *invalidity;
} called[HN_OUTCOME_COUNT] = {
#define COMPILE "CompilationFailedConfig"
#define INVALID "InvalidConfig"
#define RUNTIME "RuntimeFailedConfig"
    [HN_OUTCOME_OK] = {NULL, "correct"},
    [HN_OUTCOME_SLOWER] = {NULL, "correct"},
    [HN_OUTCOME_DUPLICATE] = {NULL, "correct"},
    [HN_OUTCOME_SKIPPED] = {INVALID, "runtime"},
    [HN_OUTCOME_COMPILE_STOPPED] = {INVALID, "runtime"},
    [HN_OUTCOME_INVALID_LAUNCH] = {INVALID, "constraints"},
    [HN_OUTCOME_COMPILE_ERROR] = {COMPILE, "compile"},
    [HN_OUTCOME_COMPILE_TIMEOUT] = {COMPILE, "timeout"},
    [HN_OUTCOME_COMPILE_CRASH] = {COMPILE, "compile"},
    [HN_OUTCOME_LAUNCH_ERROR] = {RUNTIME, "runtime"},
    [HN_OUTCOME_WRONG_RESULT] = {RUNTIME, "correctness"},
    [HN_OUTCOME_OUT_OF_BOUNDS] = {RUNTIME, "correctness"},
    [HN_OUTCOME_DEVICE_FAULT] = {RUNTIME, "runtime"},
    [HN_OUTCOME_RUN_TIMEOUT] = {RUNTIME, "timeout"},
    [HN_OUTCOME_OUT_OF_MEMORY] = {RUNTIME, "runtime"},
    [HN_OUTCOME_WORKER_CRASH] = {RUNTIME, "runtime"},
};

/* Kernel Tuner's of a row, and Hone's. */
static const char *const members[] = {
    "time",           "times",         "compile_time",   "verification_time",
    "benchmark_time", "strategy_time", "framework_time", "timestamp",
    "hone",
};
enum { MEMBERS = sizeof members / sizeof *members };

/* Whether it is a parameter, or one of these; what else is a number is a metric. */
static bool has_member(const struct hn_recording *recording, const char *name)
{
    return hn_text_is_among(name, members, MEMBERS) ||
           hn_text_is_among(name, (const char *const *)recording->parameters,
                            recording->parameter_count);
}

/* "2026-11-21 09:54:05.502007+00:00", as Kernel Tuner stamps its rows. */
static json_t *timestamp(double time)
{
    /* up to the year 9999; a record from elsewhere may hold anything */
    double whole = time >= 0 && time < 253402300800.0 ? floor(time) : 0;
    if (whole == 0)
        time = 0;
    int microseconds = (int)lround((time - whole) * 1e6);
    time_t seconds = (time_t)whole + microseconds / 1000000;
    struct tm parts;
    char date[32] = "1970-01-01 00:00:00";
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &parts);
    return json_sprintf("%s.%06d+00:00", date, microseconds % 1000000);
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

/* Sets time and times, and takes out of the hone object what they say exactly. */
static void write_times(json_t **row, json_t *hone, const struct hn_record *record)
{
    const char *failure = called[record->outcome].failure;
    json_t *timing = json_object_get(hone, "timing");
    double ms;
    bool exact = milliseconds(record->timing.median_us, &ms);
    if (failure != NULL || !isfinite(ms)) {
        hn_build_set(row, "time", json_string(failure != NULL ? failure : RUNTIME));
        return;
    }
    hn_build_set(row, "time", json_real(ms));
    if (exact)
        (void)json_object_del(timing, "median_us");
    if (record->timing.sample_count == 0)
        return;
    json_t *times = json_array();
    exact = true;
    for (size_t i = 0; i < record->timing.sample_count; i++) {
        exact = milliseconds(record->timing.samples_us[i], &ms) && exact;
        hn_build_append(&times, json_real(isfinite(ms) ? ms : 0));
    }
    hn_build_set(row, "times", times);
    if (exact)
        (void)json_object_del(timing, "samples_us");
}

/* The row of a record; NULL when out of memory. */
static json_t *write_row(const struct hn_recording *recording, const struct hn_record *record)
{
    json_t *row = json_object();
    json_t *hone = hn_record_to_json(record);
    bool finite = true;
    for (size_t i = 0; i < recording->parameter_count; i++) {
        const char *name = recording->parameters[i];
        hn_build_set(&row, name, hn_value_to_json(hn_bindings_get(&record->point, name)));
    }
    write_times(&row, hone, record);
    for (size_t i = 0; i < COST_COUNT; i++)
        finite = finite && isfinite(*cost_of(&record->costs, i));
    for (size_t i = 0; i < COST_COUNT; i++)
        hn_build_set(&row, costs[i].name, json_real(finite ? *cost_of(&record->costs, i) : 0));
    hn_build_set(&row, "strategy_time", json_integer(0));
    hn_build_set(&row, "framework_time", json_integer(0));
    hn_build_set(&row, "timestamp", timestamp(record->time));
    for (size_t i = 0; i < record->metrics.count; i++) {
        /* A copy that Kernel Tuner's tools find; the hone object holds what counts. */
        if (!has_member(recording, record->metrics.names[i]))
            hn_build_set(&row, record->metrics.names[i],
                         hn_value_to_json(&record->metrics.values[i]));
    }
    if (finite)
        (void)json_object_del(hone, "costs");
    (void)json_object_del(hone, "point");
    hn_build_set(&row, "hone", hone);
    return row;
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

enum hn_outcome hn_row_outcome(const json_t *row, double *ms, const char **reason)
{
    static const struct {
        const char *name;
        enum hn_outcome outcome;
    } failures[] = {
        {COMPILE, HN_OUTCOME_COMPILE_ERROR},
        {RUNTIME, HN_OUTCOME_LAUNCH_ERROR},
        {INVALID, HN_OUTCOME_INVALID_LAUNCH},
        {"ErrorConfig", HN_OUTCOME_LAUNCH_ERROR},
    };
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
        const char *text = json_string_value(member);
        for (size_t i = 0; text != NULL && i < sizeof failures / sizeof *failures; i++) {
            if (strcmp(failures[i].name, text) != 0)
                continue;
            *reason = text;
            return failures[i].outcome;
        }
    }
    return HN_OUTCOME_LAUNCH_ERROR;
}

/* Into an array of its own, in microseconds. */
static void read_samples(const json_t *times, struct hn_timing *timing, struct hn_error *err)
{
    static const struct hn_field time = {.key = "times", .kind = HN_FIELD_FINITE};
    struct hn_json_reader reader = {"row", err, NULL};
    size_t count = json_array_size(times);
    if (hn_failed(err) || count == 0)
        return;
    timing->samples_us = hn_made(calloc(count, sizeof *timing->samples_us), err);
    for (size_t i = 0; !hn_failed(err) && i < count; i++) {
        double ms = 0;
        hn_field_read(&reader, &time, json_array_get(times, i), &ms);
        timing->samples_us[i] = ms * 1000;
        timing->sample_count = i + 1;
    }
}

/* Kernel Tuner's time is a mean, which may lie outside the interval of the median, and in some
 * files times are of something else than time: then the interval is opened up to hold it, and the
 * record is flagged. */
static void set_interval(struct hn_timing *timing, struct hn_error *err)
{
    size_t count = timing->sample_count;
    timing->low_us = timing->median_us;
    timing->high_us = timing->median_us;
    double *sorted HN_FREED = count < 2 ? NULL : hn_allocate(count, sizeof *sorted, err);
    if (sorted == NULL)
        return;
    memcpy(sorted, timing->samples_us, count * sizeof *sorted);
    const struct hn_interval interval = hn_interval_of(sorted, count, HN_OUTSIDE_USUAL);
    timing->low_us = fmin(timing->median_us, interval.low);
    timing->high_us = fmax(timing->median_us, interval.high);
    timing->unstable = timing->median_us < sorted[0] || timing->median_us > sorted[count - 1];
}

/* The point and the costs, which Hone's rows and Kernel Tuner's have alike. */
static void read_members(const struct hn_recording *recording, const json_t *row,
                         struct hn_record *record, struct hn_error *err)
{
    struct hn_json_reader reader = {"row", err, NULL};
    for (size_t i = 0; i < COST_COUNT; i++) {
        const json_t *cost = json_object_get(row, costs[i].name);
        bool holds = !recording->from_hone || cost == NULL || json_is_number(cost);
        (void)hn_json_expect(&reader, holds, costs[i].name, "a number");
        *cost_of(&record->costs, i) = json_number_value(cost);
    }
    for (size_t i = 0; !hn_failed(err) && i < recording->parameter_count; i++) {
        struct hn_value value;
        const char *parameter = recording->parameters[i];
        if (hn_value_from_json(json_object_get(row, parameter), &value, err) == HN_OK)
            (void)hn_bindings_set(&record->point, parameter, &value, err);
    }
}

static void read_kernel_tuner_row(const struct hn_recording *recording, const json_t *row,
                                  struct hn_record *record, struct hn_error *err)
{
    double ms;
    const char *reason, *name;
    json_t *item;
    enum hn_outcome outcome = hn_row_outcome(row, &ms, &reason);
    record->time = parse_timestamp(json_string_value(json_object_get(row, "timestamp")));
    record->verdict.kind = HN_NOT_RECORDED;
    if (outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, outcome, "%s", reason);
        return;
    }
    record->timing.median_us = ms * 1000;
    record->timing.batch = 1;
    record->objective = record->timing.median_us;
    read_samples(json_object_get(row, "times"), &record->timing, err);
    set_interval(&record->timing, err);
    json_object_foreach((json_t *)(uintptr_t)row, name, item)
    {
        struct hn_value value = hn_real(json_number_value(item));
        if (!hn_failed(err) && json_is_number(item) && hn_text_is_word(name) &&
            !has_member(recording, name))
            (void)hn_bindings_set(&record->metrics, name, &value, err);
    }
}

static void read_hone_row(const struct hn_recording *recording, const json_t *row,
                          struct hn_record *record, struct hn_error *err)
{
    struct hn_json_reader reader = {"row", err, NULL};
    json_t *hone = json_object_get(row, "hone");
    const json_t *time = json_object_get(row, "time");
    const json_t *timing = json_object_get(hone, "timing");
    const json_t *median = json_object_get(timing, "median_us");
    double ms = json_number_value(time);
    double us = json_number_value(median);
    if (!hn_json_expect(&reader, json_is_object(hone), "hone", "an object"))
        return;
    /* Where the hone object repeats the row's time, more exactly, it is the same time. */
    if (json_is_number(time) && json_is_number(median) &&
        !(fabs(ms * 1000 - us) <= 1e-9 * fabs(us)))
        hn_fail(err, HN_EFORMAT, "'time' is %g ms, 'median_us' is %g us, expected the same", ms,
                us);
    if (timing != NULL && median == NULL)
        record->timing.median_us = ms * 1000;
    /* The row says the point, which the hone object has none of. */
    if (!hn_failed(err) && json_object_set_new(hone, "point", json_object()) != 0)
        hn_fail_memory(err);
    if (!hn_failed(err))
        (void)hn_record_from_json(hone, recording->identity.objective, record, err);
    if (json_object_get(hone, "timing") != NULL && record->timing.sample_count == 0)
        read_samples(json_object_get(row, "times"), &record->timing, err);
}

void hn_row_read(const struct hn_recording *recording, const json_t *row, struct hn_record *record,
                 struct hn_error *err)
{
    if (!json_is_object(row))
        hn_fail(err, HN_EFORMAT, "the row is %s, expected an object", hn_json_type_name(row));
    for (size_t i = 0; i < recording->parameter_count && !hn_failed(err); i++)
        if (json_object_get(row, recording->parameters[i]) == NULL)
            hn_fail(err, HN_EFORMAT, "parameter '%s' is missing", recording->parameters[i]);
    if (!hn_failed(err))
        read_members(recording, row, record, err);
    if (!hn_failed(err) && recording->from_hone)
        read_hone_row(recording, row, record, err);
    else if (!hn_failed(err))
        read_kernel_tuner_row(recording, row, record, err);
    hn_gate_record(record, recording->identity.objective, err);
}

/* What only Hone's files say. Kernel Tuner knows the problem as a size in up to three dimensions,
 * without names. */
static void read_kernel_tuner(const json_t *root, struct hn_recording *recording,
                              struct hn_error *err)
{
    static const char *const names[] = {"problem_size_x", "problem_size_y", "problem_size_z"};
    struct hn_json_reader reader = {"recording", err, NULL};
    struct hn_identity *identity = &recording->identity;
    struct hn_device_identity *device = &identity->device;
    const struct hn_field device_name = {
        .key = "device_name", .kind = HN_FIELD_CHARS, .most = sizeof device->name - 1};
    const json_t *name = json_object_get(root, "device_name");
    const json_t *sizes = json_object_get(root, "problem_size");
    const size_t count = json_is_array(sizes) ? json_array_size(sizes) : 1;
    identity->signature = hn_copy_string("", err);
    identity->regime = hn_copy_string(HN_REGIME_UNKNOWN, err);
    identity->objective = hn_copy_string("time", err);
    recording->version.protocol = HN_KERNEL_TUNER_PROTOCOL;
    if (name != NULL && !json_is_null(name))
        hn_field_read(&reader, &device_name, name, device->name);
    for (size_t i = 0; !hn_failed(err) && i < count && i < 3; i++) {
        const json_t *size = json_is_array(sizes) ? json_array_get(sizes, i) : sizes;
        struct hn_value value = hn_integer(json_integer_value(size));
        if (json_is_integer(size))
            (void)hn_bindings_set(&identity->problem, names[i], &value, err);
    }
}

/* A row's key is Kernel Tuner's own, so that it cannot stand for the point. */
static void read_rows(const json_t *cache, struct hn_recording *recording, struct hn_error *err)
{
    const char *key;
    json_t *row;
    if (!hn_failed(err) && !json_is_object(cache))
        hn_fail(err, HN_EFORMAT, "'cache' is %s, expected an object", hn_json_type_name(cache));
    if (hn_failed(err))
        return;
    recording->records.items =
        hn_made(calloc(json_object_size(cache) + 1, sizeof(struct hn_record)), err);
    json_auto_t *seen = hn_made(json_object(), err);
    json_object_foreach((json_t *)(uintptr_t)cache, key, row)
    {
        if (hn_failed(err))
            break;
        struct hn_error reason = {.status = HN_OK};
        struct hn_record *record = &recording->records.items[recording->records.count++];
        *record = (struct hn_record){0};
        hn_row_read(recording, row, record, &reason);
        char *point HN_FREED = hn_made(hn_bindings_text(&record->point), &reason);
        if (!hn_failed(&reason) && json_object_get(seen, point) != NULL)
            hn_fail(&reason, HN_EFORMAT, "the point %.500s is there twice", point);
        else if (!hn_failed(&reason) && json_object_set_new(seen, point, json_true()) != 0)
            hn_fail_memory(&reason);
        if (hn_failed(&reason))
            hn_fail(err, reason.status, "row '%.200s': %.1000s", key, reason.message);
    }
}

static void read_root(const json_t *root, struct hn_recording *recording, struct hn_error *err)
{
    if (!json_is_object(root) || json_object_get(root, "cache") == NULL) {
        hn_fail(err, HN_EFORMAT,
                "it is neither a recording of Hone nor a cache file of "
                "Kernel Tuner: there is no 'cache' in it");
        return;
    }
    recording->from_hone = json_object_get(root, "hone") != NULL;
    hn_fields_read("recording", &root_structure, root, recording, err);
    if (!hn_failed(err) && !recording->from_hone)
        read_kernel_tuner(root, recording, err);
    hn_gate_identity(&recording->identity, err);
    read_rows(json_object_get(root, "cache"), recording, err);
}

enum hn_status hn_recording_load(const char *path, struct hn_recording *recording,
                                 struct hn_error *err)
{
    struct hn_error reason = {.status = HN_OK};
    hn_error_init(err);
    *recording = (struct hn_recording){.from_hone = false};
    json_auto_t *root = hn_recording_read(path, err);
    if (root == NULL)
        return err->status;
    read_root(root, recording, &reason);
    if (!hn_failed(&reason))
        return HN_OK;
    hn_recording_finish(recording);
    return hn_fail(err, reason.status, "'%s': %.3000s", path, reason.message);
}

/* JSON with reals in their shortest exact form, which jansson does not write, and spaces as Kernel
 * Tuner's. Takes it; NULL is an allocation that failed. */
static void append_json(struct hn_text *text, json_t *json)
{
    const char *separator = "";
    const char *name;
    json_t *item;
    size_t index;
    if (json_is_object(json)) {
        hn_text_append(text, "{");
        json_object_foreach(json, name, item)
        {
            hn_text_append(text, separator);
            append_json(text, json_string(name));
            hn_text_append(text, ": ");
            append_json(text, json_incref(item));
            separator = ", ";
        }
        hn_text_append(text, "}");
    } else if (json_is_array(json)) {
        hn_text_append(text, "[");
        json_array_foreach(json, index, item)
        {
            hn_text_append(text, index == 0 ? "" : ", ");
            append_json(text, json_incref(item));
        }
        hn_text_append(text, "]");
    } else if (json_is_real(json)) {
        struct hn_value value = hn_real(json_real_value(json));
        hn_value_append(text, &value);
    } else {
        char *dump HN_FREED = json_dumps(json, JSON_ENCODE_ANY);
        text->failed = text->failed || dump == NULL;
        hn_text_append(text, dump == NULL ? "" : dump);
    }
    json_decref(json);
}

static void append_member(struct hn_text *text, const char *name, json_t *json)
{
    hn_text_printf(text, "\"%s\": ", name);
    append_json(text, json);
    hn_text_append(text, ",\n");
}

static json_t *problem_size(const struct hn_bindings *problem)
{
    json_t *array = json_array();
    for (size_t i = 0; i < problem->count; i++)
        if (problem->values[i].type == HN_INTEGER)
            (void)json_array_append_new(array, json_integer(problem->values[i].integer));
    return array;
}

/* The values that occur, in order. */
static json_t *parameter_values(const struct hn_recording *recording, const char *name)
{
    const struct hn_records *records = &recording->records;
    struct hn_value *values HN_FREED = calloc(records->count + 1, sizeof *values);
    json_t *array = values == NULL ? NULL : json_array();
    if (array != NULL) {
        for (size_t i = 0; i < records->count; i++)
            values[i] = *hn_bindings_get(&records->items[i].point, name);
        qsort(values, records->count, sizeof *values, hn_value_compare);
        for (size_t i = 0; i < records->count; i++)
            if (i == 0 || !hn_value_equal(&values[i - 1], &values[i]))
                (void)json_array_append_new(array, hn_value_to_json(&values[i]));
    }
    return array;
}

static void append_head(struct hn_text *text, const struct hn_recording *recording)
{
    const struct hn_identity *identity = &recording->identity;
    const char *objective = identity->objective == NULL ? "" : identity->objective;
    json_auto_t *root = hn_fields_to_json(&root_structure, recording);
    json_t *head = json_object_get(root, "hone");
    json_t *source = json_object_get(head, "source");
    json_t *plan = json_object_get(source, "plan");
    json_t *keys = json_object_get(root, "tune_params_keys"), *values = json_object();
    for (size_t i = 0; i < recording->parameter_count; i++)
        hn_build_set(&values, recording->parameters[i],
                     parameter_values(recording, recording->parameters[i]));
    hn_json_drop_folder(json_array_get(json_object_get(source, "files"), 0), "name");
    hn_json_drop_folder(plan, "template");
    hn_json_drop_folder(json_object_get(plan, "reference"), "template");
    (void)json_object_del(plan, "config");
    hn_text_append(text, "{\n");
    append_member(text, "device_name", json_string(identity->device.name));
    append_member(text, "kernel_name", json_incref(json_object_get(root, "kernel_name")));
    append_member(text, "problem_size", problem_size(&identity->problem));
    append_member(text, "tune_params_keys", json_incref(keys));
    append_member(text, "tune_params", values);
    append_member(text, "objective", json_stringn(objective, strcspn(objective, " ")));
    append_member(text, "hone", json_incref(head));
    hn_text_append(text, "\"cache\": {");
}

static enum hn_status check_points(const struct hn_recording *recording, struct hn_error *err)
{
    for (size_t i = 0; i < recording->records.count; i++) {
        const struct hn_bindings *point = &recording->records.items[i].point;
        for (size_t k = 0; k < recording->parameter_count; k++)
            if (hn_bindings_get(point, recording->parameters[k]) == NULL)
                return hn_fail(err, HN_ECONFIG, "point %zu of the recording has no value for '%s'",
                               i, recording->parameters[k]);
            else if (hn_text_is_among(recording->parameters[k], members, MEMBERS))
                return hn_fail(err, HN_EUSAGE,
                               "a recording has a '%s' of its own in each row, where the parameter "
                               "of that name would be: expected --format t4, or another name",
                               recording->parameters[k]);
        if (point->count != recording->parameter_count)
            return hn_fail(err, HN_ECONFIG,
                           "point %zu of the recording has %zu parameters, expected %zu", i,
                           point->count, recording->parameter_count);
    }
    return HN_OK;
}

static enum hn_status write_text(const char *path, struct hn_text *text, struct hn_error *err)
{
    enum hn_status status =
        text->failed ? hn_fail_memory(err) : hn_gzip_write(path, text->data, text->length, err);
    hn_text_finish(text);
    return status;
}

enum hn_status hn_recording_save(const char *path, const struct hn_recording *recording,
                                 struct hn_error *err)
{
    enum hn_status status = check_points(recording, err);
    if (status != HN_OK)
        return status;
    struct hn_text text = {0};
    append_head(&text, recording);
    for (size_t i = 0; i < recording->records.count; i++) {
        const struct hn_record *record = &recording->records.items[i];
        hn_text_append(&text, i == 0 ? "\n\"" : ",\n\"");
        /* The values in the order of the parameters, as Python writes them. */
        for (size_t p = 0; p < recording->parameter_count; p++) {
            const struct hn_value *value =
                hn_bindings_get(&record->point, recording->parameters[p]);
            hn_text_append(&text, p == 0 ? "" : ",");
            if (value->type == HN_BOOLEAN)
                hn_text_append(&text, value->boolean ? "True" : "False");
            else
                hn_value_append(&text, value);
        }
        hn_text_append(&text, "\": ");
        append_json(&text, write_row(recording, record));
    }
    hn_text_append(&text, "}\n}\n");
    return write_text(path, &text, err);
}

/* T4, the results format of the autotuning community (github.com/odgaard/TuningSchema,
 * results-schema 1.0.0), which Kernel Tuner writes too: times in milliseconds, one result a
 * configuration. */
#define SCHEMA_VERSION "1.0.0"

static json_t *times(const struct hn_record *record)
{
    json_t *runtimes = json_array();
    for (size_t i = 0; i < record->timing.sample_count; i++)
        hn_build_append(&runtimes, json_real(record->timing.samples_us[i] / 1000));
    return json_pack("{s:f, s:f, s:f, s:i, s:i, s:o}", "compilation_time", record->costs.compile_ms,
                     "validation", record->costs.verify_ms, "benchmark", record->costs.measure_ms,
                     "framework", 0, "search_algorithm", 0, "runtimes", runtimes);
}

static void add(json_t **measurements, const char *name, double value, const char *unit)
{
    if (isfinite(value))
        hn_build_append(measurements,
                        json_pack("{s:s, s:f, s:s}", "name", name, "value", value, "unit", unit));
}

/* What was stopped early is slower than the best, and by how much at least is all that is known. */
static json_t *measurements(const struct hn_record *record)
{
    json_t *all = json_array();
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE)
        add(&all, "time", record->timing.median_us / 1000, "ms");
    else if (record->outcome == HN_OUTCOME_SLOWER)
        add(&all, "time_lower_bound", record->timing.median_us / 1000, "ms");
    for (size_t i = 0; i < record->metrics.count; i++)
        add(&all, record->metrics.names[i], hn_value_number(&record->metrics.values[i]), "");
    return all;
}

static json_t *result(const struct hn_recording *recording, const struct hn_record *record)
{
    const char *objective = recording->identity.objective;
    const char *invalid = called[record->outcome].invalidity;
    return json_pack("{s:o, s:o, s:[s%], s:o, s:s, s:i, s:o}", "timestamp", timestamp(record->time),
                     "configuration", hn_bindings_to_json(&record->point), "objectives", objective,
                     strcspn(objective, " "), "times", times(record), "invalidity", invalid,
                     "correctness", strcmp(invalid, "correctness") != 0, "measurements",
                     measurements(record));
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
    struct hn_text text = {0};
    json_t *results = json_array();
    for (size_t i = 0; i < recording->records.count; i++)
        if (!hn_outcome_is_open(recording->records.items[i].outcome))
            hn_build_append(&results, result(recording, &recording->records.items[i]));
    json_t *json = json_pack("{s:s, s:o, s:o}", "schema_version", SCHEMA_VERSION, "metadata",
                             metadata(recording), "results", results);
    append_json(&text, json);
    hn_text_append(&text, "\n");
    return write_text(path, &text, err);
}
