/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

static bool is_plan_name(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->name_count; i++)
        if (strcmp(plan->names[i], name) == 0)
            return true;
    return false;
}

static bool is_word_or_argument(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->word_list_count; i++)
        for (size_t w = 0; w < plan->word_lists[i].count; w++)
            if (strcmp(plan->word_lists[i].words[w], name) == 0)
                return true;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == HN_ROLE_METRIC && strcmp(plan->arguments[i].name, name) == 0)
            return true;
    return false;
}

static enum hn_status read_metric(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_metric *metric)
{
    const struct hn_plan *plan = reader->config->plan;
    const char *name = node->key->text;
    if (!hn_text_is_word(name))
        return hn_config_fail_found(reader, node->key, "a name for a metric");
    if (strcmp(name, "time") == 0 || strcmp(name, "time_us") == 0)
        return hn_config_fail(reader, node->key, "'%s' is measured, it can not be a metric", name);
    if (is_plan_name(plan, name) || is_word_or_argument(plan, name))
        return hn_config_fail(reader, node->key,
                              "metric '%s' has the name of a parameter, problem value, word or "
                              "metric argument; rename it",
                              name);
    metric->name = strdup(name);
    if (metric->name == NULL)
        return hn_fail_memory(reader->err);
    return hn_config_read_expression(reader, node, &metric->expression);
}

static enum hn_status read_objective(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "objective");
    const char *name = "time";
    if (node != NULL && node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "time or the name of a metric");
    if (node != NULL)
        name = node->text;
    plan->objective = strdup(name);
    const char **known = calloc(plan->metric_count + 1, sizeof *known);
    if (plan->objective == NULL || known == NULL) {
        free(known);
        return hn_fail_memory(reader->err);
    }
    bool found = strcmp(name, "time") == 0;
    known[0] = "time";
    for (size_t i = 0; i < plan->metric_count; i++) {
        known[i + 1] = plan->metrics[i].name;
        found = found || strcmp(name, plan->metrics[i].name) == 0;
    }
    enum hn_status status = found ? HN_OK
                                  : hn_config_fail_unknown(reader, node, "objective", name, known,
                                                           plan->metric_count + 1);
    free(known);
    return status;
}

static enum hn_status read_direction(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "direction");
    bool time = strcmp(plan->objective, "time") == 0;
    if (node == NULL)
        return time ? HN_OK
                    : hn_config_fail(reader, hn_yaml_get(reader->root, "objective"),
                                     "objective '%s' needs 'direction: minimize' or "
                                     "'direction: maximize'",
                                     plan->objective);
    bool scalar = node->kind == HN_YAML_SCALAR;
    plan->maximize = scalar && strcmp(node->text, "maximize") == 0;
    if (!plan->maximize && (!scalar || strcmp(node->text, "minimize") != 0))
        return hn_config_fail_found(reader, node, "minimize or maximize");
    if (time && plan->maximize)
        return hn_config_fail(reader, node, "time can only be minimized");
    return HN_OK;
}

enum hn_status hn_config_read_metrics(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "metrics");
    enum hn_status status = HN_OK;
    if (node != NULL) {
        status = hn_config_check_kind(reader, node, HN_YAML_MAPPING,
                                      "a mapping of names to expressions");
        if (status != HN_OK)
            return status;
        plan->metrics = calloc(node->count + 1, sizeof *plan->metrics);
        if (plan->metrics == NULL)
            return hn_fail_memory(reader->err);
        for (const struct hn_yaml *child = node->child; child != NULL && status == HN_OK;
             child = child->next) {
            plan->metric_count++;
            status = read_metric(reader, child, &plan->metrics[plan->metric_count - 1]);
        }
    }
    if (status == HN_OK)
        status = read_objective(reader);
    return status == HN_OK ? read_direction(reader) : status;
}
