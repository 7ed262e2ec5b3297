/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "cache/record/record.h"
#include "cache/record/record_json.h"
#include "cache/store/lookup.h"
#include "runtime/device/health.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"
#include "tuner/report/format.h"
#include "tuner/report/report.h"
#include "tuner/report/table.h"

/* What a cache holds, as tables and as documents: all tunings, or those of a kernel with their
 * records. */

char *hn_cache_problem_text(const struct hn_bindings *problem)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, problem);
    if (problem->count == 0)
        hn_text_append(&text, "-");
    return hn_needed(hn_text_take(&text));
}

const char *hn_cache_date(double seconds, char date[32])
{
    struct tm parts;
    time_t whole = (time_t)seconds;
    if (!(seconds > 0) || gmtime_r(&whole, &parts) == NULL ||
        strftime(date, 32, "%Y-%m-%d", &parts) == 0)
        strcpy(date, "-");
    return date;
}

bool hn_cache_is_kernel_tuners(const struct hn_tuned *tuned)
{
    return tuned->version.protocol == HN_KERNEL_TUNER_PROTOCOL;
}

/* Appends "simulated, stale": what a reader has to know of a record before trusting its time;
 * nothing when it is measured and verified. */
static void append_remarks(struct hn_text *text, const struct hn_tuned *tuned,
                           const struct hn_record *record)
{
    const struct {
        bool holds;
        const char *remark;
    } remarks[] = {
        {tuned->simulated, "simulated"},
        {record->verdict.kind == HN_UNVERIFIED, "UNVERIFIED"},
        {record->verdict.kind == HN_NOT_RECORDED, "verification not recorded"},
        {record->verdict.kind == HN_SELF_VERIFIED, "self-verified"},
        {record->timing.unstable, "unstable"},
        {hn_cache_is_kernel_tuners(tuned), "by Kernel Tuner"},
        {tuned->stale, "stale"},
    };
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        if (remarks[i].holds)
            hn_text_printf(text, "%s%s", text->length == 0 ? "" : ", ", remarks[i].remark);
    }
}

bool hn_cache_fits(const struct hn_cache *cache, const struct hn_identity *identity)
{
    const struct hn_bindings *wanted = &cache->options->problem;
    const char *device = cache->options->device_name;
    bool fits = device == NULL || strcmp(device, identity->device.name) == 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const struct hn_value *value = hn_bindings_get(&identity->problem, wanted->names[i]);
        fits = fits && value != NULL && hn_value_equal(value, &wanted->values[i]);
    }
    return fits;
}

void hn_cache_filter(const struct hn_cache *cache, struct hn_tuned_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct hn_tuned *tuned = &list->items[i];
        if (hn_cache_fits(cache, &tuned->identity)) {
            list->items[kept++] = *tuned;
        } else {
            hn_identity_finish(&tuned->identity);
            hn_record_finish(&tuned->best);
        }
    }
    list->count = kept;
}

static enum hn_status fail_not_found(const struct hn_cache *cache, const char *kernel,
                                     struct hn_error *err)
{
    struct hn_tuned_list all;
    struct hn_text known;
    enum hn_status status = hn_store_list(cache->store, NULL, &all, err);
    if (status != HN_OK)
        return status;
    hn_text_init(&known);
    for (size_t i = 0; i < all.count; i++) {
        const char *name = all.items[i].identity.kernel;
        if (i == 0 || strcmp(all.items[i - 1].identity.kernel, name) != 0)
            hn_text_printf(&known, "%s%s", i == 0 ? "" : ", ", name);
    }
    if (all.count == 0)
        status =
            hn_fail(err, HN_ENOTFOUND,
                    "cache '%s' has no tunings yet; `hone tune CONFIG` makes them", cache->path);
    else
        status = hn_fail(err, HN_ENOTFOUND, "cache '%s' has no tuning of '%s'; it has: %s",
                         cache->path, kernel, known.data);
    hn_text_finish(&known);
    hn_tuned_list_free(&all);
    return status;
}

enum hn_status hn_cache_select(const struct hn_cache *cache, const char *kernel,
                               struct hn_tuned_list *list, struct hn_error *err)
{
    enum hn_status status = cache->versions
                                ? hn_store_list_versions(cache->store, kernel, list, err)
                                : hn_store_list(cache->store, kernel, list, err);
    if (status != HN_OK)
        return status;
    size_t all = list->count;
    hn_cache_filter(cache, list);
    if (list->count > 0)
        return HN_OK;
    hn_tuned_list_free(list);
    if (all == 0)
        return fail_not_found(cache, kernel, err);
    char line[HN_FOLLOW_UP_SIZE];
    return hn_fail(err, HN_ENOTFOUND, "none of the tunings%s%s%s fits; `%s` shows them",
                   kernel == NULL ? "" : " of '", kernel == NULL ? "" : kernel,
                   kernel == NULL ? "" : "'",
                   hn_follow_up(cache->options, "cache list", NULL, line));
}

/* Takes the value. */
static void set(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, hn_needed(value));
}

json_t *hn_cache_tuned_to_json(const struct hn_tuned *tuned)
{
    json_t *json = hn_needed(hn_fields_to_json(&hn_identity_structure, &tuned->identity));
    set(json, "version", hn_fields_to_json(&hn_version_structure, &tuned->version));
    set(json, "best", hn_record_to_json(&tuned->best));
    set(json, "points", json_integer(tuned->points));
    set(json, "simulated", json_boolean(tuned->simulated));
    set(json, "stale", json_boolean(tuned->stale));
    set(json, "kernel_tuner", json_boolean(hn_cache_is_kernel_tuners(tuned)));
    set(json, "origin", hn_origin_to_json(&tuned->origin));
    return json;
}

static json_t *stored_to_json(const struct hn_stored_rule *stored)
{
    const struct hn_identity *identity = &stored->identity;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:f, s:b, s:b, s:o, s:o}", "kernel",
                     identity->kernel, "regime", identity->regime, "objective", identity->objective,
                     "device", hn_fields_to_json(&hn_device_identity_structure, &identity->device),
                     "version", hn_fields_to_json(&hn_version_structure, &stored->version),
                     "learnt", stored->learnt, "simulated", stored->simulated, "stale",
                     stored->stale, "origin", hn_origin_to_json(&stored->origin), "rule",
                     hn_rule_to_json(&stored->rule));
}

static void print_rule(const struct hn_stored_rule *stored)
{
    char regime[HN_FORMAT_SIZE], date[32];
    struct hn_text text = {0};
    hn_format_regime(stored->identity.regime, regime);
    hn_text_printf(&text, "family of %s on %s, %s: %zu configuration%s for ",
                   stored->identity.kernel, stored->identity.device.name, regime,
                   stored->rule.configuration_count, hn_plural(stored->rule.configuration_count));
    hn_rule_append_values(&text, &stored->rule);
    hn_text_printf(&text, ", learnt %s%s%s\n  ", hn_cache_date(stored->learnt, date),
                   stored->simulated ? ", simulated" : "", stored->stale ? ", stale" : "");
    size_t before = text.length;
    hn_rule_append_loss(&text, &stored->rule);
    hn_text_append(&text, text.length == before ? "what it loses is not known\n" : "\n");
    fputs(text.failed ? "" : text.data, stdout);
    hn_text_finish(&text);
}

/* The rules of families (kernel NULL: of all) that fit: a line or two for each, or with --json
 * items of `array`. A rule is for many problems, so that -p asks for none. */
static void show_families(const struct hn_cache *cache, const char *kernel, json_t *array,
                          struct hn_error *err)
{
    struct hn_stored_rules rules;
    if (hn_failed(err) || hn_store_get_rules(cache->store, kernel, &rules, err) != HN_OK)
        return;
    for (size_t i = 0; i < rules.count; i++) {
        const struct hn_stored_rule *stored = &rules.items[i];
        if (cache->options->problem.count > 0 || !hn_cache_fits(cache, &stored->identity))
            continue;
        if (array != NULL)
            (void)json_array_append_new(array, hn_needed(stored_to_json(stored)));
        else
            print_rule(stored);
    }
    hn_stored_rules_free(&rules);
}

void hn_cache_print_json(json_t *document, struct hn_error *err)
{
    if (!hn_failed(err))
        (void)hn_output_json(hn_needed(document), err);
    json_decref(document);
}

/* The end of list and show: the families; with --json the document. Takes the tunings. */
static void finish_listing(const struct hn_cache *cache, const char *kernel, json_t *tunings,
                           struct hn_error *err)
{
    if (!cache->options->json) {
        show_families(cache, kernel, NULL, err);
        json_decref(tunings);
        return;
    }
    json_t *families = json_array();
    show_families(cache, kernel, families, err);
    hn_cache_print_json(json_pack("{s:s, s:o, s:o}", "cache", cache->path, "tunings", tunings,
                                  "families", families),
                        err);
}

static void add_tuned(struct hn_table *table, const struct hn_tuned *tuned)
{
    char time_text[HN_FORMAT_SIZE], spread[HN_FORMAT_SIZE], date[32];
    struct hn_text remarks;
    char *problem = hn_cache_problem_text(&tuned->identity.problem);
    hn_text_init(&remarks);
    if (hn_origin_is_foreign(&tuned->origin))
        hn_text_append(&remarks, "imported");
    append_remarks(&remarks, tuned, &tuned->best);
    hn_format_time(tuned->best.timing.median_us, time_text);
    hn_format_spread(&tuned->best.timing, spread);
    hn_table_cell(table, "%s", tuned->identity.kernel);
    hn_table_cell(table, "%s", problem);
    hn_table_cell(table, "%s", tuned->identity.device.name);
    hn_table_cell(table, "%s", tuned->identity.regime);
    hn_table_cell(table, "%s", time_text);
    hn_table_cell(table, "±%s", spread);
    hn_table_cell(table, "%lld", (long long)tuned->points);
    hn_table_cell(table, "%s", hn_cache_date(tuned->best.time, date));
    hn_table_cell(table, "%s", remarks.data == NULL ? "verified" : remarks.data);
    hn_text_finish(&remarks);
    free(problem);
}

static void print_list(const struct hn_cache *cache, const struct hn_tuned_list *list)
{
    static const char *const headings[] = {"kernel",  "~problem", "=device", "=L2",       ">best",
                                           ">spread", ">points",  "date",    "=~remarks", NULL};
    if (list->count == 0) {
        bool chosen = cache->options->problem.count > 0 || cache->options->device_name != NULL;
        fprintf(stderr, "cache '%s' has no tunings%s\n", cache->path,
                chosen ? " that fit" : " yet");
        return;
    }
    struct hn_table *table = hn_table_create(headings);
    for (size_t i = 0; i < list->count; i++)
        add_tuned(table, &list->items[i]);
    hn_table_print(table, stdout, 0);
    hn_table_destroy(table);
    hn_regimes_explain(stdout);
}

void hn_cache_list(struct hn_cache *cache, struct hn_error *err)
{
    struct hn_tuned_list list;
    if (hn_failed(err) || hn_store_list(cache->store, NULL, &list, err) != HN_OK)
        return;
    json_t *tunings = json_array();
    hn_cache_filter(cache, &list);
    hn_config_mark_changed(cache->store, &list);
    for (size_t i = 0; i < list.count && cache->options->json; i++)
        (void)json_array_append_new(tunings, hn_cache_tuned_to_json(&list.items[i]));
    if (!cache->options->json)
        print_list(cache, &list);
    finish_listing(cache, NULL, tunings, err);
    hn_tuned_list_free(&list);
}

enum { SHOWN = 5 };

/* One tuning with all its records; the ok ones first, best first, and of them those of a final
 * race. */
struct view {
    const struct hn_tuned *tuned;
    struct hn_records records;
    size_t ok_count;
    struct hn_plan *plan; /* NULL: the cache does not have it */
};

static void finish_view(struct view *view)
{
    hn_records_free(&view->records);
    hn_plan_destroy(view->plan);
}

static int compare_records(const void *a, const void *b)
{
    const struct hn_record *x = a;
    const struct hn_record *y = b;
    bool x_ok = x->outcome == HN_OUTCOME_OK;
    bool y_ok = y->outcome == HN_OUTCOME_OK;
    if (x_ok != y_ok)
        return x_ok ? -1 : 1;
    if (x->final != y->final)
        return x->final ? -1 : 1;
    return (x->objective > y->objective) - (x->objective < y->objective);
}

/* What the cache keeps of the plan: the order of the parameters, and how much shared memory old
 * records had. */
static void take_plan(struct hn_store *store, struct view *view)
{
    struct hn_stored_plan stored = {.json = NULL};
    struct hn_error ignored;
    const struct hn_identity *identity = &view->tuned->identity;
    if (hn_store_get_plan(store, identity->kernel, &view->tuned->version, &stored, &ignored) !=
        HN_OK)
        return;
    hn_records_recall_shared(stored.json, &identity->problem, &view->records);
    json_t *json = json_loads(stored.json, 0, NULL);
    if (json == NULL || hn_plan_from_json(json, &view->plan, &ignored) != HN_OK)
        view->plan = NULL;
    json_decref(json);
    hn_stored_plan_free(&stored);
}

static void make_view(const struct hn_cache *cache, const struct hn_tuned *tuned, struct view *view,
                      struct hn_error *err)
{
    *view = (struct view){.tuned = tuned};
    if (hn_failed(err) || hn_store_load(cache->store, &tuned->identity, &tuned->version,
                                        tuned->simulated, &view->records, err) != HN_OK)
        return;
    take_plan(cache->store, view);
    if (view->records.count > 0)
        qsort(view->records.items, view->records.count, sizeof *view->records.items,
              compare_records);
    while (view->ok_count < view->records.count &&
           view->records.items[view->ok_count].outcome == HN_OUTCOME_OK)
        view->ok_count++;
}

static void print_heading(const struct view *view)
{
    const struct hn_tuned *tuned = view->tuned;
    const struct hn_identity *identity = &tuned->identity;
    const struct hn_device_identity *device = &identity->device;
    const struct hn_version *version = &tuned->version;
    char regime[HN_FORMAT_SIZE];
    char *problem = hn_cache_problem_text(&identity->problem);
    char *origin = hn_needed(hn_origin_text(&tuned->origin));
    printf("%s  %s\n", identity->kernel, problem);
    if (hn_cache_is_kernel_tuners(tuned)) {
        printf("  device     %s\n  measured   by Kernel Tuner: means; neither the state of the L2 "
               "nor what was verified is recorded",
               device->name);
    } else {
        printf("  device     %s (compute capability %d.%d, %d SMs%s%s)\n", device->name,
               device->capability / 10, device->capability % 10, device->sm_count,
               device->mig_profile[0] == '\0' ? "" : ", MIG ", device->mig_profile);
        hn_format_regime(identity->regime, regime);
        printf("  measured   %s, objective %s, driver %s, NVRTC %s", regime, identity->objective,
               version->driver[0] == '\0' ? "unknown" : version->driver,
               version->nvrtc[0] == '\0' ? "unknown" : version->nvrtc);
    }
    printf("%s\n  origin     %s\n", tuned->simulated ? ", SIMULATED from a recording" : "", origin);
    if (tuned->stale && !hn_cache_is_kernel_tuners(tuned))
        puts("  STALE      the config is another now, or a later tune had another template, "
             "options, plan or driver");
    free(origin);
    free(problem);
}

static bool is_tied(const struct view *view, size_t index)
{
    const struct hn_timing *timing = &view->records.items[index].timing;
    const struct hn_timing *best = &view->records.items[0].timing;
    if (hn_lookup_is_objective("energy", view->tuned->identity.objective) ||
        hn_lookup_is_objective("energy_delay", view->tuned->identity.objective))
        return hn_front_is_tied(&view->records.items[0], &view->records.items[index]);
    return timing->low_us <= best->high_us && best->low_us <= timing->high_us;
}

/* In declared order, or by their names where that is not known. */
static char *const *list_parameters(const struct view *view, size_t *count)
{
    const struct hn_bindings *point = &view->records.items[0].point;
    *count = view->plan != NULL ? view->plan->parameter_count : point->count;
    return view->plan != NULL ? view->plan->parameters : point->names;
}

/* Of a tuning on several GPUs, or elsewhere. */
static bool names_cards(const struct view *view)
{
    for (size_t i = 0; i < view->records.count; i++)
        if (view->records.items[i].card[0] != '\0')
            return true;
    return false;
}

static bool is_weighed(const struct view *view)
{
    for (size_t i = 0; i < view->records.count; i++)
        if (hn_observed_any(&view->records.items[i].observed, "energy"))
            return true;
    return false;
}

static void add_record(struct hn_table *table, const struct view *view, size_t index)
{
    size_t count;
    char *const *names = list_parameters(view, &count);
    const struct hn_record *record = &view->records.items[index];
    char time_text[HN_FORMAT_SIZE], spread[HN_FORMAT_SIZE], shared[HN_FORMAT_SIZE];
    struct hn_text remarks;
    hn_text_init(&remarks);
    hn_format_time(record->timing.median_us, time_text);
    hn_format_spread(&record->timing, spread);
    if (index > 0 && is_tied(view, index))
        hn_text_append(&remarks, "tied");
    append_remarks(&remarks, view->tuned, record);
    hn_table_cell(table, "%zu", index + 1);
    hn_table_cell(table, "%s", time_text);
    hn_table_cell(table, "±%s", spread);
    if (record->resources.known) {
        hn_format_bytes((double)hn_resources_shared_bytes(&record->resources), shared);
        hn_table_cell(table, "%d", record->resources.registers);
        hn_table_cell(table, "%s", shared);
        hn_table_cell(table, "%d%%", hn_format_percent(record->resources.occupancy));
    } else {
        for (int i = 0; i < 3; i++)
            hn_table_cell(table, "-");
    }
    if (names_cards(view))
        hn_table_cell(table, "%s %.12s", record->host, record->card);
    hn_table_cell(table, "%s", remarks.data == NULL ? "" : remarks.data);
    if (is_weighed(view)) {
        hn_format_energy(hn_observed(&record->observed, "energy.joules"), shared);
        hn_table_cell(table, "%s", shared);
    }
    hn_table_point(table, names, count, &record->point);
    hn_text_finish(&remarks);
}

static void print_best(const struct view *view)
{
    static const char *const headings[] = {">#",      ">time",      ">spread",   ">registers",
                                           ">shared", ">occupancy", "=~remarks", NULL};
    static const char *const with_card[] = {
        ">#", ">time", ">spread", ">registers", ">shared", ">occupancy", "GPU", "=~remarks", NULL};
    size_t count;
    size_t tied = 1;
    if (view->ok_count == 0)
        return;
    struct hn_table *table = hn_table_create(names_cards(view) ? with_card : headings);
    char *const *names = list_parameters(view, &count);
    if (is_weighed(view))
        hn_table_column(table, ">", "energy");
    hn_table_parameters(table, names, count);
    for (size_t i = 0; i < view->ok_count && i < SHOWN; i++)
        add_record(table, view, i);
    while (tied < view->ok_count && tied < SHOWN && is_tied(view, tied))
        tied++;
    hn_table_highlight(table, tied);
    hn_table_print(table, stdout, 2);
    hn_table_destroy(table);
    if (tied > 1)
        puts("  tied: the interval overlaps that of the best");
}

/* Of all that was measured, from and to what. */
static void print_conditions(const struct view *view)
{
    double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;
    unsigned held_down = 0;
    size_t measured = 0, held = 0;
    char reasons[HN_FORMAT_SIZE * 2];
    for (size_t i = 0; i < view->records.count; i++) {
        const struct hn_bindings *one = &view->records.items[i].observed;
        double mhz = hn_observed(one, "conditions.sm_mhz");
        double watts = hn_observed(one, "conditions.power_w");
        if (!hn_observed_any(one, "conditions"))
            continue;
        held += hn_conditions_held_down(one) != 0;
        held_down |= hn_conditions_held_down(one);
        if (measured == 0 || mhz < sm_mhz) {
            sm_mhz = mhz;
            memory_mhz = hn_observed(one, "conditions.memory_mhz");
        }
        if (measured == 0 || watts > power_w) {
            power_w = watts;
            temperature_c = hn_observed(one, "conditions.temperature_c");
        }
        measured++;
    }
    if (measured == 0)
        return;
    printf("  SM at %.0f MHz at least, memory at %.0f MHz, %.0f W and %.0f °C at most", sm_mhz,
           memory_mhz, power_w, temperature_c);
    hn_slowdowns_describe(held_down, reasons, sizeof reasons);
    if (held > 0)
        printf("; %s held the clocks down for %zu of %zu points", reasons, held, measured);
    putchar('\n');
}

static void print_view(const struct view *view)
{
    uint64_t counts[HN_OUTCOME_COUNT] = {0};
    print_heading(view);
    print_best(view);
    for (size_t i = 0; i < view->records.count; i++)
        counts[view->records.items[i].outcome]++;
    hn_outcomes_count(counts, stdout);
    print_conditions(view);
    hn_outcomes_explain(counts, stdout);
}

static json_t *view_to_json(const struct view *view)
{
    json_t *json = hn_cache_tuned_to_json(view->tuned);
    json_t *outcomes = json_object();
    json_t *records = json_array();
    for (int i = 0; i < HN_OUTCOME_COUNT; i++) {
        json_int_t count = 0;
        for (size_t k = 0; k < view->records.count; k++)
            count += view->records.items[k].outcome == (enum hn_outcome)i;
        if (count > 0)
            set(outcomes, hn_outcome_name((enum hn_outcome)i), json_integer(count));
    }
    for (size_t i = 0; i < view->records.count; i++)
        (void)json_array_append_new(records, hn_needed(hn_record_to_json(&view->records.items[i])));
    set(json, "outcomes", outcomes);
    set(json, "records", records);
    return json;
}

void hn_cache_show(struct hn_cache *cache, struct hn_error *err)
{
    struct hn_tuned_list list;
    const char *kernel = cache->options->arguments.items[0];
    if (hn_failed(err) || hn_cache_select(cache, kernel, &list, err) != HN_OK)
        return;
    json_t *tunings = json_array();
    hn_config_mark_changed(cache->store, &list);
    for (size_t i = 0; i < list.count && !hn_failed(err); i++) {
        struct view view;
        make_view(cache, &list.items[i], &view, err);
        if (!hn_failed(err) && cache->options->json) {
            (void)json_array_append_new(tunings, view_to_json(&view));
        } else if (!hn_failed(err)) {
            fputs(i == 0 ? "" : "\n", stdout);
            print_view(&view);
        }
        finish_view(&view);
    }
    hn_tuned_list_free(&list);
    finish_listing(cache, kernel, tunings, err);
}
