/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "tuner/family/learning.h"

/* The predicted loss: what a rule that was learnt without a part of the sizes loses there, and what
 * a search of its own would find besides. */

enum { FOLDS = 5 };

/* For finding the leaf of a size. */
static struct hn_choice_tree_data data_of_sizes(const struct hn_learning *learning)
{
    size_t features = learning->learnt->rule.feature_count;
    return (struct hn_choice_tree_data){
        .samples = learning->sizes.count,
        .features = features,
        .values = learning->features + features * learning->forecast.places.count,
    };
}

/* [configuration][size]: logarithms of times, as measured, else predicted; INFINITY: it failed. */
static enum hn_status know_sizes(const struct hn_learning *learning, double **logs,
                                 struct hn_error *err)
{
    const struct hn_matrix *matrix = learning->matrix;
    size_t sizes = learning->sizes.count;
    enum hn_status status = HN_OK;
    *logs = malloc((learning->count * sizes + 1) * sizeof **logs);
    if (*logs == NULL)
        return hn_fail_memory(err);
    for (size_t c = 0; c < learning->count && status == HN_OK; c++) {
        double *own = *logs + c * sizes;
        size_t point = learning->learnt->picked[c];
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

static bool can_choose(const struct hn_learning *learning, const double *logs, const bool *use,
                       int32_t configuration, size_t size)
{
    return hn_places_usable(&learning->sizes, learning->learnt->picked[configuration], size) &&
           !isinf(logs[(size_t)configuration * learning->sizes.count + size]) &&
           hn_learning_has(learning, use, (size_t)configuration);
}

/* How much longer than the best that is known takes what the tree chooses, in logarithms; NAN: it
 * can not be told. */
static double loss_at(const struct hn_learning *learning, const double *logs, const bool *use,
                      const struct hn_rule_node *nodes, size_t size)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = data_of_sizes(learning);
    double best = hn_matrix_best(learning->matrix, size);
    int32_t chosen = nodes[hn_choice_tree_leaf(nodes, &data, size)].configuration;
    bool can = can_choose(learning, logs, use, chosen, size);
    for (size_t i = 0; i < rule->fallback_count && !can; i++) {
        chosen = rule->fallback[i];
        can = can_choose(learning, logs, use, chosen, size);
    }
    return can && best > 0 && !isinf(best)
               ? fmax(0, logs[(size_t)chosen * learning->sizes.count + size] - log(best))
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

/* A part of the sizes that is left out, in a thread of its own. */
struct fold {
    struct hn_learning learning; /* with a forecast and costs of its own, and all else shared */
    const double *logs;
    double search_gain;
    size_t number;
    struct losses losses;
    enum hn_status status;
    struct hn_error err;
    pthread_t thread;
    bool runs;
};

static double *copy_numbers(const double *numbers, size_t count)
{
    double *copy = malloc((count + 1) * sizeof *copy);
    if (copy != NULL)
        memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

static enum hn_status begin_fold(struct fold *fold, const struct hn_learning *learning,
                                 struct hn_error *err)
{
    struct hn_forecast *own = &fold->learning.forecast;
    size_t samples = learning->forecast.places.count;
    size_t points = learning->matrix->point_count;
    fold->learning = *learning;
    own->logarithms = copy_numbers(learning->forecast.logarithms, points * samples);
    own->cautious = copy_numbers(learning->forecast.cautious, points * samples);
    fold->learning.costs = calloc(learning->count * samples + 1, sizeof(double));
    return own->logarithms != NULL && own->cautious != NULL && fold->learning.costs != NULL
               ? HN_OK
               : hn_fail_memory(err);
}

static void finish_fold(struct fold *fold)
{
    free(fold->learning.forecast.logarithms);
    free(fold->learning.forecast.cautious);
    free(fold->learning.costs);
}

static void *learn_without(void *context)
{
    struct fold *fold = context;
    struct hn_learning *learning = &fold->learning;
    const struct hn_matrix *matrix = learning->matrix;
    bool use[HN_MATRIX_SIZES];
    struct hn_models *models = NULL;
    struct hn_rule_node *nodes = NULL;
    size_t node_count;
    for (size_t s = 0; s < matrix->size_count; s++)
        use[s] = s % FOLDS != fold->number;
    fold->status = hn_models_make(learning->kernel->family, matrix, &learning->sizes, use,
                                  learning->models, &models, &fold->err);
    if (fold->status == HN_OK)
        fold->status = hn_learning_tree(learning, models, use, &nodes, &node_count, &fold->err);
    for (size_t s = fold->number; s < matrix->size_count && fold->status == HN_OK; s += FOLDS)
        add_loss(&fold->losses, &matrix->sizes[s], loss_at(learning, fold->logs, use, nodes, s),
                 fold->search_gain);
    free(nodes);
    hn_models_destroy(models);
    return NULL;
}

/* Where no thread can be had it is done at once. */
static void start_fold(struct fold *fold)
{
    fold->runs = hn_thread_start(&fold->thread, learn_without, fold) == 0;
    if (!fold->runs)
        learn_without(fold);
}

static enum hn_status end_fold(struct fold *fold, struct losses *losses, struct hn_error *err)
{
    if (fold->runs)
        pthread_join(fold->thread, NULL);
    losses->worst = fmax(losses->worst, fold->losses.worst);
    losses->sum_of_all += fold->losses.sum_of_all;
    losses->count_of_all += fold->losses.count_of_all;
    losses->sum += fold->losses.sum;
    losses->count += fold->losses.count;
    if (fold->status != HN_OK && err != NULL)
        *err = fold->err;
    return fold->status;
}

/* By leaving out a part of the sizes at a time. */
enum hn_status hn_learning_predict_loss(struct hn_learning *learning, struct hn_error *err)
{
    struct losses losses = {.count = 0};
    struct fold folds[FOLDS] = {0};
    double *logs = NULL;
    enum hn_status status = know_sizes(learning, &logs, err);
    for (size_t i = 0; i < FOLDS && status == HN_OK; i++)
        status = begin_fold(&folds[i], learning, err);
    for (size_t i = 0; i < FOLDS && status == HN_OK; i++) {
        folds[i].logs = logs;
        folds[i].search_gain = find_search_gain(learning->matrix);
        folds[i].number = i;
        start_fold(&folds[i]);
    }
    bool started = status == HN_OK;
    for (size_t i = 0; i < FOLDS && started; i++) {
        enum hn_status own = end_fold(&folds[i], &losses, err);
        status = status == HN_OK ? own : status;
    }
    for (size_t i = 0; i < FOLDS; i++)
        finish_fold(&folds[i]);
    free(logs);
    learning->learnt->rule.predicted = rule_loss(&losses);
    return status;
}
