/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cache/record/record.h"
#include "cache/store/lookup.h"
#include "runtime/device/health.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"
#include "tuner/report/report.h"
#include "tuner/session/session.h"

/* The contents of a cache, as tables and as documents: all tunings, or those of a kernel with their
 * records. */

/* "simulated", "stale": what a reader has to know of a record before trusting its time; nothing
 * when it is measured and verified. first: one more, in front; NULL: none. */
static json_t *remarks_to_json(const struct hn_tuned *tuned, const struct hn_record *record,
                               const char *first)
{
    const struct {
        bool holds;
        const char *remark;
    } remarks[] = {
        {first != NULL, first},
        {tuned->simulated, "simulated"},
        {record->verdict.kind == HN_UNVERIFIED, "UNVERIFIED"},
        {record->verdict.kind == HN_NOT_RECORDED, "verification not recorded"},
        {record->verdict.kind == HN_SELF_VERIFIED, "self-verified"},
        {record->verdict.empty > 0, "partly verified"},
        {record->timing.unstable, "unstable"},
        {tuned->version.protocol == HN_KERNEL_TUNER_PROTOCOL, "by Kernel Tuner"},
        {tuned->stale, "stale"},
    };
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (remarks[i].holds)
            (void)json_array_append_new(array, json_string(remarks[i].remark));
    return array;
}

bool hn_cache_fits(const struct hn_given *given, const struct hn_identity *identity)
{
    const char *device = given->options->device_name;
    /* A problem that has the asked values stays what it is with them. */
    struct hn_bindings with HN_ENDED_BY(hn_bindings_finish) =
        hn_need_bindings(&identity->problem, &given->options->problem);
    bool fits = hn_bindings_equal(&with, &identity->problem);
    return fits && (device == NULL || strcmp(device, identity->device.name) == 0);
}

void hn_cache_filter(const struct hn_given *given, bool measured, struct hn_tuned_list *list)
{
    size_t kept = 0;
    HN_EACH(tuned, *list) {
        if (hn_cache_fits(given, &tuned->identity) && !(measured && tuned->simulated))
            list->items[kept++] = *tuned;
        else
            hn_tuned_finish(tuned);
    }
    list->count = kept;
}

void hn_cache_select(const struct hn_given *given, const char *kernel, struct hn_tuned_list *list,
                     struct hn_error *err)
{
    *list = (struct hn_tuned_list){.items = NULL};
    if (hn_failed(err))
        return;
    hn_store_list(given->store, given->options->history ? HN_STORE_VERSIONS : HN_STORE_RESULTS,
                  kernel, NULL, list, err);
    size_t count = list->count;
    hn_cache_filter(given, false, list);
    if (hn_failed(err) || list->count > 0)
        return;
    hn_tuned_list_free(list);
    if (count > 0)
        hn_fail(err, HN_ENOTFOUND, "none of the tunings%s%s%s fits; `%s` shows them",
                kernel == NULL ? "" : " of '", kernel == NULL ? "" : kernel,
                kernel == NULL ? "" : "'", hn_follow_up(given->options, "cache list", NULL));
    else
        hn_store_fail_missing(given->store, kernel, err);
}

json_t *hn_cache_tuned_to_json(const struct hn_tuned *tuned)
{
    json_t *json = hn_needed(hn_fields_to_json(&hn_identity_structure, &tuned->identity));
    bool imported = hn_origin_is_foreign(&tuned->origin) && !tuned->simulated;
    json_object_update_new(
        json,
        hn_needed(json_pack("{so so sI sb sb sb so so}", "version",
                            hn_fields_to_json(&hn_version_structure, &tuned->version), "best",
                            hn_record_to_json(&tuned->best), "points", (json_int_t)tuned->points,
                            "simulated", tuned->simulated, "stale", tuned->stale, "kernel_tuner",
                            tuned->version.protocol == HN_KERNEL_TUNER_PROTOCOL, "origin",
                            hn_origin_to_json(&tuned->origin), "remarks",
                            remarks_to_json(tuned, &tuned->best, imported ? "imported" : NULL))));
    return json;
}

static json_t *stored_to_json(const struct hn_tuned *stored)
{
    const struct hn_identity *identity = &stored->identity;
    struct hn_text problems = {0}, promise = {0};
    hn_rule_append_values(&problems, stored->rule);
    hn_rule_append_loss(&promise, stored->rule);
    return hn_needed(
        json_pack("{ss ss ss so so sf sb sb so so so* so*}", "kernel", identity->kernel, "regime",
                  identity->regime, "objective", identity->objective, "device",
                  hn_fields_to_json(&hn_device_identity_structure, &identity->device), "version",
                  hn_fields_to_json(&hn_version_structure, &stored->version), "learnt",
                  stored->begun, "simulated", stored->simulated, "stale", stored->stale, "origin",
                  hn_origin_to_json(&stored->origin), "rule",
                  hn_fields_to_json(&hn_rule_structure, stored->rule), "problems",
                  hn_render_text(&problems), "promise", hn_render_text(&promise)));
}

/* The rules of families (kernel NULL: of all) that fit. A rule is for many problems, so that -p
 * asks for none. */
static json_t *families_to_json(const struct hn_given *given, const char *kernel,
                                struct hn_error *err)
{
    struct hn_tuned_list rules HN_ENDED_BY(hn_tuned_list_free) = {0};
    json_t *array = json_array();
    if (hn_failed(err) ||
        hn_store_list(given->store, HN_STORE_RULES, kernel, NULL, &rules, err) != HN_OK)
        return array;
    for (size_t i = 0; i < rules.count; i++)
        if (given->options->problem.count == 0 && hn_cache_fits(given, &rules.items[i].identity))
            (void)json_array_append_new(array, stored_to_json(&rules.items[i]));
    return array;
}

static const struct hn_column list_columns[] = {
    {"kernel", "{kernel}"},
    {"~problem", "[{problem}|-]"},
    {"=device", "{device.name}"},
    {"=L2", "{regime}"},
    {"=objective", "[{objective}{?!objective=time}]"},
    {">best", "{best.timing.median_us:time}"},
    {">spread", "±{best.timing:spread}"},
    {">points", "{points}"},
    {"date", "[{best.time:date}{?best.time>0}|-]"},
    {"=~remarks", "[{remarks}|verified]"},
    {NULL, NULL},
};
static const struct hn_view listing_views[] = {
    {.at = "tunings", .columns = list_columns},
    {.line = HN_CACHE_REGIMES_LINE, .wraps = true},
    {.at = "families",
     .line = "family of {kernel} on {device.name}, {regime:regime}: "
             "{rule.configurations:.0f} configuration{rule.configurations:s}[ "
             "({rule.bytes:bytes})] for {problems}, learnt [{learnt:date}{?learnt>0}|-][, "
             "simulated{?simulated}][, stale{?stale}]\n"
             "  [{promise}|what it loses is not known]"},
    {NULL},
};

/* The end of list and show. Takes both. */
static void finish_listing(const struct hn_given *given, json_t *tunings, json_t *families,
                           struct hn_error *err)
{
    hn_show_alone(
        given,
        json_pack("{ss so so}", "cache", given->cache, "tunings", tunings, "families", families),
        listing_views, err);
}

static void run_list(struct hn_given *given, struct hn_error *err)
{
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    if (hn_store_list(given->store, HN_STORE_RESULTS, NULL, NULL, &list, err) != HN_OK)
        return;
    json_t *tunings = json_array();
    hn_cache_filter(given, false, &list);
    hn_config_mark_changed(given->store, &list);
    for (size_t i = 0; i < list.count; i++)
        (void)json_array_append_new(tunings, hn_cache_tuned_to_json(&list.items[i]));
    json_t *families = families_to_json(given, NULL, err);
    if (list.count == 0 && !given->options->json)
        fprintf(stderr, "cache '%s' has no tunings%s%s\n", given->cache,
                given->options->problem.count > 0 || given->options->device_name != NULL
                    ? " that fit"
                    : " yet",
                json_array_size(families) > 0 ? ", only rules of families" : "");
    finish_listing(given, tunings, families, err);
}

enum { SHOWN = 5 };

/* One tuning with all its records: the ok ones first, best first, those of a final race ahead. */
struct view {
    const struct hn_tuned *tuned;
    struct hn_records records;
    size_t ok_count;
    json_t *parameters; /* in declared order; NULL: the cache does not have the plan */
};

static void make_view(const struct hn_given *given, const struct hn_tuned *tuned, struct view *view,
                      struct hn_error *err)
{
    struct hn_stored_plan stored HN_ENDED_BY(hn_stored_plan_free) = {.json = NULL};
    struct hn_records *records = &view->records;
    *view = (struct view){.tuned = tuned};
    if (hn_failed(err) || hn_store_load(given->store, &tuned->identity, &tuned->version,
                                        tuned->simulated, records, err) != HN_OK)
        return;
    /* The plan knows the order of the parameters, and how much shared memory old records had. */
    if (hn_store_get_plan(given->store, tuned->identity.kernel, &tuned->version, &stored, NULL) ==
        HN_OK) {
        hn_records_recall_shared(stored.json, &tuned->identity.problem, records);
        view->parameters = json_incref(json_object_get(stored.json, "parameters"));
    }
    if (records->count > 0)
        qsort(records->items, records->count, sizeof *records->items, hn_record_compare);
    while (view->ok_count < records->count &&
           records->items[view->ok_count].outcome == HN_OUTCOME_OK)
        view->ok_count++;
}

static const struct hn_column best_columns[] = {
    {">#", "{#}"},
    {">time", "{timing.median_us:time}"},
    {">spread", "±{timing:spread}"},
    {">registers", "[{resources.registers}|-]"},
    {">shared", "[{resources.shared_bytes+resources.dynamic_shared_bytes:bytes}|-]"},
    {">occupancy", "[{resources.occupancy:percent}|-]"},
    {"?GPU", "{gpu}"},
    {"=~remarks", "{remarks}"},
    {"?>energy", "{energy.joules:energy}"},
    {"=*", "[{point.*}|-]"},
    {NULL, NULL},
};
static const struct hn_view show_views[] = {
    {.line = "{kernel}  [{problem}|-]"},
    {.line = "  device     {device.name}[ (compute capability {device.capability/10:.1f}, "
             "{device.sm_count} SMs[, MIG {device.mig_profile}]){?!kernel_tuner}]"},
    {.line = "  measured   [by Kernel Tuner: means; neither the state of the L2 nor what was "
             "verified is recorded{?kernel_tuner}|{regime:regime}, objective {objective}, driver "
             "[{version.driver}|unknown], NVRTC [{version.nvrtc}|unknown]]"
             "[, SIMULATED from a recording{?simulated}]"},
    {.line = "  origin     {origin:origin}"},
    {.line = "  STALE      the config is another now, or a later tune had another template, "
             "options, plan or driver{?stale}{?!kernel_tuner}"},
    {.at = "shown", .columns = best_columns, .indent = 2, .tied = "tied"},
    {.line = "  tied: the interval overlaps that of the best{?tied>1}"},
    {.line = "  {records:.0f} point{records:s}[: {outcomes:counts}]"},
    {.line = "  SM at {conditions.sm_mhz:.0f} MHz at least, memory at {conditions.memory_mhz:.0f} "
             "MHz, {conditions.power_w:.0f} W and {conditions.temperature_c:.0f} °C at most"
             "[; {conditions.held_down_by} held the clocks down for {conditions.held_down} of "
             "{conditions.measured} points]"},
    {.line = "  {outcomes:meanings}; see docs/outcomes.md", .wraps = true},
    {NULL},
};

/* The first of the records for the table, which shows more of each than its document has. */
static void add_shown(json_t *json, const struct view *view)
{
    json_t *shown = json_array();
    json_int_t tied = 0;
    const char *objective = view->tuned->identity.objective;
    bool weighs = hn_lookup_is_objective("energy", objective) ||
                  hn_lookup_is_objective("energy_delay", objective);
    for (size_t i = 0; i < view->ok_count && i < SHOWN; i++) {
        const struct hn_record *record = &view->records.items[i], *best = view->records.items;
        json_t *row = hn_needed(hn_record_to_json(record));
        bool meet = record->timing.low_us <= best->timing.high_us &&
                    best->timing.low_us <= record->timing.high_us;
        bool is_one = i > 0 && (weighs ? hn_front_is_tied(best, record) : meet);
        tied += tied == (json_int_t)i && (i == 0 || is_one);
        json_object_set_new(row, "remarks",
                            remarks_to_json(view->tuned, record, is_one ? "tied" : NULL));
        if (record->card[0] != '\0')
            json_object_set_new(row, "gpu", json_sprintf("%s %.12s", record->host, record->card));
        (void)json_array_append_new(shown, row);
    }
    json_object_set_new(json, "shown", shown);
    json_object_set_new(json, "tied", json_integer(tied));
    /* By their names where no other order is known. */
    if (view->parameters != NULL)
        json_object_set(json, "parameters", view->parameters);
    else if (view->ok_count > 0)
        json_object_set_new(json, "parameters",
                            hn_render_names(view->records.items[0].point.names,
                                            view->records.items[0].point.count));
}

/* The extremes of all measurements; NULL: not known. */
static json_t *conditions_to_json(const struct view *view)
{
    const struct hn_bindings *slow = NULL, *hungry = NULL;
    unsigned held_down = 0;
    json_int_t measured = 0, held = 0;
    char reasons[HN_FORMAT_SIZE * 2];
    for (size_t i = 0; i < view->records.count; i++) {
        const struct hn_bindings *one = &view->records.items[i].observed;
        if (!hn_observed_any(one, "conditions"))
            continue;
        held += hn_conditions_held_down(one) != 0;
        held_down |= hn_conditions_held_down(one);
        if (measured == 0 ||
            hn_observed(one, "conditions.sm_mhz") < hn_observed(slow, "conditions.sm_mhz"))
            slow = one;
        if (measured == 0 ||
            hn_observed(one, "conditions.power_w") > hn_observed(hungry, "conditions.power_w"))
            hungry = one;
        measured++;
    }
    if (measured == 0)
        return NULL;
    hn_slowdowns_describe(held_down, reasons, sizeof reasons);
    return json_pack("{sf sf sf sf sI sI ss}", "sm_mhz", hn_observed(slow, "conditions.sm_mhz"),
                     "memory_mhz", hn_observed(slow, "conditions.memory_mhz"), "power_w",
                     hn_observed(hungry, "conditions.power_w"), "temperature_c",
                     hn_observed(hungry, "conditions.temperature_c"), "measured", measured,
                     "held_down", held, "held_down_by", reasons);
}

static json_t *view_to_json(const struct view *view)
{
    json_t *json = hn_cache_tuned_to_json(view->tuned);
    json_t *records = json_array();
    uint64_t counts[HN_OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < view->records.count; i++) {
        counts[view->records.items[i].outcome]++;
        (void)json_array_append_new(records, hn_needed(hn_record_to_json(&view->records.items[i])));
    }
    json_object_set_new(json, "outcomes", hn_counts_to_json(counts));
    (void)json_object_set_new(json, "conditions", conditions_to_json(view));
    json_object_set_new(json, "records", records);
    return json;
}

static void run_show(struct hn_given *given, struct hn_error *err)
{
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    json_t *families = families_to_json(given, given->path, err);
    hn_cache_select(given, given->path, &list, err);
    if (err->status == HN_ENOTFOUND && json_array_size(families) > 0)
        hn_error_init(err);
    if (hn_failed(err)) {
        json_decref(families);
        return;
    }
    json_t *tunings = json_array();
    hn_config_mark_changed(given->store, &list);
    for (size_t i = 0; i < list.count && !hn_failed(err); i++) {
        struct view view;
        make_view(given, &list.items[i], &view, err);
        json_t *json = hn_failed(err) ? NULL : view_to_json(&view);
        if (given->options->json) {
            (void)json_array_append_new(tunings, json);
        } else if (json != NULL) {
            add_shown(json, &view);
            fputs(i == 0 ? "" : "\n", stdout);
            hn_render(json, show_views, stdout);
            json_decref(json);
        }
        hn_records_free(&view.records);
        json_decref(view.parameters);
    }
    finish_listing(given, tunings, families, err);
}

static void run_check(struct hn_given *given, struct hn_error *err)
{
    struct hn_text report HN_ENDED_BY(hn_text_finish) = {0};
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {.count = 0};
    if (hn_store_check(given->store, &report, err) == HN_OK)
        (void)hn_store_list(given->store, HN_STORE_RESULTS, NULL, NULL, &list, err);
    const struct hn_error found = *err;
    bool whole = found.status == HN_OK;
    const char *findings = report.data == NULL ? "" : report.data;
    if (given->options->json && (whole || found.status == HN_EFORMAT)) {
        hn_error_init(err);
        hn_show_alone(given,
                      json_pack("{ss sb ss sI}", "cache", given->cache, "whole", whole, "findings",
                                findings, "tunings", (json_int_t)list.count),
                      NULL, err);
        if (!whole)
            *err = found;
    } else if (whole) {
        printf("cache '%s' is whole: %zu tuning%s\n", given->cache, list.count,
               hn_plural(list.count));
    } else {
        fputs(findings, stdout);
    }
}

static const struct hn_view prune_views[] = {
    {.line = "[would remove{?dry_run}|removed] {sessions} session{sessions:s} with {records} "
             "records, and {images} compiled kernel{images:s} ({image_bytes:bytes})"},
    {NULL},
};

static void run_prune(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    const double before = (double)time(NULL) - options->older_than_days * 86400;
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {.items = NULL};
    struct hn_pruned pruned;
    struct hn_prune prune = options->prune;
    prune.kernel = given->path;
    prune.before = options->older_than_days > 0 ? before : 0;
    char *path HN_FREED = hn_needed(hn_store_default_path(options->cache));
    if (hn_store_is_server(path))
        hn_fail(err, HN_EUSAGE,
                "the cache of a server is everybody's, and not pruned from here: merge it into a "
                "file, prune that, and merge it into another database");
    hn_open_cache(given, HN_STORE_WRITE, NULL, err);
    if (!hn_failed(err) && !prune.stale && !prune.simulated && !prune.images &&
        options->older_than_days <= 0)
        hn_fail(err, HN_EUSAGE,
                "nothing is chosen: say what to remove with --stale, --simulated, "
                "--older-than DAYS or --images");
    if (prune.kernel != NULL)
        hn_cache_select(given, prune.kernel, &list, err);
    if (hn_failed(err) || hn_store_prune(given->store, &prune, &pruned, err) != HN_OK)
        return;
    if (options->json || !options->quiet)
        hn_show_alone(given,
                      json_pack("{ss sb sI sI sI sI}", "cache", given->cache, "dry_run",
                                prune.dry_run, "sessions", (json_int_t)pruned.sessions, "records",
                                (json_int_t)pruned.records, "images", (json_int_t)pruned.images,
                                "image_bytes", (json_int_t)pruned.image_bytes),
                      prune_views, err);
}

static HN_CACHE_PART(list, HN_CACHE_LIST, .run = run_list, .cache = HN_CACHE_READ, .arguments = "",
                     .summary = "Lists the tuned kernels: the best of each problem and device.",
                     .examples = "hone cache list");
static HN_CACHE_PART(
    show, HN_CACHE_SHOW, .run = run_show, .cache = HN_CACHE_READ, .arguments = "NAME", .least = 1,
    .most = 1, .missing = HN_TOO_FEW "NAME",
    .summary = "Shows the tunings of a kernel: the best points and what became of all.",
    .examples = "hone cache show scale");
static HN_CACHE_PART(
    prune, HN_CACHE_PRUNE, .run = run_prune, .arguments = "[NAME]", .most = 1,
    .summary = "Removes what is no longer wanted, of one kernel or of all.",
    .details = "At least one of the options says what. What is removed no longer leads later "
               "searches.",
    .examples = "hone cache prune --stale");
static HN_CACHE_PART(check, HN_CACHE_CHECK, .run = run_check, .cache = HN_CACHE_READ,
                     .arguments = "",
                     .summary = "Checks that the cache is whole and every record can be read.",
                     .examples = "hone cache check");

const struct hn_command *const hn_cache_parts[] = {
    &hn_command_cache_list,    &hn_command_cache_show,
    &hn_command_cache_export,  &hn_command_cache_import,
    &hn_command_cache_merge,   &hn_command_cache_diff,
    &hn_command_cache_compile, &hn_command_cache_prune,
    &hn_command_cache_check,   NULL,
};
