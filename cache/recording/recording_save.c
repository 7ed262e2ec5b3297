/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/record/record_json.h"
#include "cache/recording/recording_parts.h"

static void append_scalar(struct hn_text *text, const json_t *json)
{
    if (json_is_real(json)) {
        struct hn_value value = hn_real(json_real_value(json));
        hn_value_append(text, &value);
        return;
    }
    char *dump = json_dumps(json, JSON_ENCODE_ANY);
    if (dump == NULL)
        text->failed = true;
    else
        hn_text_append(text, dump);
    free(dump);
}

static void append_object(struct hn_text *text, const json_t *json)
{
    const char *separator = "";
    const char *name;
    json_t *item;
    hn_text_append(text, "{");
    json_object_foreach((json_t *)(uintptr_t)json, name, item)
    {
        json_t *key = json_string(name);
        hn_text_append(text, separator);
        append_scalar(text, key);
        hn_text_append(text, ": ");
        hn_json_append(text, item);
        json_decref(key);
        separator = ", ";
    }
    hn_text_append(text, "}");
}

void hn_json_append(struct hn_text *text, const json_t *json)
{
    if (json_is_object(json)) {
        append_object(text, json);
        return;
    }
    if (!json_is_array(json)) {
        append_scalar(text, json);
        return;
    }
    hn_text_append(text, "[");
    for (size_t i = 0; i < json_array_size(json); i++) {
        hn_text_append(text, i == 0 ? "" : ", ");
        hn_json_append(text, json_array_get(json, i));
    }
    hn_text_append(text, "]");
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
    append_member(text, "hone", hn_recording_head_write(recording));
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
