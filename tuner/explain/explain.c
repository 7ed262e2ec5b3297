/* SPDX-License-Identifier: MIT */
#include "tuner/explain/explain.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/schema.h"
#include "cache/record/record.h"
#include "runtime/plan/launch.h"
#include "tuner/explain/explain_parts.h"

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
         "  too little is known: {points.timed-points.lower_bounds:.0f} measured in full"
         "[{?points.lower_bounds}, the others stopped early]; 10 points at least are needed, and "
         "they must differ{?best}{?!effects}"},
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
         "  [{?bounds.bytes}{bounds.gb_per_s:intensity} GB/s[{?bounds.bound} "
         "({bounds.bytes_share:.0%} of the roof)]][{?bounds.bytes}{?bounds.flops}, ]"
         "[{?bounds.flops}{bounds.gflops:intensity} GFLOP/s"
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
             "counts{?best}{?bounds.launch}{?!pipeline}{?!bounds.counted}"},
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

/* All that is found out of one tuning, before it is said. */
struct explanation {
    const struct hn_explain_input *input;
    struct hn_device device;
    struct hn_evidence evidence;
    const struct hn_record *best; /* of it; NULL: there is none */
    struct hn_effects effects;
    struct hn_evidence compiling;      /* what compiling took, */
    struct hn_effects compile_effects; /* and what it goes with */
    json_t *edges;                     /* of the best; NULL: there is none */
};

static bool look_up(void *context, const struct hn_bindings *point, struct hn_interval *time_us)
{
    const struct hn_evidence *evidence = context;
    uint16_t choice[evidence->parameters + 1];
    uint32_t found = hn_space_choice(evidence->space, point, choice, NULL) == HN_OK
                         ? hn_keys_find(&evidence->points, choice)
                         : HN_NO_KEY;
    if (found >= evidence->count)
        return false;
    hn_edge_time_of(hn_evidence_record(evidence, found), time_us);
    return true;
}

/* A parameter with the means of its values against the best one, and from which value they go to
 * which. */
static json_t *effect_to_json(const struct hn_evidence *evidence, const struct hn_effect *effect)
{
    const struct hn_space_parameter *own = hn_space_parameter(evidence->space, effect->parameter);
    json_t *values = json_array();
    size_t least = SIZE_MAX, most = SIZE_MAX;
    for (size_t v = 0; v < own->count; v++) {
        if (effect->counts[v] == 0)
            continue;
        if (least == SIZE_MAX || effect->means[v] < effect->means[least])
            least = v;
        if (most == SIZE_MAX || effect->means[v] > effect->means[most])
            most = v;
    }
    double best = least != SIZE_MAX ? effect->means[least] : (double)INFINITY;
    for (size_t v = 0; v < own->count; v++)
        json_array_append_new(
            values, json_pack("{so so sI}", "value", hn_value_to_json(&own->values[v]), "ratio",
                              hn_render_number(hn_evidence_ratio(evidence, effect->means[v], best)),
                              "points", (json_int_t)effect->counts[v]));
    json_t *json = json_pack(
        "{ss sf s{sI so} so}", "name", own->name, "share", effect->share, "alone", "points",
        (json_int_t)effect->alone, "worst_ratio",
        effect->alone > 0 ? hn_render_number(effect->worst_alone) : json_null(), "values", values);
    if (least != SIZE_MAX)
        json_object_set_new(json, "from", hn_value_to_json(&own->values[least]));
    if (most != least)
        json_object_update_new(
            json,
            json_pack("{so so}", "to", hn_value_to_json(&own->values[most]), "by",
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
        const char *one = hn_space_parameter(space, pair->parameters[0])->name;
        const char *other = hn_space_parameter(space, pair->parameters[1])->name;
        json_array_append_new(
            interactions, json_pack("{s[ss] sf}", "parameters", one, other, "share", pair->share));
        if (i < PAIRS_SHOWN && pair->share >= least_share)
            hn_text_printf(&together, "%s%s with %s %.1f%%", i > 0 ? ", " : "", one, other,
                           pair->share * 100);
    }
    return json_pack("{ss sI sb sf so so so* sI so}", "basis", effects->exact ? "exact" : "forest",
                     "points", (json_int_t)effects->points, "sampled", effects->sampled,
                     "explained", effects->explained, "parameters", parameters, "interactions",
                     interactions, "together", hn_render_text(&together), "unmeasured",
                     (json_int_t)effects->unmeasured, "expected_ratio",
                     effects->unmeasured > 0 ? hn_render_number(effects->promise) : json_null());
}

/* With what is told of it, where that is worth a word. */
static json_t *compiling_to_json(const struct explanation *explanation)
{
    const struct hn_evidence *compiling = &explanation->compiling;
    const struct hn_effects *effects = &explanation->compile_effects;
    json_t *json = effects_to_json(compiling, effects), *telling = json_array();
    double slowest_ms = 0;
    for (size_t i = 0; i < compiling->count; i++)
        slowest_ms = fmax(slowest_ms, exp(compiling->values[i]));
    bool tells = effects->known && slowest_ms >= worth_telling_ms && effects->explained >= 0.5 &&
                 explanation->best != NULL;
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

/* What bounds the best: its place under the device's roofs, what holds its occupancy, and what its
 * counters say. */

static int64_t product(const int64_t factors[3])
{
    return factors[0] * factors[1] * factors[2];
}

/* A launch, and the carve-out that it is under: the last one that a step asks for. */
struct residency {
    const struct hn_device *device;
    const struct hn_launch_step *step;
    int64_t threads, carveout;
};

static double occupancy_with(const struct residency *residency,
                             const struct hn_resources *resources, int64_t dynamic)
{
    return hn_occupancy(residency->device, resources, residency->threads, dynamic,
                        residency->carveout);
}

/* Which relief lets more warps in. */
static const char *find_limiter(const struct residency *residency,
                                const struct hn_resources *resources, double now)
{
    struct hn_resources fewer = *resources;
    if (now > 0.999)
        return "none";
    fewer.registers = 16;
    double registers = occupancy_with(residency, &fewer, residency->step->shared_bytes);
    fewer = *resources;
    fewer.shared_bytes = 0;
    double shared = occupancy_with(residency, &fewer, 0);
    if (registers > now && registers >= shared)
        return "registers";
    if (shared > now)
        return "shared memory";
    fewer.registers = 16;
    return occupancy_with(residency, &fewer, 0) > now ? "registers and shared memory"
                                                      : "block size";
}

/* Of the step with most threads. A pipeline's chunks launch less than its steps say. */
static json_t *launch_to_json(const struct hn_task *task, const struct hn_device *device,
                              const struct hn_record *record)
{
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    struct residency residency = {.device = device, .carveout = HN_NO_CARVEOUT};
    const struct hn_resources *resources = &record->resources;
    json_t *json = json_null();
    int64_t most = 0;
    if (!resources->known || device->warp_size == 0 || task->plan->pipeline != NULL ||
        hn_launch_make_as(task->plan, task->problem, &record->point, record->active_clusters, false,
                          &launch, NULL) != HN_OK)
        return json;
    HN_EACH_OF(step, launch.steps, launch.step_count) {
        int64_t threads = product(step->grid) * product(step->block);
        if (step->carveout != HN_NO_CARVEOUT)
            residency.carveout = step->carveout;
        if (residency.step == NULL || threads > most) {
            most = threads;
            residency.step = step;
            residency.threads = product(step->block);
        }
    }
    if (residency.threads > 0) {
        double occupancy = occupancy_with(&residency, resources, residency.step->shared_bytes);
        int64_t warps = (residency.threads + device->warp_size - 1) / device->warp_size;
        int64_t room = device->max_threads_per_sm / device->warp_size;
        int64_t resident =
            llround(occupancy * (double)room / (double)warps) * device->identity.sm_count;
        json = json_pack("{sI sI sI sf ss sI}", "blocks", (json_int_t)product(residency.step->grid),
                         "threads", (json_int_t)residency.threads, "shared_bytes",
                         (json_int_t)(resources->shared_bytes + residency.step->shared_bytes),
                         "occupancy", occupancy, "limiter",
                         find_limiter(&residency, resources, occupancy), "resident_blocks",
                         (json_int_t)resident);
    }
    return json;
}

static json_t *known(bool is_known, int value)
{
    return is_known ? json_integer(value) : json_null();
}

static json_t *bounds_to_json(const struct explanation *explanation)
{
    const struct hn_explain_input *input = explanation->input;
    const struct hn_record none = {.timing = {.median_us = 0}};
    const struct hn_record *best = explanation->best != NULL ? explanation->best : &none;
    const struct hn_resources *resources = &best->resources;
    bool pipeline = input->task->plan->pipeline != NULL;
    double time_us = best->timing.median_us > 0 ? best->timing.median_us : INFINITY;
    struct hn_roof roof = {.name = NULL};
    /* What a pipeline moves crosses the bus, for which there is no roof. */
    if (best != &none)
        hn_roof_find(pipeline ? NULL : input->roofs, input->task->regime, best, &roof);
    json_t *json = json_pack(
        "{so so* sf sf sf sf sf sf sf sf sf so so so so}", "bound",
        roof.name != NULL ? json_string(roof.name) : json_null(), "counted",
        best != &none ? hn_findings(best, input->roofs, 0) : NULL, "bytes", roof.bytes, "flops",
        roof.flops, "gb_per_s", roof.bytes / time_us / 1e3, "gflops", roof.flops / time_us / 1e3,
        "flops_rate", roof.flops_rate, "bytes_share", roof.bytes_share, "flops_share",
        roof.flops_share, "launch_share", roof.launch_share, "share", roof.share, "launch",
        launch_to_json(input->task, &explanation->device, best), "registers",
        known(resources->known, resources->registers), "spill_store_bytes",
        known(resources->known, resources->spill_store_bytes), "spill_load_bytes",
        known(resources->known, resources->spill_load_bytes));
    /* A pipeline's parts tell more than its metrics, where there are any. */
    if (best != &none && pipeline && (roof.bytes != 0 || roof.flops != 0)) {
        json_auto_t *record = hn_needed(hn_record_to_json(best));
        hn_staging_add_json(record);
        json_t *staging = json_object_get(record, "staging");
        json_object_set_new(json, "staging", staging != NULL ? json_incref(staging) : json_true());
        json_object_set_new(json, "timing",
                            json_pack("{sf sf}", "median_us", best->timing.median_us, "host_us",
                                      best->timing.host_us));
    }
    return hn_needed(json);
}

/* A parameter that decides less than this, and changes the best by less, can be left out. */
static const double idle_share = 0.005, idle_ratio = 1.01;
static const size_t least_failures = 3;

/* What to do about a warning at the best; spills have words of their own. */
static const char *const remedies[HN_WARNING_COUNT] = {
    [HN_WARNING_SERIALISED] =
        "let the wgmma of the best run side by side: touch no accumulator between the first of "
        "them and wgmma.wait_group, index accumulators by constants, inline what issues them, and "
        "leave registers enough",
    [HN_WARNING_INJECTED] =
        "write the fences and waits of wgmma yourself: the compiler put its own into the best, "
        "where it found accumulators that are read or written too near",
    [HN_WARNING_SETMAXNREG] =
        "give the kernel __launch_bounds__ with its threads and 1: without the 1 the compiler "
        "ignores setmaxnreg",
    [HN_WARNING_OTHER] = "read what the compiler says of the best: `hone compile CONFIG --log`",
};

/* What is advised: a line of the document and of the facts below, or of each of some facts. */
static const struct row {
    const char *kind, *each;
    const char *line;
} rows[] = {
    {"widen", "edges", "widen the space: {text}"},
    /* What the counters say comes before what is inferred. */
    {"counters", "findings", "{text}: {remedy} (counted: {counted})"},
    {"spills", NULL,
     "avoid the spills: a thread of the best stores {bounds.spill_store_bytes} and loads "
     "{bounds.spill_load_bytes} bytes that do not fit its {bounds.registers} registers; offer "
     "smaller tiles or less unrolling, or a looser __launch_bounds__ or --maxrregcount"
     "{?bounds.spill_store_bytes+bounds.spill_load_bytes>0}"},
    {"warnings", "remedies", "{}"},
    {"warnings", NULL,
     "do not measure the {serialised} points whose wgmma the compiler serialises: `{refuse}` in "
     "{config}"},
    {"grid", NULL,
     "fill the device: the best launches {bounds.launch.blocks} blocks for {sms} multiprocessors; "
     "offer values that give more blocks, or cut the work in another way"
     "{?sms}{?bounds.launch.blocks<sms}"},
    {"grid", NULL,
     "even out the last wave: {bounds.launch.blocks} blocks, of which the device holds "
     "{bounds.launch.resident_blocks} at once, are {waves:.2f} waves, so that the last leaves "
     "{idle:.0%} of it idle"},
    {"roof", NULL,
     "the best is beyond its roof ({bounds.bound}, {bounds.share:.0%}), which is what simple "
     "kernels reach, or the metrics count more than is done: little is left to gain"
     "{?bounds.share>1}"},
    {"roof", NULL,
     "the best reaches {bounds.share:.0%} of its roof ({bounds.bound}): no value of any parameter "
     "can gain more than {1-bounds.share:.0%}; doing less would[ (fewer bytes: smaller types, "
     "fused kernels){?bounds.bound=copy}]{?!bounds.share<0.9}{?!bounds.share>1}"},
    {"occupancy", NULL,
     "let more warps in, if they wait for memory: occupancy is {bounds.launch.occupancy:percent}, "
     "held by {bounds.launch.limiter} ({bounds.registers} registers a thread, "
     "{bounds.launch.shared_bytes} bytes of shared memory a block), and no roof is nearer than "
     "{bounds.share:.0%} (inferred){?bounds.bound}{?!bounds.share>0.6}{?!bounds.counted}"
     "{?bounds.launch.occupancy<0.5}{?!bounds.launch.limiter=none,block size}"},
    {"profile", NULL,
     "the nearest roof ({bounds.bound}) explains {bounds.share:.0%} of the time; counters say what "
     "the rest is: `{explain} --counters`, or `ncu {run} -s [{best.point}]`{?!bounds.share>0.6}"
     "{?!bounds.counted}"},
    /* What was stopped early is known by a lower bound only. */
    {"budget", NULL,
     "measure more points in full: {full} so far, {least} at least tell which parameters matter[; "
     "the others were stopped early once they were slower{?points.lower_bounds}]: `{tune} --full"
     "[ --strategy random --budget 100{?!small}]`{?full<least}{?full+points.failed<valid.count}"},
    {"budget", NULL,
     "measure more points: what was measured explains "
     "[{effects.explained:.0%}{?effects.explained>0}"
     "|0%] of the variance of points the forest has not seen, too little to judge {among}: "
     "`{tune} --stop-chance 0`{?effects.explained<0.5}"},
    {"budget", NULL,
     "more budget may pay: the forest expects the best of {among} to take "
     "{effects.expected_ratio:.2f} times as long as the best so far ({promising}): `{tune} "
     "--stop-chance 0`{?!effects.explained<0.5}{?effects.expected_ratio<1.02}"},
    {"budget", NULL,
     "more budget promises little: the forest expects the best of {among} to take "
     "{effects.expected_ratio:.2f} times as long as the best so far; `{tune}` states the chance"
     "{?!effects.explained<0.5}{?!effects.expected_ratio<1.02}"},
    {"drop", "idle_parameters",
     "leave {name} out: its {values} values decide {most:.1%} of the variance at most, and none of "
     "the {alone} measured beside the best is more than {slower:.1%} slower"},
    {"constrain", "failing",
     "take {name}={value} out, or constrain it: all {failed} points with it failed (the first: "
     "{outcome})"},
};

static void add_warnings(const struct explanation *of, const json_t *document, json_t *facts)
{
    json_t *found = json_array();
    unsigned best = of->best != NULL ? of->best->resources.warnings : 0;
    const json_t *serialised = json_object_get(json_object_get(document, "warnings"),
                                               hn_warning_names[HN_WARNING_SERIALISED]);
    json_t *points = json_object_get(serialised, "points");
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        if ((best >> i & 1) != 0 && remedies[i] != NULL)
            json_array_append_new(found, json_string(remedies[i]));
    json_object_set_new(facts, "remedies", found);
    if (json_integer_value(points) >= (json_int_t)least_failures &&
        (best >> HN_WARNING_SERIALISED & 1) == 0 &&
        json_integer_value(json_object_get(serialised, "refused")) == 0)
        json_object_set(facts, "serialised", points);
}

/* How many waves of blocks the best has, where the last of a few is far from full. */
static void add_waves(const struct explanation *of, const json_t *launch, json_t *facts)
{
    double blocks = json_number_value(json_object_get(launch, "blocks"));
    double resident = json_number_value(json_object_get(launch, "resident_blocks"));
    double waves = resident > 0 ? blocks / resident : 0;
    int sms = of->device.identity.sm_count;
    if (sms > 0 && blocks >= sms && waves > 1 && waves < 4 && waves / ceil(waves) < 0.8)
        json_object_update_new(facts,
                               json_pack("{sf sf}", "waves", waves, "idle", ceil(waves) - waves));
}

/* What the forest was asked of. */
static void add_promise(const struct explanation *of, json_t *facts)
{
    const struct hn_effects *effects = &of->effects;
    struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
    if (!effects->known || effects->unmeasured == 0 || !of->evidence.logarithmic)
        return;
    hn_space_bindings(of->evidence.space, effects->promising, &point);
    json_object_set_new(facts, "promising", hn_bindings_to_json(&point));
    json_object_set_new(facts, "among",
                        json_sprintf(effects->sampled ? "%zu valid points drawn at random"
                                                      : "the %zu points that were not looked at",
                                     effects->unmeasured));
}

static void add_idle(const struct explanation *of, json_t *facts)
{
    const struct hn_effects *effects = &of->effects;
    const struct hn_space *space = of->evidence.space;
    json_t *idle = json_array();
    bool sure = effects->known && (effects->exact || effects->explained > 0.8);
    for (size_t i = 0; sure && i < effects->parameter_count; i++) {
        const struct hn_effect *effect = &effects->mains[i];
        const struct hn_space_parameter *own = hn_space_parameter(space, effect->parameter);
        if (own->count >= 2 && effect->most < idle_share && effect->alone > 0 &&
            effect->worst_alone < idle_ratio)
            json_array_append_new(idle, json_pack("{ss sI sf sI sf}", "name", own->name, "values",
                                                  (json_int_t)own->count, "most", effect->most,
                                                  "alone", (json_int_t)effect->alone, "slower",
                                                  fmax(effect->worst_alone - 1, 0)));
    }
    json_object_set_new(facts, "idle_parameters", idle);
}

/* Values of a parameter all of whose points failed. */
static void find_failing(const struct hn_evidence *evidence, size_t parameter, json_t *failing)
{
    const struct hn_space_parameter *own = hn_space_parameter(evidence->space, parameter);
    for (size_t v = 0; v < own->count; v++) {
        const struct hn_record *first = NULL;
        size_t all = 0, failed = 0;
        for (size_t i = 0; i < evidence->count + evidence->failed; i++) {
            if (hn_evidence_choice(evidence, i)[parameter] != v)
                continue;
            all++;
            failed += i >= evidence->count;
            if (first == NULL && i >= evidence->count)
                first = hn_evidence_record(evidence, i);
        }
        if (failed >= least_failures && failed == all)
            json_array_append_new(failing, json_pack("{ss so sI ss}", "name", own->name, "value",
                                                     hn_value_to_json(&own->values[v]), "failed",
                                                     (json_int_t)failed, "outcome",
                                                     hn_outcome_names[first->outcome]));
    }
}

/* The document, and what else is advised by. */
static json_t *gather_facts(const struct explanation *of, const json_t *document)
{
    const struct hn_evidence *evidence = &of->evidence;
    const struct hn_explain_input *input = of->input;
    const struct hn_space *space = evidence->space;
    const json_t *bounds = json_object_get(document, "bounds");
    json_t *facts = json_copy((json_t *)(uintptr_t)document), *failing = json_array();
    for (size_t p = 0; p < evidence->parameters && evidence->failed >= least_failures; p++)
        find_failing(evidence, p, failing);
    json_object_update_new(
        facts,
        hn_needed(json_pack(
            "{so sO* so so so so ss si sI si sb}", "failing", failing, "findings",
            json_object_get(json_object_get(bounds, "counted"), "findings"), "tune",
            hn_string_to_json(input->tune), "explain", hn_string_to_json(input->explain), "run",
            hn_string_to_json(input->run), "config", hn_string_to_json(input->config), "refuse",
            "compile: {refuse: [serialised]}", "sms", of->device.identity.sm_count, "full",
            (json_int_t)(evidence->count - evidence->bounded), "least", HN_EFFECTS_LEAST, "small",
            hn_space_enumerated(space) && hn_space_size(space) <= 200)));
    add_warnings(of, document, facts);
    add_waves(of, json_object_get(bounds, "launch"), facts);
    add_promise(of, facts);
    add_idle(of, facts);
    return facts;
}

static json_t *advise(const struct explanation *explanation, const json_t *document)
{
    enum { MOST_OF_A_KIND = 3 };
    json_t *advice = json_array(), *facts = gather_facts(explanation, document);
    HN_EACH_OF(row, rows, sizeof rows / sizeof *rows) {
        const json_t *items = row->each == NULL ? NULL : json_object_get(facts, row->each);
        size_t count = row->each == NULL ? 1 : json_array_size(items);
        size_t most = strcmp(row->kind, "warnings") == 0 ? SIZE_MAX : MOST_OF_A_KIND;
        if (explanation->best == NULL && strcmp(row->kind, "constrain") != 0)
            continue;
        for (size_t k = 0; k < count && k < most; k++) {
            const struct hn_render_place place = {
                .document = facts, .item = row->each == NULL ? facts : json_array_get(items, k)};
            struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
            if (hn_render_at(&text, &place, row->line))
                json_array_append_new(
                    advice, json_pack("{ss so}", "kind", row->kind, "text", hn_render_text(&text)));
        }
    }
    json_decref(facts);
    return advice;
}

static json_t *best_to_json(const struct explanation *explanation)
{
    const struct hn_record *best = explanation->best;
    if (best == NULL)
        return json_null();
    return json_pack("{so sf so}", "point", hn_bindings_to_json(&best->point), "time_us",
                     best->timing.median_us, "merit",
                     hn_merit_to_json(explanation->input->task->plan, best));
}

static json_t *to_json(const struct explanation *explanation)
{
    const struct hn_explain_input *input = explanation->input;
    const struct hn_evidence *evidence = &explanation->evidence;
    const struct hn_identity *identity = &input->task->identity;
    const struct hn_plan *plan = input->task->plan;
    const char *of = strcmp(plan->objective, "time") != 0 && !hn_plan_weighs(plan)
                         ? "the objective"
                         : "the logarithm of the time";
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
        plan->pipeline != NULL, "best", best_to_json(explanation), "effects", effects, "compiling",
        compiling_to_json(explanation), "common", hn_common_find(evidence), "bounds",
        bounds_to_json(explanation), "roofs",
        input->roofs != NULL ? hn_fields_to_json(&hn_roofs_structure, input->roofs) : json_null(),
        "measure", hn_string_to_json(input->measure), "warnings",
        warnings_to_json(evidence, plan->refused), "edges",
        explanation->edges != NULL ? explanation->edges : json_array()));
    json_object_set_new(json, "next", advise(explanation, json));
    return json;
}

json_t *hn_explain(const struct hn_explain_input *input)
{
    struct explanation explanation = {.input = input};
    struct hn_evidence *evidence = &explanation.evidence;
    const struct hn_task *task = input->task;
    char architecture[16];
    struct hn_error ignored;
    struct hn_device *device = &explanation.device;
    snprintf(architecture, sizeof architecture, "sm_%d", task->identity.device.capability);
    /* Where no limits are known of such a device it has none but its name. */
    bool known = hn_device_for_architecture(architecture, device, &ignored) == HN_OK;
    if (!known)
        *device = (struct hn_device){0};
    device->identity = task->identity.device;
    hn_evidence_make(task, input->records, false, evidence);
    hn_effects_find(evidence, seed, &explanation.effects);
    hn_evidence_make(task, input->records, true, &explanation.compiling);
    hn_effects_find(&explanation.compiling, seed, &explanation.compile_effects);
    if (evidence->best != SIZE_MAX) {
        explanation.best = hn_evidence_record(evidence, evidence->best);
        explanation.edges = hn_edges_find(task, known ? device : NULL, explanation.best, look_up,
                                          evidence, input->compiler);
    }
    json_t *document = to_json(&explanation);
    hn_keys_finish(&evidence->points);
    hn_keys_finish(&explanation.compiling.points);
    hn_blocks_finish(&evidence->memory);
    hn_blocks_finish(&explanation.effects.memory);
    hn_blocks_finish(&explanation.compiling.memory);
    hn_blocks_finish(&explanation.compile_effects.memory);
    return document;
}
