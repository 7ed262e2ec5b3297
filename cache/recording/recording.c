/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording_internal.h"

enum { RECORDING_FORMAT = 1 };

void hn_recording_finish(struct hn_recording *recording)
{
    hn_identity_finish(&recording->identity);
    for (size_t i = 0; i < recording->parameter_count; i++)
        free(recording->parameters[i]);
    free(recording->parameters);
    hn_records_free(&recording->records);
    hn_stored_plan_free(&recording->plan);
    if (recording->rule != NULL)
        hn_rule_finish(recording->rule);
    free(recording->rule);
    free(recording->command);
    free(recording->date);
    *recording = (struct hn_recording){.from_hone = false};
}

static void read_format(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    int format = 0;
    (void)member;
    hn_json_count(reader, json, field->key, 0, INT_MAX, &format);
    if (reader->status == HN_OK && (format < 1 || format > RECORDING_FORMAT))
        reader->status =
            hn_fail(reader->err, HN_EFORMAT, "it has format %d, this Hone knows up to %d", format,
                    RECORDING_FORMAT);
}

static void build_format(struct hn_builder *object, const struct hn_field *field,
                         const void *member)
{
    (void)member;
    hn_build_set(object, field->key, json_integer(RECORDING_FORMAT));
}

static void read_source(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    (void)field;
    hn_json_take(reader, hn_stored_plan_from_json(json, member, reader->err));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Where files lay says nothing elsewhere. */
static void strip_folder(json_t *object, const char *key)
{
    const char *path = json_string_value(json_object_get(object, key));
    if (path != NULL)
        (void)json_object_set_new(object, key, json_string(base_name(path)));
}

static void build_source(struct hn_builder *object, const struct hn_field *field,
                         const void *member)
{
    json_t *source = hn_stored_plan_to_json(member);
    json_t *plan = json_object_get(source, "plan");
    strip_folder(json_array_get(json_object_get(source, "files"), 0), "name");
    strip_folder(plan, "template");
    strip_folder(json_object_get(plan, "reference"), "template");
    (void)json_object_del(plan, "config");
    hn_build_set(object, field->key, source);
}

static void read_rule(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *member)
{
    struct hn_rule *rule = calloc(1, sizeof *rule);
    (void)field;
    *(struct hn_rule **)member = rule;
    if (rule == NULL) {
        hn_json_take(reader, hn_fail_memory(reader->err));
        return;
    }
    hn_rule_init(rule);
    hn_json_take(reader, hn_rule_from_json(json, rule, reader->err));
}

static void build_rule(struct hn_builder *object, const struct hn_field *field, const void *member)
{
    hn_build_set(object, field->key, hn_rule_to_json(*(struct hn_rule *const *)member));
}

static const struct hn_field_own rule = {read_rule, build_rule, NULL};
static const struct hn_field_own format = {read_format, build_format, NULL};
static const struct hn_field_own source = {read_source, build_source, NULL};

static bool has_plan(const void *recording)
{
    return ((const struct hn_recording *)recording)->plan.json != NULL;
}

static bool has_rule(const void *recording)
{
    return ((const struct hn_recording *)recording)->rule != NULL;
}

static void check_line(struct hn_json_reader *reader, const char *what, const char *line)
{
    if (reader->status == HN_OK && line != NULL)
        hn_gate_line(what, line, HN_COMMAND_MOST, reader->err);
    hn_json_take(reader, reader->err->status);
}

static void check_head(struct hn_json_reader *reader, void *owner)
{
    const struct hn_recording *recording = owner;
    check_line(reader, "command", recording->command);
    check_line(reader, "date", recording->date);
    if (reader->status == HN_OK && recording->rule != NULL && recording->identity.problem.count > 0)
        hn_json_take(reader,
                     hn_fail(reader->err, HN_EFORMAT,
                             "it has a rule of a family and a problem, expected one of them"));
}

#define STRING(member) .kind = HN_FIELD_STRING, HN_AT(hn_recording, member)

/* The "hone" object at the top. */
static const struct hn_field head_fields[] = {
    {.key = "format", .needed = true, .kind = HN_FIELD_OWN, .of = &format},
    {.key = "signature", .needed = true, STRING(identity.signature)},
    {.key = "problem", .needed = true, HN_OWN(hn_recording, identity.problem, hn_bindings_field)},
    {.key = "regime", .needed = true, STRING(identity.regime)},
    {.key = "objective", .needed = true, STRING(identity.objective)},
    {.key = "device",
     .needed = true,
     HN_STRUCT(hn_recording, identity.device, hn_device_identity_structure)},
    {.key = "version", .needed = true, HN_STRUCT(hn_recording, version, hn_version_structure)},
    {.key = "source", HN_OWN(hn_recording, plan, source), .told = has_plan},
    {.key = "rule", HN_OWN(hn_recording, rule, rule), .told = has_rule},
    {.key = "learnt", .kind = HN_FIELD_REAL, HN_AT(hn_recording, learnt), .told = has_rule},
    {.key = "command", STRING(command)},
    {.key = "date", STRING(date)},
};
static const struct hn_structure head_structure =
    HN_STRUCTURE(hn_recording, head_fields, check_head);

static const struct hn_field parameter_fields[] = {
    {.key = "", .needed = true, .kind = HN_FIELD_WORD}};
static const struct hn_structure parameter_list = {sizeof(char *), parameter_fields, 1, NULL, NULL};

/* What is around it, as Kernel Tuner has it too. */
static const struct hn_field root_fields[] = {
    {.key = "kernel_name", .needed = true, STRING(identity.kernel)},
    {.key = "tune_params_keys",
     .needed = true,
     HN_LIST(hn_recording, parameters, parameter_count, parameter_list)},
    {.key = "hone", .kind = HN_FIELD_STRUCT, .of = &head_structure},
};
static const struct hn_structure root_structure = HN_STRUCTURE(hn_recording, root_fields, NULL);

/* Kernel Tuner knows the problem as a size in up to three dimensions, without names. */
static void read_problem_size(struct hn_json_reader *reader, const json_t *json,
                              struct hn_bindings *problem)
{
    static const char *const names[] = {"problem_size_x", "problem_size_y", "problem_size_z"};
    size_t count = json_is_array(json) ? json_array_size(json) : 1;
    for (size_t i = 0; reader->status == HN_OK && i < count && i < 3; i++) {
        const json_t *item = json_is_array(json) ? json_array_get(json, i) : json;
        struct hn_value value = hn_integer(json_integer_value(item));
        if (json_is_integer(item))
            hn_json_take(reader, hn_bindings_set(problem, names[i], &value, reader->err));
    }
}

/* What only Hone's files say. */
static void read_kernel_tuner(struct hn_json_reader *reader, const json_t *root,
                              struct hn_recording *recording)
{
    struct hn_identity *identity = &recording->identity;
    struct hn_device_identity *device = &identity->device;
    const json_t *name = json_object_get(root, "device_name");
    identity->signature = strdup("");
    identity->regime = strdup(HN_REGIME_UNKNOWN);
    identity->objective = strdup("time");
    if (identity->signature == NULL || identity->regime == NULL || identity->objective == NULL)
        hn_json_take(reader, hn_fail_memory(reader->err));
    recording->version.protocol = HN_KERNEL_TUNER_PROTOCOL;
    if (!json_is_null(name))
        hn_json_chars(reader, name, "device_name", sizeof device->name - 1, device->name);
    read_problem_size(reader, json_object_get(root, "problem_size"), &identity->problem);
}

/* seen holds the points so far. A row's key is Kernel Tuner's own, so that it can not stand for the
 * point. */
static void check_point(const struct hn_record *record, json_t *seen, struct hn_error *err)
{
    char *point = hn_bindings_text(&record->point);
    if (point != NULL && json_object_get(seen, point) != NULL)
        hn_fail(err, HN_EFORMAT, "the point %.500s is there twice", point);
    else if (point == NULL || json_object_set_new(seen, point, json_true()) != 0)
        hn_fail_memory(err);
    free(point);
}

static void read_rows(const json_t *cache, struct hn_recording *recording, struct hn_error *err)
{
    const char *key;
    json_t *row;
    if (!json_is_object(cache))
        hn_fail(err, HN_EFORMAT, "'cache' is %s, expected an object", hn_json_type_name(cache));
    recording->records.items = calloc(json_object_size(cache) + 1, sizeof(struct hn_record));
    json_t *seen = json_object();
    if (recording->records.items == NULL || seen == NULL)
        hn_fail_memory(err);
    json_object_foreach((json_t *)(uintptr_t)cache, key, row)
    {
        if (hn_failed(err))
            break;
        struct hn_error reason = {.status = HN_OK};
        struct hn_record *record = &recording->records.items[recording->records.count++];
        hn_record_init(record);
        hn_row_read(recording, row, record, &reason);
        if (!hn_failed(&reason))
            check_point(record, seen, &reason);
        if (hn_failed(&reason))
            hn_fail(err, reason.status, "row '%.200s': %.1000s", key, reason.message);
    }
    json_decref(seen);
}

static void read_root(const json_t *root, struct hn_recording *recording, struct hn_error *err)
{
    struct hn_json_reader reader = {"recording", HN_OK, err, NULL};
    if (!json_is_object(root) || json_object_get(root, "cache") == NULL) {
        hn_fail(err, HN_EFORMAT,
                "it is neither a recording of Hone nor a cache file of "
                "Kernel Tuner: there is no 'cache' in it");
        return;
    }
    recording->from_hone = json_object_get(root, "hone") != NULL;
    hn_fields_read(&reader, &root_structure, root, recording);
    if (reader.status == HN_OK && !recording->from_hone)
        read_kernel_tuner(&reader, root, recording);
    err->status = reader.status;
    hn_gate_identity(&recording->identity, err);
    hn_gate_version(&recording->version, err);
    if (!hn_failed(err))
        read_rows(json_object_get(root, "cache"), recording, err);
}

enum hn_status hn_recording_load(const char *path, struct hn_recording *recording,
                                 struct hn_error *err)
{
    size_t size;
    struct hn_error own;
    struct hn_error reason = {.status = HN_OK};
    err = err == NULL ? &own : err;
    *recording = (struct hn_recording){.from_hone = false};
    hn_identity_init(&recording->identity);
    hn_error_init(err);
    char *text = hn_gzip_read(path, &size, err);
    if (text == NULL)
        return err->status;
    json_t *root = hn_recording_parse(text, size, true, &reason);
    free(text);
    if (root != NULL)
        read_root(root, recording, &reason);
    json_decref(root);
    if (!hn_failed(&reason))
        return HN_OK;
    hn_recording_finish(recording);
    return hn_fail(err, reason.status, "'%s': %.3000s", path, reason.message);
}

/* Takes json; NULL is an allocation that failed. */
static void append_member(struct hn_text *text, const char *name, json_t *json)
{
    hn_text_printf(text, "\"%s\": ", name);
    if (json == NULL)
        text->failed = true;
    else
        hn_json_append(text, json);
    hn_text_append(text, ",\n");
    json_decref(json);
}

static json_t *problem_size(const struct hn_bindings *problem)
{
    json_t *array = json_array();
    for (size_t i = 0; i < problem->count; i++) {
        if (problem->values[i].type == HN_INTEGER)
            (void)json_array_append_new(array, json_integer(problem->values[i].integer));
    }
    return array;
}

static json_t *parameter_names(const struct hn_recording *recording)
{
    json_t *array = json_array();
    for (size_t i = 0; i < recording->parameter_count; i++)
        (void)json_array_append_new(array, json_string(recording->parameters[i]));
    return array;
}

static int compare_values(const void *a, const void *b)
{
    return hn_value_compare(a, b);
}

/* The values that occur, in order. */
static json_t *parameter_values(const struct hn_recording *recording, const char *name)
{
    const struct hn_records *records = &recording->records;
    struct hn_value *values = calloc(records->count + 1, sizeof *values);
    json_t *array = values == NULL ? NULL : json_array();
    if (array != NULL) {
        for (size_t i = 0; i < records->count; i++)
            values[i] = *hn_bindings_get(&records->items[i].point, name);
        qsort(values, records->count, sizeof *values, compare_values);
        for (size_t i = 0; i < records->count; i++) {
            if (i == 0 || !hn_value_equal(&values[i - 1], &values[i]))
                (void)json_array_append_new(array, hn_value_to_json(&values[i]));
        }
    }
    free(values);
    return array;
}

static json_t *all_parameter_values(const struct hn_recording *recording)
{
    json_t *object = json_object();
    for (size_t i = 0; i < recording->parameter_count; i++)
        (void)json_object_set_new(object, recording->parameters[i],
                                  parameter_values(recording, recording->parameters[i]));
    return object;
}

static const char *or_empty(const char *string)
{
    return string == NULL ? "" : string;
}

static void append_head(struct hn_text *text, const struct hn_recording *recording)
{
    const struct hn_identity *identity = &recording->identity;
    const char *objective = or_empty(identity->objective);
    hn_text_append(text, "{\n");
    append_member(text, "device_name", json_string(identity->device.name));
    append_member(text, "kernel_name", json_string(or_empty(identity->kernel)));
    append_member(text, "problem_size", problem_size(&identity->problem));
    append_member(text, "tune_params_keys", parameter_names(recording));
    append_member(text, "tune_params", all_parameter_values(recording));
    append_member(text, "objective", json_stringn(objective, strcspn(objective, " ")));
    append_member(text, "hone", hn_fields_to_json(&head_structure, recording));
    hn_text_append(text, "\"cache\": {");
}

/* The values in the order of the parameters, as Python writes them. */
static void append_key(struct hn_text *text, const struct hn_recording *recording,
                       const struct hn_record *record)
{
    for (size_t i = 0; i < recording->parameter_count; i++) {
        const struct hn_value *value = hn_bindings_get(&record->point, recording->parameters[i]);
        hn_text_append(text, i == 0 ? "" : ",");
        if (value->type == HN_BOOLEAN)
            hn_text_append(text, value->boolean ? "True" : "False");
        else
            hn_value_append(text, value);
    }
}

static void append_row(struct hn_text *text, const struct hn_recording *recording,
                       const struct hn_record *record)
{
    json_t *row = hn_row_write(recording, record);
    hn_text_append(text, "\n\"");
    append_key(text, recording, record);
    hn_text_append(text, "\": ");
    if (row == NULL)
        text->failed = true;
    else
        hn_json_append(text, row);
    json_decref(row);
}

static enum hn_status check_points(const struct hn_recording *recording, struct hn_error *err)
{
    for (size_t i = 0; i < recording->records.count; i++) {
        const struct hn_bindings *point = &recording->records.items[i].point;
        for (size_t k = 0; k < recording->parameter_count; k++) {
            if (hn_bindings_get(point, recording->parameters[k]) == NULL)
                return hn_fail(err, HN_ECONFIG, "point %zu of the recording has no value for '%s'",
                               i, recording->parameters[k]);
        }
        if (point->count != recording->parameter_count)
            return hn_fail(err, HN_ECONFIG,
                           "point %zu of the recording has %zu parameters, expected %zu", i,
                           point->count, recording->parameter_count);
    }
    return HN_OK;
}

enum hn_status hn_recording_save(const char *path, const struct hn_recording *recording,
                                 struct hn_error *err)
{
    enum hn_status status = check_points(recording, err);
    if (status != HN_OK)
        return status;
    struct hn_text text;
    hn_text_init(&text);
    append_head(&text, recording);
    for (size_t i = 0; i < recording->records.count; i++) {
        hn_text_append(&text, i == 0 ? "" : ",");
        append_row(&text, recording, &recording->records.items[i]);
    }
    hn_text_append(&text, "}\n}\n");
    status = text.failed ? hn_fail_memory(err) : hn_gzip_write(path, text.data, text.length, err);
    hn_text_finish(&text);
    return status;
}
