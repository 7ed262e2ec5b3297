/* SPDX-License-Identifier: MIT */
#include "tuner/commands/run_document.h"

#include <string.h>

#include "cache/record/record_json.h"
#include "runtime/bench/arena.h"
#include "runtime/compile/compile.h"
#include "tuner/report/findings.h"
#include "tuner/report/staging.h"
#include "tuner/report/summary.h"

enum { FORMAT = 1 };

/* What may hold any bytes is text in the record's JSON. */
static json_t *message_of(const json_t *record_json)
{
    json_t *message = json_object_get(record_json, "message");
    return message == NULL ? json_null() : json_incref(message);
}

static json_t *interval_to_json(const struct hn_interval *interval, const char *unit)
{
    json_t *json = json_object();
    char name[32];
    const struct {
        const char *name;
        double value;
    } parts[] = {{"median", interval->median}, {"low", interval->low}, {"high", interval->high}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(name, sizeof name, "%s%s", parts[i].name, unit);
        (void)json_object_set_new(json, name, json_real(parts[i].value));
    }
    return json;
}

/* Whether nothing was written beside the buffers; null where that was not looked at. */
static json_t *intact(enum hn_outcome outcome)
{
    if (outcome == HN_OUTCOME_OK)
        return json_true();
    return outcome == HN_OUTCOME_OUT_OF_BOUNDS ? json_false() : json_null();
}

/* The record's verdict and what was looked at beside the outputs. */
static json_t *verified_to_json(const struct hn_record *record, const json_t *record_json)
{
    json_t *json = json_deep_copy(json_object_get(record_json, "verdict"));
    (void)json_object_set_new(json, "guard_zones",
                              json_pack("{s:I, s:o}", "bytes", (json_int_t)HN_GUARD_BYTES, "intact",
                                        intact(record->outcome)));
    return json;
}

static const char *why_no_speedup(const struct hn_run_result *result)
{
    const char *obstacle = hn_beside_obstacle(result->task->plan);
    if (result->record->outcome != HN_OUTCOME_OK)
        return "the variant is not valid";
    if (!result->timed)
        return "no times were asked for (--verify-only)";
    return obstacle != NULL ? obstacle : "no round was finished";
}

static int add_times(const struct hn_run_result *result, json_t *json)
{
    const struct hn_beside *beside = result->beside;
    if (beside->rounds == 0)
        return json_object_update_new(json, json_pack("{s:n, s:n, s:s}", "times", "speedup",
                                                      "no_speedup", why_no_speedup(result)));
    return json_object_update_new(
        json, json_pack("{s:{s:o, s:o, s:i}, s:o, s:n}", "times", "variant",
                        interval_to_json(&beside->variant_us, "_us"), "reference",
                        interval_to_json(&beside->reference_us, "_us"), "rounds", beside->rounds,
                        "speedup", interval_to_json(&beside->speedup, ""), "no_speedup"));
}

static json_t *clocks_to_json(const struct hn_run_result *result)
{
    const struct hn_timing *timing = &result->record->timing;
    json_t *sm_mhz = timing->clock_mhz > 0 ? json_real(timing->clock_mhz) : json_null();
    return json_pack("{s:o, s:f, s:i, s:b}", "sm_mhz", sm_mhz, "max_mhz",
                     (double)result->device->clock_khz / 1e3, "dropped", timing->dropped,
                     "unstable", timing->unstable);
}

json_t *hn_run_result_to_json(const struct hn_run_result *result)
{
    const struct hn_record *record = result->record;
    struct hn_findings findings;
    json_t *record_json = hn_record_to_json(record);
    if (record_json == NULL)
        return NULL;
    hn_staging_add_json(record, record_json);
    hn_findings_make(record, NULL, (double)result->device->clock_khz / 1e3, &findings);
    if (findings.known)
        (void)json_object_set_new(record_json, "counted", hn_findings_to_json(&findings));
    json_t *json = json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:s, s:o, s:o}", "problem",
        hn_bindings_to_json(result->task->problem), "point", hn_bindings_to_json(&record->point),
        "outcome", hn_outcome_name(record->outcome), "message", message_of(record_json), "verified",
        verified_to_json(record, record_json), "regime", result->task->identity.regime, "clocks",
        clocks_to_json(result), "health", hn_health_to_json(result->health));
    if (json == NULL || add_times(result, json) != 0 ||
        json_object_set(json, "record", record_json) != 0) {
        json_decref(json);
        json = NULL;
    }
    if (json != NULL && result->no_counters[0] != '\0')
        (void)json_object_set_new(json, "no_counters", json_string(result->no_counters));
    json_decref(record_json);
    return json;
}

/* The first problem whose point is not valid, else the first. */
static const json_t *find_telling(const json_t *problems)
{
    size_t index;
    const json_t *problem;
    json_array_foreach(problems, index, problem)
    {
        const char *outcome = json_string_value(json_object_get(problem, "outcome"));
        if (strcmp(outcome, hn_outcome_name(HN_OUTCOME_OK)) != 0)
            return problem;
    }
    return json_array_get(problems, 0);
}

json_t *hn_run_document(const struct hn_config *config, const struct hn_device *device,
                        const struct hn_nvrtc *nvrtc, json_t *problems)
{
    char compiler[16] = "";
    hn_compiler_version(config->plan->compiler, nvrtc, compiler, NULL);
    const json_t *telling = find_telling(problems);
    const struct hn_device_identity *identity = &device->identity;
    return json_pack(
        "{s:i, s:s, s:s, s:O, s:O, s:{s:s, s:s, s:i, s:i, s:s}, s:{s:s, s:s, s:s, s:i}, s:O}",
        "format", FORMAT, "kernel", config->plan->kernel, "config", config->path, "outcome",
        json_object_get(telling, "outcome"), "message", json_object_get(telling, "message"),
        "device", "name", identity->name, "uuid", device->uuid, "capability", identity->capability,
        "sm_count", identity->sm_count, "mig_profile", identity->mig_profile, "versions", "hone",
        HONE_VERSION, "driver", device->driver, "nvrtc", compiler, "protocol",
        HN_MEASURING_PROTOCOL, "problems", problems);
}
