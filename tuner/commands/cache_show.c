/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/record/front.h"
#include "cache/record/record_json.h"
#include "cache/store/lookup.h"
#include "runtime/device/health.h"
#include "tuner/commands/cache_command.h"
#include "tuner/config/config_files.h"
#include "tuner/report/format.h"
#include "tuner/report/outcomes.h"
#include "tuner/report/recall_shared.h"
#include "tuner/report/table.h"

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

static enum hn_status make_view(const struct hn_cache_command *command,
                                const struct hn_tuned *tuned, struct view *view,
                                struct hn_error *err)
{
    *view = (struct view){.tuned = tuned};
    enum hn_status status = hn_store_load(command->store, &tuned->identity, &tuned->version,
                                          tuned->simulated, &view->records, err);
    if (status != HN_OK)
        return status;
    take_plan(command->store, view);
    if (view->records.count > 0)
        qsort(view->records.items, view->records.count, sizeof *view->records.items,
              compare_records);
    while (view->ok_count < view->records.count &&
           view->records.items[view->ok_count].outcome == HN_OUTCOME_OK)
        view->ok_count++;
    return HN_OK;
}

static size_t count_outcome(const struct view *view, enum hn_outcome outcome)
{
    size_t count = 0;
    for (size_t i = 0; i < view->records.count; i++)
        count += view->records.items[i].outcome == outcome;
    return count;
}

static void print_origin(const struct hn_tuned *tuned)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_origin_append(&text, &tuned->origin);
    printf("  origin     %s\n", text.failed ? "" : text.data);
    hn_text_finish(&text);
}

static void print_heading(const struct view *view)
{
    const struct hn_tuned *tuned = view->tuned;
    const struct hn_identity *identity = &tuned->identity;
    const struct hn_device_identity *device = &identity->device;
    const struct hn_version *version = &tuned->version;
    char regime[HN_FORMAT_SIZE];
    char *problem = hn_cache_problem_text(&identity->problem);
    printf("%s  %s\n", identity->kernel, problem == NULL ? "" : problem);
    if (hn_cache_is_kernel_tuners(tuned)) {
        printf("  device     %s\n  measured   by Kernel Tuner: means; neither the state of the L2 "
               "nor what was verified is recorded%s\n",
               device->name, tuned->simulated ? ", SIMULATED from a recording" : "");
        free(problem);
        print_origin(tuned);
        return;
    }
    printf("  device     %s (compute capability %d.%d, %d SMs%s%s)\n", device->name,
           device->capability / 10, device->capability % 10, device->sm_count,
           device->mig_profile[0] == '\0' ? "" : ", MIG ", device->mig_profile);
    hn_format_regime(identity->regime, regime);
    printf("  measured   %s, objective %s, driver %s, NVRTC %s%s\n", regime, identity->objective,
           version->driver[0] == '\0' ? "unknown" : version->driver,
           version->nvrtc[0] == '\0' ? "unknown" : version->nvrtc,
           tuned->simulated ? ", SIMULATED from a recording" : "");
    print_origin(tuned);
    if (tuned->stale)
        puts("  STALE      the config is another now, or a later tune had another template, "
             "options, plan or driver");
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

static void add_row(struct hn_table *table, const struct view *view, size_t index)
{
    size_t count;
    char *const *names = list_parameters(view, &count);
    const struct hn_record *record = &view->records.items[index];
    char time_text[HN_FORMAT_SIZE];
    char spread[HN_FORMAT_SIZE];
    char shared[HN_FORMAT_SIZE];
    struct hn_text remarks;
    hn_text_init(&remarks);
    hn_format_time(record->timing.median_us, time_text);
    hn_format_spread(&record->timing, spread);
    if (index > 0 && is_tied(view, index))
        hn_text_append(&remarks, "tied");
    hn_cache_remarks(&remarks, view->tuned, record);
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
        add_row(table, view, i);
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
    uint64_t counts[HN_OUTCOME_COUNT];
    print_heading(view);
    print_best(view);
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        counts[i] = count_outcome(view, (enum hn_outcome)i);
    hn_outcomes_count(counts, stdout);
    print_conditions(view);
    hn_outcomes_explain(counts, stdout);
}

static json_t *view_to_json(const struct view *view)
{
    json_t *json = hn_cache_tuned_to_json(view->tuned);
    json_t *outcomes = json_object();
    json_t *records = json_array();
    int failed = json == NULL || outcomes == NULL || records == NULL ? -1 : 0;
    for (int i = 0; failed == 0 && i < HN_OUTCOME_COUNT; i++) {
        size_t count = count_outcome(view, (enum hn_outcome)i);
        if (count > 0)
            failed = json_object_set_new(outcomes, hn_outcome_name((enum hn_outcome)i),
                                         json_integer((json_int_t)count));
    }
    for (size_t i = 0; failed == 0 && i < view->records.count; i++)
        failed = json_array_append_new(records, hn_record_to_json(&view->records.items[i]));
    if (failed == 0)
        failed =
            json_object_set(json, "outcomes", outcomes) | json_object_set(json, "records", records);
    json_decref(outcomes);
    json_decref(records);
    if (failed == 0)
        return json;
    json_decref(json);
    return NULL;
}

/* Takes the tunings over. */
static enum hn_status print_json(const struct hn_cache_command *command, json_t *tunings,
                                 struct hn_error *err)
{
    json_t *families = NULL;
    enum hn_status status =
        hn_cache_families_to_json(command, command->arguments[0], &families, err);
    if (status != HN_OK) {
        json_decref(tunings);
        return status;
    }
    return hn_cache_print_json(json_pack("{s:s, s:o, s:o}", "cache", command->path, "tunings",
                                         tunings, "families", families),
                               err);
}

enum hn_status hn_cache_show(const struct hn_cache_command *command, struct hn_error *err)
{
    struct hn_tuned_list list;
    enum hn_status status = hn_cache_select(command, command->arguments[0], &list, err);
    if (status != HN_OK)
        return status;
    hn_config_mark_changed(command->store, &list);
    json_t *tunings = json_array();
    for (size_t i = 0; status == HN_OK && i < list.count; i++) {
        struct view view;
        status = make_view(command, &list.items[i], &view, err);
        if (status == HN_OK && command->options.json) {
            if (json_array_append_new(tunings, view_to_json(&view)) != 0)
                status = hn_fail_memory(err);
        } else if (status == HN_OK) {
            fputs(i == 0 ? "" : "\n", stdout);
            print_view(&view);
        }
        finish_view(&view);
    }
    hn_tuned_list_free(&list);
    if (status == HN_OK && command->options.json)
        return print_json(command, tunings, err);
    json_decref(tunings);
    return status == HN_OK ? hn_cache_print_families(command, command->arguments[0], err) : status;
}
