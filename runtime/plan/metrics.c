/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/launch.h"

static enum hn_status evaluate_metric(const struct hn_metric *metric, const struct hn_value *values,
                                      struct hn_value *result, struct hn_error *err)
{
    struct hn_error reason = {.message = ""};
    double number = 0;
    enum hn_status status = hn_expression_number(metric->expression, values, &number, &reason);
    if (status == HN_OK)
        status = hn_expression_evaluate(metric->expression, values, result, &reason);
    if (status != HN_OK)
        return hn_fail(err, status, "metric %s: %.3000s", metric->name, reason.message);
    return HN_OK;
}

/* A metric without a value for this variant is NaN; where it is the objective, the variant can not
 * be compared. */
static void leave_out(const struct hn_plan *plan, const struct hn_metric *metric,
                      const struct hn_error *reason, struct hn_value *value,
                      struct hn_record *record)
{
    *value = hn_real((double)NAN);
    if (plan->objective != NULL && strcmp(plan->objective, metric->name) == 0)
        hn_record_fail(record, HN_OUTCOME_SKIPPED, "the objective has no value: %s",
                       reason->message);
}

/* A metric sees those before it by their slots. */
static enum hn_status evaluate_metrics(const struct hn_plan *plan, struct hn_value *values,
                                       size_t first_slot, struct hn_record *record,
                                       struct hn_error *err)
{
    for (size_t i = 0; i < plan->metric_count; i++) {
        struct hn_value *value = &values[first_slot + i];
        struct hn_error reason;
        enum hn_status status = evaluate_metric(&plan->metrics[i], values, value, &reason);
        if (status == HN_EVALUE) {
            leave_out(plan, &plan->metrics[i], &reason, value, record);
            status = HN_OK;
        }
        if (status != HN_OK)
            return hn_fail(err, status, "%s", reason.message);
        if (status == HN_OK)
            status = hn_bindings_set(&record->metrics, plan->metrics[i].name, value, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

bool hn_plan_weighs(const struct hn_plan *plan, enum hn_front_by *by)
{
    if (plan->objective == NULL || !hn_front_parse(plan->objective, by))
        return false;
    for (size_t i = 0; i < plan->metric_count; i++)
        if (strcmp(plan->metrics[i].name, plan->objective) == 0)
            return false;
    return true;
}

static enum hn_status set_objective(const struct hn_plan *plan, struct hn_record *record,
                                    struct hn_error *err)
{
    double value = record->timing.median_us;
    enum hn_front_by by;
    if (hn_plan_weighs(plan, &by)) {
        value = hn_front_objective(record, by);
    } else if (plan->objective != NULL && strcmp(plan->objective, "time") != 0) {
        const struct hn_value *metric = hn_bindings_get(&record->metrics, plan->objective);
        if (metric == NULL)
            return hn_fail(err, HN_ECONFIG, "objective '%s' is no metric", plan->objective);
        value = hn_value_number(metric);
    }
    if (record->outcome != HN_OUTCOME_SKIPPED)
        record->objective = plan->maximize ? -value : value;
    return HN_OK;
}

enum hn_status hn_metrics_evaluate(const struct hn_plan *plan, const struct hn_bindings *problem,
                                   struct hn_record *record, struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status = hn_plan_values(plan, problem, &record->point, &values, err);
    if (status != HN_OK)
        return status;
    size_t slot = hn_plan_slot_count(plan);
    values[slot++] = hn_real(record->timing.median_us);
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (plan->arguments[i].role != HN_ROLE_METRIC)
            continue;
        const struct hn_value *mean = hn_bindings_get(&record->metrics, plan->arguments[i].name);
        values[slot++] = hn_real(mean != NULL ? hn_value_number(mean) : (double)NAN);
    }
    status = evaluate_metrics(plan, values, slot, record, err);
    free(values);
    return status == HN_OK ? set_objective(plan, record, err) : status;
}
