/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/recording_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/record.h"
#include "cache/recording/recording.h"

enum { VALUES_MOST = 65535 };

void hn_recording_table_finish(struct hn_recording_table *table)
{
    for (size_t i = 0; i < table->parameter_count; i++) {
        struct hn_table_parameter *parameter = &table->parameters[i];
        for (size_t v = 0; v < parameter->count; v++)
            free(parameter->words[v]);
        free(parameter->words);
        free(parameter->values);
        free(parameter->name);
    }
    free(table->parameters);
    free(table->kernel);
    free(table->device);
    free(table->rows);
    free(table->choices);
    *table = (struct hn_recording_table){.row_count = 0};
}

/* The value of any JSON; *text is allocated when the value is a word of its own making. */
static enum hn_status read_value(const json_t *json, struct hn_value *value, char **text,
                                 struct hn_error *err)
{
    *text = NULL;
    if (json_is_string(json)) {
        *value = hn_word(json_string_value(json));
        return HN_OK;
    }
    if (!json_is_array(json) && !json_is_null(json) &&
        hn_value_from_json(json, value, NULL) == HN_OK)
        return HN_OK;
    *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    *value = hn_word(*text);
    return *text == NULL ? hn_fail_memory(err) : HN_OK;
}

/* Python's 1, 1.0 and True are one value. */
static bool same_number(const struct hn_value *a, const struct hn_value *b)
{
    return a->type != HN_WORD && b->type != HN_WORD && hn_value_number(a) == hn_value_number(b);
}

static size_t find_value(const struct hn_table_parameter *parameter, const struct hn_value *value)
{
    for (size_t i = 0; i < parameter->count; i++)
        if (hn_value_equal(&parameter->values[i], value))
            return i;
    for (size_t i = 0; i < parameter->count; i++)
        if (same_number(&parameter->values[i], value))
            return i;
    return parameter->count;
}

static enum hn_status append_value(struct hn_table_parameter *parameter,
                                   const struct hn_value *value, struct hn_error *err)
{
    size_t count = parameter->count;
    if (count == VALUES_MOST)
        return hn_fail(err, HN_EFORMAT, "parameter '%s' has more than %d values", parameter->name,
                       VALUES_MOST);
    if ((count & (count - 1)) == 0) {
        size_t capacity = count == 0 ? 1 : count * 2;
        struct hn_value *values = realloc(parameter->values, capacity * sizeof *values);
        if (values != NULL)
            parameter->values = values;
        char **words = realloc(parameter->words, capacity * sizeof *words);
        if (words != NULL)
            parameter->words = words;
        if (values == NULL || words == NULL)
            return hn_fail_memory(err);
    }
    parameter->values[count] = *value;
    parameter->words[count] = NULL;
    if (value->type == HN_WORD) {
        parameter->words[count] = strdup(value->word);
        if (parameter->words[count] == NULL)
            return hn_fail_memory(err);
        parameter->values[count] = hn_word(parameter->words[count]);
    }
    parameter->count++;
    return HN_OK;
}

/* The index of the value, which is added when it is new. */
static enum hn_status index_value(struct hn_table_parameter *parameter, const json_t *json,
                                  size_t *index, struct hn_error *err)
{
    struct hn_value value;
    char *text;
    enum hn_status status = read_value(json, &value, &text, err);
    if (status == HN_OK) {
        *index = find_value(parameter, &value);
        if (*index == parameter->count)
            status = append_value(parameter, &value, err);
    }
    free(text);
    return status;
}

/* values: what tune_params says, NULL for nothing. */
static enum hn_status add_parameter(struct hn_recording_table *table, const char *name,
                                    const json_t *values, struct hn_error *err)
{
    struct hn_table_parameter *parameter = &table->parameters[table->parameter_count];
    size_t index;
    parameter->name = strdup(name);
    if (parameter->name == NULL)
        return hn_fail_memory(err);
    table->parameter_count++;
    if (values != NULL && !json_is_array(values))
        return index_value(parameter, values, &index, err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < json_array_size(values); i++)
        status = index_value(parameter, json_array_get(values, i), &index, err);
    return status;
}

static enum hn_status read_parameters(const json_t *root, struct hn_recording_table *table,
                                      struct hn_error *err)
{
    const json_t *keys = json_object_get(root, "tune_params_keys");
    json_t *values = json_object_get(root, "tune_params");
    size_t count = json_is_array(keys) ? json_array_size(keys) : json_object_size(values);
    if (count == 0)
        return hn_fail(err, HN_EFORMAT,
                       "neither 'tune_params_keys' nor 'tune_params' names a parameter");
    table->parameters = calloc(count, sizeof *table->parameters);
    if (table->parameters == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && json_is_array(keys) && i < count; i++) {
        const char *name = json_string_value(json_array_get(keys, i));
        if (name == NULL)
            return hn_fail(err, HN_EFORMAT, "'tune_params_keys' holds %s, expected a string",
                           hn_json_type_name(json_array_get(keys, i)));
        status = add_parameter(table, name, json_object_get(values, name), err);
    }
    if (json_is_array(keys))
        return status;
    const char *name;
    json_t *item;
    json_object_foreach(values, name, item)
    {
        if (status == HN_OK)
            status = add_parameter(table, name, item, err);
    }
    return status;
}

/* What the hone object of a row adds. A duplicate's original may not be proposed in a simulation:
 * the time of the same machine code is its own. */
static enum hn_status read_hone(const struct hn_recording *header, const json_t *json,
                                struct hn_table_row *row, struct hn_error *err)
{
    struct hn_record record = {0};
    hn_error_init(err);
    hn_row_read(header, json, &record, err);
    if (!hn_failed(err)) {
        bool timed = record.outcome == HN_OUTCOME_OK || record.outcome == HN_OUTCOME_SLOWER ||
                     record.outcome == HN_OUTCOME_DUPLICATE;
        row->resources = record.resources;
        if (!timed)
            row->time_ms = NAN;
        if (!timed || (record.outcome == HN_OUTCOME_SLOWER && isfinite(row->time_ms)))
            row->outcome = record.outcome;
    }
    hn_record_finish(&record);
    return err->status;
}

static enum hn_status read_row(const struct hn_recording *header, const json_t *json,
                               struct hn_recording_table *table, struct hn_error *err)
{
    static const char *const costs[] = {"compile_time", "benchmark_time", "verification_time",
                                        "framework_time"};
    struct hn_table_row *row = &table->rows[table->row_count];
    const char *reason;
    uint16_t *choice = table->choices + table->row_count * table->parameter_count;
    if (!json_is_object(json))
        return hn_fail(err, HN_EFORMAT, "it is %s, expected an object", hn_json_type_name(json));
    *row = (struct hn_table_row){.cost_ms = 0};
    row->outcome = hn_row_outcome(json, &row->time_ms, &reason);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        row->cost_ms += json_number_value(json_object_get(json, costs[i]));
    row->compile_ms = json_number_value(json_object_get(json, "compile_time"));
    for (size_t i = 0; i < table->parameter_count; i++) {
        struct hn_table_parameter *parameter = &table->parameters[i];
        const json_t *value = json_object_get(json, parameter->name);
        size_t index = 0;
        if (value == NULL)
            return hn_fail(err, HN_EFORMAT, "parameter '%s' is missing", parameter->name);
        enum hn_status status = index_value(parameter, value, &index, err);
        if (status != HN_OK)
            return status;
        choice[i] = (uint16_t)index;
    }
    return header->from_hone ? read_hone(header, json, row, err) : HN_OK;
}

static enum hn_status read_rows(const struct hn_recording *header, json_t *cache,
                                struct hn_recording_table *table, struct hn_error *err)
{
    const char *key;
    json_t *json;
    size_t count = json_object_size(cache);
    if (count == 0)
        return hn_fail(err, HN_EFORMAT,
                       "'cache' is %s, expected an object with a row for each point",
                       json_is_object(cache) ? "empty" : hn_json_type_name(cache));
    table->rows = calloc(count, sizeof *table->rows);
    table->choices = calloc(count * table->parameter_count, sizeof *table->choices);
    if (table->rows == NULL || table->choices == NULL)
        return hn_fail_memory(err);
    json_object_foreach(cache, key, json)
    {
        struct hn_error reason = {0};
        enum hn_status status = read_row(header, json, table, &reason);
        if (status != HN_OK)
            return hn_fail(err, status, "row '%.200s': %.1000s", key, reason.message);
        table->row_count++;
    }
    return HN_OK;
}

static char *copy_string(const json_t *root, const char *name)
{
    const char *string = json_string_value(json_object_get(root, name));
    return strdup(string != NULL ? string : "");
}

/* What reading a row of Hone's needs to know of its file. */
static enum hn_status make_header(const json_t *root, const struct hn_recording_table *table,
                                  struct hn_recording *header, struct hn_error *err)
{
    *header = (struct hn_recording){.from_hone = json_object_get(root, "hone") != NULL,
                                    .parameter_count = table->parameter_count};
    header->parameters = calloc(table->parameter_count, sizeof *header->parameters);
    if (header->parameters == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < table->parameter_count; i++)
        header->parameters[i] = table->parameters[i].name;
    return HN_OK;
}

static enum hn_status read_root(const json_t *root, struct hn_recording_table *table,
                                struct hn_error *err)
{
    struct hn_recording header = {.parameters = NULL};
    json_t *cache = json_object_get(root, "cache");
    if (cache == NULL)
        return hn_fail(err, HN_EFORMAT,
                       "it is neither a recording of Hone nor a cache file of Kernel Tuner: there "
                       "is no 'cache' in it");
    table->kernel = copy_string(root, "kernel_name");
    table->device = copy_string(root, "device_name");
    if (table->kernel == NULL || table->device == NULL)
        return hn_fail_memory(err);
    enum hn_status status = read_parameters(root, table, err);
    if (status == HN_OK)
        status = make_header(root, table, &header, err);
    if (status == HN_OK)
        status = read_rows(&header, cache, table, err);
    free(header.parameters);
    return status;
}

enum hn_status hn_recording_table_load(const char *path, struct hn_recording_table *table,
                                       struct hn_error *err)
{
    struct hn_error reason = {.status = HN_OK};
    *table = (struct hn_recording_table){.row_count = 0};
    hn_error_init(err);
    json_t *root = hn_recording_read(path, err);
    if (root == NULL)
        return err->status;
    reason.status = read_root(root, table, &reason);
    json_decref(root);
    if (!hn_failed(&reason))
        return HN_OK;
    hn_recording_table_finish(table);
    return hn_fail(err, reason.status, "'%s': %.3000s", path, reason.message);
}
