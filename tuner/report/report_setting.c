/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_kept.h"
#include "tuner/report/format.h"
#include "tuner/report/recall_shared.h"
#include "tuner/report/report.h"

static enum hn_status set_string(char **to, const char *from, struct hn_error *err)
{
    free(*to);
    *to = from == NULL ? NULL : strdup(from);
    return from != NULL && *to == NULL ? hn_fail_memory(err) : HN_OK;
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

static enum hn_status take_plan(struct hn_report_tuning *tuning, const struct hn_plan *plan,
                                const char *path, struct hn_error *err)
{
    enum hn_status status = set_string(&tuning->merit, hn_format_merit_name(plan), err);
    if (status == HN_OK)
        status = set_string(&tuning->config, path, err);
    order_parameters(tuning, plan);
    return status;
}

static enum hn_status add_step(struct hn_report_tuning *tuning, const struct hn_bindings *defaults,
                               const struct hn_bindings *set, struct hn_error *err)
{
    struct hn_bindings point;
    struct hn_report_step *step = &tuning->ladder[tuning->ladder_count];
    enum hn_status status = hn_bindings_copy(&point, defaults, err);
    if (status == HN_OK)
        status = hn_bindings_merge(&point, set, err);
    if (status == HN_OK)
        status = hn_bindings_copy(&step->set, set, err);
    if (status == HN_OK) {
        step->record = hn_report_find(&tuning->records, &point);
        tuning->ladder_count++;
    }
    hn_bindings_finish(&point);
    return status;
}

enum hn_status hn_report_apply_config(struct hn_report_tuning *tuning,
                                      const struct hn_config *config, struct hn_error *err)
{
    enum hn_status status = take_plan(tuning, config->plan, config->path, err);
    tuning->stale |= hn_config_has_changed(config, &tuning->identity, &tuning->version);
    if (status != HN_OK || tuning->ladder != NULL)
        return status;
    tuning->ladder = calloc(config->ladder_count + 1, sizeof *tuning->ladder);
    if (tuning->ladder == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; status == HN_OK && i < config->ladder_count; i++)
        status = add_step(tuning, &config->plan->defaults, &config->ladder[i], err);
    return status;
}

/* The ladder stands in the config only: it is looked up where the config was when it was tuned. */
static enum hn_status apply_config_of(struct hn_report_tuning *tuning, const struct hn_plan *plan,
                                      struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_error ignored;
    if (plan->config == NULL || hn_config_load(plan->config, &config, &ignored) != HN_OK)
        return HN_OK;
    enum hn_status status = HN_OK;
    if (strcmp(config->plan->kernel, plan->kernel) == 0)
        status = hn_report_apply_config(tuning, config, err);
    hn_config_destroy(config);
    return status;
}

enum hn_status hn_report_apply_plan(struct hn_report_tuning *tuning, struct hn_store *store,
                                    struct hn_error *err)
{
    struct hn_stored_plan stored = {.json = NULL};
    struct hn_plan *plan = NULL;
    struct hn_error ignored;
    json_t *json = NULL;
    if (hn_store_get_plan(store, tuning->identity.kernel, &tuning->version, &stored, &ignored) !=
        HN_OK)
        return HN_OK; /* imported results have none */
    hn_records_recall_shared(stored.json, &tuning->identity.problem, &tuning->records);
    json = json_loads(stored.json, 0, NULL);
    enum hn_status status = HN_OK;
    if (json != NULL && hn_plan_from_json(json, &plan, &ignored) == HN_OK) {
        status = take_plan(tuning, plan, plan->config, err);
        if (status == HN_OK)
            status = apply_config_of(tuning, plan, err);
        hn_plan_destroy(plan);
    }
    json_decref(json);
    hn_stored_plan_free(&stored);
    return status;
}
