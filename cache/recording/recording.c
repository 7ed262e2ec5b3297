/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording.h"

#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/recording/recording_parts.h"

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
static enum hn_status check_point(const struct hn_record *record, json_t *seen,
                                  struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, &record->point);
    const char *point = text.data == NULL ? "" : text.data;
    enum hn_status status = HN_OK;
    if (json_object_get(seen, point) != NULL)
        status = hn_fail(err, HN_EFORMAT, "the point %.500s is there twice", point);
    else if (text.failed || json_object_set_new(seen, point, json_true()) != 0)
        status = hn_fail_memory(err);
    hn_text_finish(&text);
    return status;
}

static enum hn_status read_rows(const json_t *cache, struct hn_recording *recording,
                                struct hn_error *err)
{
    const char *key;
    json_t *row;
    if (!json_is_object(cache))
        return hn_fail(err, HN_EFORMAT, "'cache' is %s, expected an object",
                       hn_json_type_name(cache));
    recording->records.items = calloc(json_object_size(cache) + 1, sizeof(struct hn_record));
    if (recording->records.items == NULL)
        return hn_fail_memory(err);
    json_t *seen = json_object();
    enum hn_status status = seen == NULL ? hn_fail_memory(err) : HN_OK;
    json_object_foreach((json_t *)(uintptr_t)cache, key, row)
    {
        struct hn_error reason = {0};
        if (status != HN_OK)
            break;
        struct hn_record *record = &recording->records.items[recording->records.count++];
        hn_record_init(record);
        status = hn_row_read(recording, row, record, &reason);
        if (status == HN_OK)
            status = check_point(record, seen, &reason);
        if (status != HN_OK)
            hn_fail(err, status, "row '%.200s': %.1000s", key, reason.message);
    }
    json_decref(seen);
    return status;
}

static enum hn_status read_root(const json_t *root, struct hn_recording *recording,
                                struct hn_error *err)
{
    struct hn_json_reader reader = {"recording", HN_OK, err, NULL};
    if (!json_is_object(root) || json_object_get(root, "cache") == NULL)
        return hn_fail(err, HN_EFORMAT,
                       "it is neither a recording of Hone nor a cache file of "
                       "Kernel Tuner: there is no 'cache' in it");
    recording->from_hone = json_object_get(root, "hone") != NULL;
    hn_recording_head_read(&reader, root, recording);
    if (reader.status == HN_OK && !recording->from_hone)
        read_kernel_tuner(&reader, root, recording);
    bool gated = reader.status == HN_OK &&
                 hn_json_take(&reader, hn_gate_identity(&recording->identity, err)) &&
                 hn_json_take(&reader, hn_gate_version(&recording->version, err));
    return gated ? read_rows(json_object_get(root, "cache"), recording, err) : reader.status;
}

enum hn_status hn_recording_load(const char *path, struct hn_recording *recording,
                                 struct hn_error *err)
{
    char *text;
    size_t size;
    json_t *root = NULL;
    struct hn_error reason = {0};
    *recording = (struct hn_recording){.from_hone = false};
    hn_identity_init(&recording->identity);
    enum hn_status status = hn_gzip_read(path, &text, &size, err);
    if (status != HN_OK)
        return status;
    status = hn_recording_parse(text, size, true, &root, &reason);
    free(text);
    if (status == HN_OK)
        status = read_root(root, recording, &reason);
    json_decref(root);
    if (status == HN_OK)
        return HN_OK;
    hn_recording_finish(recording);
    return hn_fail(err, status, "'%s': %.3000s", path, reason.message);
}
