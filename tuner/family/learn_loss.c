/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/run.h"
#include "tuner/family/learning.h"

/* The predicted loss: what a rule that was learnt without a part of the sizes loses there, and what
 * a search of its own would find besides. */

enum { FOLDS = 5 };

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
static enum hn_status know_sizes(const struct hn_learning *learning, double **logs,
                                 struct hn_error *err)
{
    const struct hn_outlook *picked = &learning->picked;
    size_t sizes = picked->sizes.count;
    enum hn_status status = HN_OK;
    *logs = malloc((learning->count * sizes + 1) * sizeof **logs);
    if (*logs == NULL)
        return hn_fail_memory(err);
    for (size_t c = 0; c < learning->count && status == HN_OK; c++) {
        double *own = *logs + c * sizes;
        bool known = hn_models_know(picked->models, c);
        if (known)
            status = hn_models_predict(picked->models, c, &picked->sizes, own, NULL, err);
        for (size_t s = 0; s < sizes; s++) {
            double time = picked->matrix->times[c][s];
            own[s] = !isnan(time) ? log(time) : known ? own[s] : INFINITY;
        }
    }
    return status;
}

static bool can_choose(const struct hn_learning *learning, const double *logs, const bool *use,
                       int32_t configuration, size_t size)
{
    return hn_places_usable(&learning->picked.sizes, (size_t)configuration, size) &&
           !isinf(logs[(size_t)configuration * learning->picked.sizes.count + size]) &&
           hn_learning_has(learning, use, (size_t)configuration);
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

/* --- folds
 * ----------------------------------------------------------------------------------------------------
 */

/* What the folds share. */
struct folds {
    const struct hn_learning *learning;
    const double *logs;
    double search_gain;
    struct losses losses[FOLDS];
};

/* With a forecast and costs of its own, and all else shared. */
static enum hn_status begin_fold(struct hn_learning *own, const struct hn_learning *learning,
                                 struct hn_error *err)
{
    struct hn_forecast *forecast = &own->picked.forecast;
    *own = *learning;
    size_t numbers = learning->count * forecast->places.count + 1;
    forecast->logarithms = calloc(numbers, sizeof(double));
    forecast->cautious = calloc(numbers, sizeof(double));
    own->costs = calloc(numbers, sizeof(double));
    return forecast->logarithms != NULL && forecast->cautious != NULL && own->costs != NULL
               ? HN_OK
               : hn_fail_memory(err);
}

static void finish_fold(struct hn_learning *own)
{
    free(own->picked.forecast.logarithms);
    free(own->picked.forecast.cautious);
    free(own->costs);
}

/* Leaves out every fifth of the sizes. */
static enum hn_status learn_without(void *context, size_t fold, struct hn_error *err)
{
    struct folds *folds = context;
    struct hn_learning own;
    const struct hn_outlook *picked = &folds->learning->picked;
    bool use[HN_MATRIX_SIZES];
    struct hn_models *models = NULL;
    struct hn_rule_node *nodes = NULL;
    size_t node_count, sizes = picked->matrix->size_count;
    for (size_t s = 0; s < sizes; s++)
        use[s] = s % FOLDS != fold;
    enum hn_status status = begin_fold(&own, folds->learning, err);
    if (status == HN_OK)
        status = hn_models_make(own.kernel->family, picked->matrix, &picked->sizes, use,
                                picked->models, &models, err);
    if (status == HN_OK)
        status = hn_forecast_make(&own.picked.forecast, models, picked->matrix, use, err);
    if (status == HN_OK)
        status = hn_learning_tree(&own, use, &nodes, &node_count, err);
    for (size_t s = fold; s < sizes && status == HN_OK; s += FOLDS)
        add_loss(&folds->losses[fold], &picked->matrix->sizes[s],
                 loss_at(&own, folds->logs, use, nodes, s), folds->search_gain);
    free(nodes);
    hn_models_destroy(models);
    finish_fold(&own);
    return status;
}

static void add_losses(struct losses *losses, const struct losses *more)
{
    losses->worst = fmax(losses->worst, more->worst);
    losses->sum_of_all += more->sum_of_all;
    losses->count_of_all += more->count_of_all;
    losses->sum += more->sum;
    losses->count += more->count;
}

/* By leaving out a part of the sizes at a time. */
enum hn_status hn_learning_predict_loss(struct hn_learning *learning, struct hn_error *err)
{
    struct losses losses = {.count = 0};
    double *logs = NULL;
    enum hn_status status = know_sizes(learning, &logs, err);
    struct folds folds = {
        .learning = learning, .logs = logs, .search_gain = find_search_gain(learning->all.matrix)};
    const struct hn_parallel all = {
        .count = FOLDS, .jobs = FOLDS, .run = learn_without, .context = &folds};
    if (status == HN_OK)
        status = hn_parallel_do(&all, err);
    for (size_t fold = 0; fold < FOLDS; fold++)
        add_losses(&losses, &folds.losses[fold]);
    free(logs);
    learning->learnt->rule.predicted = rule_loss(&losses);
    return status;
}
