/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/launch.h"
#include "tuner/config/config_parts.h"

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

static void read_metric(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_metric *metric)
{
    const struct hn_plan *plan = reader->config->plan;
    const char *name = node->key->text;
    hn_config_expect(reader, hn_text_is_word(name), node->key, "a name for a metric");
    if (strcmp(name, "time") == 0 || strcmp(name, "time_us") == 0)
        hn_config_fail(reader, node->key, "'%s' is measured, it can not be a metric", name);
    if (is_plan_name(plan, name) || is_word_or_argument(plan, name))
        hn_config_fail(reader, node->key,
                       "metric '%s' has the name of a parameter, problem value, word or metric "
                       "argument; rename it",
                       name);
    hn_config_copy(reader, name, &metric->name);
    hn_config_read_expression(reader, node, &metric->expression);
}

static const char *const measured[] = {"time", "energy", "energy_delay"};
enum { MEASURED_COUNT = sizeof measured / sizeof *measured };

static void read_objective(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    const char **known =
        hn_config_allocate(reader, plan->metric_count + MEASURED_COUNT, sizeof *known);
    hn_config_expect_kind(reader, node, HN_YAML_SCALAR,
                          "time, energy, energy_delay or the name of a metric");
    if (known != NULL) {
        for (size_t i = 0; i < MEASURED_COUNT; i++)
            known[i] = measured[i];
        for (size_t i = 0; i < plan->metric_count; i++)
            known[i + MEASURED_COUNT] = plan->metrics[i].name;
        int chosen = hn_config_read_choice(reader, node, "objective", known,
                                           plan->metric_count + MEASURED_COUNT);
        hn_config_copy(reader, known[chosen], &plan->objective);
    }
    free(known);
}

static void read_direction(struct hn_config_reader *reader, const struct hn_yaml *objective)
{
    static const char *const directions[] = {"minimize", "maximize"};
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "direction");
    if (reader->status != HN_OK)
        return;
    enum hn_front_by by;
    bool least = strcmp(plan->objective, "time") == 0 || hn_plan_weighs(plan, &by);
    if (node == NULL && !least)
        hn_config_fail(reader, objective,
                       "objective '%s' needs 'direction: minimize' or 'direction: maximize'",
                       plan->objective);
    plan->maximize = hn_config_read_choice(reader, node, "direction", directions, 2) == 1;
    if (least && plan->maximize)
        hn_config_fail(reader, node, "%s can only be minimized", plan->objective);
}

void hn_config_read_metrics(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "metrics");
    const struct hn_yaml *objective = hn_yaml_get(reader->root, "objective");
    hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping of names to expressions");
    plan->metrics =
        hn_config_allocate(reader, node == NULL ? 0 : node->count, sizeof *plan->metrics);
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child))
        read_metric(reader, child, &plan->metrics[plan->metric_count++]);
    read_objective(reader, objective);
    read_direction(reader, objective);
}
