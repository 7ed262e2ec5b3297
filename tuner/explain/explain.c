/* SPDX-License-Identifier: MIT */
#include "tuner/explain/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cache/record/record_json.h"
#include "tuner/explain/explain_parts.h"
#include "tuner/report/bounds.h"
#include "tuner/report/render.h"

enum { EFFECTS_SHOWN = 8, PAIRS_SHOWN = 4, COMPILING_SHOWN = 4, FINDINGS_SHOWN = 3 };
/* Interactions below are not worth a line. */
static const double least_share = 0.01;
/* Of compile times: where none takes longer there is nothing to say. */
static const double worth_telling_ms = 250;

/* Forests and samples are the same for the same records. */
static const uint64_t seed = 1;

#define RATIO(value) "[{?/logarithmic}{" value ":.2f}x|+{" value ":.3g}]"
static const struct hn_column effect_columns[] = {
    {">share", "{share:.1%}"},
    {"parameter", "{name}"},
    {"~on average, best .. worst value", "[{from}[ .. {to} " RATIO("by") "]]"},
    {"~beside the best, worst",
     "[{?alone.points}" RATIO("alone.worst_ratio") " of {alone.points}|-]"},
    {NULL, NULL},
};
static const struct hn_column compiling_columns[] = {
    {">share", "{share:.1%}"},
    {"parameter", "{name}"},
    {"~on average, quickest .. slowest value", "{from}[ .. {to} {by:.2f}x]"},
    {NULL, NULL},
};
static const struct hn_column common_columns[] = {
    {"value", "{name}={value}"},
    {">of the best", "{among_best} ({among_best//common.best:.0%})"},
    {">of all", "{among_all} ({among_all//common.all:.0%})"},
    {NULL, NULL},
};

const struct hn_view hn_explain_views[] = {
    {.line = "{kernel}[ {problem}] on {device}, {regime:regime}[{?simulated}, simulated from a "
             "recording]"},
    {.line = "  {origin:origin}"},
    {.line = "  {valid.text} valid points: {points.timed} with a time[{?points.lower_bounds} "
             "({points.lower_bounds} of them stopped early: lower bounds)]"
             "[{?points.failed}, {points.failed} failed]"},
    {.line =
         "  {points.foreign} record[{?points.foreign=1} is|s are] not of the space as it is now, "
         "and left out{?points.foreign}"},
    {.line = "  stale: template, options or plan have changed since they were measured{?stale}"},
    {.at = "warnings.*",
     .line = "  {points} with the compiler's warning {@}: {meaning}[{?refused}; {refused} of them "
             "skipped, as the config refuses it][{?/logarithmic}{?ratio}; the best with it takes "
             "{ratio:.2f} of the best]"},
    {.line = "  no point was measured in full: there is nothing to explain{?!best}"},
    {.line = "  the best: {best.time_us:time}[, {best.merit}] at[ {best.point}| ]"},

    {.line = "\nwhich parameters matter{?best}"},
    {.line =
         "  too little is known: {points.timed-points.lower_bounds:.0f} points were measured in "
         "full[{?points.lower_bounds}, the others were stopped early]; 10 at least are needed, "
         "and they must differ{?best}{?!effects}"},
    {.line = "  shares of the variance of {effects.of} over all {effects.points} points, each of "
             "them measured{?effects.basis=exact}"},
    {.line = "  shares of the variance of {effects.of} over [{?effects.sampled}a sample of |all ]"
             "{effects.points} valid points, by a random forest of{?effects.basis=forest}"},
    {.line = "  the {points.timed} with a time, which explains "
             "[{?effects.explained>0}{effects.explained:.0%}|0%] of the variance of points it has "
             "not seen[{?effects.explained<0.5}: no more than hints]{?effects.basis=forest}"},
    {.at = "effects.parameters", .columns = effect_columns, .most = EFFECTS_SHOWN, .indent = 2},
    {.line = "  the shares of {effects.parameters-8:.0f} more are smaller{?effects.parameters>8}"},
    {.line = "  together, beyond each alone: {effects.together}"},

    {.line = "\nwhat the best {common.best} of {common.all} have in common[{?logarithmic} (within "
             "{common.ratio-1:.1%} of the best)]{?common.best}{?best}"},
    {.line = "  nothing that chance would not give{?!common.values}{?common.best}{?best}"},
    {.at = "common.values", .columns = common_columns, .most = EFFECTS_SHOWN, .indent = 2},

    {.line =
         "\nwhat compile time goes with ({compiling.quickest_s:.3g} to {compiling.slowest_s:.3g} "
         "s a point, {compiling.timed} points){?compiling.telling}{?best}"},
    {.at = "compiling.telling", .columns = compiling_columns, .indent = 2},

    {.line = "\nwhat bounds the best: {bounds.counted.bound}"},
    HN_FINDINGS_VIEWS("bounds", "  ", FINDINGS_SHOWN),
    {.line =
         "[{?bounds.counted}  by metrics and roofs|\nwhat bounds the best]"
         "[{?!bounds.bytes}{?!bounds.flops}: not known\n  no metric `bytes` or `flops` says what "
         "a launch moves and computes|{?!bounds.bound}|{?bounds.share<0.6}: latency, or what the "
         "metrics do not count; {bounds.bound} alone explains {bounds.share:.0%}|: "
         "{bounds.bound}, {bounds.share:.0%} of its roof]{?best}"},
    {.line =
         "  [{?bounds.bytes}{bounds.gb_per_s:.0f} GB/s[{?bounds.bound} ({bounds.bytes_share:.0%} "
         "of "
         "the roof)]][{?bounds.bytes}{?bounds.flops}, ][{?bounds.flops}{bounds.gflops:.0f} GFLOP/s"
         "[{?bounds.bound}{?bounds.flops_rate} ({bounds.flops_share:.0%} of the roof)]]"
         "[{?bounds.bytes}{?bounds.flops}, {bounds.flops/bounds.bytes:intensity} operations a byte"
         "[{?bounds.bound}{?bounds.flops_rate}{?roofs.copy_gb_per_s} (the roofs meet at "
         "{bounds.flops_rate/"
         "roofs.copy_gb_per_s:intensity})]]{?best}{?bounds.bytes+bounds.flops>0}"},
    {.line = "  what crosses the bus has no roof; its parts tell more:{?bounds.staging}"},
    HN_STAGING_VIEWS("bounds", "  "),
    {.line = "  roofs: " HN_ROOFS_LINE("roofs.") "{?bounds.bound}{?!pipeline}"},
    {.line = "  the device's roofs are not in the cache: `{measure}` measures them{?best}{?!roofs}"
             "{?!pipeline}{?bounds.bytes+bounds.flops>0}"},
    {.line = "  inferred from metrics, roofs and the launch; --counters reads what the GPU "
             "counts{?best}{?!pipeline}{?!bounds.counted}"},
    {.line =
         "  occupancy {bounds.launch.occupancy:percent}[{?!bounds.launch.limiter=none}, held by "
         "{bounds.launch.limiter}] ({bounds.registers} registers a thread, "
         "{bounds.launch.shared_bytes} bytes of shared memory and {bounds.launch.threads} "
         "threads a block)[{?bounds.spill_store_bytes+bounds.spill_load_bytes>0}; spills "
         "{bounds.spill_store_bytes} bytes out, {bounds.spill_load_bytes} in|; no spills]"},
    {.line =
         "  {bounds.launch.blocks} blocks[{?bounds.launch.resident_blocks}, of which the device "
         "holds {bounds.launch.resident_blocks} at once: "
         "{bounds.launch.blocks/bounds.launch.resident_blocks:.1f} waves]"},

    {.line = "\nwhat to try next{?next}"},
    {.at = "next", .line = "  {#}. {text}"},
    {NULL},
};

/* False where no limits are known of such a device; then it has none but its name. */
static bool describe_device(const struct hn_task *task, struct hn_device *device)
{
    char architecture[16];
    struct hn_error ignored;
    const struct hn_device_identity *identity = &task->identity.device;
    snprintf(architecture, sizeof architecture, "sm_%d", identity->capability);
    bool known = hn_device_for_architecture(architecture, device, &ignored) == HN_OK;
    if (!known)
        *device = (struct hn_device){0};
    device->identity = *identity;
    return known;
}

struct lookup {
    const struct hn_evidence *evidence;
    uint16_t *choice;
};

static bool look_up(void *context, const struct hn_bindings *point, struct hn_edge_time *time)
{
    const struct lookup *lookup = context;
    const struct hn_evidence *evidence = lookup->evidence;
    if (hn_space_choice(evidence->space, point, lookup->choice, NULL) != HN_OK)
        return false;
    size_t found = hn_evidence_find(evidence, lookup->choice);
    if (found == SIZE_MAX || found >= evidence->count)
        return false;
    hn_edge_time_of(hn_evidence_record(evidence, found), time);
    return true;
}

static void find_edges(struct hn_explanation *explanation, bool device_known)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    struct lookup lookup = {evidence, hn_need(evidence->parameters, sizeof *lookup.choice)};
    explanation->edges =
        hn_edges_find(explanation->input->task, device_known ? &explanation->device : NULL,
                      hn_evidence_record(evidence, evidence->best), look_up, &lookup,
                      explanation->input->compiler);
    free(lookup.choice);
}

static json_t *value_of(const struct hn_evidence *evidence, size_t parameter, size_t value)
{
    return hn_value_to_json(hn_space_value(evidence->space, parameter, value));
}

/* A parameter with the means of its values against the best one, and from which value they go to
 * which. */
static json_t *effect_to_json(const struct hn_evidence *evidence, const struct hn_effect *effect)
{
    json_t *values = json_array();
    size_t count = hn_space_value_count(evidence->space, effect->parameter);
    size_t least = SIZE_MAX, most = SIZE_MAX;
    for (size_t v = 0; v < count; v++) {
        if (effect->counts[v] == 0)
            continue;
        if (least == SIZE_MAX || effect->means[v] < effect->means[least])
            least = v;
        if (most == SIZE_MAX || effect->means[v] > effect->means[most])
            most = v;
    }
    double best = least != SIZE_MAX ? effect->means[least] : (double)INFINITY;
    for (size_t v = 0; v < count; v++)
        json_array_append_new(
            values,
            json_pack("{so so sI}", "value", value_of(evidence, effect->parameter, v), "ratio",
                      hn_render_number(hn_evidence_ratio(evidence, effect->means[v], best)),
                      "points", (json_int_t)effect->counts[v]));
    json_t *json = json_pack(
        "{ss sf s{sI so} so}", "name", hn_space_parameter_name(evidence->space, effect->parameter),
        "share", effect->share, "alone", "points", (json_int_t)effect->alone, "worst_ratio",
        effect->alone > 0 ? hn_render_number(effect->worst_alone) : json_null(), "values", values);
    if (least != SIZE_MAX)
        json_object_set_new(json, "from", value_of(evidence, effect->parameter, least));
    if (most != least)
        json_object_update_new(
            json,
            json_pack("{so so}", "to", value_of(evidence, effect->parameter, most), "by",
                      hn_render_number(hn_evidence_ratio(evidence, effect->means[most], best))));
    return json;
}

static json_t *effects_to_json(const struct hn_evidence *evidence, const struct hn_effects *effects)
{
    const struct hn_space *space = evidence->space;
    struct hn_text together = {0};
    if (!effects->known)
        return json_null();
    json_t *parameters = json_array(), *interactions = json_array();
    for (size_t i = 0; i < effects->parameter_count; i++)
        json_array_append_new(parameters, effect_to_json(evidence, &effects->mains[i]));
    for (size_t i = 0; i < effects->pair_count; i++) {
        const struct hn_interaction *pair = &effects->pairs[i];
        const char *one = hn_space_parameter_name(space, pair->parameters[0]);
        const char *other = hn_space_parameter_name(space, pair->parameters[1]);
        json_array_append_new(
            interactions, json_pack("{s[ss] sf}", "parameters", one, other, "share", pair->share));
        if (i < PAIRS_SHOWN && pair->share >= least_share)
            hn_text_printf(&together, "%s%s with %s %.1f%%", i > 0 ? ", " : "", one, other,
                           pair->share * 100);
    }
    json_t *json = json_pack(
        "{ss sI sb sf so so ss* sI so}", "basis", effects->exact ? "exact" : "forest", "points",
        (json_int_t)effects->points, "sampled", effects->sampled, "explained", effects->explained,
        "parameters", parameters, "interactions", interactions, "together", together.data,
        "unmeasured", (json_int_t)effects->unmeasured, "expected_ratio",
        effects->unmeasured > 0 ? hn_render_number(effects->promise) : json_null());
    hn_text_finish(&together);
    return json;
}

/* With what is told of it, where that is worth a word. */
static json_t *compiling_to_json(const struct hn_explanation *explanation)
{
    const struct hn_evidence *compiling = &explanation->compiling;
    const struct hn_effects *effects = &explanation->compile_effects;
    json_t *json = effects_to_json(compiling, effects), *telling = json_array();
    double slowest_ms = 0;
    for (size_t i = 0; i < compiling->count; i++)
        slowest_ms = fmax(slowest_ms, exp(compiling->values[i]));
    bool tells = effects->known && slowest_ms >= worth_telling_ms && effects->explained >= 0.5 &&
                 explanation->evidence.best != SIZE_MAX;
    for (size_t i = 0; tells && i < effects->parameter_count && i < COMPILING_SHOWN; i++)
        if (effects->mains[i].share >= least_share)
            json_array_append(telling, json_array_get(json_object_get(json, "parameters"), i));
    if (effects->known)
        json_object_update_new(json, json_pack("{sI sf sf sO}", "timed",
                                               (json_int_t)compiling->count, "quickest_s",
                                               exp(compiling->values[compiling->best]) / 1e3,
                                               "slowest_s", slowest_ms / 1e3, "telling", telling));
    json_decref(telling);
    return json;
}

static json_t *common_to_json(const struct hn_explanation *explanation)
{
    const struct hn_common *common = &explanation->common;
    const struct hn_evidence *evidence = &explanation->evidence;
    json_t *values = json_array();
    for (size_t i = 0; i < common->count; i++) {
        const struct hn_common_value *value = &common->values[i];
        json_array_append_new(values,
                              json_pack("{ss so sI sI sf}", "name",
                                        hn_space_parameter_name(evidence->space, value->parameter),
                                        "value", value_of(evidence, value->parameter, value->value),
                                        "among_best", (json_int_t)value->among_best, "among_all",
                                        (json_int_t)value->among_all, "chance", value->chance));
    }
    return json_pack(
        "{sI sI so so}", "best", (json_int_t)common->best, "all", (json_int_t)common->all, "ratio",
        common->best > 0 ? hn_render_number(common->ratio) : json_null(), "values", values);
}

/* What the device's compiler warned of: points with a record, those of them that were skipped
 * because the config refuses it, and how many times worse than the best the best with a time is. */
static json_t *warnings_to_json(const struct hn_evidence *evidence, unsigned refused)
{
    const struct hn_records *records = evidence->records;
    json_t *json = json_object();
    for (int warning = 0; warning < HN_WARNING_COUNT; warning++) {
        double least = INFINITY;
        size_t points = 0, skipped = 0;
        for (size_t i = 0; i < records->count; i++) {
            bool has = (records->items[i].resources.warnings >> warning & 1) != 0;
            points += has;
            skipped += has && (refused >> warning & 1) != 0 &&
                       records->items[i].outcome == HN_OUTCOME_SKIPPED;
        }
        for (size_t i = 0; i < evidence->count; i++)
            if ((hn_evidence_record(evidence, i)->resources.warnings >> warning & 1) != 0 &&
                !evidence->lower_bounds[i])
                least = fmin(least, evidence->values[i]);
        double ratio = isfinite(least) && evidence->best != SIZE_MAX
                           ? hn_evidence_ratio(evidence, least, evidence->values[evidence->best])
                           : 0;
        if (points > 0)
            json_object_set_new(json, hn_warning_names[warning],
                                json_pack("{sI sI so ss}", "points", (json_int_t)points, "refused",
                                          (json_int_t)skipped, "ratio",
                                          ratio > 0 ? json_real(ratio) : json_null(), "meaning",
                                          hn_warning_meanings[warning]));
    }
    return json;
}

static json_t *best_to_json(const struct hn_explanation *explanation)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    char merit[HN_FORMAT_SIZE];
    if (evidence->best == SIZE_MAX)
        return json_null();
    const struct hn_record *record = hn_evidence_record(evidence, evidence->best);
    hn_format_merit(explanation->input->task->plan, record, merit);
    return json_pack("{so sf ss}", "point", hn_bindings_to_json(&record->point), "time_us",
                     record->timing.median_us, "merit", merit);
}

static json_t *to_json(const struct hn_explanation *explanation)
{
    const struct hn_explain_input *input = explanation->input;
    const struct hn_evidence *evidence = &explanation->evidence;
    const struct hn_identity *identity = &input->task->identity;
    const char *of = strcmp(input->task->plan->objective, "time") != 0 ? "the objective"
                     : evidence->logarithmic                           ? "the logarithm of the time"
                                                                       : "the value";
    bool exact;
    char valid[HN_SPACE_COUNT_TEXT];
    double valid_count = hn_space_valid(evidence->space, &exact);
    json_t *effects = effects_to_json(evidence, &explanation->effects);
    (void)json_object_set_new(effects, "of", json_string(of));
    json_t *json = hn_needed(json_pack(
        "{ss so ss so sb sb so s{so sb ss} s{sI sI sI sI} sb sb so so so so so so so so so}",
        "kernel", identity->kernel, "problem", hn_bindings_to_json(&identity->problem), "regime",
        identity->regime, "device", hn_string_to_json(identity->device.name), "simulated",
        input->simulated, "stale", input->stale, "origin", hn_origin_to_json(&input->origin),
        "valid", "count", hn_render_number(valid_count), "exact", exact, "text",
        hn_space_count_text(evidence->space, valid), "points", "timed", (json_int_t)evidence->count,
        "lower_bounds", (json_int_t)evidence->bounded, "failed", (json_int_t)evidence->failed,
        "foreign", (json_int_t)evidence->foreign, "logarithmic", evidence->logarithmic, "pipeline",
        input->task->plan->pipeline != NULL, "best", best_to_json(explanation), "effects", effects,
        "compiling", compiling_to_json(explanation), "common", common_to_json(explanation),
        "bounds", hn_explain_bounds(explanation), "roofs",
        input->roofs != NULL ? hn_roofs_to_json(input->roofs) : json_null(), "measure",
        hn_string_to_json(input->measure), "warnings",
        warnings_to_json(evidence, input->task->plan->refused), "edges",
        explanation->edges != NULL ? explanation->edges : json_array()));
    json_object_set_new(json, "next", hn_explain_advise(explanation, json));
    return json;
}

json_t *hn_explain(const struct hn_explain_input *input)
{
    struct hn_explanation explanation = {.input = input};
    struct hn_evidence *evidence = &explanation.evidence;
    const struct hn_task *task = input->task;
    bool known = describe_device(task, &explanation.device);
    hn_evidence_make(task->space, input->records, evidence);
    hn_effects_find(evidence, seed, &explanation.effects);
    hn_evidence_of_compiling(task->space, input->records, &explanation.compiling);
    hn_effects_find(&explanation.compiling, seed, &explanation.compile_effects);
    hn_common_find(evidence, &explanation.common);
    if (evidence->best != SIZE_MAX)
        find_edges(&explanation, known);
    json_t *document = to_json(&explanation);
    hn_evidence_finish(evidence);
    hn_effects_finish(&explanation.effects);
    hn_evidence_finish(&explanation.compiling);
    hn_effects_finish(&explanation.compile_effects);
    hn_common_finish(&explanation.common);
    return document;
}
