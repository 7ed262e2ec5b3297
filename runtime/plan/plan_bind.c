/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/plan/plan.h"

/* Binds a plan's expressions until one fails. */
struct binder {
    struct hn_scope scope;
    const struct hn_expression **failed;
    enum hn_status status;
    struct hn_error *err;
};

static void bind(struct binder *binder, struct hn_expression *expression)
{
    if (binder->status != HN_OK || expression == NULL)
        return;
    binder->status = hn_expression_bind(expression, &binder->scope, binder->err);
    if (binder->status != HN_OK && binder->failed != NULL)
        *binder->failed = expression;
}

static void bind_step(struct binder *binder, const struct hn_step *step)
{
    struct hn_expression *list[HN_GEOMETRY_EXPRESSIONS];
    bind(binder, step->condition);
    hn_geometry_list(&step->geometry, list);
    for (size_t i = 0; i < HN_GEOMETRY_EXPRESSIONS; i++)
        bind(binder, list[i]);
}

static void bind_option(struct binder *binder, const struct hn_option *option)
{
    bind(binder, option->condition);
    for (size_t i = 0; i < option->hole_count; i++)
        bind(binder, option->holes[i]);
}

static void bind_compare(struct binder *binder, const struct hn_compare *compare)
{
    bind(binder, compare->relative);
    bind(binder, compare->absolute);
}

/* Pitches are made of names alone, so that there is an order to evaluate them in. */
static void bind_shape(struct binder *binder, const struct hn_plan *plan,
                       const struct hn_shape *shape)
{
    binder->scope.name_count = plan->name_count;
    bind(binder, shape->width);
    bind(binder, shape->height);
    bind(binder, shape->pitch);
    binder->scope.name_count = hn_plan_slot_count(plan);
}

/* How the extent is cut is not for a chunk to say. */
static void bind_pipeline(struct binder *binder, const struct hn_plan *plan)
{
    if (plan->pipeline == NULL)
        return;
    binder->scope.name_count = plan->name_count + plan->pitch_count;
    for (size_t i = 0; i < HN_PIPELINE_FIELD_COUNT; i++)
        bind(binder, plan->pipeline->fields[i]);
    for (size_t i = 0; i < plan->pipeline->copy_count; i++)
        bind(binder, plan->pipeline->copies[i].condition);
    binder->scope.name_count = hn_plan_slot_count(plan);
}

static void bind_all_but_metrics(struct binder *binder, const struct hn_plan *plan)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        bind_shape(binder, plan, &plan->arguments[i].shape);
    bind_pipeline(binder, plan);
    for (size_t i = 0; i < plan->argument_count; i++) {
        bind(binder, plan->arguments[i].count);
        bind(binder, plan->arguments[i].value);
        bind(binder, plan->arguments[i].condition);
        bind(binder, plan->arguments[i].fill.expressions[0]);
        bind(binder, plan->arguments[i].fill.expressions[1]);
        if (plan->arguments[i].compare != NULL)
            bind_compare(binder, plan->arguments[i].compare);
    }
    for (size_t i = 0; i < plan->step_count; i++)
        bind_step(binder, &plan->steps[i]);
    for (size_t i = 0; i < plan->option_count; i++)
        bind_option(binder, &plan->options[i]);
    for (size_t i = 0; i < plan->constraint_count; i++)
        bind(binder, plan->constraints[i]);
    bind_step(binder, &plan->reference.step);
    bind_compare(binder, &plan->compare);
}

static size_t count_words(const struct hn_plan *plan)
{
    size_t count = HN_ACCESS_COUNT;
    if (plan->pipeline != NULL)
        count += HN_ORDER_COUNT + HN_HOST_MEMORY_COUNT;
    for (size_t i = 0; i < plan->word_list_count; i++)
        count += plan->word_lists[i].count;
    return count;
}

/* All names in slot order: the plan's, pitches, time_us, metric arguments, metrics. Returns how
 * many come before the metrics. */
static size_t collect_names(const struct hn_plan *plan, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->name_count; i++)
        names[count++] = plan->names[i];
    for (size_t i = 0; i < plan->pitch_count; i++)
        names[count++] = plan->pitches[i];
    for (size_t i = 0; plan->pipeline != NULL && i < HN_CHUNK_NAMES; i++)
        names[count++] = hn_chunk_names[i];
    names[count++] = "time_us";
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == HN_ROLE_METRIC)
            names[count++] = plan->arguments[i].name;
    for (size_t i = 0; i < plan->metric_count; i++)
        names[count + i] = plan->metrics[i].name;
    return count;
}

/* Those of a window may stand in no list of the config. */
static void collect_words(const struct hn_plan *plan, const char **words)
{
    size_t count = 0;
    for (size_t i = 0; i < HN_ACCESS_COUNT; i++)
        words[count++] = hn_access_names[i];
    for (size_t i = 0; i < plan->word_list_count; i++)
        for (size_t w = 0; w < plan->word_lists[i].count; w++)
            words[count++] = plan->word_lists[i].words[w];
    for (size_t i = 0; plan->pipeline != NULL && i < HN_ORDER_COUNT; i++)
        words[count++] = hn_order_names[i];
    for (size_t i = 0; plan->pipeline != NULL && i < HN_HOST_MEMORY_COUNT; i++)
        words[count++] = hn_host_memory_names[i];
}

enum hn_status hn_plan_bind(struct hn_plan *plan, const struct hn_expression **failed,
                            struct hn_error *err)
{
    size_t most = hn_plan_slot_count(plan) + 1 + plan->argument_count + plan->metric_count;
    size_t word_count = count_words(plan);
    const char **names = calloc(most, sizeof *names);
    const char **words = calloc(word_count + 1, sizeof *words);
    struct binder binder = {.failed = failed, .status = HN_OK, .err = err};
    if (names == NULL || words == NULL) {
        binder.status = hn_fail_memory(err);
        goto free_names;
    }
    size_t before_metrics = collect_names(plan, names);
    collect_words(plan, words);
    binder.scope = (struct hn_scope){names, hn_plan_slot_count(plan), words, word_count};
    bind_all_but_metrics(&binder, plan);
    for (size_t i = 0; i < plan->metric_count; i++) {
        binder.scope.name_count = before_metrics + i;
        bind(&binder, plan->metrics[i].expression);
    }

free_names:
    free(words);
    free(names);
    return binder.status;
}
