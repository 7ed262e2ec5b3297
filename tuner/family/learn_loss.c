/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/run.h"
#include "tuner/family/learn.h"

/* Costs of a forecast and the tree that they give; and the predicted loss: what a rule that was
 * learnt without a part of the sizes loses there, and what a search of its own would find besides.
 */

enum { MOST_LEAVES = 400, LEAST_SAMPLES = 4, FOLDS = 5 };
/* The share of the mean time that one more leaf has to save. */
static const double least_split_gain = 0.0001;
/* Where the worst ratio counts, a loss of 10% weighs as much as 23 of 1%. */
static const double worst_power = 16;

/* A loss in logarithms, as it counts. */
static double cost_of_loss(const struct hn_learning *learning, double loss)
{
    double power = learning->kernel->family->worst ? worst_power : 1;
    return expm1(power * fmin(loss, 40 / power)) / power;
}

/* The least logarithm of a time at a sample, of all points. */
double hn_outlook_least(const struct hn_outlook *outlook, const double *logarithms, size_t sample)
{
    double least = INFINITY;
    for (size_t p = 0; p < outlook->matrix->point_count; p++)
        least = fmin(least, logarithms[p * outlook->forecast.places.count + sample]);
    return least;
}

/* Losses of points against the best of them, as they count. */
void hn_learning_costs(const struct hn_learning *learning, const struct hn_outlook *outlook,
                       double *costs)
{
    const struct hn_forecast *forecast = &outlook->forecast;
    size_t samples = forecast->places.count;
    for (size_t s = 0; s < samples; s++) {
        double least = hn_outlook_least(outlook, forecast->cautious, s);
        for (size_t p = 0; p < outlook->matrix->point_count; p++) {
            double own = forecast->cautious[p * samples + s];
            costs[p * samples + s] = isinf(own) ? INFINITY : cost_of_loss(learning, own - least);
        }
    }
}

/* A configuration that can not be used costs what is used instead. */
static void cost_fallback(struct hn_learning *learning)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    size_t samples = learning->picked.forecast.places.count;
    for (size_t s = 0; s < samples; s++) {
        double instead = INFINITY;
        for (size_t i = 0; i < rule->fallback_count && isinf(instead); i++)
            instead = learning->costs[(size_t)rule->fallback[i] * samples + s];
        for (size_t c = 0; c < learning->count; c++)
            if (isinf(learning->costs[c * samples + s]))
                learning->costs[c * samples + s] = isinf(instead) ? 100 : instead;
    }
}

struct hn_choice_tree_data hn_learning_samples(const struct hn_learning *learning)
{
    return (struct hn_choice_tree_data){
        .samples = learning->picked.forecast.places.count,
        .choices = learning->count,
        .features = learning->learnt->rule.feature_count,
        .values = learning->features,
        .costs = learning->costs,
        .weights = learning->picked.forecast.weights,
    };
}

/* Whether a configuration would be there without the other sizes (NULL: all are used): not if the
 * search at one of them alone found it. */
static bool has(const struct hn_learning *learning, const bool *use, size_t configuration)
{
    int64_t only = learning->picked.matrix->points[configuration].only_size;
    return use == NULL || configuration == 0 || only < 0 || use[only];
}

struct hn_rule_node *hn_learning_tree(struct hn_learning *learning, const bool *use, size_t *count)
{
    size_t samples = learning->picked.forecast.places.count;
    const struct hn_choice_tree_data data = hn_learning_samples(learning);
    hn_learning_costs(learning, &learning->picked, learning->costs);
    for (size_t c = 0; c < learning->count; c++)
        for (size_t s = 0; s < samples && !has(learning, use, c); s++)
            learning->costs[c * samples + s] = INFINITY;
    cost_fallback(learning);
    return hn_choice_tree_grow(&data, MOST_LEAVES, LEAST_SAMPLES, least_split_gain, count);
}

/* For finding the leaf of a size. */
static struct hn_choice_tree_data data_of_sizes(const struct hn_learning *learning)
{
    size_t features = learning->learnt->rule.feature_count;
    return (struct hn_choice_tree_data){
        .samples = learning->picked.sizes.count,
        .features = features,
        .values = learning->features + features * learning->picked.forecast.places.count,
    };
}

/* [configuration][size]: logarithms of times, as measured, else predicted; INFINITY: it failed. */
static double *know_sizes(const struct hn_learning *learning)
{
    const struct hn_outlook *picked = &learning->picked;
    size_t sizes = picked->sizes.count;
    double *logs = hn_need(learning->count * sizes, sizeof *logs);
    for (size_t c = 0; c < learning->count; c++) {
        double *own = logs + c * sizes;
        bool known = hn_models_know(picked->models, c);
        if (known)
            hn_models_predict(picked->models, c, &picked->sizes, own, NULL);
        for (size_t s = 0; s < sizes; s++) {
            double time = picked->matrix->times[c][s];
            own[s] = !isnan(time) ? log(time) : known ? own[s] : INFINITY;
        }
    }
    return logs;
}

static bool can_choose(const struct hn_learning *learning, const double *logs, const bool *use,
                       int32_t configuration, size_t size)
{
    return hn_places_usable(&learning->picked.sizes, (size_t)configuration, size) &&
           !isinf(logs[(size_t)configuration * learning->picked.sizes.count + size]) &&
           has(learning, use, (size_t)configuration);
}

/* How much longer than the best that is known takes what the tree chooses, in logarithms; NAN: it
 * can not be told. */
static double loss_at(const struct hn_learning *learning, const double *logs, const bool *use,
                      const struct hn_rule_node *nodes, size_t size)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = data_of_sizes(learning);
    double best = hn_matrix_best(learning->all.matrix, size);
    int32_t chosen = nodes[hn_choice_tree_leaf(nodes, &data, size)].configuration;
    bool can = can_choose(learning, logs, use, chosen, size);
    for (size_t i = 0; i < rule->fallback_count && !can; i++) {
        chosen = rule->fallback[i];
        can = can_choose(learning, logs, use, chosen, size);
    }
    return can && best > 0 && !isinf(best)
               ? fmax(0, logs[(size_t)chosen * learning->picked.sizes.count + size] - log(best))
               : NAN;
}

/* As any size that may come. */
static bool is_any(const struct hn_matrix_size *size)
{
    return size->drawn || size->weight > 0;
}

/* The least time at a size by what other searches or the config found. */
static double best_elsewhere(const struct hn_matrix *matrix, size_t size)
{
    double best = INFINITY;
    for (size_t p = 0; p < matrix->point_count; p++)
        if (matrix->points[p].only_size != (int64_t)size)
            best = fmin(best, matrix->times[p][size]);
    return best;
}

/* By how much a search of its own finds something faster than what is known from elsewhere, in
 * logarithms, in the mean of the sizes that had one. Those that were searched since most was
 * expected there say nothing of others. */
static double find_search_gain(const struct hn_matrix *matrix)
{
    double sum = 0;
    size_t count = 0;
    for (size_t s = 0; s < matrix->size_count; s++) {
        double elsewhere = best_elsewhere(matrix, s);
        if (!is_any(&matrix->sizes[s]) || isnan(matrix->sizes[s].tuned_us) || isinf(elsewhere))
            continue;
        sum += log(elsewhere / hn_matrix_best(matrix, s));
        count++;
    }
    return count > 0 ? sum / (double)count : 0;
}

/* Sizes that were measured since the rule was least sure there say how bad it may get, and nothing
 * of how it does in the mean. */
struct losses {
    double sum, sum_of_all, worst;
    size_t count, count_of_all;
};

static void add_loss(struct losses *losses, const struct hn_matrix_size *size, double loss,
                     double search_gain)
{
    if (isnan(loss))
        return;
    double expected = loss + (isnan(size->tuned_us) ? search_gain : 0);
    losses->worst = fmax(losses->worst, loss);
    losses->sum_of_all += expected;
    losses->count_of_all++;
    losses->sum += is_any(size) ? expected : 0;
    losses->count += is_any(size);
}

static struct hn_rule_loss rule_loss(const struct losses *losses)
{
    double mean = losses->count > 0          ? losses->sum / (double)losses->count
                  : losses->count_of_all > 0 ? losses->sum_of_all / (double)losses->count_of_all
                                             : 0;
    return (struct hn_rule_loss){
        .mean = expm1(mean), .worst = expm1(losses->worst), .sizes = losses->count_of_all};
}

/* The folds share this. */
struct folds {
    const struct hn_learning *learning;
    const double *logs;
    double search_gain;
    struct losses losses[FOLDS];
};

/* Leaves out every fifth of the sizes: with a forecast and costs of its own, and all else shared.
 */
static enum hn_status learn_without(void *context, size_t fold, struct hn_error *err)
{
    struct folds *folds = context;
    struct hn_learning own = *folds->learning;
    const struct hn_outlook *picked = &folds->learning->picked;
    struct hn_forecast *forecast = &own.picked.forecast;
    bool use[HN_MATRIX_SIZES];
    size_t node_count, sizes = picked->matrix->size_count;
    size_t numbers = own.count * forecast->places.count;
    for (size_t s = 0; s < sizes; s++)
        use[s] = s % FOLDS != fold;
    forecast->logarithms = hn_need(numbers, sizeof(double));
    forecast->cautious = hn_need(numbers, sizeof(double));
    own.costs = hn_need(numbers, sizeof(double));
    struct hn_models *models =
        hn_models_make(own.kernel->family, picked->matrix, &picked->sizes, use, picked->models);
    hn_forecast_make(forecast, models, picked->matrix, use);
    struct hn_rule_node *nodes = hn_learning_tree(&own, use, &node_count);
    for (size_t s = fold; s < sizes; s += FOLDS)
        add_loss(&folds->losses[fold], &picked->matrix->sizes[s],
                 loss_at(&own, folds->logs, use, nodes, s), folds->search_gain);
    free(nodes);
    hn_models_destroy(models);
    free(forecast->logarithms);
    free(forecast->cautious);
    free(own.costs);
    (void)err;
    return HN_OK;
}

void hn_learning_predict_loss(struct hn_learning *learning)
{
    struct losses losses = {.count = 0};
    double *logs = know_sizes(learning);
    struct folds folds = {
        .learning = learning, .logs = logs, .search_gain = find_search_gain(learning->all.matrix)};
    const struct hn_parallel all = {
        .count = FOLDS, .jobs = FOLDS, .run = learn_without, .context = &folds};
    hn_parallel_do(&all, NULL);
    for (size_t fold = 0; fold < FOLDS; fold++) {
        const struct losses *own = &folds.losses[fold];
        losses.worst = fmax(losses.worst, own->worst);
        losses.sum_of_all += own->sum_of_all;
        losses.count_of_all += own->count_of_all;
        losses.sum += own->sum;
        losses.count += own->count;
    }
    free(logs);
    learning->learnt->rule.predicted = rule_loss(&losses);
}
