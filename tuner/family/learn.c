/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/family/learning.h"
#include "tuner/family/pick.h"
#include "tuner/family/splits.h"

/* What one more configuration has to save of the mean time. */
static const double least_gain = 0.0005;
/* Enough to tell which points go together well. */
enum { SAMPLES_OF_ALL = 4000 };

static enum hn_status pick(struct hn_learning *learning, struct hn_error *err)
{
    const struct hn_forecast *forecast = &learning->all.forecast;
    size_t points = learning->all.matrix->point_count, samples = forecast->places.count;
    double *costs = malloc((points * samples + 1) * sizeof *costs);
    if (costs == NULL)
        return hn_fail_memory(err);
    size_t most = learning->kernel->family->configurations;
    hn_learning_costs(learning, &learning->all, costs);
    const struct hn_costs_table table = {points, samples, costs, forecast->weights};
    enum hn_status status = hn_pick(&table, most < HN_MATRIX_POINTS ? most : HN_MATRIX_POINTS,
                                    least_gain, learning->learnt->picked, &learning->count, err);
    free(costs);
    return status;
}

static enum hn_status fill_configurations(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    rule->configurations = calloc(learning->count, sizeof *rule->configurations);
    if (rule->configurations == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < learning->count && status == HN_OK; i++) {
        status = hn_bindings_copy(&rule->configurations[i],
                                  &learning->picked.matrix->points[i].values, err);
        rule->configuration_count += status == HN_OK;
    }
    return status;
}

/* By what they cost, and the default point where they can not be used: so what serves few problems
 * comes late. The default point is last, since it serves all. */
static enum hn_status order_fallback(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_forecast *forecast = &learning->picked.forecast;
    size_t samples = forecast->places.count, count = learning->count;
    double *sums = calloc(count, sizeof *sums);
    rule->fallback = calloc(count, sizeof *rule->fallback);
    if (sums == NULL || rule->fallback == NULL) {
        free(sums);
        return hn_fail_memory(err);
    }
    for (size_t c = 0; c < count; c++)
        for (size_t s = 0; s < samples; s++) {
            double own = learning->costs[c * samples + s], instead = learning->costs[s];
            double cost = !isinf(own) ? own : isinf(instead) ? 0 : instead;
            sums[c] += forecast->weights[s] * cost;
        }
    sums[0] = INFINITY;
    for (size_t c = 0; c < count; c++) {
        size_t place = c;
        for (; place > 0 && sums[c] < sums[rule->fallback[place - 1]]; place--)
            rule->fallback[place] = rule->fallback[place - 1];
        rule->fallback[place] = (int)c;
    }
    rule->fallback_count = count;
    free(sums);
    return HN_OK;
}

/* Of all samples, then of all sizes. */
static enum hn_status evaluate_features(struct hn_learning *learning, struct hn_error *err)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_places *samples = &learning->picked.forecast.places;
    const struct hn_places *sizes = &learning->picked.sizes;
    size_t all = samples->count + sizes->count;
    int64_t own[HN_RULE_FEATURES_MOST];
    bool inside;
    learning->features = calloc(rule->feature_count * all + 1, sizeof *learning->features);
    if (learning->features == NULL)
        return hn_fail_memory(err);
    int64_t *of_sizes = learning->features + rule->feature_count * samples->count;
    for (size_t i = 0; i < all; i++) {
        bool is_sample = i < samples->count;
        size_t place = is_sample ? i : i - samples->count;
        const struct hn_places *places = is_sample ? samples : sizes;
        if (!hn_rule_evaluate(rule, &places->problems[place], own, &inside))
            return hn_fail(err, HN_ECONFIG, "the problems of the family have different names");
        for (size_t f = 0; f < rule->feature_count; f++)
            (is_sample ? learning->features : of_sizes)[f * places->count + place] = own[f];
    }
    return HN_OK;
}

/* Features that no node asks for are left out. */
static enum hn_status drop_unused(struct hn_rule *rule, struct hn_error *err)
{
    int *renamed = calloc(rule->feature_count + 1, sizeof *renamed);
    size_t kept = 0;
    if (renamed == NULL)
        return hn_fail_memory(err);
    for (size_t n = 0; n < rule->node_count; n++)
        if (rule->nodes[n].feature >= 0)
            renamed[rule->nodes[n].feature] = 1;
    for (size_t f = 0; f < rule->feature_count; f++) {
        struct hn_rule_feature feature = rule->features[f];
        if (renamed[f] == 0) {
            free(feature.text);
            hn_expression_destroy(feature.expression);
            continue;
        }
        renamed[f] = (int)kept;
        rule->features[kept++] = feature;
    }
    rule->feature_count = kept;
    for (size_t n = 0; n < rule->node_count; n++)
        if (rule->nodes[n].feature >= 0)
            rule->nodes[n].feature = renamed[rule->nodes[n].feature];
    free(renamed);
    return HN_OK;
}

static enum hn_status see_sizes(const struct hn_family_kernel *kernel, struct hn_outlook *outlook,
                                struct hn_error *err)
{
    const struct hn_matrix *matrix = outlook->matrix;
    enum hn_status status = hn_places_init(&outlook->sizes, kernel->family, matrix->point_count,
                                           matrix->size_count, err);
    for (size_t s = 0; s < matrix->size_count && status == HN_OK; s++)
        status = hn_places_add(&outlook->sizes, &matrix->sizes[s].problem, err);
    return status == HN_OK ? hn_places_see(&outlook->sizes, kernel, matrix, err) : status;
}

/* Of the points of a matrix, at so many samples. `like` has the lengths and terms of the models. */
static enum hn_status look_out(const struct hn_learning *learning, const struct hn_matrix *matrix,
                               size_t samples, const struct hn_models *like,
                               struct hn_outlook *outlook, struct hn_error *err)
{
    const struct hn_family_kernel *kernel = learning->kernel;
    outlook->matrix = matrix;
    enum hn_status status = see_sizes(kernel, outlook, err);
    if (status == HN_OK)
        status = hn_models_make(kernel->family, matrix, &outlook->sizes, NULL, like,
                                &outlook->models, err);
    if (status == HN_OK)
        status = hn_forecast_init(&outlook->forecast, kernel, matrix, learning->options->seed,
                                  samples, err);
    if (status == HN_OK)
        status = hn_forecast_make(&outlook->forecast, outlook->models, matrix, NULL, err);
    return status;
}

static void finish_outlook(struct hn_outlook *outlook)
{
    hn_places_finish(&outlook->sizes);
    hn_forecast_finish(&outlook->forecast);
    hn_models_destroy(outlook->models);
}

/* Up to where features can be evaluated: a rule of one leaf. */
static enum hn_status begin_rule(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    rule->worst = learning->kernel->family->worst;
    enum hn_status status = fill_configurations(learning, err);
    learning->costs = malloc((learning->count * learning->picked.forecast.places.count + 1) *
                             sizeof *learning->costs);
    rule->nodes = calloc(1, sizeof *rule->nodes);
    if (status == HN_OK && (learning->costs == NULL || rule->nodes == NULL))
        status = hn_fail_memory(err);
    if (status != HN_OK)
        return status;
    rule->nodes[0] = (struct hn_rule_node){.feature = -1};
    rule->node_count = 1;
    hn_learning_costs(learning, &learning->picked, learning->costs);
    status = order_fallback(learning, err);
    if (status == HN_OK)
        status = hn_splits_make(learning->kernel->family, learning->kernel->plan,
                                &learning->picked.sizes.problems[0], rule, err);
    if (status == HN_OK)
        status = hn_rule_complete(rule, err);
    return status == HN_OK ? evaluate_features(learning, err) : status;
}

static enum hn_status take_tree(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    free(rule->nodes);
    rule->nodes = NULL;
    rule->node_count = 0;
    return hn_learning_tree(learning, NULL, &rule->nodes, &rule->node_count, err);
}

/* From what is picked to the rule. */
static enum hn_status learn(struct hn_learning *learning, struct hn_error *err)
{
    enum hn_status status = begin_rule(learning, err);
    if (status == HN_OK)
        status = hn_learning_predict_loss(learning, err);
    if (status == HN_OK)
        status = take_tree(learning, err);
    if (status == HN_OK)
        status = hn_learning_mark_sure(learning, err);
    if (status == HN_OK)
        status = hn_learning_find_wanted(learning, err);
    if (status == HN_OK)
        status = hn_learning_find_search(learning, err);
    if (status == HN_OK)
        status = drop_unused(&learning->learnt->rule, err);
    if (status == HN_OK)
        status = hn_rule_complete(&learning->learnt->rule, err);
    return status;
}

enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt,
                        struct hn_error *err)
{
    struct hn_learning learning = {.kernel = kernel, .options = options, .learnt = learnt};
    struct hn_matrix *picked = NULL;
    size_t some = options->samples < SAMPLES_OF_ALL ? options->samples : SAMPLES_OF_ALL;
    *learnt = (struct hn_learnt){.wanted_count = 0};
    hn_rule_init(&learnt->rule);
    enum hn_status status = look_out(&learning, matrix, some, NULL, &learning.all, err);
    if (status == HN_OK)
        status = pick(&learning, err);
    if (status == HN_OK)
        status = hn_matrix_pick(matrix, learnt->picked, learning.count, &picked, err);
    if (status == HN_OK)
        status = look_out(&learning, picked, options->samples, learning.all.models,
                          &learning.picked, err);
    if (status == HN_OK)
        status = learn(&learning, err);
    finish_outlook(&learning.all);
    finish_outlook(&learning.picked);
    hn_matrix_destroy(picked);
    free(learning.features);
    free(learning.costs);
    if (status != HN_OK)
        hn_learnt_finish(learnt);
    return status;
}
