/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/family/learning.h"

/* Where the rule is sure, and where not: what is worth measuring next. */

/* A leaf is sure where at most of its samples the loss, and one deviation of the prediction, is
 * below this. */
static const double sure_loss = 0.1, sure_share = 0.8;
static const double dear_us = 10000;

/* What a configuration loses at a sample to the best of all configurations; INFINITY: it can not be
 * used. */
static double plain_loss(const struct hn_learning *learning, size_t configuration, size_t sample)
{
    const struct hn_forecast *forecast = &learning->picked.forecast;
    double own = forecast->logarithms[configuration * forecast->places.count + sample];
    return own - hn_outlook_least(&learning->picked, forecast->logarithms, sample);
}

/* Of its prediction there. */
static double deviation_of(const struct hn_learning *learning, size_t configuration, size_t sample)
{
    const struct hn_forecast *forecast = &learning->picked.forecast;
    size_t at = configuration * forecast->places.count + sample;
    return isinf(forecast->logarithms[at]) ? 1 : forecast->cautious[at] - forecast->logarithms[at];
}

enum hn_status hn_learning_mark_sure(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = hn_learning_samples(learning);
    size_t *counts = calloc(2 * rule->node_count + 1, sizeof *counts);
    if (counts == NULL)
        return hn_fail_memory(err);
    for (size_t s = 0; s < data.samples; s++) {
        size_t leaf = hn_choice_tree_leaf(rule->nodes, &data, s);
        size_t c = (size_t)rule->nodes[leaf].configuration;
        counts[2 * leaf]++;
        counts[2 * leaf + 1] +=
            plain_loss(learning, c, s) + deviation_of(learning, c, s) < sure_loss;
    }
    for (size_t n = 0; n < rule->node_count; n++)
        rule->nodes[n].sure = rule->nodes[n].feature < 0 &&
                              (double)counts[2 * n + 1] >= sure_share * (double)counts[2 * n];
    free(counts);
    return HN_OK;
}

/* Samples where the choice is least sure, away from each other. */
enum hn_status hn_learning_find_wanted(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_learnt *learnt = learning->learnt;
    const struct hn_choice_tree_data data = hn_learning_samples(learning);
    const struct hn_forecast *forecast = &learning->picked.forecast;
    size_t wanted = learning->options->wanted;
    double *scores = malloc((data.samples + 1) * sizeof *scores);
    learnt->wanted = calloc(wanted + 1, sizeof *learnt->wanted);
    enum hn_status status = scores != NULL && learnt->wanted != NULL ? HN_OK : hn_fail_memory(err);
    for (size_t s = 0; s < data.samples && status == HN_OK; s++) {
        size_t leaf = hn_choice_tree_leaf(learnt->rule.nodes, &data, s);
        size_t c = (size_t)learnt->rule.nodes[leaf].configuration;
        scores[s] = deviation_of(learning, c, s) + fmin(1, plain_loss(learning, c, s));
        /* What takes much longer than to begin with says no more than what is soon done. */
        scores[s] /=
            1 +
            exp(fmin(hn_outlook_least(&learning->picked, forecast->logarithms, s), 30)) / dear_us;
    }
    while (status == HN_OK && learnt->wanted_count < wanted) {
        size_t best = 0;
        for (size_t s = 1; s < data.samples; s++)
            if (scores[s] > scores[best])
                best = s;
        if (!(scores[best] > 0))
            break;
        size_t at = learnt->wanted_count;
        status = hn_bindings_copy(&learnt->wanted[at], &forecast->places.problems[best], err);
        learnt->wanted_count += status == HN_OK;
        for (size_t s = 0; s < data.samples; s++)
            scores[s] *=
                s == best ? 0
                          : 1 - hn_places_likeness(&forecast->places, s, &forecast->places, best);
    }
    free(scores);
    return status;
}
