/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/encoding_prior.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/strategy/encoding.h"

enum { MOST = 200, LEAST = 8, FITTED = 120, STEPS = 30 };

struct hn_prior_model {
    struct hn_gaussian gaussian;
    double *weights; /* of the covariances with the inputs, in a prediction */
};

struct entry {
    const struct hn_prior *prior;
    double target;
};

static bool is_known(const struct hn_prior *prior)
{
    return isfinite(prior->observation.cost) && prior->observation.cost > 0 &&
           prior->observation.outcome != HN_OUTCOME_SLOWER;
}

static int by_target(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->target < y->target || x->target > y->target)
        return x->target < y->target ? -1 : 1;
    return (x->prior > y->prior) - (x->prior < y->prior);
}

/* The logarithms of one source's costs, standardised and capped, because it is the good points that
 * matter; appended to entries. */
static size_t add_source(const struct hn_search *search, unsigned source, struct entry *entries)
{
    size_t count = 0;
    double sum = 0;
    for (size_t i = 0; i < search->prior_count; i++) {
        const struct hn_prior *prior = &search->priors[i];
        if (prior->source != source || !is_known(prior))
            continue;
        entries[count++] = (struct entry){prior, log(prior->observation.cost)};
    }
    if (count < LEAST)
        return 0;
    qsort(entries, count, sizeof *entries, by_target);
    double cap = 2 * entries[count / 2].target - entries[0].target;
    for (size_t i = 0; i < count; i++) {
        entries[i].target = fmin(entries[i].target, cap);
        sum += entries[i].target;
    }
    double mean = sum / (double)count;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (entries[i].target - mean) * (entries[i].target - mean);
    double deviation = sqrt(fmax(squares / (double)count, 1e-12));
    for (size_t i = 0; i < count; i++)
        entries[i].target = (entries[i].target - mean) / deviation;
    return count;
}

/* Of `count` sorted entries the best half of `most` and an even choice of the others, in front. */
static size_t select_entries(struct entry *entries, size_t count, size_t most)
{
    if (count <= most)
        return count;
    size_t best = most / 2;
    size_t others = most - best;
    for (size_t i = 0; i < others; i++)
        entries[best + i] = entries[best + i * (count - best) / others];
    return most;
}

/* weights = L^-T whitened. */
static void solve_transposed(const struct hn_gaussian *gaussian, double *weights)
{
    for (size_t i = gaussian->count; i-- > 0;) {
        const double *row = gaussian->factor + i * (i + 1) / 2;
        weights[i] /= row[i];
        for (size_t j = 0; j < i; j++)
            weights[j] -= row[j] * weights[i];
    }
}

static bool learn(struct hn_prior_model *model, const struct hn_encoding *encoding,
                  const struct entry *entries, size_t count)
{
    size_t features = encoding->count;
    double *inputs = calloc(count * features + count, sizeof *inputs);
    if (inputs == NULL)
        return false;
    double *targets = inputs + count * features;
    /* the points that the scales are fitted to come first: every second or so, good and bad */
    size_t fitted = count < FITTED ? count : FITTED;
    size_t place[2] = {0, fitted};
    for (size_t i = 0; i < count; i++) {
        bool first = i * fitted / count != (i + 1) * fitted / count;
        size_t to = place[!first]++;
        hn_encoding_apply(encoding, entries[i].prior->choice, inputs + to * features);
        targets[to] = entries[i].target;
    }
    bool fine = hn_gaussian_fit(&model->gaussian, inputs, targets, fitted, STEPS);
    for (size_t i = 0; i < count && fine; i++)
        hn_gaussian_append(&model->gaussian, inputs + i * features);
    if (fine) {
        hn_gaussian_whiten(&model->gaussian, targets, model->weights);
        solve_transposed(&model->gaussian, model->weights);
    }
    free(inputs);
    return fine;
}

enum hn_status hn_prior_model_create(const struct hn_search *search,
                                     const struct hn_encoding *encoding,
                                     struct hn_prior_model **out, struct hn_error *err)
{
    *out = NULL;
    struct entry *entries = calloc(search->prior_count + 1, sizeof *entries);
    struct hn_prior_model *model = calloc(1, sizeof *model);
    enum hn_status status = HN_OK;
    size_t count = 0;
    if (entries == NULL || model == NULL) {
        status = hn_fail_memory(err);
        goto free_entries;
    }
    for (unsigned source = 0; source < search->prior_count && count == 0; source++)
        count = add_source(search, source, entries);
    if (count == 0 || encoding->count == 0)
        goto free_entries;
    count = select_entries(entries, count, MOST);
    model->weights = calloc(count, sizeof *model->weights);
    if (model->weights == NULL ||
        !hn_gaussian_init(&model->gaussian, encoding->count, encoding->category, count) ||
        !learn(model, encoding, entries, count)) {
        status = hn_fail_memory(err);
        goto free_entries;
    }
    *out = model;
    model = NULL;

free_entries:
    hn_prior_model_destroy(model);
    free(entries);
    return status;
}

void hn_prior_model_destroy(struct hn_prior_model *model)
{
    if (model == NULL)
        return;
    hn_gaussian_finish(&model->gaussian);
    free(model->weights);
    free(model);
}

double hn_prior_model_ask(const struct hn_prior_model *model, const double *features)
{
    const struct hn_gaussian *gaussian = &model->gaussian;
    double sum = 0;
    for (size_t i = 0; i < gaussian->count; i++) {
        double covariance;
        hn_gaussian_covariances(gaussian, gaussian->inputs + i * gaussian->features, features, 1, 1,
                                &covariance);
        sum += model->weights[i] * covariance;
    }
    return sum / 3;
}
