/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "cache/record/record_json.h"
#include "tuner/explain/explain.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Against the best value of the parameter. */
static json_t *values_to_json(const struct hn_evidence *evidence, const struct hn_effect *effect)
{
    json_t *values = json_array();
    double least = INFINITY;
    size_t count = hn_space_value_count(evidence->space, effect->parameter);
    for (size_t v = 0; v < count; v++)
        least = effect->counts[v] > 0 ? fmin(least, effect->means[v]) : least;
    for (size_t v = 0; v < count; v++)
        json_array_append_new(
            values,
            json_pack("{so so sI}", "value",
                      hn_value_to_json(hn_space_value(evidence->space, effect->parameter, v)),
                      "ratio", number(hn_evidence_ratio(evidence, effect->means[v], least)),
                      "points", (json_int_t)effect->counts[v]));
    return values;
}

static json_t *effects_to_json(const struct hn_evidence *evidence, const struct hn_effects *effects)
{
    const struct hn_space *space = evidence->space;
    json_t *parameters = json_array();
    json_t *interactions = json_array();
    if (!effects->known) {
        json_decref(parameters);
        json_decref(interactions);
        return json_null();
    }
    for (size_t i = 0; i < effects->parameter_count; i++) {
        const struct hn_effect *effect = &effects->mains[i];
        json_array_append_new(
            parameters,
            json_pack("{ss sf s{sI so} so}", "name",
                      hn_space_parameter_name(space, effect->parameter), "share", effect->share,
                      "alone", "points", (json_int_t)effect->alone, "worst_ratio",
                      effect->alone > 0 ? number(effect->worst_alone) : json_null(), "values",
                      values_to_json(evidence, effect)));
    }
    for (size_t i = 0; i < effects->pair_count; i++)
        json_array_append_new(
            interactions, json_pack("{s[ss] sf}", "parameters",
                                    hn_space_parameter_name(space, effects->pairs[i].parameters[0]),
                                    hn_space_parameter_name(space, effects->pairs[i].parameters[1]),
                                    "share", effects->pairs[i].share));
    return json_pack("{ss sI sb sf so so sI so}", "basis", effects->exact ? "exact" : "forest",
                     "points", (json_int_t)effects->points, "sampled", effects->sampled,
                     "explained", effects->explained, "parameters", parameters, "interactions",
                     interactions, "unmeasured", (json_int_t)effects->unmeasured, "expected_ratio",
                     effects->unmeasured > 0 ? number(effects->promise) : json_null());
}

static json_t *common_to_json(const struct hn_explanation *explanation)
{
    const struct hn_common *common = &explanation->common;
    const struct hn_space *space = explanation->evidence.space;
    json_t *values = json_array();
    for (size_t i = 0; i < common->count; i++) {
        const struct hn_common_value *value = &common->values[i];
        json_array_append_new(
            values,
            json_pack("{ss so sI sI sf}", "name", hn_space_parameter_name(space, value->parameter),
                      "value",
                      hn_value_to_json(hn_space_value(space, value->parameter, value->value)),
                      "among_best", (json_int_t)value->among_best, "among_all",
                      (json_int_t)value->among_all, "chance", value->chance));
    }
    return json_pack("{sI sI so so}", "best", (json_int_t)common->best, "all",
                     (json_int_t)common->all, "ratio",
                     common->best > 0 ? number(common->ratio) : json_null(), "values", values);
}

static json_t *launch_to_json(const struct hn_bounds *bounds)
{
    if (!bounds->launch_known)
        return json_null();
    return json_pack("{sI sI sI sf ss sI}", "blocks", (json_int_t)bounds->blocks, "threads",
                     (json_int_t)bounds->threads, "shared_bytes", (json_int_t)bounds->shared_bytes,
                     "occupancy", bounds->occupancy, "limiter", hn_limiter_name(bounds->limiter),
                     "resident_blocks", (json_int_t)bounds->resident);
}

static json_t *count(const struct hn_resources *resources, int value)
{
    return resources->known ? json_integer(value) : json_null();
}

static json_t *bounds_to_json(const struct hn_explanation *explanation)
{
    const struct hn_bounds *bounds = &explanation->bounds;
    const struct hn_resources *resources = &bounds->resources;
    return json_pack("{so so* sf sf sf sf sf sf sf so so so so}", "bound",
                     bounds->bound != NULL ? json_string(bounds->bound) : json_null(), "counted",
                     hn_findings_to_json(&explanation->findings), "bytes", bounds->bytes, "flops",
                     bounds->flops, "gb_per_s", bounds->gb_per_s, "gflops", bounds->gflops,
                     "bytes_share", bounds->bytes_share, "flops_share", bounds->flops_share,
                     "launch_share", bounds->launch_share, "launch", launch_to_json(bounds),
                     "registers", count(resources, resources->registers), "spill_store_bytes",
                     count(resources, resources->spill_store_bytes), "spill_load_bytes",
                     count(resources, resources->spill_load_bytes));
}

static json_t *warned_to_json(const struct hn_warned *warned)
{
    json_t *json = json_object();
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        if (warned->of[i].points > 0)
            json_object_set_new(
                json, hn_warning_names[i],
                json_pack("{sI sI so}", "points", (json_int_t)warned->of[i].points, "refused",
                          (json_int_t)warned->of[i].refused, "ratio",
                          warned->of[i].ratio > 0 ? json_real(warned->of[i].ratio) : json_null()));
    return json;
}

static json_t *best_to_json(const struct hn_evidence *evidence)
{
    if (evidence->best == SIZE_MAX)
        return json_null();
    const struct hn_record *record = hn_evidence_record(evidence, evidence->best);
    return json_pack("{so sf}", "point", hn_bindings_to_json(&record->point), "time_us",
                     record->timing.median_us);
}

static json_t *valid_to_json(const struct hn_space *space)
{
    bool exact;
    double valid = hn_space_valid(space, &exact);
    return json_pack("{sf sb}", "count", valid, "exact", exact);
}

json_t *hn_explanation_to_json(const struct hn_explanation *explanation)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    const struct hn_identity *identity = &explanation->task->identity;
    json_t *next = json_array();
    for (size_t i = 0; i < explanation->advice_count; i++)
        json_array_append_new(next, json_pack("{ss ss}", "kind", explanation->advice[i].kind,
                                              "text", explanation->advice[i].text));
    return json_pack(
        "{ss so ss ss sb sb so so s{sI sI sI sI} so so so so so so so so}", "kernel",
        identity->kernel, "problem", hn_bindings_to_json(&identity->problem), "regime",
        identity->regime, "device", identity->device.name, "simulated", explanation->simulated,
        "stale", explanation->stale, "origin", hn_origin_to_json(&explanation->origin), "valid",
        valid_to_json(evidence->space), "points", "timed", (json_int_t)evidence->count,
        "lower_bounds", (json_int_t)evidence->bounded, "failed", (json_int_t)evidence->failed,
        "foreign", (json_int_t)evidence->foreign, "best", best_to_json(evidence), "effects",
        effects_to_json(evidence, &explanation->effects), "compiling",
        effects_to_json(&explanation->compiling, &explanation->compile_effects), "common",
        common_to_json(explanation), "bounds", bounds_to_json(explanation), "warnings",
        warned_to_json(&explanation->warned), "edges", hn_edges_to_json(&explanation->edges),
        "next", next);
}
