/* SPDX-License-Identifier: MIT */
#include "cache/record/record_json_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hn_verification_names[HN_VERIFICATION_COUNT] = {
    [HN_UNVERIFIED] = "unverified",
    [HN_SELF_VERIFIED] = "self-verified",
    [HN_VERIFIED] = "verified",
    [HN_NOT_RECORDED] = "not recorded",
};

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
    for (size_t i = 0; object != NULL && i < bindings->count; i++) {
        if (json_object_set_new(object, bindings->names[i],
                                hn_value_to_json(&bindings->values[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *resources_to_json(const struct hn_resources *resources)
{
    json_t *json =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "registers", resources->registers,
                  "shared_bytes", resources->shared_bytes, "local_bytes", resources->local_bytes,
                  "stack_bytes", resources->stack_bytes, "spill_store_bytes",
                  resources->spill_store_bytes, "spill_load_bytes", resources->spill_load_bytes,
                  "occupancy", hn_real_to_json(resources->occupancy));
    if (json != NULL && resources->dynamic_shared_bytes != 0 &&
        json_object_set_new(json, "dynamic_shared_bytes",
                            json_integer(resources->dynamic_shared_bytes)) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *verdict_to_json(const struct hn_verdict *verdict)
{
    json_t *json = json_pack(
        "{s:s, s:o, s:o, s:o, s:i}", "kind", hn_verification_names[verdict->kind], "max_error",
        hn_real_to_json(verdict->max_error), "tolerance", hn_real_to_json(verdict->tolerance),
        "max_reference", hn_real_to_json(verdict->max_reference), "seeds", verdict->seeds);
    if (json != NULL && verdict->launches > 0 &&
        json_object_set_new(json, "launches", json_integer(verdict->launches)) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *samples_to_json(const struct hn_timing *timing)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < timing->sample_count; i++) {
        if (json_array_append_new(array, hn_real_to_json(timing->samples_us[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *timing_to_json(const struct hn_timing *timing)
{
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:b}", "median_us", hn_real_to_json(timing->median_us),
        "low_us", hn_real_to_json(timing->low_us), "high_us", hn_real_to_json(timing->high_us),
        "resolution_us", hn_real_to_json(timing->resolution_us), "batch", timing->batch, "dropped",
        timing->dropped, "clock_mhz", hn_real_to_json(timing->clock_mhz), "unstable",
        timing->unstable);
    if (json != NULL && timing->host_us != 0 &&
        json_object_set_new(json, "host_us", hn_real_to_json(timing->host_us)) != 0) {
        json_decref(json);
        return NULL;
    }
    if (json != NULL && timing->sample_count > 0 &&
        json_object_set_new(json, "samples_us", samples_to_json(timing)) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *staging_to_json(const struct hn_staging *staging)
{
    json_t *json = json_pack("{s:i, s:i}", "chunks", staging->chunks, "streams", staging->streams);
    int failed = json == NULL ? -1 : 0;
    if (staging->register_ms != 0)
        failed |= json_object_set_new(json, "register_ms", hn_real_to_json(staging->register_ms));
    if (staging->sequential_us != 0)
        failed |= json_object_update_new(
            json, json_pack("{s:i, s:o, s:o, s:o, s:o}", "copy_engines", staging->copy_engines,
                            "kernels_us", hn_real_to_json(staging->kernels_us), "upload_us",
                            hn_real_to_json(staging->upload_us), "download_us",
                            hn_real_to_json(staging->download_us), "sequential_us",
                            hn_real_to_json(staging->sequential_us)));
    if (failed == 0)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *costs_to_json(const struct hn_costs *costs)
{
    return json_pack("{s:o, s:o, s:o}", "compile_ms", hn_real_to_json(costs->compile_ms),
                     "verify_ms", hn_real_to_json(costs->verify_ms), "measure_ms",
                     hn_real_to_json(costs->measure_ms));
}

static bool is_measured(const struct hn_timing *timing)
{
    return timing->median_us != 0 || timing->low_us != 0 || timing->high_us != 0 ||
           timing->resolution_us != 0 || timing->batch != 0 || timing->dropped != 0 ||
           timing->clock_mhz != 0 || timing->host_us != 0 || timing->unstable ||
           timing->sample_count > 0;
}

json_t *hn_record_to_json(const struct hn_record *record)
{
    json_t *json = json_pack(
        "{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:o}", "point",
        hn_bindings_to_json(&record->point), "outcome", hn_outcome_name(record->outcome),
        "code_hash", record->code_hash, "verdict", verdict_to_json(&record->verdict), "costs",
        costs_to_json(&record->costs), "metrics", hn_bindings_to_json(&record->metrics),
        "objective", hn_real_to_json(record->objective), "final", record->final, "time",
        hn_real_to_json(record->time));
    if (json == NULL)
        return NULL;
    int failed = 0;
    if (record->message != NULL)
        failed |= json_object_set_new(json, "message", hn_string_to_json(record->message));
    if (record->original != NULL)
        failed |= json_object_set_new(json, "original", hn_string_to_json(record->original));
    if (record->resources.known)
        failed |= json_object_set_new(json, "resources", resources_to_json(&record->resources));
    if (is_measured(&record->timing))
        failed |= json_object_set_new(json, "timing", timing_to_json(&record->timing));
    if (record->staging.chunks != 0)
        failed |= json_object_set_new(json, "staging", staging_to_json(&record->staging));
    if (failed != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

enum hn_status hn_value_from_json(const json_t *json, struct hn_value *value, struct hn_error *err)
{
    double real = 0;
    switch (json == NULL ? JSON_NULL : json_typeof(json)) {
    case JSON_INTEGER:
        *value = hn_integer(json_integer_value(json));
        return HN_OK;
    case JSON_REAL:
        *value = hn_real(json_real_value(json));
        return HN_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        *value = hn_boolean(json_is_true(json));
        return HN_OK;
    case JSON_STRING:
        if (!hn_text_is_word(json_string_value(json)))
            return hn_fail(err, HN_EFORMAT, "found the string '%.60s', expected a word",
                           json_string_value(json));
        *value = hn_word(json_string_value(json));
        return HN_OK;
    case JSON_OBJECT:
        if (!hn_real_from_json(json, &real))
            return hn_fail(err, HN_EFORMAT, "found an object, expected a value");
        *value = hn_real(real);
        return HN_OK;
    default:
        return hn_fail(err, HN_EFORMAT, "found %s, expected a value", hn_json_type_name(json));
    }
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
