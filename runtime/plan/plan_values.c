/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan.h"

static bool is_taken(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->name_count; i++)
        if (strcmp(plan->names[i], name) == 0)
            return true;
    for (size_t i = 0; i < plan->word_list_count; i++)
        for (size_t j = 0; j < plan->word_lists[i].count; j++)
            if (strcmp(plan->word_lists[i].words[j], name) == 0)
                return true;
    const struct hn_argument *argument = hn_plan_find_argument(plan, name);
    return argument != NULL && argument->role == HN_ROLE_METRIC;
}

enum hn_status hn_plan_name_pitches(struct hn_plan *plan, struct hn_error *err)
{
    plan->pitches = calloc(plan->argument_count + 1, sizeof *plan->pitches);
    if (plan->pitches == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        char *name = NULL;
        if (argument->shape.width == NULL)
            continue;
        if (asprintf(&name, "%s_pitch", argument->name) < 0)
            return hn_fail_memory(err);
        plan->pitches[plan->pitch_count++] = name;
        if (is_taken(plan, name))
            return hn_fail(err, HN_ECONFIG,
                           "expressions know the pitch of argument '%s' as '%s', which is the name "
                           "of something else; rename one",
                           argument->name, name);
    }
    return HN_OK;
}

/* The argument whose pitch is in that slot behind the names. */
static const struct hn_argument *argument_of_pitch(const struct hn_plan *plan, size_t pitch)
{
    const struct hn_argument *argument = plan->arguments;
    for (;; argument++)
        if (argument->shape.width != NULL && pitch-- == 0)
            return argument;
}

/* Outside of its chunks a plan's chunk is the whole extent. */
static bool uses_chunk(const struct hn_plan *plan, const struct hn_expression *expression)
{
    if (plan->pipeline == NULL)
        return false;
    for (size_t i = 0; i < HN_CHUNK_NAMES; i++)
        if (hn_expression_uses(expression, plan->name_count + plan->pitch_count + i))
            return true;
    return false;
}

bool hn_plan_uses(const struct hn_plan *plan, const struct hn_expression *expression, size_t slot)
{
    if (expression == NULL)
        return false;
    if (hn_expression_uses(expression, slot))
        return true;
    if (uses_chunk(plan, expression) &&
        hn_expression_uses(plan->pipeline->fields[HN_PIPELINE_OVER], slot))
        return true;
    for (size_t i = 0; i < plan->pitch_count; i++) {
        if (!hn_expression_uses(expression, plan->name_count + i))
            continue;
        const struct hn_shape *shape = &argument_of_pitch(plan, i)->shape;
        if (hn_expression_uses(shape->width, slot) ||
            (shape->pitch != NULL && hn_expression_uses(shape->pitch, slot)))
            return true;
    }
    return false;
}

static const char *find_used(const struct hn_plan *plan, char *const *names, size_t count,
                             const struct hn_expression *expression)
{
    for (size_t slot = 0; slot < plan->name_count; slot++) {
        if (!hn_plan_uses(plan, expression, slot))
            continue;
        for (size_t i = 0; i < count; i++)
            if (strcmp(plan->names[slot], names[i]) == 0)
                return plan->names[slot];
    }
    return NULL;
}

const char *hn_plan_parameter_used(const struct hn_plan *plan,
                                   const struct hn_expression *expression)
{
    return find_used(plan, plan->parameters, plan->parameter_count, expression);
}

const char *hn_plan_problem_used(const struct hn_plan *plan, const struct hn_expression *expression)
{
    return find_used(plan, plan->problem, plan->problem_count, expression);
}

static size_t count_metric_arguments(const struct hn_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->argument_count; i++)
        count += plan->arguments[i].role == HN_ROLE_METRIC ? 1 : 0;
    return count;
}

static const struct hn_value *look_up(const struct hn_plan *plan, const struct hn_bindings *problem,
                                      const struct hn_bindings *point, const char *name)
{
    const struct hn_value *value = hn_bindings_get(point, name);
    if (value == NULL)
        value = hn_bindings_get(problem, name);
    return value != NULL ? value : hn_bindings_get(&plan->defaults, name);
}

static enum hn_status evaluate_pitches(const struct hn_plan *plan, struct hn_value *values,
                                       struct hn_error *err)
{
    size_t slot = plan->name_count;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++) {
        uint64_t row, pitch;
        if (plan->arguments[i].shape.width == NULL)
            continue;
        status = hn_argument_evaluate_rows(&plan->arguments[i], values, &row, &pitch, err);
        values[slot++] = hn_integer((int64_t)pitch);
    }
    return status;
}

bool hn_plan_has_role(const struct hn_plan *plan, enum hn_role role)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == role)
            return true;
    return false;
}

bool hn_plan_allows_values(const struct hn_plan *plan, const struct hn_value *values)
{
    bool allows = true;
    for (size_t i = 0; allows && i < plan->constraint_count; i++) {
        struct hn_value holds = hn_boolean(false);
        allows = hn_expression_evaluate(plan->constraints[i], values, &holds, NULL) == HN_OK &&
                 hn_value_truth(&holds);
    }
    return allows;
}

enum hn_status hn_plan_allows(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, bool *allows, struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status = hn_plan_values(plan, problem, point, &values, err);
    *allows = status == HN_OK && hn_plan_allows_values(plan, values);
    free(values);
    return status;
}

static bool is_for(const struct hn_plan *plan, const struct hn_default *other,
                   const struct hn_value *values, const struct hn_bindings *problem)
{
    struct hn_value holds = hn_boolean(false);
    bool allowed = false;
    return hn_expression_evaluate(other->condition, values, &holds, NULL) == HN_OK &&
           hn_value_truth(&holds) &&
           hn_plan_allows(plan, problem, &other->point, &allowed, NULL) == HN_OK && allowed;
}

const struct hn_bindings *hn_plan_default(const struct hn_plan *plan,
                                          const struct hn_bindings *problem)
{
    const struct hn_bindings *found = &plan->defaults;
    struct hn_value *values = NULL;
    if (plan->other_default_count == 0 ||
        hn_plan_values(plan, problem, &plan->defaults, &values, NULL) != HN_OK)
        return found;
    for (size_t i = 0; i < plan->other_default_count && found == &plan->defaults; i++)
        if (is_for(plan, &plan->other_defaults[i], values, problem))
            found = &plan->other_defaults[i].point;
    free(values);
    return found;
}

size_t hn_plan_slot_count(const struct hn_plan *plan)
{
    return plan->name_count + plan->pitch_count + (plan->pipeline == NULL ? 0 : HN_CHUNK_NAMES);
}

void hn_plan_set_chunk(const struct hn_plan *plan, struct hn_value *values, int64_t begin,
                       int64_t count, int64_t index)
{
    struct hn_value *chunk = values + plan->name_count + plan->pitch_count;
    chunk[HN_CHUNK_BEGIN] = hn_integer(begin);
    chunk[HN_CHUNK_COUNT] = hn_integer(count);
    chunk[HN_CHUNK_INDEX] = hn_integer(index);
}

const char hn_clusters_name[] = "max_active_clusters";

/* What no device has room for. */
static const int64_t many_clusters = 1024;

bool hn_plan_asks_clusters(const struct hn_plan *plan, const struct hn_step *step)
{
    bool asks = false;
    for (size_t i = 0; i < 3; i++)
        asks = asks || (step->geometry.grid[i] != NULL &&
                        hn_expression_uses(step->geometry.grid[i], hn_plan_slot_count(plan)));
    return asks;
}

void hn_plan_set_clusters(const struct hn_plan *plan, struct hn_value *values, int64_t clusters)
{
    values[hn_plan_slot_count(plan)] = hn_integer(clusters);
}

static enum hn_status evaluate_extent(const struct hn_plan *plan, struct hn_value *values,
                                      struct hn_error *err)
{
    int64_t over = 0;
    enum hn_status status =
        hn_expression_integer(plan->pipeline->fields[HN_PIPELINE_OVER], values, &over, err);
    if (status == HN_OK && over < 1)
        return hn_fail(err, HN_EVALUE, "'over' of the pipeline is %lld, expected at least 1",
                       (long long)over);
    hn_plan_set_chunk(plan, values, 0, over, 0);
    return status;
}

enum hn_status hn_plan_values(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, struct hn_value **values,
                              struct hn_error *err)
{
    size_t extra = 1 + count_metric_arguments(plan) + plan->metric_count;
    struct hn_value *made = calloc(hn_plan_slot_count(plan) + extra, sizeof *made);
    if (made == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < plan->name_count; i++) {
        const struct hn_value *value = look_up(plan, problem, point, plan->names[i]);
        if (value == NULL) {
            free(made);
            return hn_fail(err, HN_ECONFIG, "'%s' has no value", plan->names[i]);
        }
        made[i] = *value;
    }
    hn_plan_set_clusters(plan, made, many_clusters);
    enum hn_status status = evaluate_pitches(plan, made, err);
    if (status == HN_OK && plan->pipeline != NULL)
        status = evaluate_extent(plan, made, err);
    if (status == HN_OK)
        *values = made;
    else
        free(made);
    return status;
}

const struct hn_word_list *hn_plan_find_words(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->word_list_count; i++) {
        if (strcmp(plan->word_lists[i].name, name) == 0)
            return &plan->word_lists[i];
    }
    return NULL;
}
