/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/store/store_history.h"
#include "cache/store/store_rules.h"
#include "tuner/report/recall_shared.h"
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

/* An empty tuning behind the others, NULL when out of memory. */
static struct hn_report_tuning *append(struct hn_report *report)
{
    struct hn_report_tuning *grown =
        realloc(report->tunings, (report->count + 1) * sizeof *report->tunings);
    if (grown == NULL)
        return NULL;
    report->tunings = grown;
    struct hn_report_tuning *tuning = &grown[report->count++];
    *tuning = (struct hn_report_tuning){.best = SIZE_MAX};
    hn_identity_init(&tuning->identity);
    return tuning;
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

static enum hn_status order_records(struct hn_report_tuning *tuning, struct hn_error *err)
{
    size_t count = tuning->records.count;
    struct made *made = calloc(count + 1, sizeof *made);
    tuning->order = calloc(count + 1, sizeof *tuning->order);
    if (made == NULL || tuning->order == NULL) {
        free(made);
        return hn_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        made[i] = (struct made){tuning->records.items[i].time, i};
    qsort(made, count, sizeof *made, compare_made);
    for (size_t i = 0; i < count; i++)
        tuning->order[i] = made[i].record;
    free(made);
    return HN_OK;
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

size_t hn_report_find(const struct hn_records *records, const struct hn_bindings *point)
{
    for (size_t i = 0; i < records->count; i++)
        if (hn_bindings_equal(&records->items[i].point, point))
            return i;
    return SIZE_MAX;
}

/* In the order of their names, until a plan or config says another. */
static enum hn_status name_parameters(struct hn_report_tuning *tuning, struct hn_error *err)
{
    if (tuning->records.count == 0)
        return HN_OK;
    const struct hn_bindings *point = &tuning->records.items[0].point;
    tuning->parameters = calloc(point->count + 1, sizeof *tuning->parameters);
    if (tuning->parameters == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < point->count; i++) {
        tuning->parameters[i] = strdup(point->names[i]);
        if (tuning->parameters[i] == NULL)
            return hn_fail_memory(err);
        tuning->parameter_count++;
    }
    return HN_OK;
}

/* "16 configurations for M 1 to 4096; at 40 sizes …", of the rule of that kernel and device. */
static enum hn_status describe_family(struct hn_report_tuning *tuning, struct hn_store *store,
                                      struct hn_error *err)
{
    struct hn_stored_rules rules;
    const struct hn_identity *own = &tuning->identity;
    enum hn_status status = hn_store_get_rules(store, own->kernel, &rules, err);
    for (size_t i = 0; status == HN_OK && tuning->family == NULL && i < rules.count; i++) {
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
        tuning->family = hn_text_take(&text);
        if (tuning->family == NULL)
            status = hn_fail_memory(err);
    }
    hn_stored_rules_free(&rules);
    return status;
}

enum hn_status hn_report_add_tuned(struct hn_report *report, struct hn_store *store,
                                   const char *path, const struct hn_tuned *tuned,
                                   struct hn_error *err)
{
    struct hn_report_tuning *tuning = append(report);
    if (tuning == NULL)
        return hn_fail_memory(err);
    tuning->version = tuned->version;
    tuning->simulated = tuned->simulated;
    tuning->stale = tuned->stale;
    struct hn_text source;
    hn_text_init(&source);
    hn_text_append(&source, path);
    if (hn_origin_is_foreign(&tuned->origin)) {
        hn_text_append(&source, ", ");
        hn_origin_append(&source, &tuned->origin);
    }
    tuning->source = hn_text_take(&source);
    enum hn_status status = tuning->source == NULL
                                ? hn_fail_memory(err)
                                : hn_identity_copy(&tuning->identity, &tuned->identity, err);
    if (status == HN_OK)
        status = hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated,
                               &tuning->records, err);
    if (status == HN_OK)
        status = hn_store_get_command(store, tuned->session_id, &tuning->command, err);
    if (status == HN_OK)
        status = describe_family(tuning, store, err);
    if (status == HN_OK)
        status = name_parameters(tuning, err);
    if (status == HN_OK)
        status = order_records(tuning, err);
    tuning->best = hn_report_find(&tuning->records, &tuned->best.point);
    return status;
}

enum hn_status hn_report_add_recording(struct hn_report *report, const char *path,
                                       struct hn_error *err)
{
    struct hn_recording recording;
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    struct hn_report_tuning *tuning = append(report);
    if (tuning == NULL) {
        hn_recording_finish(&recording);
        return hn_fail_memory(err);
    }
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
    tuning->source = strdup(path);
    return tuning->source == NULL ? hn_fail_memory(err) : order_records(tuning, err);
}
