/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/family/forecast.h"
#include "tuner/family/pick.h"
#include "tuner/family/splits.h"

enum { FOLDS = 5, MOST_LEAVES = 160, LEAST_SAMPLES = 4 };
/* What one more configuration, or one more leaf, has to save of the mean time. */
static const double least_gain = 0.0005, least_split_gain = 0.0001;
/* Where the worst ratio counts, a loss of 10% weighs as much as 23 of 1%. */
static const double worst_power = 16;
/* A leaf is sure where at most of its samples the loss, and one deviation of the prediction, is
 * below this. */
static const double sure_loss = 0.1, sure_share = 0.8;
/* Points predicted this near to the best may be the best. */
static const double promising_loss = 0.12;
enum { PROMISING_MOST = 12 };
static const double dear_us = 1000;

struct learning {
    const struct hn_family_kernel *kernel;
    const struct hn_matrix *matrix;
    const struct hn_learn_options *options;
    struct hn_learnt *learnt;
    struct hn_places sizes; /* of the matrix */
    struct hn_forecast forecast;
    struct hn_models *models;
    size_t count;      /* picked */
    int64_t *features; /* [feature][sample], then [feature][size] */
    double *costs;     /* [configuration][sample] */
    double *size_logs; /* [configuration][size]: of the time, as measured, else predicted; INFINITY:
                          it failed */
};

static const size_t *picked(const struct learning *learning)
{
    return learning->learnt->picked;
}

/* A loss in logarithms, as it counts. */
static double cost_of_loss(const struct learning *learning, double loss)
{
    double power = learning->kernel->family->worst ? worst_power : 1;
    return expm1(power * fmin(loss, 40 / power)) / power;
}

/* The least logarithm of a time at a sample, of all points. */
static double least_of(const struct learning *learning, const double *logarithms, size_t sample)
{
    double least = INFINITY;
    for (size_t p = 0; p < learning->matrix->point_count; p++)
        least = fmin(least, logarithms[p * learning->forecast.places.count + sample]);
    return least;
}

/* Losses of points against the best of all, as they count. */
static void find_costs(const struct learning *learning, const size_t *points, size_t count,
                       double *costs)
{
    const struct hn_forecast *forecast = &learning->forecast;
    size_t samples = forecast->places.count;
    for (size_t s = 0; s < samples; s++) {
        double least = least_of(learning, forecast->cautious, s);
        for (size_t c = 0; c < count; c++) {
            size_t point = points != NULL ? points[c] : c;
            double own = forecast->cautious[point * samples + s];
            costs[c * samples + s] = isinf(own) ? INFINITY : cost_of_loss(learning, own - least);
        }
    }
}

static enum hn_status pick(struct learning *learning, struct hn_error *err)
{
    size_t points = learning->matrix->point_count, samples = learning->forecast.places.count;
    double *costs = malloc((points * samples + 1) * sizeof *costs);
    if (costs == NULL)
        return hn_fail_memory(err);
    size_t most = learning->kernel->family->configurations;
    find_costs(learning, NULL, points, costs);
    const struct hn_costs_table table = {points, samples, costs, learning->forecast.weights};
    enum hn_status status = hn_pick(&table, most < HN_MATRIX_POINTS ? most : HN_MATRIX_POINTS,
                                    least_gain, learning->learnt->picked, &learning->count, err);
    free(costs);
    return status;
}

static enum hn_status fill_configurations(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    rule->configurations = calloc(learning->count, sizeof *rule->configurations);
    if (rule->configurations == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < learning->count && status == HN_OK; i++) {
        status = hn_bindings_copy(&rule->configurations[i],
                                  &learning->matrix->points[picked(learning)[i]].values, err);
        rule->configuration_count += status == HN_OK;
    }
    return status;
}

/* By what they cost, and the default point where they can not be used: so what serves few problems
 * comes late. The default point is last, since it serves all. */
static enum hn_status order_fallback(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    size_t samples = learning->forecast.places.count, count = learning->count;
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
            sums[c] += learning->forecast.weights[s] * cost;
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

/* What can not be used costs what is used instead. */
static void cost_fallback(struct learning *learning)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    size_t samples = learning->forecast.places.count;
    for (size_t s = 0; s < samples; s++) {
        double instead = INFINITY;
        for (size_t i = 0; i < rule->fallback_count && isinf(instead); i++)
            instead = learning->costs[(size_t)rule->fallback[i] * samples + s];
        for (size_t c = 0; c < learning->count; c++)
            if (isinf(learning->costs[c * samples + s]))
                learning->costs[c * samples + s] = isinf(instead) ? 100 : instead;
    }
}

/* Of all samples, then of all sizes. */
static enum hn_status evaluate_features(struct learning *learning, struct hn_error *err)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_places *samples = &learning->forecast.places;
    size_t all = samples->count + learning->sizes.count;
    int64_t own[HN_RULE_FEATURES_MOST];
    bool inside;
    learning->features = calloc(rule->feature_count * all + 1, sizeof *learning->features);
    if (learning->features == NULL)
        return hn_fail_memory(err);
    int64_t *of_sizes = learning->features + rule->feature_count * samples->count;
    for (size_t i = 0; i < all; i++) {
        bool is_sample = i < samples->count;
        size_t place = is_sample ? i : i - samples->count;
        const struct hn_places *places = is_sample ? samples : &learning->sizes;
        if (!hn_rule_evaluate(rule, &places->problems[place], own, &inside))
            return hn_fail(err, HN_ECONFIG, "the problems of the family have different names");
        for (size_t f = 0; f < rule->feature_count; f++)
            (is_sample ? learning->features : of_sizes)[f * places->count + place] = own[f];
    }
    return HN_OK;
}

static struct hn_choice_tree_data data_of_samples(const struct learning *learning)
{
    return (struct hn_choice_tree_data){
        .samples = learning->forecast.places.count,
        .choices = learning->count,
        .features = learning->learnt->rule.feature_count,
        .values = learning->features,
        .costs = learning->costs,
        .weights = learning->forecast.weights,
    };
}

/* For finding the leaf of a size. */
static struct hn_choice_tree_data data_of_sizes(const struct learning *learning)
{
    size_t features = learning->learnt->rule.feature_count;
    return (struct hn_choice_tree_data){
        .samples = learning->sizes.count,
        .features = features,
        .values = learning->features + features * learning->forecast.places.count,
    };
}

static enum hn_status grow(const struct learning *learning, struct hn_rule_node **nodes,
                           size_t *count, struct hn_error *err)
{
    const struct hn_choice_tree_data data = data_of_samples(learning);
    return hn_choice_tree_grow(&data, MOST_LEAVES, LEAST_SAMPLES, least_split_gain, nodes, count,
                               err);
}

/* Predicts, and grows a tree, from the sizes that are used. */
static enum hn_status learn_from(struct learning *learning, const struct hn_models *models,
                                 const bool *use, struct hn_rule_node **nodes, size_t *count,
                                 struct hn_error *err)
{
    enum hn_status status = hn_forecast_make(&learning->forecast, models, learning->matrix, use,
                                             picked(learning), learning->count, err);
    if (status != HN_OK)
        return status;
    find_costs(learning, picked(learning), learning->count, learning->costs);
    cost_fallback(learning);
    return grow(learning, nodes, count, err);
}

/* --- the predicted loss
 * ----------------------------------------------------------------------------------------------------
 */

static enum hn_status know_sizes(struct learning *learning, struct hn_error *err)
{
    const struct hn_matrix *matrix = learning->matrix;
    size_t sizes = learning->sizes.count;
    enum hn_status status = HN_OK;
    learning->size_logs = malloc((learning->count * sizes + 1) * sizeof *learning->size_logs);
    if (learning->size_logs == NULL)
        return hn_fail_memory(err);
    for (size_t c = 0; c < learning->count && status == HN_OK; c++) {
        double *own = learning->size_logs + c * sizes;
        size_t point = picked(learning)[c];
        bool known = hn_models_know(learning->models, point);
        if (known)
            status = hn_models_predict(learning->models, point, &learning->sizes, own, NULL, err);
        for (size_t s = 0; s < sizes; s++) {
            double time = matrix->times[point][s];
            own[s] = !isnan(time) ? log(time) : known ? own[s] : INFINITY;
        }
    }
    return status;
}

/* A configuration that was found by tuning this very size would not have been there without it. */
static bool can_choose(const struct learning *learning, int32_t configuration, size_t size)
{
    size_t point = picked(learning)[configuration];
    return hn_places_usable(&learning->sizes, point, size) &&
           !isinf(learning->size_logs[(size_t)configuration * learning->sizes.count + size]) &&
           (learning->matrix->points[point].first_size != (int64_t)size || configuration == 0);
}

/* How much longer than the best that is known takes what the tree chooses, in logarithms; NAN: it
 * can not be told. */
static double loss_at(const struct learning *learning, const struct hn_rule_node *nodes,
                      size_t size)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = data_of_sizes(learning);
    double best = hn_matrix_best(learning->matrix, size);
    int32_t chosen = nodes[hn_choice_tree_leaf(nodes, &data, size)].configuration;
    bool can = can_choose(learning, chosen, size);
    for (size_t i = 0; i < rule->fallback_count && !can; i++) {
        chosen = rule->fallback[i];
        can = can_choose(learning, chosen, size);
    }
    return can && best > 0 && !isinf(best)
               ? fmax(0, learning->size_logs[(size_t)chosen * learning->sizes.count + size] -
                             log(best))
               : NAN;
}

/* By leaving out a part of the sizes at a time. */
static enum hn_status predict_loss(struct learning *learning, struct hn_error *err)
{
    const struct hn_matrix *matrix = learning->matrix;
    double sum = 0, worst = 0;
    size_t count = 0;
    enum hn_status status = know_sizes(learning, err);
    for (size_t fold = 0; fold < FOLDS && status == HN_OK; fold++) {
        bool use[HN_MATRIX_SIZES];
        struct hn_models *models = NULL;
        struct hn_rule_node *nodes = NULL;
        size_t node_count;
        for (size_t s = 0; s < matrix->size_count; s++)
            use[s] = s % FOLDS != fold;
        status = hn_models_make(learning->kernel->family, matrix, &learning->sizes, use,
                                learning->models, &models, err);
        if (status == HN_OK)
            status = learn_from(learning, models, use, &nodes, &node_count, err);
        for (size_t s = fold; s < matrix->size_count && status == HN_OK; s += FOLDS) {
            double loss = loss_at(learning, nodes, s);
            if (isnan(loss))
                continue;
            sum += loss;
            worst = fmax(worst, loss);
            count++;
        }
        free(nodes);
        hn_models_destroy(models);
    }
    if (count > 0)
        learning->learnt->rule.predicted = (struct hn_rule_loss){
            .mean = expm1(sum / (double)count), .worst = expm1(worst), .sizes = count};
    return status;
}

/* --- where it is sure, and where not
 * ----------------------------------------------------------------------------------------------------
 */

/* [configuration][sample] */
static enum hn_status find_deviations(const struct learning *learning, double **deviations,
                                      struct hn_error *err)
{
    size_t samples = learning->forecast.places.count;
    double *logs = malloc((samples + 1) * sizeof *logs);
    *deviations = malloc((learning->count * samples + 1) * sizeof **deviations);
    enum hn_status status = logs != NULL && *deviations != NULL ? HN_OK : hn_fail_memory(err);
    for (size_t c = 0; c < learning->count && status == HN_OK; c++) {
        double *own = *deviations + c * samples;
        for (size_t s = 0; s < samples; s++)
            own[s] = 1;
        if (hn_models_know(learning->models, picked(learning)[c]))
            status = hn_models_predict(learning->models, picked(learning)[c],
                                       &learning->forecast.places, logs, own, err);
    }
    free(logs);
    return status;
}

static double plain_loss(const struct learning *learning, size_t configuration, size_t sample)
{
    size_t samples = learning->forecast.places.count;
    double own = learning->forecast.logarithms[picked(learning)[configuration] * samples + sample];
    return own - least_of(learning, learning->forecast.logarithms, sample);
}

static enum hn_status mark_sure(struct learning *learning, const double *deviations,
                                struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = data_of_samples(learning);
    size_t samples = data.samples;
    size_t *counts = calloc(2 * rule->node_count + 1, sizeof *counts);
    if (counts == NULL)
        return hn_fail_memory(err);
    for (size_t s = 0; s < samples; s++) {
        size_t leaf = hn_choice_tree_leaf(rule->nodes, &data, s);
        size_t c = (size_t)rule->nodes[leaf].configuration;
        counts[2 * leaf]++;
        counts[2 * leaf + 1] +=
            plain_loss(learning, c, s) + deviations[c * samples + s] < sure_loss;
    }
    for (size_t n = 0; n < rule->node_count; n++)
        rule->nodes[n].sure = rule->nodes[n].feature < 0 &&
                              (double)counts[2 * n + 1] >= sure_share * (double)counts[2 * n];
    free(counts);
    return HN_OK;
}

static void find_promising(const struct learning *learning, size_t sample, size_t *points,
                           size_t *count)
{
    const struct hn_forecast *forecast = &learning->forecast;
    size_t samples = forecast->places.count;
    double least = least_of(learning, forecast->logarithms, sample);
    *count = 0;
    for (size_t p = 0; p < learning->matrix->point_count; p++) {
        double loss = forecast->logarithms[p * samples + sample] - least;
        size_t place = *count;
        if (!(loss < promising_loss))
            continue;
        while (place > 0 &&
               forecast->logarithms[points[place - 1] * samples + sample] - least > loss)
            place--;
        if (place >= PROMISING_MOST)
            continue;
        *count += *count < PROMISING_MOST;
        memmove(&points[place + 1], &points[place], (*count - 1 - place) * sizeof *points);
        points[place] = p;
    }
}

/* How alike two samples are to the models, by their sizes: 1 for the same. */
static double likeness(const struct learning *learning, size_t a, size_t b)
{
    const struct hn_places *places = &learning->forecast.places;
    double squares = 0;
    for (size_t f = 0; f + 2 < places->features; f++) {
        const double *column = hn_places_column(places, 0, f);
        squares += (column[a] - column[b]) * (column[a] - column[b]);
    }
    return exp(-squares / 4);
}

/* Samples where the choice is least sure, away from each other. */
static enum hn_status find_wanted(struct learning *learning, const double *deviations,
                                  struct hn_error *err)
{
    struct hn_learnt *learnt = learning->learnt;
    const struct hn_choice_tree_data data = data_of_samples(learning);
    size_t wanted = learning->options->wanted;
    double *scores = malloc((data.samples + 1) * sizeof *scores);
    learnt->wanted = calloc(wanted + 1, sizeof *learnt->wanted);
    learnt->promising = calloc(wanted + 1, sizeof *learnt->promising);
    learnt->promising_count = calloc(wanted + 1, sizeof *learnt->promising_count);
    enum hn_status status = scores != NULL && learnt->wanted != NULL && learnt->promising != NULL &&
                                    learnt->promising_count != NULL
                                ? HN_OK
                                : hn_fail_memory(err);
    for (size_t s = 0; s < data.samples && status == HN_OK; s++) {
        size_t leaf = hn_choice_tree_leaf(learnt->rule.nodes, &data, s);
        size_t c = (size_t)learnt->rule.nodes[leaf].configuration;
        scores[s] = deviations[c * data.samples + s] + fmin(1, plain_loss(learning, c, s));
        /* What takes long says no more than what is soon done. */
        scores[s] /=
            1 + exp(fmin(least_of(learning, learning->forecast.logarithms, s), 30)) / dear_us;
    }
    while (status == HN_OK && learnt->wanted_count < wanted) {
        size_t best = 0;
        for (size_t s = 1; s < data.samples; s++)
            if (scores[s] > scores[best])
                best = s;
        if (!(scores[best] > 0))
            break;
        size_t at = learnt->wanted_count;
        find_promising(learning, best, learnt->promising[at], &learnt->promising_count[at]);
        status =
            hn_bindings_copy(&learnt->wanted[at], &learning->forecast.places.problems[best], err);
        learnt->wanted_count += status == HN_OK;
        for (size_t s = 0; s < data.samples; s++)
            scores[s] *= s == best ? 0 : 1 - likeness(learning, s, best);
    }
    free(scores);
    return status;
}

/* --- the whole
 * ----------------------------------------------------------------------------------------------------
 */

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

static enum hn_status see_sizes(struct learning *learning, struct hn_error *err)
{
    const struct hn_matrix *matrix = learning->matrix;
    enum hn_status status = hn_places_init(&learning->sizes, learning->kernel->family,
                                           matrix->point_count, matrix->size_count, err);
    for (size_t s = 0; s < matrix->size_count && status == HN_OK; s++)
        status = hn_places_add(&learning->sizes, learning->kernel, matrix,
                               &matrix->sizes[s].problem, err);
    return status;
}

/* Up to where features can be evaluated: a rule of one leaf. */
static enum hn_status begin_rule(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    rule->worst = learning->kernel->family->worst;
    enum hn_status status = fill_configurations(learning, err);
    learning->costs =
        malloc((learning->count * learning->forecast.places.count + 1) * sizeof *learning->costs);
    rule->nodes = calloc(1, sizeof *rule->nodes);
    if (status == HN_OK && (learning->costs == NULL || rule->nodes == NULL))
        status = hn_fail_memory(err);
    if (status != HN_OK)
        return status;
    rule->nodes[0] = (struct hn_rule_node){.feature = -1};
    rule->node_count = 1;
    find_costs(learning, picked(learning), learning->count, learning->costs);
    status = order_fallback(learning, err);
    if (status == HN_OK)
        status = hn_splits_make(learning->kernel->family, learning->kernel->plan,
                                &learning->sizes.problems[0], rule, err);
    if (status == HN_OK)
        status = hn_rule_complete(rule, err);
    return status == HN_OK ? evaluate_features(learning, err) : status;
}

static enum hn_status take_tree(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    free(rule->nodes);
    rule->nodes = NULL;
    rule->node_count = 0;
    return learn_from(learning, learning->models, NULL, &rule->nodes, &rule->node_count, err);
}

static enum hn_status learn(struct learning *learning, struct hn_error *err)
{
    const struct hn_family_kernel *kernel = learning->kernel;
    double *deviations = NULL;
    enum hn_status status = see_sizes(learning, err);
    if (status == HN_OK)
        status = hn_models_make(kernel->family, learning->matrix, &learning->sizes, NULL, NULL,
                                &learning->models, err);
    if (status == HN_OK)
        status = hn_forecast_init(&learning->forecast, kernel, learning->matrix,
                                  learning->options->seed, learning->options->samples, err);
    if (status == HN_OK)
        status = hn_forecast_make(&learning->forecast, learning->models, learning->matrix, NULL,
                                  NULL, 0, err);
    if (status == HN_OK)
        status = pick(learning, err);
    if (status == HN_OK)
        status = begin_rule(learning, err);
    if (status == HN_OK)
        status = predict_loss(learning, err);
    if (status == HN_OK)
        status = take_tree(learning, err);
    if (status == HN_OK)
        status = find_deviations(learning, &deviations, err);
    if (status == HN_OK)
        status = mark_sure(learning, deviations, err);
    if (status == HN_OK)
        status = find_wanted(learning, deviations, err);
    if (status == HN_OK)
        status = drop_unused(&learning->learnt->rule, err);
    if (status == HN_OK)
        status = hn_rule_complete(&learning->learnt->rule, err);
    free(deviations);
    return status;
}

enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt,
                        struct hn_error *err)
{
    struct learning learning = {
        .kernel = kernel, .matrix = matrix, .options = options, .learnt = learnt};
    *learnt = (struct hn_learnt){.wanted_count = 0};
    hn_rule_init(&learnt->rule);
    enum hn_status status = learn(&learning, err);
    hn_places_finish(&learning.sizes);
    hn_forecast_finish(&learning.forecast);
    hn_models_destroy(learning.models);
    free(learning.features);
    free(learning.costs);
    free(learning.size_logs);
    if (status != HN_OK)
        hn_learnt_finish(learnt);
    return status;
}

void hn_learnt_finish(struct hn_learnt *learnt)
{
    hn_rule_finish(&learnt->rule);
    for (size_t i = 0; i < learnt->wanted_count; i++)
        hn_bindings_finish(&learnt->wanted[i]);
    free(learnt->wanted);
    free(learnt->promising);
    free(learnt->promising_count);
    *learnt = (struct hn_learnt){.wanted_count = 0};
}
