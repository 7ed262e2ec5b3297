/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cache/store/store.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_files.h"
#include "tuner/report/format.h"
#include "tuner/report/report.h"

void hn_report_init(struct hn_report *report)
{
    *report = (struct hn_report){.count = 0};
}

static void finish_tuning(struct hn_report_tuning *tuning)
{
    hn_identity_finish(&tuning->identity);
    hn_records_free(&tuning->records);
    for (size_t i = 0; i < tuning->parameter_count; i++)
        free(tuning->parameters[i]);
    for (size_t i = 0; i < tuning->ladder_count; i++)
        hn_bindings_finish(&tuning->ladder[i].set);
    free(tuning->parameters);
    free(tuning->ladder);
    free(tuning->order);
    free(tuning->source);
    free(tuning->command);
    free(tuning->config);
    free(tuning->family);
    free(tuning->merit);
}

void hn_report_drop_last(struct hn_report *report)
{
    finish_tuning(&report->tunings[--report->count]);
}

void hn_report_finish(struct hn_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        finish_tuning(&report->tunings[i]);
    free(report->tunings);
    hn_report_init(report);
}

/* An empty tuning behind the others. */
static struct hn_report_tuning *append(struct hn_report *report)
{
    report->tunings = hn_need_more(report->tunings, report->count + 1, sizeof *report->tunings);
    struct hn_report_tuning *tuning = &report->tunings[report->count++];
    *tuning = (struct hn_report_tuning){.best = SIZE_MAX};
    hn_identity_init(&tuning->identity);
    return tuning;
}

void hn_records_recall_shared(const char *plan_json, const struct hn_bindings *problem,
                              struct hn_records *records)
{
    struct hn_plan *plan = NULL;
    struct hn_error ignored;
    json_t *json = plan_json != NULL ? json_loads(plan_json, 0, NULL) : NULL;
    if (json != NULL && hn_plan_from_json(json, &plan, &ignored) == HN_OK) {
        for (size_t i = 0; i < records->count; i++)
            hn_launch_recall_shared(plan, problem, &records->items[i]);
        hn_plan_destroy(plan);
    }
    json_decref(json);
}

struct made {
    double time;
    size_t record;
};

static int compare_made(const void *a, const void *b)
{
    const struct made *x = a;
    const struct made *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static void order_records(struct hn_report_tuning *tuning)
{
    size_t count = tuning->records.count;
    struct made *made = hn_need(count, sizeof *made);
    tuning->order = hn_need(count, sizeof *tuning->order);
    for (size_t i = 0; i < count; i++)
        made[i] = (struct made){tuning->records.items[i].time, i};
    qsort(made, count, sizeof *made, compare_made);
    for (size_t i = 0; i < count; i++)
        tuning->order[i] = made[i].record;
    free(made);
}

static size_t find_best(const struct hn_records *records)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < records->count; i++) {
        if (hn_record_beats(&records->items[i], best == SIZE_MAX ? NULL : &records->items[best]))
            best = i;
    }
    return best;
}

/* SIZE_MAX: there is none. */
static size_t find_record(const struct hn_records *records, const struct hn_bindings *point)
{
    for (size_t i = 0; i < records->count; i++)
        if (hn_bindings_equal(&records->items[i].point, point))
            return i;
    return SIZE_MAX;
}

/* In the order of their names, until a plan or config says another. */
static void name_parameters(struct hn_report_tuning *tuning)
{
    if (tuning->records.count == 0)
        return;
    const struct hn_bindings *point = &tuning->records.items[0].point;
    tuning->parameters = hn_need(point->count, sizeof *tuning->parameters);
    for (; tuning->parameter_count < point->count; tuning->parameter_count++)
        tuning->parameters[tuning->parameter_count] =
            hn_need_copy(point->names[tuning->parameter_count]);
}

/* Puts the parameters into the plan's order, where they are the same. */
static void order_parameters(struct hn_report_tuning *tuning, const struct hn_plan *plan)
{
    size_t sorted = 0;
    for (size_t i = 0; i < plan->parameter_count; i++) {
        for (size_t j = sorted; j < tuning->parameter_count; j++) {
            if (strcmp(tuning->parameters[j], plan->parameters[i]) != 0)
                continue;
            char *found = tuning->parameters[j];
            memmove(&tuning->parameters[sorted + 1], &tuning->parameters[sorted],
                    (j - sorted) * sizeof *tuning->parameters);
            tuning->parameters[sorted++] = found;
            break;
        }
    }
}

static void take_plan(struct hn_report_tuning *tuning, const struct hn_plan *plan, const char *path)
{
    free(tuning->merit);
    free(tuning->config);
    tuning->merit = hn_need_copy(hn_format_merit_name(plan));
    tuning->config = hn_need_copy(path);
    order_parameters(tuning, plan);
}

static void add_step(struct hn_report_tuning *tuning, const struct hn_bindings *defaults,
                     const struct hn_bindings *set, struct hn_error *err)
{
    struct hn_bindings point;
    struct hn_report_step *step = &tuning->ladder[tuning->ladder_count];
    if (hn_failed(err))
        return;
    if (hn_bindings_copy(&point, defaults, err) == HN_OK &&
        hn_bindings_merge(&point, set, err) == HN_OK &&
        hn_bindings_copy(&step->set, set, err) == HN_OK) {
        step->record = find_record(&tuning->records, &point);
        tuning->ladder_count++;
    }
    hn_bindings_finish(&point);
}

void hn_report_apply_config(struct hn_report_tuning *tuning, const struct hn_config *config,
                            struct hn_error *err)
{
    take_plan(tuning, config->plan, config->path);
    tuning->stale |= hn_config_has_changed(config, &tuning->identity, &tuning->version);
    if (tuning->ladder != NULL)
        return;
    tuning->ladder = hn_need(config->ladder_count, sizeof *tuning->ladder);
    for (size_t i = 0; i < config->ladder_count; i++)
        add_step(tuning, &config->plan->defaults, &config->ladder[i], err);
}

/* From the plan that the cache keeps; imported results have none. The ladder stands in the config
 * only: it is looked up where the config was when it was tuned. */
static void apply_plan(struct hn_report_tuning *tuning, struct hn_store *store,
                       struct hn_error *err)
{
    struct hn_stored_plan stored = {.json = NULL};
    struct hn_plan *plan = NULL;
    struct hn_config *config = NULL;
    struct hn_error ignored;
    if (hn_failed(err) || hn_store_get_plan(store, tuning->identity.kernel, &tuning->version,
                                            &stored, &ignored) != HN_OK)
        return;
    hn_records_recall_shared(stored.json, &tuning->identity.problem, &tuning->records);
    json_t *json = json_loads(stored.json, 0, NULL);
    if (json != NULL && hn_plan_from_json(json, &plan, &ignored) == HN_OK) {
        take_plan(tuning, plan, plan->config);
        if (plan->config != NULL && hn_config_load(plan->config, &config, &ignored) == HN_OK &&
            strcmp(config->plan->kernel, plan->kernel) == 0)
            hn_report_apply_config(tuning, config, err);
        hn_config_destroy(config);
        hn_plan_destroy(plan);
    }
    json_decref(json);
    hn_stored_plan_free(&stored);
}

/* "16 configurations for M 1 to 4096; at 40 sizes …", of the rule of that kernel and device. */
static void describe_family(struct hn_report_tuning *tuning, struct hn_store *store,
                            struct hn_error *err)
{
    struct hn_stored_rules rules;
    const struct hn_identity *own = &tuning->identity;
    if (hn_failed(err) || hn_store_get_rules(store, own->kernel, &rules, err) != HN_OK)
        return;
    for (size_t i = 0; tuning->family == NULL && i < rules.count; i++) {
        const struct hn_stored_rule *stored = &rules.items[i];
        struct hn_text text = {0};
        if (!hn_device_identity_equal(&stored->identity.device, &own->device) ||
            strcmp(stored->identity.regime, own->regime) != 0 ||
            strcmp(stored->identity.objective, own->objective) != 0)
            continue;
        hn_text_printf(&text, "%zu configuration%s for ", stored->rule.configuration_count,
                       hn_plural(stored->rule.configuration_count));
        hn_rule_append_values(&text, &stored->rule);
        hn_text_append(&text, "; ");
        hn_rule_append_loss(&text, &stored->rule);
        tuning->family = hn_needed(hn_text_take(&text));
    }
    hn_stored_rules_free(&rules);
}

void hn_report_add_tuned(struct hn_report *report, struct hn_store *store, const char *path,
                         const struct hn_tuned *tuned, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    struct hn_report_tuning *tuning = append(report);
    tuning->version = tuned->version;
    tuning->simulated = tuned->simulated;
    tuning->stale = tuned->stale;
    struct hn_text source = {0};
    hn_text_append(&source, path);
    if (hn_origin_is_foreign(&tuned->origin)) {
        hn_text_append(&source, ", ");
        hn_origin_append(&source, &tuned->origin);
    }
    tuning->source = hn_needed(hn_text_take(&source));
    if (hn_identity_copy(&tuning->identity, &tuned->identity, err) != HN_OK ||
        hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated, &tuning->records,
                      err) != HN_OK ||
        hn_store_get_command(store, tuned->session_id, &tuning->command, err) != HN_OK)
        return;
    describe_family(tuning, store, err);
    name_parameters(tuning);
    order_records(tuning);
    tuning->best = find_record(&tuning->records, &tuned->best.point);
    apply_plan(tuning, store, err);
}

void hn_report_add_recording(struct hn_report *report, const char *path, struct hn_error *err)
{
    struct hn_recording recording;
    if (hn_failed(err) || hn_recording_load(path, &recording, err) != HN_OK)
        return;
    struct hn_report_tuning *tuning = append(report);
    tuning->recorded = true;
    tuning->identity = recording.identity;
    tuning->version = recording.version;
    tuning->records = recording.records;
    tuning->parameters = recording.parameters;
    tuning->parameter_count = recording.parameter_count;
    tuning->command = recording.command;
    tuning->stale = recording.from_hone && recording.version.protocol != HN_MEASURING_PROTOCOL;
    hn_records_recall_shared(recording.plan.json, &tuning->identity.problem, &tuning->records);
    hn_stored_plan_free(&recording.plan);
    free(recording.date);
    tuning->best = find_best(&tuning->records);
    tuning->source = hn_need_copy(path);
    order_records(tuning);
}
