/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording_parts.h"
#include "cache/recording/recording_plan.h"

void hn_recording_finish(struct hn_recording *recording)
{
    hn_identity_finish(&recording->identity);
    for (size_t i = 0; i < recording->parameter_count; i++)
        free(recording->parameters[i]);
    free(recording->parameters);
    hn_records_free(&recording->records);
    hn_stored_plan_free(&recording->plan);
    free(recording->command);
    free(recording->date);
    *recording = (struct hn_recording){.from_hone = false};
}

static enum hn_status copy_string(const json_t *object, const char *name, char **string,
                                  struct hn_error *err)
{
    const json_t *json = json_object_get(object, name);
    if (!json_is_string(json))
        return hn_fail(err, HN_EFORMAT, "'%s' is %s, expected a string", name,
                       hn_json_type_name(json));
    *string = strdup(json_string_value(json));
    return *string == NULL ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status copy_text(const json_t *object, const char *name, char *to, size_t size,
                                struct hn_error *err)
{
    const char *string = json_string_value(json_object_get(object, name));
    if (string == NULL || strlen(string) >= size)
        return hn_fail(err, HN_EFORMAT, "'%s' is no string of fewer than %zu bytes", name, size);
    memcpy(to, string, strlen(string) + 1);
    return HN_OK;
}

static enum hn_status read_number(const json_t *object, const char *name, int *number,
                                  struct hn_error *err)
{
    const json_t *json = json_object_get(object, name);
    if (!json_is_integer(json) || json_integer_value(json) < 0 ||
        json_integer_value(json) > 1000000)
        return hn_fail(err, HN_EFORMAT, "'%s' is no integer of 0 to 1000000", name);
    *number = (int)json_integer_value(json);
    return HN_OK;
}

static enum hn_status read_device(const json_t *json, struct hn_device_identity *device,
                                  struct hn_error *err)
{
    enum hn_status status = copy_text(json, "name", device->name, sizeof device->name, err);
    if (status == HN_OK)
        status = read_number(json, "capability", &device->capability, err);
    if (status == HN_OK)
        status = read_number(json, "sm_count", &device->sm_count, err);
    if (status == HN_OK)
        status =
            copy_text(json, "mig_profile", device->mig_profile, sizeof device->mig_profile, err);
    return status;
}

static enum hn_status read_version(const json_t *json, struct hn_version *version,
                                   struct hn_error *err)
{
    const struct {
        const char *name;
        char *to;
        size_t size;
    } parts[] = {
        {"template_hash", version->template_hash, sizeof version->template_hash},
        {"options_hash", version->options_hash, sizeof version->options_hash},
        {"plan_hash", version->plan_hash, sizeof version->plan_hash},
        {"driver", version->driver, sizeof version->driver},
        {"nvrtc", version->nvrtc, sizeof version->nvrtc},
    };
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < sizeof parts / sizeof *parts; i++)
        status = copy_text(json, parts[i].name, parts[i].to, parts[i].size, err);
    return status == HN_OK ? read_number(json, "protocol", &version->protocol, err) : status;
}

static enum hn_status read_optional(const json_t *object, const char *name, char **string,
                                    struct hn_error *err)
{
    enum hn_status status =
        json_object_get(object, name) == NULL ? HN_OK : copy_string(object, name, string, err);
    return status != HN_OK || *string == NULL ? status
                                              : hn_gate_line(name, *string, HN_COMMAND_MOST, err);
}

static enum hn_status read_hone(const json_t *hone, struct hn_recording *recording,
                                struct hn_error *err)
{
    int format = 0;
    struct hn_identity *identity = &recording->identity;
    enum hn_status status = read_number(hone, "format", &format, err);
    if (status == HN_OK && (format < 1 || format > HN_RECORDING_FORMAT))
        return hn_fail(err, HN_EFORMAT, "it has format %d, this Hone knows up to %d", format,
                       HN_RECORDING_FORMAT);
    if (status == HN_OK)
        status = copy_string(hone, "signature", &identity->signature, err);
    if (status == HN_OK)
        status = copy_string(hone, "regime", &identity->regime, err);
    if (status == HN_OK)
        status = copy_string(hone, "objective", &identity->objective, err);
    if (status == HN_OK)
        status = hn_bindings_from_json(json_object_get(hone, "problem"), &identity->problem, err);
    if (status == HN_OK)
        status = read_device(json_object_get(hone, "device"), &identity->device, err);
    if (status == HN_OK)
        status = read_version(json_object_get(hone, "version"), &recording->version, err);
    if (status == HN_OK)
        status = read_optional(hone, "command", &recording->command, err);
    if (status == HN_OK)
        status = read_optional(hone, "date", &recording->date, err);
    if (status == HN_OK)
        status = hn_recording_plan_read(json_object_get(hone, "source"), &recording->plan, err);
    return status;
}

/* Kernel Tuner knows the problem as a size in up to three dimensions, without names. */
static enum hn_status read_problem_size(const json_t *json, struct hn_bindings *problem,
                                        struct hn_error *err)
{
    static const char *const names[] = {"problem_size_x", "problem_size_y", "problem_size_z"};
    size_t count = json_is_array(json) ? json_array_size(json) : 1;
    for (size_t i = 0; i < count && i < 3; i++) {
        const json_t *item = json_is_array(json) ? json_array_get(json, i) : json;
        struct hn_value value = hn_integer(json_integer_value(item));
        if (json_is_integer(item) && hn_bindings_set(problem, names[i], &value, err) != HN_OK)
            return HN_ENOMEM;
    }
    return HN_OK;
}

static enum hn_status read_kernel_tuner(const json_t *root, struct hn_recording *recording,
                                        struct hn_error *err)
{
    struct hn_identity *identity = &recording->identity;
    identity->signature = strdup("");
    identity->regime = strdup(HN_REGIME_UNKNOWN);
    identity->objective = strdup("time");
    if (identity->signature == NULL || identity->regime == NULL || identity->objective == NULL)
        return hn_fail_memory(err);
    recording->version.protocol = HN_KERNEL_TUNER_PROTOCOL;
    enum hn_status status = HN_OK;
    if (!json_is_null(json_object_get(root, "device_name")))
        status = copy_text(root, "device_name", identity->device.name, sizeof identity->device.name,
                           err);
    return status == HN_OK
               ? read_problem_size(json_object_get(root, "problem_size"), &identity->problem, err)
               : status;
}

static enum hn_status read_parameters(const json_t *json, struct hn_recording *recording,
                                      struct hn_error *err)
{
    size_t count = json_array_size(json);
    if (!json_is_array(json))
        return hn_fail(err, HN_EFORMAT, "'tune_params_keys' is %s, expected an array",
                       hn_json_type_name(json));
    recording->parameters = calloc(count + 1, sizeof *recording->parameters);
    if (recording->parameters == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(json, i));
        if (name == NULL || !hn_text_is_word(name))
            return hn_fail(err, HN_EFORMAT, "'tune_params_keys' holds '%.60s', expected a word",
                           name == NULL ? "" : name);
        recording->parameters[i] = strdup(name);
        if (recording->parameters[i] == NULL)
            return hn_fail_memory(err);
        recording->parameter_count++;
    }
    return HN_OK;
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
        struct hn_error reason = {""};
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
    const json_t *hone = json_object_get(root, "hone");
    if (!json_is_object(root) || json_object_get(root, "cache") == NULL)
        return hn_fail(err, HN_EFORMAT,
                       "it is neither a recording of Hone nor a cache file of "
                       "Kernel Tuner: there is no 'cache' in it");
    recording->from_hone = hone != NULL;
    enum hn_status status = copy_string(root, "kernel_name", &recording->identity.kernel, err);
    if (status == HN_OK)
        status = read_parameters(json_object_get(root, "tune_params_keys"), recording, err);
    if (status == HN_OK)
        status = hone != NULL ? read_hone(hone, recording, err)
                              : read_kernel_tuner(root, recording, err);
    if (status == HN_OK)
        status = hn_gate_identity(&recording->identity, err);
    if (status == HN_OK)
        status = hn_gate_version(&recording->version, err);
    return status == HN_OK ? read_rows(json_object_get(root, "cache"), recording, err) : status;
}

enum hn_status hn_recording_load(const char *path, struct hn_recording *recording,
                                 struct hn_error *err)
{
    char *text;
    size_t size;
    json_t *root = NULL;
    struct hn_error reason = {""};
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
