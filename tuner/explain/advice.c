/* SPDX-License-Identifier: MIT */
#include "tuner/explain/explain_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
#include "tuner/report/render.h"
#include "tuner/report/roof.h"

static void find_roof(const struct hn_task *task, const struct hn_device *device,
                      const struct hn_roofs *roofs, const struct hn_record *record,
                      struct hn_bounds *bounds)
{
    double time_us = record->timing.median_us;
    struct hn_roof_shares shares;
    struct hn_roof nearest;
    /* What a pipeline moves crosses the bus, for which there is no roof. */
    bool known = hn_roof_shares_find(task->plan->pipeline != NULL ? NULL : roofs, device,
                                     task->regime, record, &shares);
    bounds->bytes = shares.bytes;
    bounds->flops = shares.flops;
    bounds->flops_rate = shares.flops_rate;
    if (time_us > 0) {
        bounds->gb_per_s = bounds->bytes / time_us / 1e3;
        bounds->gflops = bounds->flops / time_us / 1e3;
    }
    if (!known)
        return;
    bounds->bytes_share = shares.bytes_share;
    bounds->flops_share = shares.flops_share;
    bounds->launch_share = shares.launch_share;
    hn_roof_nearest(&shares, &nearest);
    bounds->bound = nearest.name;
    bounds->share = nearest.share;
}

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
static enum hn_limiter find_limiter(const struct residency *residency,
                                    const struct hn_resources *resources, double now)
{
    struct hn_resources fewer = *resources;
    if (now > 0.999)
        return HN_LIMITER_NONE;
    fewer.registers = 16;
    double registers = occupancy_with(residency, &fewer, residency->step->shared_bytes);
    fewer = *resources;
    fewer.shared_bytes = 0;
    double shared = occupancy_with(residency, &fewer, 0);
    if (registers > now && registers >= shared)
        return HN_LIMITER_REGISTERS;
    if (shared > now)
        return HN_LIMITER_SHARED;
    fewer.registers = 16;
    return occupancy_with(residency, &fewer, 0) > now ? HN_LIMITER_BOTH : HN_LIMITER_BLOCK;
}

static const struct hn_launch_step *largest_step(const struct hn_launch *launch)
{
    const struct hn_launch_step *largest = &launch->steps[0];
    for (size_t i = 1; i < launch->step_count; i++) {
        const struct hn_launch_step *step = &launch->steps[i];
        if (product(step->grid) * product(step->block) >
            product(largest->grid) * product(largest->block))
            largest = step;
    }
    return largest;
}

static int64_t carveout_of(const struct hn_launch *launch)
{
    int64_t carveout = HN_NO_CARVEOUT;
    for (size_t i = 0; i < launch->step_count; i++)
        if (launch->steps[i].carveout != HN_NO_CARVEOUT)
            carveout = launch->steps[i].carveout;
    return carveout;
}

static void describe_launch(const struct residency *residency, struct hn_bounds *bounds)
{
    const struct hn_device *device = residency->device;
    const struct hn_launch_step *step = residency->step;
    bounds->launch_known = true;
    bounds->threads = residency->threads;
    bounds->blocks = product(step->grid);
    bounds->shared_bytes = bounds->resources.shared_bytes + step->shared_bytes;
    bounds->occupancy = occupancy_with(residency, &bounds->resources, step->shared_bytes);
    bounds->limiter = find_limiter(residency, &bounds->resources, bounds->occupancy);
    int64_t warps = (bounds->threads + device->warp_size - 1) / device->warp_size;
    int64_t room = device->max_threads_per_sm / device->warp_size;
    bounds->resident =
        llround(bounds->occupancy * (double)room / (double)warps) * device->identity.sm_count;
}

/* A pipeline's chunks launch less than its steps say. */
static void find_launch(const struct hn_task *task, const struct hn_device *device,
                        const struct hn_record *record, struct hn_bounds *bounds)
{
    struct hn_launch launch;
    bounds->resources = record->resources;
    bounds->occupancy = record->resources.occupancy;
    if (!record->resources.known || device->warp_size == 0 || task->plan->pipeline != NULL ||
        hn_launch_make_as(task->plan, task->problem, &record->point, record->active_clusters, false,
                          &launch, NULL) != HN_OK)
        return;
    if (launch.step_count > 0) {
        const struct hn_launch_step *step = largest_step(&launch);
        struct residency residency = {device, step, product(step->block), carveout_of(&launch)};
        if (residency.threads > 0)
            describe_launch(&residency, bounds);
    }
    hn_launch_finish(&launch);
}

void hn_bounds_find(const struct hn_task *task, const struct hn_device *device,
                    const struct hn_roofs *roofs, const struct hn_record *record,
                    struct hn_bounds *bounds)
{
    *bounds = (struct hn_bounds){0};
    find_roof(task, device, roofs, record, bounds);
    find_launch(task, device, record, bounds);
}

const char *hn_limiter_name(enum hn_limiter limiter)
{
    switch (limiter) {
    case HN_LIMITER_REGISTERS:
        return "registers";
    case HN_LIMITER_SHARED:
        return "shared memory";
    case HN_LIMITER_BOTH:
        return "registers and shared memory";
    case HN_LIMITER_BLOCK:
        return "block size";
    case HN_LIMITER_NONE:
        break;
    }
    return "none";
}

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
        struct hn_text text = {0};
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
    struct hn_text point = {0};
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
    struct hn_text text = {0};
    if (!effects->known || effects->unmeasured == 0 || !advice->of->evidence.logarithmic)
        return;
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
    size_t all, failed;
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
    struct hn_text text = {0};
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
