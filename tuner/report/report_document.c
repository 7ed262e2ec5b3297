/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/record/record_json.h"
#include "runtime/bench/roofs.h"
#include "tuner/report/findings.h"
#include "tuner/report/report.h"
#include "tuner/report/staging.h"

static json_t *names_of_outcomes(void)
{
    json_t *names = json_array();
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        (void)json_array_append_new(names, json_string(hn_outcome_name((enum hn_outcome)i)));
    return names;
}

static json_t *meanings_of_outcomes(void)
{
    json_t *meanings = json_array();
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        (void)json_array_append_new(meanings, json_string(hn_outcome_meaning((enum hn_outcome)i)));
    return meanings;
}

static json_t *bindings_to_json(const struct hn_bindings *bindings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < bindings->count; i++)
        (void)json_object_set_new(object, bindings->names[i],
                                  hn_report_value(&bindings->values[i]));
    return object;
}

static json_t *device_to_json(const struct hn_device_identity *device)
{
    return json_pack("{s:o, s:i, s:i, s:o}", "name", hn_report_string(device->name), "capability",
                     device->capability, "sm_count", device->sm_count, "mig_profile",
                     hn_report_string(device->mig_profile));
}

static json_t *version_to_json(const struct hn_version *version)
{
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:i}", "driver", hn_report_string(version->driver),
                     "nvrtc", hn_report_string(version->nvrtc), "template", version->template_hash,
                     "options", version->options_hash, "plan", version->plan_hash, "protocol",
                     version->protocol);
}

/* The time stamp as a whole number, which is not rounded as other figures are. */
static json_t *roofs_to_json(const struct hn_report_tuning *tuning)
{
    if (!tuning->has_roofs)
        return json_null();
    json_t *json = hn_roofs_to_json(&tuning->roofs);
    if (json != NULL)
        (void)json_object_set_new(json, "measured",
                                  json_integer((json_int_t)tuning->roofs.measured));
    return json;
}

static size_t place_of(const struct hn_report_tuning *tuning, size_t record)
{
    for (size_t i = 0; record != SIZE_MAX && i < tuning->records.count; i++)
        if (tuning->order[i] == record)
            return i;
    return SIZE_MAX;
}

static json_t *place_to_json(const struct hn_report_tuning *tuning, size_t record)
{
    size_t place = place_of(tuning, record);
    return place == SIZE_MAX ? json_null() : json_integer((json_int_t)place);
}

static json_t *ladder_to_json(const struct hn_report_tuning *tuning)
{
    json_t *ladder = json_array();
    for (size_t i = 0; i < tuning->ladder_count; i++) {
        const struct hn_report_step *step = &tuning->ladder[i];
        (void)json_array_append_new(ladder,
                                    json_pack("{s:o, s:o}", "set", bindings_to_json(&step->set),
                                              "record", place_to_json(tuning, step->record)));
    }
    return ladder;
}

/* Of the best, how its pipeline is set against its parts. */
static json_t *staging_to_json(const struct hn_report_tuning *tuning)
{
    if (tuning->best == SIZE_MAX ||
        !hn_observed_any(&tuning->records.items[tuning->best].observed, "staging"))
        return json_null();
    const struct hn_record *best = &tuning->records.items[tuning->best];
    json_t *json = hn_record_to_json(best);
    hn_staging_add_json(best, json);
    json_t *staging = json_incref(json_object_get(json, "staging"));
    json_decref(json);
    if (best->timing.host_us > 0 && staging != NULL)
        json_object_set_new(staging, "host_us", json_real(best->timing.host_us));
    return staging;
}

/* Of the best, what the GPU counted. */
static json_t *counted_to_json(const struct hn_report_tuning *tuning)
{
    struct hn_findings findings;
    if (tuning->best == SIZE_MAX)
        return json_null();
    hn_findings_make(&tuning->records.items[tuning->best],
                     tuning->has_roofs ? &tuning->roofs : NULL, 0, &findings);
    return findings.known ? hn_findings_to_json(&findings) : json_null();
}

static json_t *tuning_to_json(const struct hn_report_tuning *tuning)
{
    const struct hn_identity *identity = &tuning->identity;
    bool kernel_tuners = tuning->version.protocol == HN_KERNEL_TUNER_PROTOCOL;
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:I}",
        "kernel", hn_report_string(identity->kernel), "signature",
        hn_report_string(identity->signature), "problem", bindings_to_json(&identity->problem),
        "regime", hn_report_string(identity->regime), "objective",
        hn_report_string(identity->objective), "device", device_to_json(&identity->device),
        "version", version_to_json(&tuning->version), "source", hn_report_string(tuning->source),
        "command_line", hn_report_string(tuning->command), "config",
        hn_report_string(tuning->config), "merit", hn_report_string(tuning->merit), "simulated",
        tuning->simulated, "stale", tuning->stale, "kernel_tuner", kernel_tuners, "recorded",
        tuning->recorded, "count", (json_int_t)tuning->records.count);
    if (json == NULL)
        return NULL;
    int failed = json_object_set_new(json, "best", place_to_json(tuning, tuning->best));
    failed |= json_object_set_new(json, "family", hn_report_string(tuning->family));
    failed |= json_object_set_new(json, "roofs", roofs_to_json(tuning));
    failed |= json_object_set_new(json, "staging", staging_to_json(tuning));
    failed |= json_object_set_new(json, "counted", counted_to_json(tuning));
    failed |= json_object_set_new(json, "ladder", ladder_to_json(tuning));
    failed |= hn_report_add_columns(tuning, json);
    failed |= hn_report_add_samples(tuning, json);
    if (failed == 0)
        return json;
    json_decref(json);
    return NULL;
}

json_t *hn_report_to_json(const struct hn_report *report)
{
    json_t *tunings = json_array();
    for (size_t i = 0; i < report->count; i++) {
        json_t *tuning = tuning_to_json(&report->tunings[i]);
        if (tuning == NULL || json_array_append_new(tunings, tuning) != 0) {
            json_decref(tunings);
            return NULL;
        }
    }
    return json_pack("{s:i, s:s, s:I, s:i, s:o, s:o, s:o, s:o}", "format", 1, "hone", HONE_VERSION,
                     "generated", (json_int_t)time(NULL), "protocol", HN_MEASURING_PROTOCOL,
                     "outcomes", names_of_outcomes(), "meanings", meanings_of_outcomes(), "tunings",
                     tunings, "cache", hn_report_string(report->cache));
}
