/* SPDX-License-Identifier: MIT */
#include "tuner/family/learning.h"

#include <math.h>

enum { MOST_LEAVES = 400, LEAST_SAMPLES = 4 };
/* What one more leaf has to save of the mean time. */
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

/* What can not be used costs what is used instead. */
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

static enum hn_status grow(const struct hn_learning *learning, struct hn_rule_node **nodes,
                           size_t *count, struct hn_error *err)
{
    const struct hn_choice_tree_data data = hn_learning_samples(learning);
    return hn_choice_tree_grow(&data, MOST_LEAVES, LEAST_SAMPLES, least_split_gain, nodes, count,
                               err);
}

bool hn_learning_has(const struct hn_learning *learning, const bool *use, size_t configuration)
{
    int64_t only = learning->picked.matrix->points[configuration].only_size;
    return use == NULL || configuration == 0 || only < 0 || use[only];
}

static void leave_out_configurations(struct hn_learning *learning, const bool *use)
{
    size_t samples = learning->picked.forecast.places.count;
    for (size_t c = 0; c < learning->count; c++)
        for (size_t s = 0; s < samples && !hn_learning_has(learning, use, c); s++)
            learning->costs[c * samples + s] = INFINITY;
}

/* Grows a tree from the forecast, with configurations that the sizes that are used have. */
enum hn_status hn_learning_tree(struct hn_learning *learning, const bool *use,
                                struct hn_rule_node **nodes, size_t *count, struct hn_error *err)
{
    hn_learning_costs(learning, &learning->picked, learning->costs);
    leave_out_configurations(learning, use);
    cost_fallback(learning);
    return grow(learning, nodes, count, err);
}
