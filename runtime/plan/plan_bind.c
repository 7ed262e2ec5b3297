/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_json.h"
#include "base/text.h"
#include "runtime/plan/plan.h"

/* Binds a plan's expressions until one fails. */
struct binder {
    const struct hn_plan *plan;
    struct hn_scope scope;
    const char **names;    /* of the scope, whose one behind the slots depends on the field */
    size_t before_metrics; /* names that the first metric sees */
    const struct hn_expression **failed;
    enum hn_status status;
    struct hn_error *err;
};

static bool is_grid_of_reference(const struct hn_plan *plan, const struct hn_expression *expression)
{
    bool is = false;
    for (size_t i = 0; i < 3; i++)
        is = is || plan->reference.step.geometry.grid[i] == expression;
    return is;
}

/* That `max_active_clusters` stands in a grid, where it has a value. */
static enum hn_status check_clusters(const struct hn_plan *plan,
                                     const struct hn_expression *expression,
                                     const struct hn_field *field, struct hn_error *err)
{
    bool in_grid = field->tag == HN_SEES_CLUSTERS && !is_grid_of_reference(plan, expression);
    if (!hn_text_has_word(hn_expression_text(expression), hn_clusters_name,
                          strlen(hn_clusters_name)))
        return HN_OK;
    for (size_t i = 0; i < plan->name_count; i++)
        if (strcmp(plan->names[i], hn_clusters_name) == 0)
            return HN_OK;
    if (in_grid && plan->pipeline == NULL)
        return HN_OK;
    return hn_fail(err, HN_ECONFIG,
                   "'%s' is known once a kernel is compiled and loaded, and so it stands in a "
                   "'grid' of 'launch' alone%s",
                   hn_clusters_name, in_grid ? ", and not with a pipeline" : "");
}

static void bind(void *context, struct hn_expression *expression, const struct hn_field *field,
                 size_t item)
{
    struct binder *binder = context;
    const struct hn_plan *plan = binder->plan;
    const size_t names[] = {
        [HN_SEES_ALL] = hn_plan_slot_count(plan),
        [HN_SEES_NAMES] = plan->name_count,
        [HN_SEES_PITCHES] = plan->name_count + plan->pitch_count,
        [HN_SEES_METRICS] = binder->before_metrics + item,
        [HN_SEES_CLUSTERS] = hn_plan_slot_count(plan) + 1,
    };
    if (binder->status != HN_OK)
        return;
    binder->names[hn_plan_slot_count(plan)] =
        field->tag == HN_SEES_CLUSTERS ? hn_clusters_name : "time_us";
    binder->scope.name_count = names[field->tag];
    binder->status = check_clusters(plan, expression, field, binder->err);
    if (binder->status == HN_OK)
        binder->status = hn_expression_bind(expression, &binder->scope, binder->err);
    if (binder->status != HN_OK && binder->failed != NULL)
        *binder->failed = expression;
}

static size_t count_words(const struct hn_plan *plan)
{
    size_t count = HN_ACCESS_COUNT;
    if (plan->pipeline != NULL)
        count += HN_ORDER_COUNT + HN_HOST_MEMORY_COUNT;
    if (hn_plan_has_role(plan, HN_ROLE_TENSOR_MAP))
        count += HN_TENSOR_FILL_COUNT;
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

/* Those of a window or a tensor map may stand in no list of the config. */
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
    bool mapped = hn_plan_has_role(plan, HN_ROLE_TENSOR_MAP);
    for (size_t i = 0; mapped && i < HN_TENSOR_FILL_COUNT; i++)
        words[count++] = hn_tensor_fills[i];
}

enum hn_status hn_plan_bind(struct hn_plan *plan, const struct hn_expression **failed,
                            struct hn_error *err)
{
    size_t most = hn_plan_slot_count(plan) + 1 + plan->argument_count + plan->metric_count;
    size_t word_count = count_words(plan);
    const char **names = calloc(most, sizeof *names);
    const char **words = calloc(word_count + 1, sizeof *words);
    struct binder binder = {.plan = plan, .failed = failed, .err = err};
    if (names == NULL || words == NULL) {
        binder.status = hn_fail_memory(err);
        goto free_names;
    }
    binder.before_metrics = collect_names(plan, names);
    collect_words(plan, words);
    binder.names = names;
    binder.scope = (struct hn_scope){names, 0, words, word_count};
    hn_expressions_walk(&hn_plan_structure, plan, bind, &binder);

free_names:
    free(words);
    free(names);
    return binder.status;
}
