/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "tuner/family/learning.h"

/* The predicted loss: what a rule that was learnt without a part of the sizes loses there. */

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

/* A configuration that was found by tuning this very size would not have been there without it. */
static bool can_choose(const struct hn_learning *learning, const double *logs,
                       int32_t configuration, size_t size)
{
    size_t point = learning->learnt->picked[configuration];
    return hn_places_usable(&learning->sizes, point, size) &&
           !isinf(logs[(size_t)configuration * learning->sizes.count + size]) &&
           (learning->matrix->points[point].first_size != (int64_t)size || configuration == 0);
}

/* How much longer than the best that is known takes what the tree chooses, in logarithms; NAN: it
 * can not be told. */
static double loss_at(const struct hn_learning *learning, const double *logs,
                      const struct hn_rule_node *nodes, size_t size)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = data_of_sizes(learning);
    double best = hn_matrix_best(learning->matrix, size);
    int32_t chosen = nodes[hn_choice_tree_leaf(nodes, &data, size)].configuration;
    bool can = can_choose(learning, logs, chosen, size);
    for (size_t i = 0; i < rule->fallback_count && !can; i++) {
        chosen = rule->fallback[i];
        can = can_choose(learning, logs, chosen, size);
    }
    return can && best > 0 && !isinf(best)
               ? fmax(0, logs[(size_t)chosen * learning->sizes.count + size] - log(best))
               : NAN;
}

/* By leaving out a part of the sizes at a time. */
enum hn_status hn_learning_predict_loss(struct hn_learning *learning, struct hn_error *err)
{
    const struct hn_matrix *matrix = learning->matrix;
    double sum = 0, worst = 0;
    size_t count = 0;
    double *logs = NULL;
    enum hn_status status = know_sizes(learning, &logs, err);
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
            status = hn_learning_tree(learning, models, use, &nodes, &node_count, err);
        for (size_t s = fold; s < matrix->size_count && status == HN_OK; s += FOLDS) {
            double loss = loss_at(learning, logs, nodes, s);
            if (isnan(loss))
                continue;
            sum += loss;
            worst = fmax(worst, loss);
            count++;
        }
        free(nodes);
        hn_models_destroy(models);
    }
    free(logs);
    if (count > 0)
        learning->learnt->rule.predicted = (struct hn_rule_loss){
            .mean = expm1(sum / (double)count), .worst = expm1(worst), .sizes = count};
    return status;
}
