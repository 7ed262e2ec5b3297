/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/explain/explain_parts.h"
#include "tuner/report/render.h"

/* A share of a roof that counts as all that there is. */
static const double near_roof = 0.9;
/* A parameter that decides less than this, and changes the best by less, can be left out. */
static const double idle_share = 0.005;
static const double idle_ratio = 1.01;
static const size_t least_failures = 3;

enum { MOST_OF_A_KIND = 3 };

/* What is found out, and what is advised by it. */
struct advice {
    const struct hn_explanation *of;
    json_t *items;
};

static void add(const struct advice *advice, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(const struct advice *advice, const char *kind, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = hn_needed(NULL);
    va_end(arguments);
    json_array_append_new(advice->items,
                          json_pack("{ss so}", "kind", kind, "text", hn_string_to_json(text)));
    free(text);
}

static void advise_widening(const struct advice *advice)
{
    for (size_t i = 0; i < advice->of->edges.count && i < MOST_OF_A_KIND; i++) {
        struct hn_text text;
        hn_text_init(&text);
        hn_edge_append(&text, &advice->of->edges.items[i]);
        if (!text.failed)
            add(advice, "widen", "widen the space: %s", text.data);
        hn_text_finish(&text);
    }
}

static void advise_grid(const struct advice *advice)
{
    const struct hn_bounds *bounds = &advice->of->bounds;
    int64_t sms = advice->of->device.identity.sm_count;
    if (!bounds->launch_known || sms <= 0)
        return;
    if (bounds->blocks < sms) {
        add(advice, "grid",
            "fill the device: the best launches %lld blocks for %lld multiprocessors; offer values "
            "that give more blocks, or cut the work in another way",
            (long long)bounds->blocks, (long long)sms);
        return;
    }
    double waves = bounds->resident > 0 ? (double)bounds->blocks / (double)bounds->resident : 0;
    if (waves > 1 && waves < 4 && waves / ceil(waves) < 0.8)
        add(advice, "grid",
            "even out the last wave: %lld blocks, of which the device holds %lld at once, are %.2f "
            "waves, so that the last leaves %.0f%% of it idle",
            (long long)bounds->blocks, (long long)bounds->resident, waves,
            (ceil(waves) - waves) * 100);
}

static void advise_spills(const struct advice *advice)
{
    const struct hn_resources *resources = &advice->of->bounds.resources;
    if (resources->spill_store_bytes + resources->spill_load_bytes == 0)
        return;
    add(advice, "spills",
        "avoid the spills: a thread of the best stores %d and loads %d bytes that do not fit its "
        "%d registers; offer smaller tiles or less unrolling, or a looser __launch_bounds__ or "
        "--maxrregcount",
        resources->spill_store_bytes, resources->spill_load_bytes, resources->registers);
}

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

static void advise_warnings(const struct advice *advice)
{
    const struct hn_warned *warned = &advice->of->warned;
    unsigned best = advice->of->bounds.resources.warnings;
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        if ((best >> i & 1) != 0 && remedies[i] != NULL)
            add(advice, "warnings", "%s", remedies[i]);
    size_t serialised = warned->of[HN_WARNING_SERIALISED].points;
    if (serialised >= least_failures && (best >> HN_WARNING_SERIALISED & 1) == 0 &&
        warned->of[HN_WARNING_SERIALISED].refused == 0)
        add(advice, "warnings",
            "do not measure the %zu points whose wgmma the compiler serialises: `compile: {refuse: "
            "[serialised]}` in %s",
            serialised, advice->of->input->config);
}

/* What the counters say comes before what is inferred. */
static void advise_counted(const struct advice *advice)
{
    const struct hn_findings *findings = &advice->of->findings;
    for (size_t i = 0; i < findings->count && i < MOST_OF_A_KIND; i++)
        add(advice, "counters", "%s: %s (counted: %s)", findings->items[i].text,
            findings->items[i].remedy, findings->items[i].counted);
}

/* What a roof leaves to be gained, or that none explains the time. */
static void advise_bound(const struct advice *advice)
{
    const struct hn_bounds *bounds = &advice->of->bounds;
    if (bounds->bound == NULL)
        return;
    if (bounds->share > 1) {
        add(advice, "roof",
            "the best is beyond its roof (%s, %.0f%%), which is what simple kernels reach, or the "
            "metrics count more than is done: little is left to gain",
            bounds->bound, bounds->share * 100);
        return;
    }
    if (bounds->share >= near_roof) {
        add(advice, "roof",
            "the best reaches %.0f%% of its roof (%s): no value of any parameter can gain more "
            "than %.0f%%; doing less would%s",
            bounds->share * 100, bounds->bound, fmax(1 - bounds->share, 0) * 100,
            strcmp(bounds->bound, "copy") == 0 ? " (fewer bytes: smaller types, fused kernels)"
                                               : "");
        return;
    }
    if (bounds->share > HN_FAR_FROM_ROOF || advice->of->findings.known)
        return;
    if (bounds->launch_known && bounds->occupancy < 0.5 && bounds->limiter != HN_LIMITER_NONE &&
        bounds->limiter != HN_LIMITER_BLOCK)
        add(advice, "occupancy",
            "let more warps in, if they wait for memory: occupancy is %d%%, held by %s (%d "
            "registers a thread, %lld bytes of shared memory a block), and no roof is nearer than "
            "%.0f%% (inferred)",
            hn_format_percent(bounds->occupancy), hn_limiter_name(bounds->limiter),
            bounds->resources.registers, (long long)bounds->shared_bytes, bounds->share * 100);
    struct hn_text point;
    hn_text_init(&point);
    hn_bindings_append(
        &point, &hn_evidence_record(&advice->of->evidence, advice->of->evidence.best)->point);
    if (!point.failed)
        add(advice, "profile",
            "the nearest roof (%s) explains %.0f%% of the time; counters say what the rest is: "
            "`%s --counters`, or `ncu %s -s %s`",
            bounds->bound, bounds->share * 100, advice->of->input->explain, advice->of->input->run,
            point.data != NULL ? point.data : "");
    hn_text_finish(&point);
}

/* What was stopped early is known by a lower bound only. */
static void advise_measuring(const struct advice *advice)
{
    const struct hn_evidence *evidence = &advice->of->evidence;
    size_t full = evidence->count - evidence->bounded;
    bool small = hn_space_enumerated(evidence->space) && hn_space_size(evidence->space) <= 200;
    if (full >= HN_EFFECTS_LEAST)
        return;
    add(advice, "budget",
        "measure more points in full: %zu were, %d at least tell which parameters matter%s: `%s "
        "--full%s`",
        full, HN_EFFECTS_LEAST,
        evidence->bounded > 0 ? ", and the others were stopped early once they were slower" : "",
        advice->of->input->tune, small ? "" : " --strategy random --budget 100");
}

static void advise_budget(const struct advice *advice)
{
    const struct hn_effects *effects = &advice->of->effects;
    struct hn_bindings point;
    struct hn_text text;
    if (!effects->known || effects->unmeasured == 0 || !advice->of->evidence.logarithmic)
        return;
    hn_text_init(&text);
    hn_space_bindings(advice->of->evidence.space, effects->promising, &point);
    hn_bindings_append(&text, &point);
    char among[96];
    snprintf(among, sizeof among,
             effects->sampled ? "%zu valid points drawn at random"
                              : "the %zu points that were not looked at",
             effects->unmeasured);
    if (effects->explained < 0.5)
        add(advice, "budget",
            "measure more points: what was measured explains %.0f%% of the variance of points the "
            "forest has not seen, too little to judge %s: `%s --stop-chance 0`",
            fmax(effects->explained, 0) * 100, among, advice->of->input->tune);
    else if (effects->promise < 1.02)
        add(advice, "budget",
            "more budget may pay: the forest expects the best of %s to take %.2f times as long "
            "as the best so far (%s): `%s --stop-chance 0`",
            among, effects->promise, text.data, advice->of->input->tune);
    else
        add(advice, "budget",
            "more budget promises little: the forest expects the best of %s to take %.2f times "
            "as long as the best so far; `%s` states the chance",
            among, effects->promise, advice->of->input->tune);
    hn_text_finish(&text);
    hn_bindings_finish(&point);
}

static void advise_dropping(const struct advice *advice)
{
    const struct hn_effects *effects = &advice->of->effects;
    size_t told = 0;
    bool sure = effects->known && (effects->exact || effects->explained > 0.8);
    for (size_t i = 0; sure && i < effects->parameter_count && told < MOST_OF_A_KIND; i++) {
        const struct hn_effect *effect = &effects->mains[i];
        const struct hn_space *space = advice->of->evidence.space;
        double most = hn_effects_most(effects, effect->parameter);
        size_t values = hn_space_value_count(space, effect->parameter);
        if (values < 2 || most >= idle_share || effect->alone == 0 ||
            effect->worst_alone >= idle_ratio)
            continue;
        add(advice, "drop",
            "leave %s out: its %zu values decide %.1f%% of the variance at most, and none of the "
            "%zu measured beside the best is more than %.1f%% slower",
            hn_space_parameter_name(space, effect->parameter), values, most * 100, effect->alone,
            fmax(effect->worst_alone - 1, 0) * 100);
        told++;
    }
}

/* Of the points with a value: how many were looked at, how many failed, and which one first. */
struct tally {
    size_t all;
    size_t failed;
    const struct hn_record *first;
};

static struct tally *tally_failures(const struct hn_evidence *evidence, size_t parameter)
{
    struct tally *tallies =
        hn_need(hn_space_value_count(evidence->space, parameter), sizeof *tallies);
    for (size_t i = 0; i < evidence->count + evidence->failed; i++) {
        struct tally *tally = &tallies[hn_evidence_choice(evidence, i)[parameter]];
        tally->all++;
        if (i < evidence->count)
            continue;
        tally->failed++;
        if (tally->first == NULL)
            tally->first = hn_evidence_record(evidence, i);
    }
    return tallies;
}

static void advise_constraint(const struct advice *advice, size_t parameter, size_t value,
                              const struct tally *tally)
{
    const struct hn_space *space = advice->of->evidence.space;
    struct hn_text text;
    hn_text_init(&text);
    hn_value_append(&text, hn_space_value(space, parameter, value));
    if (!text.failed)
        add(advice, "constrain",
            "take %s=%s out, or constrain it: all %zu points with it failed (the first: %s)",
            hn_space_parameter_name(space, parameter), text.data, tally->failed,
            hn_outcome_name(tally->first->outcome));
    hn_text_finish(&text);
}

static void advise_constraints(const struct advice *advice)
{
    const struct hn_evidence *evidence = &advice->of->evidence;
    size_t told = 0;
    for (size_t p = 0; p < evidence->parameters && evidence->failed >= least_failures; p++) {
        struct tally *tallies = tally_failures(evidence, p);
        for (size_t v = 0; v < hn_space_value_count(evidence->space, p); v++) {
            if (tallies[v].failed < least_failures || tallies[v].failed < tallies[v].all ||
                told++ >= MOST_OF_A_KIND)
                continue;
            advise_constraint(advice, p, v, &tallies[v]);
        }
        free(tallies);
    }
}

json_t *hn_explain_advise(const struct hn_explanation *explanation)
{
    const struct advice advice = {explanation, json_array()};
    if (explanation->evidence.best != SIZE_MAX) {
        advise_widening(&advice);
        advise_counted(&advice);
        advise_spills(&advice);
        advise_warnings(&advice);
        advise_grid(&advice);
        advise_bound(&advice);
        advise_measuring(&advice);
        advise_budget(&advice);
        advise_dropping(&advice);
    }
    advise_constraints(&advice);
    return advice.items;
}
