/* SPDX-License-Identifier: MIT */
#include "cache/record/record_json_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"

/* Far more than any measurement takes, small enough to refuse nonsense before it is allocated. */
enum { MAX_SAMPLES = 1 << 20 };

/* The readers below leave the value as it is when the member is missing: a default of zero. */
static enum hn_status read_real(const json_t *object, const char *name, double *real,
                                struct hn_error *err)
{
    const json_t *json = json_object_get(object, name);
    if (json == NULL)
        return HN_OK;
    if (!hn_real_from_json(json, real))
        return hn_fail(err, HN_EFORMAT, "'%s' is %s, expected a number", name,
                       hn_json_type_name(json));
    return HN_OK;
}

static enum hn_status read_count(const json_t *object, const char *name, int *count,
                                 struct hn_error *err)
{
    const json_t *json = json_object_get(object, name);
    if (json == NULL)
        return HN_OK;
    if (!json_is_integer(json) || json_integer_value(json) < 0 ||
        json_integer_value(json) > INT_MAX)
        return hn_fail(err, HN_EFORMAT, "'%s' is no integer of 0 to %d", name, INT_MAX);
    *count = (int)json_integer_value(json);
    return HN_OK;
}

static enum hn_status read_boolean(const json_t *object, const char *name, bool *boolean,
                                   struct hn_error *err)
{
    const json_t *json = json_object_get(object, name);
    if (json == NULL)
        return HN_OK;
    if (!json_is_boolean(json))
        return hn_fail(err, HN_EFORMAT, "'%s' is %s, expected true or false", name,
                       hn_json_type_name(json));
    *boolean = json_is_true(json);
    return HN_OK;
}

static enum hn_status read_string(const json_t *object, const char *name, char **string,
                                  struct hn_error *err)
{
    const json_t *json = json_object_get(object, name);
    if (json == NULL || json_is_null(json))
        return HN_OK;
    if (!json_is_string(json))
        return hn_fail(err, HN_EFORMAT, "'%s' is %s, expected a string", name,
                       hn_json_type_name(json));
    *string = strdup(json_string_value(json));
    if (*string == NULL)
        return hn_fail_memory(err);
    hn_gate_clean(*string);
    return HN_OK;
}

static enum hn_status read_hash(const json_t *object, const char *name, char hash[33],
                                struct hn_error *err)
{
    const json_t *json = json_object_get(object, name);
    if (json == NULL)
        return HN_OK;
    const char *hex = json_string_value(json);
    if (hex == NULL || strspn(hex, "0123456789abcdef") != strlen(hex) ||
        (strlen(hex) != 32 && strlen(hex) != 0))
        return hn_fail(err, HN_EFORMAT, "'%s' is no hash of 32 hexadecimal digits", name);
    memcpy(hash, hex, strlen(hex) + 1);
    return HN_OK;
}

static enum hn_status expect_object(const json_t *json, const char *name, struct hn_error *err)
{
    return json_is_object(json) ? HN_OK
                                : hn_fail(err, HN_EFORMAT, "'%s' is %s, expected an object", name,
                                          hn_json_type_name(json));
}

static enum hn_status read_resources(const json_t *json, struct hn_resources *resources,
                                     struct hn_error *err)
{
    if (json == NULL)
        return HN_OK;
    const struct {
        const char *name;
        int *count;
    } counts[] = {
        {"registers", &resources->registers},
        {"shared_bytes", &resources->shared_bytes},
        {"dynamic_shared_bytes", &resources->dynamic_shared_bytes},
        {"local_bytes", &resources->local_bytes},
        {"stack_bytes", &resources->stack_bytes},
        {"spill_store_bytes", &resources->spill_store_bytes},
        {"spill_load_bytes", &resources->spill_load_bytes},
    };
    enum hn_status status = expect_object(json, "resources", err);
    for (size_t i = 0; status == HN_OK && i < sizeof counts / sizeof *counts; i++)
        status = read_count(json, counts[i].name, counts[i].count, err);
    if (status == HN_OK)
        status = read_real(json, "occupancy", &resources->occupancy, err);
    resources->known = status == HN_OK;
    return status;
}

static enum hn_status read_verification(const json_t *json, enum hn_verification *kind,
                                        struct hn_error *err)
{
    const char *name = json_string_value(json_object_get(json, "kind"));
    for (size_t i = 0; name != NULL && i < HN_VERIFICATION_COUNT; i++) {
        if (strcmp(hn_verification_names[i], name) == 0) {
            *kind = (enum hn_verification)i;
            return HN_OK;
        }
    }
    return hn_fail(err, HN_EFORMAT,
                   "'kind' of the verdict is '%.40s', expected verified, self-verified, "
                   "unverified or not recorded",
                   name == NULL ? "" : name);
}

static enum hn_status read_verdict(const json_t *json, struct hn_verdict *verdict,
                                   struct hn_error *err)
{
    if (json == NULL)
        return HN_OK;
    enum hn_status status = expect_object(json, "verdict", err);
    if (status == HN_OK)
        status = read_verification(json, &verdict->kind, err);
    if (status == HN_OK)
        status = read_real(json, "max_error", &verdict->max_error, err);
    if (status == HN_OK)
        status = read_real(json, "tolerance", &verdict->tolerance, err);
    if (status == HN_OK)
        status = read_real(json, "max_reference", &verdict->max_reference, err);
    if (status == HN_OK)
        status = read_count(json, "seeds", &verdict->seeds, err);
    if (status == HN_OK)
        status = read_count(json, "launches", &verdict->launches, err);
    return status;
}

static enum hn_status read_samples(const json_t *json, struct hn_timing *timing,
                                   struct hn_error *err)
{
    if (json == NULL)
        return HN_OK;
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > MAX_SAMPLES)
        return hn_fail(err, HN_EFORMAT, "'samples_us' is no array of at most %d times",
                       MAX_SAMPLES);
    if (count == 0)
        return HN_OK;
    timing->samples_us = malloc(count * sizeof *timing->samples_us);
    if (timing->samples_us == NULL)
        return hn_fail_memory(err);
    timing->sample_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(json, i);
        if (!hn_real_from_json(item, &timing->samples_us[i]))
            return hn_fail(err, HN_EFORMAT, "sample %zu is %s, expected a time", i,
                           hn_json_type_name(item));
    }
    return HN_OK;
}

static enum hn_status read_timing(const json_t *json, struct hn_timing *timing,
                                  struct hn_error *err)
{
    if (json == NULL)
        return HN_OK;
    const struct {
        const char *name;
        double *real;
    } reals[] = {
        {"median_us", &timing->median_us}, {"low_us", &timing->low_us},
        {"high_us", &timing->high_us},     {"resolution_us", &timing->resolution_us},
        {"clock_mhz", &timing->clock_mhz}, {"host_us", &timing->host_us},
    };
    enum hn_status status = expect_object(json, "timing", err);
    for (size_t i = 0; status == HN_OK && i < sizeof reals / sizeof *reals; i++)
        status = read_real(json, reals[i].name, reals[i].real, err);
    if (status == HN_OK)
        status = read_count(json, "batch", &timing->batch, err);
    if (status == HN_OK)
        status = read_count(json, "dropped", &timing->dropped, err);
    if (status == HN_OK)
        status = read_boolean(json, "unstable", &timing->unstable, err);
    if (status == HN_OK)
        status = read_samples(json_object_get(json, "samples_us"), timing, err);
    return status;
}

static enum hn_status read_staging(const json_t *json, struct hn_staging *staging,
                                   struct hn_error *err)
{
    if (json == NULL)
        return HN_OK;
    const struct {
        const char *name;
        double *real;
    } reals[] = {
        {"register_ms", &staging->register_ms},     {"kernels_us", &staging->kernels_us},
        {"upload_us", &staging->upload_us},         {"download_us", &staging->download_us},
        {"sequential_us", &staging->sequential_us},
    };
    enum hn_status status = expect_object(json, "staging", err);
    if (status == HN_OK)
        status = read_count(json, "chunks", &staging->chunks, err);
    if (status == HN_OK)
        status = read_count(json, "streams", &staging->streams, err);
    if (status == HN_OK)
        status = read_count(json, "copy_engines", &staging->copy_engines, err);
    for (size_t i = 0; status == HN_OK && i < sizeof reals / sizeof *reals; i++)
        status = read_real(json, reals[i].name, reals[i].real, err);
    return status;
}

static enum hn_status read_costs(const json_t *json, struct hn_costs *costs, struct hn_error *err)
{
    if (json == NULL)
        return HN_OK;
    enum hn_status status = expect_object(json, "costs", err);
    if (status == HN_OK)
        status = read_real(json, "compile_ms", &costs->compile_ms, err);
    if (status == HN_OK)
        status = read_real(json, "verify_ms", &costs->verify_ms, err);
    if (status == HN_OK)
        status = read_real(json, "measure_ms", &costs->measure_ms, err);
    return status;
}

static enum hn_status read_metrics(const json_t *json, struct hn_bindings *metrics,
                                   struct hn_error *err)
{
    return json == NULL ? HN_OK : hn_bindings_from_json(json, metrics, err);
}

static enum hn_status read_outcome(const json_t *json, enum hn_outcome *outcome,
                                   struct hn_error *err)
{
    const char *name = json_string_value(json_object_get(json, "outcome"));
    if (name == NULL || !hn_outcome_parse(name, outcome))
        return hn_fail(err, HN_EFORMAT, "'outcome' is '%.40s', which is none of the outcomes",
                       name == NULL ? "" : name);
    return HN_OK;
}

enum hn_status hn_record_from_json(const json_t *json, const char *objective,
                                   struct hn_record *record, struct hn_error *err)
{
    enum hn_status status = expect_object(json, "record", err);
    if (status == HN_OK)
        status = hn_bindings_from_json(json_object_get(json, "point"), &record->point, err);
    if (status == HN_OK)
        status = read_outcome(json, &record->outcome, err);
    if (status == HN_OK)
        status = read_string(json, "message", &record->message, err);
    if (status == HN_OK)
        status = read_string(json, "original", &record->original, err);
    if (status == HN_OK)
        status = read_hash(json, "code_hash", record->code_hash, err);
    if (status == HN_OK)
        status = read_resources(json_object_get(json, "resources"), &record->resources, err);
    if (status == HN_OK)
        status = read_verdict(json_object_get(json, "verdict"), &record->verdict, err);
    if (status == HN_OK)
        status = read_timing(json_object_get(json, "timing"), &record->timing, err);
    if (status == HN_OK)
        status = read_costs(json_object_get(json, "costs"), &record->costs, err);
    if (status == HN_OK)
        status = read_staging(json_object_get(json, "staging"), &record->staging, err);
    if (status == HN_OK)
        status = read_metrics(json_object_get(json, "metrics"), &record->metrics, err);
    if (status == HN_OK)
        status = read_real(json, "objective", &record->objective, err);
    if (status == HN_OK)
        status = read_boolean(json, "final", &record->final, err);
    if (status == HN_OK)
        status = read_real(json, "time", &record->time, err);
    return status == HN_OK ? hn_gate_record(record, objective, err) : status;
}
