/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/recording_table.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cache/record/record.h"
#include "cache/recording/recording.h"

enum { VALUES_MOST = 65535 };

static void free_word(const struct hn_value *value)
{
    if (value->type == HN_WORD)
        free((char *)(uintptr_t)value->word);
}

void hn_recording_table_finish(struct hn_recording_table *table)
{
    HN_EACH_OF(parameter, table->parameters, table->parameter_count) {
        HN_FREE_EACH(value, parameter->values, parameter->count, free_word(value));
        free(parameter->name);
    }
    free(table->parameters);
    free(table->rows);
    free(table->choices);
    *table = (struct hn_recording_table){.row_count = 0};
}

/* The value of any JSON; a word is the JSON's, or *text, which is made for it. */
static void read_value(const json_t *json, struct hn_value *value, char **text)
{
    *text = NULL;
    if (json_is_string(json)) {
        *value = hn_word(json_string_value(json));
    } else if (json_is_array(json) || json_is_null(json) ||
               hn_value_from_json(json, value, NULL) != HN_OK) {
        *text = hn_needed(json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY));
        *value = hn_word(*text);
    }
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

/* The index of the value, which is added when it is new. */
static size_t index_value(struct hn_table_parameter *parameter, const json_t *json,
                          struct hn_error *err)
{
    struct hn_value value;
    char *text;
    read_value(json, &value, &text);
    size_t index = find_value(parameter, &value);
    if (index == VALUES_MOST) {
        hn_fail(err, HN_EFORMAT, "parameter '%s' has more than %d values", parameter->name,
                VALUES_MOST);
    } else if (index == parameter->count) {
        if (value.type == HN_WORD)
            value.word = hn_need_copy(value.word);
        *HN_NEXT(parameter->values, parameter->count) = value;
    }
    free(text);
    return index;
}

/* values: what tune_params says, NULL for nothing. */
static void add_parameter(struct hn_recording_table *table, const char *name, const json_t *values,
                          struct hn_error *err)
{
    struct hn_table_parameter *parameter = HN_NEXT(table->parameters, table->parameter_count);
    parameter->name = hn_need_copy(name);
    if (values != NULL && !json_is_array(values))
        index_value(parameter, values, err);
    for (size_t i = 0; !hn_failed(err) && i < json_array_size(values); i++)
        index_value(parameter, json_array_get(values, i), err);
}

static void read_parameters(const json_t *root, struct hn_recording_table *table,
                            struct hn_error *err)
{
    const json_t *keys = json_object_get(root, "tune_params_keys");
    json_t *values = json_object_get(root, "tune_params"), *item;
    const char *name;
    if ((json_is_array(keys) ? json_array_size(keys) : json_object_size(values)) == 0)
        hn_fail(err, HN_EFORMAT, "neither 'tune_params_keys' nor 'tune_params' names a parameter");
    for (size_t i = 0; !hn_failed(err) && i < json_array_size(keys); i++) {
        name = json_string_value(json_array_get(keys, i));
        if (name == NULL)
            hn_fail(err, HN_EFORMAT, "'tune_params_keys' holds %s, expected a string",
                    hn_json_type_name(json_array_get(keys, i)));
        else
            add_parameter(table, name, json_object_get(values, name), err);
    }
    if (json_is_array(keys))
        return;
    json_object_foreach(values, name, item)
    {
        if (!hn_failed(err))
            add_parameter(table, name, item, err);
    }
}

/* What the hone object of a row adds. A duplicate's original may not be proposed in a simulation:
 * the time of the same machine code is its own. */
static void read_hone(const struct hn_recording *header, const json_t *json,
                      struct hn_table_row *row, struct hn_error *err)
{
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
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
}

static void read_row(const struct hn_recording *header, const json_t *json,
                     struct hn_recording_table *table, struct hn_error *err)
{
    static const char *const costs[] = {"compile_time", "benchmark_time", "verification_time",
                                        "framework_time"};
    struct hn_table_row *row = &table->rows[table->row_count];
    const char *reason;
    uint16_t *choice = table->choices + table->row_count * table->parameter_count;
    if (!json_is_object(json)) {
        hn_fail(err, HN_EFORMAT, "it is %s, expected an object", hn_json_type_name(json));
        return;
    }
    *row = (struct hn_table_row){.cost_ms = 0};
    row->outcome = hn_row_outcome(json, &row->time_ms, &reason);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        row->cost_ms += json_number_value(json_object_get(json, costs[i]));
    row->compile_ms = json_number_value(json_object_get(json, "compile_time"));
    for (size_t i = 0; !hn_failed(err) && i < table->parameter_count; i++) {
        struct hn_table_parameter *parameter = &table->parameters[i];
        const json_t *value = json_object_get(json, parameter->name);
        if (value == NULL)
            hn_fail(err, HN_EFORMAT, "parameter '%s' is missing", parameter->name);
        else
            choice[i] = (uint16_t)index_value(parameter, value, err);
    }
    if (header->from_hone)
        read_hone(header, json, row, err);
}

static void read_rows(const struct hn_recording *header, json_t *cache,
                      struct hn_recording_table *table, struct hn_error *err)
{
    const char *key;
    json_t *json;
    size_t count = json_object_size(cache);
    if (hn_failed(err))
        return;
    if (count == 0)
        hn_fail(err, HN_EFORMAT, "'cache' is %s, expected an object with a row for each point",
                json_is_object(cache) ? "empty" : hn_json_type_name(cache));
    table->rows = hn_allocate(count, sizeof *table->rows, err);
    table->choices = hn_allocate(count * table->parameter_count, sizeof *table->choices, err);
    json_object_foreach(cache, key, json)
    {
        struct hn_error reason = {0};
        if (hn_failed(err))
            return;
        read_row(header, json, table, &reason);
        if (hn_failed(&reason))
            hn_fail(err, reason.status, "row '%.200s': %.1000s", key, reason.message);
        else
            table->row_count++;
    }
}

static void read_root(const json_t *root, struct hn_recording_table *table, struct hn_error *err)
{
    json_t *cache = json_object_get(root, "cache");
    if (cache == NULL)
        hn_fail(err, HN_EFORMAT,
                "it is neither a recording of Hone nor a cache file of Kernel Tuner: there is no "
                "'cache' in it");
    else
        read_parameters(root, table, err);
    /* What reading a row of Hone's needs to know of its file. */
    struct hn_recording header = {
        .from_hone = json_object_get(root, "hone") != NULL,
        .parameters = hn_need(table->parameter_count, sizeof *header.parameters),
        .parameter_count = table->parameter_count,
    };
    for (size_t i = 0; i < table->parameter_count; i++)
        header.parameters[i] = table->parameters[i].name;
    read_rows(&header, cache, table, err);
    free(header.parameters);
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
    read_root(root, table, &reason);
    json_decref(root);
    if (!hn_failed(&reason))
        return HN_OK;
    hn_recording_table_finish(table);
    return hn_fail(err, reason.status, "'%s': %.3000s", path, reason.message);
}
