/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cache/record/record_json.h"
#include "tuner/export/export_parts.h"

/* The results for other programs. The version is raised when a field changes its meaning. */
enum { EXPORT_VERSION = 1 };

/* 0: the file that it was imported from does not say it. */
static json_t *known(int value)
{
    return value > 0 ? json_integer(value) : json_null();
}

static json_t *device_json(const struct hn_device_identity *device)
{
    return json_pack("{s:s, s:s, s:o, s:o}", "name", device->name, "mig_profile",
                     device->mig_profile, "capability", known(device->capability), "sm_count",
                     known(device->sm_count));
}

static json_t *error_json(const struct hn_verdict *verdict, double value)
{
    return verdict->kind == HN_NOT_RECORDED ? json_null() : json_real(value);
}

/* Tells the bytes that a thread spills, not all that it has of local memory. */
static json_t *resources_json(const struct hn_resources *resources)
{
    if (!resources->known)
        return json_null();
    json_t *json = hn_fields_to_json(&hn_resources_structure, resources);
    (void)json_object_del(json, "local_bytes");
    (void)json_object_del(json, "stack_bytes");
    return json;
}

static json_t *version_json(const struct hn_version *version)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "template", version->template_hash,
                     "options", version->options_hash, "plan", version->plan_hash, "driver",
                     version->driver, "nvrtc", version->nvrtc, "protocol", version->protocol);
}

static json_t *config_json(const struct hn_tuned *tuned)
{
    const struct hn_record *best = &tuned->best;
    const struct hn_timing *timing = &best->timing;
    struct hn_text date = {0};
    hn_export_append_date(&date, best->time);
    char *day = hn_needed(hn_text_take(&date));
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:{s:f, s:f, s:f, s:b}, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:b, "
        "s:b, s:s, s:s, s:s, s:f}",
        "device", device_json(&tuned->identity.device), "problem",
        hn_bindings_to_json(&tuned->identity.problem), "parameters",
        hn_bindings_to_json(&best->point), "time_us", "median", timing->median_us, "low",
        timing->low_us, "high", timing->high_us, "unstable", timing->unstable, "metrics",
        hn_bindings_to_json(&best->metrics), "regime", tuned->identity.regime, "objective",
        tuned->identity.objective, "verification", hn_verification_names[best->verdict.kind],
        "max_error", error_json(&best->verdict, best->verdict.max_error), "tolerance",
        error_json(&best->verdict, best->verdict.tolerance), "resources",
        resources_json(&best->resources), "version", version_json(&tuned->version), "points",
        (json_int_t)tuned->points, "simulated", tuned->simulated, "stale", tuned->stale, "date",
        day, "machine", tuned->origin.machine, "source", tuned->origin.source, "imported",
        tuned->origin.imported);
    free(day);
    return json;
}

enum hn_status hn_export_json(const struct hn_export *export, struct hn_text *text,
                              struct hn_error *err)
{
    json_t *configs = json_array();
    json_t *json = json_pack("{s:i, s:s, s:o}", "hone_export", EXPORT_VERSION, "kernel",
                             export->kernel, "configurations", configs);
    bool failed = json == NULL;
    for (size_t i = 0; i < export->result_count && !failed; i++)
        failed = json_array_append_new(configs, config_json(export->results[i])) != 0;
    char *dump = failed ? NULL : json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(json);
    if (dump == NULL)
        return hn_fail(
            err, HN_ERUN,
            "the results of '%s' can not be said in JSON: a name is not UTF-8, or there is "
            "not enough memory",
            export->kernel);
    hn_text_printf(text, "%s\n", dump);
    free(dump);
    return HN_OK;
}
