/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"

/* The times that all points of a matrix are predicted to take at many problems of the family. */
struct forecast {
    struct hn_places places;
    double *weights;    /* of the places */
    double *logarithms; /* [point][place] of the time, as predicted; INFINITY: not usable there, or
                           nothing is known */
    double *cautious;   /* the same and one deviation: who is believed to be fast where little is
                           known has to be more so */
};

/* At sizes that were left out the choice was about as good with any from 0.5 to 2, and in six of
 * eight matrices worse with none (reduce, transpose and sgemm). */
static const double caution = 1;

/* Problems drawn from the family by seed, behind those that it names, which together weigh as
 * much. HN_ECONFIG in err: there are none. Finish it in any case. */
static void init_forecast(struct forecast *forecast, const struct hn_family_kernel *kernel,
                          const struct hn_matrix *matrix, uint64_t seed, size_t samples,
                          struct hn_error *err)
{
    const struct hn_family *family = kernel->family;
    size_t capacity = samples + family->size_count;
    uint64_t at = 0;
    double named = 0;
    *forecast = (struct forecast){
        .weights = hn_need(capacity, sizeof(double)),
        .logarithms = hn_need(matrix->point_count * capacity, sizeof(double)),
        .cautious = hn_need(matrix->point_count * capacity, sizeof(double)),
    };
    hn_places_init(&forecast->places, kernel, matrix->point_count, capacity);
    for (size_t i = 0; i < family->size_count; i++)
        named += family->weights[i];
    for (size_t i = 0; i < family->size_count; i++) {
        forecast->weights[i] = (double)samples * family->weights[i] / named;
        hn_places_add(&forecast->places, &matrix->sizes[i].problem);
    }
    for (size_t i = 0; i < samples && !hn_failed(err); i++) {
        struct hn_bindings problem;
        hn_family_next(family, seed, &at, &problem, err);
        /* With what a problem has beside the family's values. */
        struct hn_bindings whole = hn_need_bindings(&matrix->sizes[0].problem, &problem);
        forecast->weights[forecast->places.count] = 1;
        hn_places_add(&forecast->places, &whole);
        hn_bindings_finish(&problem);
        hn_bindings_finish(&whole);
    }
    hn_places_see(&forecast->places, kernel, matrix);
}

static void finish_forecast(struct forecast *forecast)
{
    hn_places_finish(&forecast->places);
    free(forecast->weights);
    free(forecast->logarithms);
    free(forecast->cautious);
    *forecast = (struct forecast){.weights = NULL};
}

/* The size of the matrix that a place is; its size_count for none. */
static size_t size_of(const struct hn_matrix *matrix, const struct hn_bindings *problem)
{
    size_t size = 0;
    while (size < matrix->size_count && !hn_bindings_equal(&matrix->sizes[size].problem, problem))
        size++;
    return size;
}

struct predicting {
    struct forecast *forecast;
    const struct hn_models *models;
};

static void predict_point(void *context, size_t point)
{
    struct predicting *predicting = context;
    struct forecast *forecast = predicting->forecast;
    const struct hn_places *places = &forecast->places;
    double *own = forecast->logarithms + point * places->count;
    double *cautious = forecast->cautious + point * places->count;
    bool known = hn_models_know(predicting->models, point);
    if (known)
        hn_models_predict(predicting->models, point, places, own, cautious);
    for (size_t i = 0; i < places->count; i++) {
        own[i] = known && hn_places_usable(places, point, i) ? own[i] : INFINITY;
        cautious[i] = own[i] + caution * (isinf(own[i]) ? 0 : cautious[i]);
    }
}

/* Measured times stand for themselves where `use` (NULL: all) allows. */
static void make_forecast(struct forecast *forecast, const struct hn_models *models,
                          const struct hn_matrix *matrix, const bool *use)
{
    const struct hn_places *places = &forecast->places;
    struct predicting predicting = {.forecast = forecast, .models = models};
    hn_parallel_do(matrix->point_count, 0, predict_point, &predicting);
    for (size_t i = 0; i < places->count; i++) {
        size_t size = size_of(matrix, &places->problems[i]);
        if (size == matrix->size_count || (use != NULL && !use[size]))
            continue;
        for (size_t p = 0; p < matrix->point_count; p++)
            if (!isnan(matrix->times[p][size]))
                forecast->cautious[p * places->count + i] =
                    forecast->logarithms[p * places->count + i] = log(matrix->times[p][size]);
    }
}

/* The points of a matrix, as they are known and predicted. */
struct outlook {
    const struct hn_matrix *matrix;
    struct hn_places sizes; /* of the matrix */
    struct hn_models *models;
    struct forecast forecast;
};

struct learning {
    const struct hn_family_kernel *kernel;
    const struct hn_learn_options *options;
    struct hn_learnt *learnt;
    struct outlook
        all; /* points, at some of the samples, which are told apart by places in `picked` too */
    struct outlook picked; /* the rule's configurations, in its order */
    size_t count;          /* picked */
    int64_t *features;     /* [feature][sample], then [feature][size] */
    double *costs;         /* [configuration][sample] */
    double sure_share;     /* with which a leaf is sure */
};

/* Costs of a forecast and the tree that they give; and the predicted loss: what a rule that was
 * learnt without a part of the sizes loses there, and what a search of its own would find besides.
 */

enum { MOST_LEAVES = 400, LEAST_SAMPLES = 4, FOLDS = 5 };
/* The share of the mean time that one more leaf has to save. */
static const double least_split_gain = 0.0001;
/* Where the worst ratio counts, a loss of 10% weighs as much as 23 of 1%. */
static const double worst_power = 16;

/* A loss in logarithms, as it counts. */
static double cost_of_loss(const struct learning *learning, double loss)
{
    double power = learning->kernel->family->worst ? worst_power : 1;
    return expm1(power * fmin(loss, 40 / power)) / power;
}

/* The least logarithm of a time at a sample, of all points. */
static double least_time(const struct outlook *outlook, const double *logarithms, size_t sample)
{
    double least = INFINITY;
    for (size_t p = 0; p < outlook->matrix->point_count; p++)
        least = fmin(least, logarithms[p * outlook->forecast.places.count + sample]);
    return least;
}

/* Losses of points against the best of them, as they count. */
static void find_costs(const struct learning *learning, const struct outlook *outlook,
                       double *costs)
{
    const struct forecast *forecast = &outlook->forecast;
    size_t samples = forecast->places.count;
    for (size_t s = 0; s < samples; s++) {
        double least = least_time(outlook, forecast->cautious, s);
        for (size_t p = 0; p < outlook->matrix->point_count; p++) {
            double own = forecast->cautious[p * samples + s];
            costs[p * samples + s] = isinf(own) ? INFINITY : cost_of_loss(learning, own - least);
        }
    }
}

/* A configuration that cannot be used costs what is used instead. */
static void cost_fallback(struct learning *learning)
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

static struct hn_choice_tree_data samples_of(const struct learning *learning)
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
static bool has(const struct learning *learning, const bool *use, size_t configuration)
{
    int64_t only = learning->picked.matrix->points[configuration].only_size;
    return use == NULL || configuration == 0 || only < 0 || use[only];
}

static struct hn_rule_node *grow_tree(struct learning *learning, const bool *use, size_t *count)
{
    size_t samples = learning->picked.forecast.places.count;
    const struct hn_choice_tree_data data = samples_of(learning);
    find_costs(learning, &learning->picked, learning->costs);
    for (size_t c = 0; c < learning->count; c++)
        for (size_t s = 0; s < samples && !has(learning, use, c); s++)
            learning->costs[c * samples + s] = INFINITY;
    cost_fallback(learning);
    return hn_choice_tree_grow(&data, MOST_LEAVES, LEAST_SAMPLES, least_split_gain, count);
}

/* For finding the leaf of a size. */
static struct hn_choice_tree_data data_of_sizes(const struct learning *learning)
{
    size_t features = learning->learnt->rule.feature_count;
    return (struct hn_choice_tree_data){
        .samples = learning->picked.sizes.count,
        .features = features,
        .values = learning->features + features * learning->picked.forecast.places.count,
    };
}

/* [configuration][size]: logarithms of times, as measured, else predicted; INFINITY: it failed. */
static double *know_sizes(const struct learning *learning)
{
    const struct outlook *picked = &learning->picked;
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

static bool can_choose(const struct learning *learning, const double *logs, const bool *use,
                       int32_t configuration, size_t size)
{
    return hn_places_usable(&learning->picked.sizes, (size_t)configuration, size) &&
           !isinf(logs[(size_t)configuration * learning->picked.sizes.count + size]) &&
           has(learning, use, (size_t)configuration);
}

/* How much longer than the best that is known takes what the tree chooses, in logarithms; NAN: it
 * cannot be told. */
static double loss_at(const struct learning *learning, const double *logs, const bool *use,
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

/* What a rule said of a size that it was not learnt from. */
struct judged {
    double share; /* of the samples of its leaf, that seem to lose little */
    double loss;  /* NAN: it cannot be told */
};

/* A choice is sure where it loses less than this: in logarithms. */
static const double sure_loss = 0.0953;
/* Of the choices that are called sure, at least so many are. */
static const double sure_are = 0.95;

/* The loss of a configuration at a sample to the best of all configurations; INFINITY: it cannot
 * be used. */
static double plain_loss(const struct learning *learning, size_t configuration, size_t sample)
{
    const struct forecast *forecast = &learning->picked.forecast;
    double own = forecast->logarithms[configuration * forecast->places.count + sample];
    return own - least_time(&learning->picked, forecast->logarithms, sample);
}

/* The deviation of its prediction there. */
static double deviation_of(const struct learning *learning, size_t configuration, size_t sample)
{
    const struct forecast *forecast = &learning->picked.forecast;
    size_t at = configuration * forecast->places.count + sample;
    return isinf(forecast->logarithms[at]) ? 1 : forecast->cautious[at] - forecast->logarithms[at];
}

/* [node]: at which share of a leaf's samples the loss and one deviation of the prediction are
 * small. */
static double *find_shares(const struct learning *learning, const struct hn_rule_node *nodes,
                           size_t node_count)
{
    const struct hn_choice_tree_data data = samples_of(learning);
    double *shares = hn_need(2 * node_count, sizeof *shares), *weights = shares + node_count;
    for (size_t s = 0; s < data.samples; s++) {
        size_t leaf = hn_choice_tree_leaf(nodes, &data, s);
        size_t c = (size_t)nodes[leaf].configuration;
        bool small = plain_loss(learning, c, s) + deviation_of(learning, c, s) < sure_loss;
        weights[leaf] += data.weights[s];
        shares[leaf] += small ? data.weights[s] : 0;
    }
    for (size_t n = 0; n < node_count; n++)
        shares[n] = weights[n] > 0 ? shares[n] / weights[n] : 0;
    return shares;
}

static int by_share(const void *a, const void *b)
{
    const struct judged *x = a, *y = b;
    return (x->share < y->share) - (x->share > y->share);
}

/* The least share with which a leaf is sure: of the sizes that were left out, and had such leaves,
 * few lost much. Above 1: there is none. */
static double find_sure_share(struct judged *judged, size_t count)
{
    double least = 2;
    size_t wrong = 0, seen = 0;
    qsort(judged, count, sizeof *judged, by_share);
    for (size_t i = 0; i < count; i++) {
        if (isnan(judged[i].loss))
            continue;
        seen++;
        wrong += judged[i].loss >= sure_loss;
        bool is_last = i + 1 == count || judged[i + 1].share < judged[i].share;
        if (is_last && (double)wrong <= (1 - sure_are) * (double)seen)
            least = judged[i].share;
    }
    return least;
}

static void mark_sure(struct learning *learning)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = samples_of(learning);
    double *shares = find_shares(learning, rule->nodes, rule->node_count);
    double sure = 0, all = 0;
    for (size_t n = 0; n < rule->node_count; n++)
        rule->nodes[n].sure = rule->nodes[n].feature < 0 && shares[n] >= learning->sure_share;
    for (size_t s = 0; s < data.samples; s++) {
        all += data.weights[s];
        sure += rule->nodes[hn_choice_tree_leaf(rule->nodes, &data, s)].sure ? data.weights[s] : 0;
    }
    learning->learnt->sure = all > 0 ? sure / all : 0;
    free(shares);
}

/* The folds share this. */
struct folds {
    const struct learning *learning;
    const double *logs;
    double search_gain;
    struct losses losses[FOLDS];
    struct judged judged[HN_MATRIX_SIZES];
};

/* Leaves out every fifth of the sizes: with a forecast and costs of its own, and all else shared.
 */
static void learn_without(void *context, size_t fold)
{
    struct folds *folds = context;
    struct learning own = *folds->learning;
    const struct outlook *picked = &folds->learning->picked;
    struct forecast *forecast = &own.picked.forecast;
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
    make_forecast(forecast, models, picked->matrix, use);
    struct hn_rule_node *nodes = grow_tree(&own, use, &node_count);
    double *shares = find_shares(&own, nodes, node_count);
    const struct hn_choice_tree_data data = data_of_sizes(&own);
    for (size_t s = fold; s < sizes; s += FOLDS) {
        const struct hn_matrix_size *size = &picked->matrix->sizes[s];
        double loss = loss_at(&own, folds->logs, use, nodes, s);
        add_loss(&folds->losses[fold], size, loss, folds->search_gain);
        folds->judged[s].share = shares[hn_choice_tree_leaf(nodes, &data, s)];
        folds->judged[s].loss = loss + (isnan(size->tuned_us) ? folds->search_gain : 0);
    }
    free(shares);
    free(nodes);
    hn_models_destroy(models);
    free(forecast->logarithms);
    free(forecast->cautious);
    free(own.costs);
}

static void predict_loss(struct learning *learning)
{
    struct losses losses = {.count = 0};
    double *logs = know_sizes(learning);
    struct folds folds = {
        .learning = learning, .logs = logs, .search_gain = find_search_gain(learning->all.matrix)};
    hn_parallel_do(FOLDS, FOLDS, learn_without, &folds);
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
    learning->sure_share = find_sure_share(folds.judged, folds.learning->picked.sizes.count);
}

/* Where the rule is sure, and where not: what is worth measuring next. */

static const double dear_us = 10000;

/* Samples where the choice is least sure, away from each other. */
static void find_wanted(struct learning *learning)
{
    struct hn_learnt *learnt = learning->learnt;
    const struct hn_choice_tree_data data = samples_of(learning);
    const struct forecast *forecast = &learning->picked.forecast;
    size_t wanted = learning->options->wanted;
    double *scores = hn_need(data.samples, sizeof *scores);
    learnt->wanted = hn_need(wanted, sizeof *learnt->wanted);
    for (size_t s = 0; s < data.samples; s++) {
        size_t leaf = hn_choice_tree_leaf(learnt->rule.nodes, &data, s);
        size_t c = (size_t)learnt->rule.nodes[leaf].configuration;
        scores[s] = deviation_of(learning, c, s) + fmin(1, plain_loss(learning, c, s));
        /* A size that takes much longer than a session takes to begin says no more than others. */
        scores[s] /=
            1 + exp(fmin(least_time(&learning->picked, forecast->logarithms, s), 30)) / dear_us;
    }
    while (learnt->wanted_count < wanted) {
        size_t best = 0;
        for (size_t s = 1; s < data.samples; s++)
            if (scores[s] > scores[best])
                best = s;
        if (!(scores[best] > 0))
            break;
        learnt->wanted[learnt->wanted_count++] =
            hn_need_bindings(&forecast->places.problems[best], NULL);
        for (size_t s = 0; s < data.samples; s++)
            scores[s] *=
                s == best ? 0
                          : 1 - hn_places_likeness(&forecast->places, s, &forecast->places, best);
    }
    free(scores);
}

/* Where a search would find most: where many samples are like it that are slow beside the best of
 * other sizes, and like none that was searched. */

enum {
    PRODUCTS_OF = 5, /* sizes of which products are looked at */
    LOOKED_AT = 400  /* samples among which the next search is chosen */
};
/* No search is expected to save more: where sizes are slower than that beside others, there mostly
 * is a reason. */
static const double most_gain = 0.3;

struct envelope {
    size_t features[PRODUCTS_OF];
    size_t count;
    double least[1 << PRODUCTS_OF]; /* logarithm of a time by a product of sizes */
};

static double log_product(const struct envelope *envelope, size_t product,
                          const struct hn_places *places, size_t place)
{
    double sum = 0;
    for (size_t i = 0; i < envelope->count; i++)
        if (product >> i & 1)
            sum += hn_places_column(places, 0, envelope->features[i])[place];
    return sum;
}

/* No size is faster than the fastest one by any product of sizes: by what is moved or computed, or
 * by the launch alone. */
static void find_envelope(const struct learning *learning, struct envelope *envelope)
{
    const struct hn_matrix *matrix = learning->all.matrix;
    envelope->count = hn_places_sizes(learning->kernel->family, envelope->features, PRODUCTS_OF);
    for (size_t product = 0; product < (size_t)1 << envelope->count; product++) {
        envelope->least[product] = INFINITY;
        for (size_t s = 0; s < matrix->size_count; s++)
            envelope->least[product] =
                fmin(envelope->least[product],
                     log(hn_matrix_best(matrix, s)) -
                         log_product(envelope, product, &learning->all.sizes, s));
    }
}

static double headroom(const struct learning *learning, const struct envelope *envelope,
                       size_t sample)
{
    const struct forecast *forecast = &learning->all.forecast;
    double bound = -INFINITY;
    for (size_t product = 0; product < (size_t)1 << envelope->count; product++)
        bound = fmax(bound, envelope->least[product] +
                                log_product(envelope, product, &forecast->places, sample));
    return fmax(0, least_time(&learning->all, forecast->logarithms, sample) - bound);
}

/* 1 where no search was near. */
static double novelty(const struct learning *learning, size_t sample)
{
    double nearest = 0;
    const struct outlook *all = &learning->all;
    for (size_t s = 0; s < all->matrix->size_count; s++)
        if (all->matrix->sizes[s].searched)
            nearest =
                fmax(nearest, hn_places_likeness(&all->forecast.places, sample, &all->sizes, s));
    return 1 - nearest;
}

/* The worth of what a search at a sample would say beyond those that were made, of all samples. */
static double worth_at(const struct learning *learning, const double *gains,
                       const double *novelties, size_t at)
{
    const struct hn_places *samples = &learning->all.forecast.places;
    double worth = 0;
    for (size_t s = 0; s < samples->count; s++)
        worth += gains[s] * learning->all.forecast.weights[s] *
                 fmax(0, hn_places_likeness(samples, at, samples, s) - (1 - novelties[s]));
    return worth;
}

static size_t find_best(const struct learning *learning, const double *gains,
                        const double *novelties, double *most)
{
    size_t best = 0, samples = learning->all.forecast.places.count;
    size_t step = samples > LOOKED_AT ? samples / LOOKED_AT : 1;
    *most = 0;
    for (size_t s = 0; s < samples; s += step) {
        double worth = worth_at(learning, gains, novelties, s);
        if (worth > *most) {
            *most = worth;
            best = s;
        }
    }
    return best;
}

static void find_search(struct learning *learning)
{
    struct envelope envelope;
    double most;
    const struct hn_places *samples = &learning->all.forecast.places;
    double *gains = hn_need(2 * samples->count, sizeof *gains), *novelties = gains + samples->count;
    find_envelope(learning, &envelope);
    for (size_t s = 0; s < samples->count; s++) {
        double gain = headroom(learning, &envelope, s);
        gains[s] = isfinite(gain) ? fmin(most_gain, gain) : 0;
        novelties[s] = novelty(learning, s);
    }
    size_t best = find_best(learning, gains, novelties, &most);
    free(gains);
    learning->learnt->has_search = most > 0;
    if (most > 0)
        learning->learnt->search = hn_need_bindings(&samples->problems[best], NULL);
}

/* The share of the mean time that one more configuration has to save. */
static const double least_gain = 0.0005;
/* Enough to tell which points go together well. */
enum { SAMPLES_OF_ALL = 4000 };

static void pick(struct learning *learning)
{
    const struct forecast *forecast = &learning->all.forecast;
    size_t points = learning->all.matrix->point_count, samples = forecast->places.count;
    size_t most = (size_t)learning->kernel->family->configurations;
    double *costs = hn_need(points * samples, sizeof *costs);
    find_costs(learning, &learning->all, costs);
    const struct hn_costs_table table = {points, samples, costs, forecast->weights};
    learning->count = hn_pick(&table, most < HN_MATRIX_POINTS ? most : HN_MATRIX_POINTS, least_gain,
                              learning->learnt->picked);
    free(costs);
}

/* By what they cost, and the default point where they cannot be used: so what serves few problems
 * comes late. The default point is last, since it serves all. */
static void order_fallback(struct learning *learning)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct forecast *forecast = &learning->picked.forecast;
    size_t samples = forecast->places.count, count = learning->count;
    double *sums = hn_need(count, sizeof *sums);
    rule->fallback = hn_need(count, sizeof *rule->fallback);
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
}

/* The questions that a rule may ask of a problem: each size and what 2 and 4 leave of it, products
 * and quotients of two, the product of all, which value of a list it has, and how many blocks a
 * configuration has for it. */

/* The range or the words of a value. */
static void set_value(const struct hn_family *family, const char *name,
                      const struct hn_value *example, struct hn_rule_value *value)
{
    const struct hn_family_value *own = NULL;
    for (size_t i = 0; i < family->value_count; i++)
        if (strcmp(family->values[i].name, name) == 0)
            own = &family->values[i];
    value->name = hn_need_copy(name);
    if (own != NULL && own->kind == HN_FAMILY_RANGE) {
        value->low = (double)own->low;
        value->high = (double)own->high;
        return;
    }
    size_t count = own != NULL ? own->count : 1;
    const struct hn_value *values = own != NULL ? own->values : example;
    if (values[0].type == HN_WORD) {
        value->words = hn_need(count, sizeof *value->words);
        for (; value->word_count < count; value->word_count++)
            value->words[value->word_count] = hn_word(hn_need_copy(values[value->word_count].word));
        return;
    }
    value->low = value->high = hn_value_number(&values[0]);
    for (size_t i = 1; i < count; i++) {
        double number = hn_value_number(&values[i]);
        value->low = number < value->low ? number : value->low;
        value->high = number > value->high ? number : value->high;
    }
}

/* Whether an expression can be asked of any problem that the rule is for. */
static bool can_ask(const struct hn_rule *rule, const char *text)
{
    struct hn_error ignored;
    struct hn_rule_feature feature = {.text = (char *)text};
    struct hn_rule_node leaf = {.feature = -1};
    struct hn_bindings none = {0};
    int fallback = 0;
    struct hn_rule alone = {
        .values = rule->values,
        .value_count = rule->value_count,
        .features = &feature,
        .feature_count = 1,
        .nodes = &leaf,
        .node_count = 1,
        .configurations = &none,
        .configuration_count = 1,
        .fallback = &fallback,
        .fallback_count = 1,
    };
    bool can = hn_rule_complete(&alone, &ignored) == HN_OK;
    hn_expression_destroy(feature.expression);
    return can;
}

/* Adds a question, unless it is there or cannot be asked. */
__attribute__((format(printf, 2, 3))) static void add(struct hn_rule *rule, const char *format, ...)
{
    struct hn_text question = {0};
    va_list arguments;
    va_start(arguments, format);
    hn_text_vprintf(&question, format, arguments);
    va_end(arguments);
    char *text = hn_needed(hn_text_take(&question));
    bool is_new = rule->feature_count < HN_RULE_FEATURES_MOST;
    for (size_t i = 0; is_new && i < rule->feature_count; i++)
        is_new = strcmp(rule->features[i].text, text) != 0;
    if (!is_new || !can_ask(rule, text)) {
        free(text);
        return;
    }
    rule->features = hn_need_more(rule->features, rule->feature_count + 1, sizeof *rule->features);
    rule->features[rule->feature_count++] = (struct hn_rule_feature){.text = text};
}

static void add_sizes(const struct hn_family *family, struct hn_rule *rule)
{
    struct hn_text all = {0};
    size_t sizes = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const char *name = value->name;
        for (size_t k = 0; value->kind == HN_FAMILY_LIST && value->count > 1 && k < value->count;
             k++) {
            struct hn_text text = {0};
            hn_value_append(&text, &value->values[k]);
            add(rule, "%s == %s", name, text.data);
            hn_text_finish(&text);
        }
        if (value->kind == HN_FAMILY_LIST)
            continue;
        hn_text_printf(&all, "%s%s", sizes++ > 0 ? " * " : "", name);
        add(rule, "%s", name);
        for (int power = 2; power <= 4; power *= 2)
            add(rule, "%s %% %d", name, power);
        for (size_t k = 0; k < i; k++) {
            const char *other = family->values[k].name;
            if (family->values[k].kind != HN_FAMILY_RANGE)
                continue;
            add(rule, "%s * %s", other, name);
            add(rule, "%s // %s", other, name);
            add(rule, "%s // %s", name, other);
        }
    }
    if (sizes > 2)
        add(rule, "%s", all.data);
    hn_text_finish(&all);
}

/* The text of an expression with a point's values in the place of its parameters. */
static char *write_with(const char *expression, const struct hn_bindings *point)
{
    struct hn_text text = {0};
    while (*expression != '\0') {
        char name[64];
        size_t length = 0;
        while (hn_is_word_char(expression[length]))
            length++;
        snprintf(name, sizeof name, "%.*s", (int)length, expression);
        const struct hn_value *value =
            length > 0 && length < sizeof name ? hn_bindings_get(point, name) : NULL;
        length += length == 0;
        if (value != NULL)
            hn_value_append(&text, value);
        else
            hn_text_printf(&text, "%.*s", (int)length, expression);
        expression += length;
    }
    return hn_needed(hn_text_take(&text));
}

/* How many blocks a configuration has along each side of its grid: where waves of blocks end, its
 * times jump. A side that has conditions is no question that somebody could read. */
static void add_grids(const struct hn_plan *plan, struct hn_rule *rule)
{
    for (size_t c = 0; c < rule->configuration_count; c++)
        for (size_t k = 0; k < 3 * plan->step_count; k++) {
            const struct hn_expression *side = plan->steps[k / 3].geometry.grid[k % 3];
            if (side == NULL || hn_expression_slots(side) == 0 ||
                strstr(hn_expression_text(side), " if ") != NULL)
                continue;
            char *text = write_with(hn_expression_text(side), &rule->configurations[c]);
            add(rule, "%s", text);
            free(text);
        }
}

/* Which share of a size, in percent, its last part lacks, where times hang on that. */
static void add_edges(const struct learning *learning, struct hn_rule *rule)
{
    const struct hn_places *sizes = &learning->picked.sizes;
    for (size_t c = 0; c < rule->configuration_count; c++) {
        int64_t parts[HN_EDGES_MOST];
        hn_family_edges_parts(&sizes->edges, learning->kernel, &sizes->problems[0],
                              &rule->configurations[c], parts);
        for (size_t i = 0; i < sizes->edges.count; i++)
            if (parts[i] > 1 && hn_models_have_edge(learning->picked.models, i))
                add(rule, "-%s %% %lld * 100 // %s", sizes->edges.items[i].size,
                    (long long)parts[i], sizes->edges.items[i].size);
    }
}

/* Features of all samples, then of all sizes. */
static void evaluate_features(struct learning *learning, struct hn_error *err)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_places *samples = &learning->picked.forecast.places;
    const struct hn_places *sizes = &learning->picked.sizes;
    size_t all = samples->count + sizes->count;
    int64_t own[HN_RULE_FEATURES_MOST];
    bool inside;
    learning->features = hn_need(rule->feature_count * all, sizeof *learning->features);
    int64_t *of_sizes = learning->features + rule->feature_count * samples->count;
    for (size_t i = 0; i < all && !hn_failed(err); i++) {
        bool is_sample = i < samples->count;
        size_t place = is_sample ? i : i - samples->count;
        const struct hn_places *places = is_sample ? samples : sizes;
        if (!hn_rule_evaluate(rule, &places->problems[place], own, &inside))
            hn_fail(err, HN_ECONFIG, "the problems of the family have different names");
        for (size_t f = 0; f < rule->feature_count && !hn_failed(err); f++)
            (is_sample ? learning->features : of_sizes)[f * places->count + place] = own[f];
    }
}

/* Features that no node asks for are left out. */
static void drop_unused(struct hn_rule *rule)
{
    int *renamed = hn_need(rule->feature_count, sizeof *renamed);
    size_t kept = 0;
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
}

/* Looks at the points of a matrix, at so many samples. `like` has the lengths and terms of the
 * models. */
static void look_out(const struct learning *learning, const struct hn_matrix *matrix,
                     size_t samples, const struct hn_models *like, struct outlook *outlook,
                     struct hn_error *err)
{
    const struct hn_family_kernel *kernel = learning->kernel;
    outlook->matrix = matrix;
    hn_places_init(&outlook->sizes, kernel, matrix->point_count, matrix->size_count);
    for (size_t s = 0; s < matrix->size_count; s++)
        hn_places_add(&outlook->sizes, &matrix->sizes[s].problem);
    hn_places_see(&outlook->sizes, kernel, matrix);
    outlook->models = hn_models_make(kernel->family, matrix, &outlook->sizes, NULL, like);
    init_forecast(&outlook->forecast, kernel, matrix, learning->options->seed, samples, err);
    make_forecast(&outlook->forecast, outlook->models, matrix, NULL);
}

static void finish_outlook(struct outlook *outlook)
{
    hn_places_finish(&outlook->sizes);
    finish_forecast(&outlook->forecast);
    hn_models_destroy(outlook->models);
}

/* Up to where features can be evaluated: a rule of one leaf. */
static void begin_rule(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_bindings *example = &learning->picked.sizes.problems[0];
    rule->worst = learning->kernel->family->worst;
    rule->configurations = hn_need(learning->count, sizeof *rule->configurations);
    for (size_t i = 0; i < learning->count; i++)
        rule->configurations[i] =
            hn_need_bindings(&learning->picked.matrix->points[i].values, NULL);
    rule->configuration_count = learning->count;
    rule->nodes = hn_need(1, sizeof *rule->nodes);
    rule->nodes[0] = (struct hn_rule_node){.feature = -1};
    rule->node_count = 1;
    learning->costs =
        hn_need(learning->count * learning->picked.forecast.places.count, sizeof *learning->costs);
    find_costs(learning, &learning->picked, learning->costs);
    order_fallback(learning);
    rule->values = hn_need(example->count, sizeof *rule->values);
    for (size_t i = 0; i < example->count; i++)
        set_value(learning->kernel->family, example->names[i], &example->values[i],
                  &rule->values[i]);
    rule->value_count = example->count;
    add_sizes(learning->kernel->family, rule);
    add_edges(learning, rule);
    add_grids(learning->kernel->plan, rule);
    if (hn_rule_complete(rule, err) == HN_OK)
        evaluate_features(learning, err);
}

/* From what is picked to the rule. */
static void learn(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    begin_rule(learning, err);
    if (hn_failed(err))
        return;
    predict_loss(learning);
    free(rule->nodes);
    rule->nodes = grow_tree(learning, NULL, &rule->node_count);
    mark_sure(learning);
    find_wanted(learning);
    find_search(learning);
    drop_unused(rule);
    hn_rule_complete(rule, err);
}

enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt,
                        struct hn_error *err)
{
    struct learning learning = {.kernel = kernel, .options = options, .learnt = learnt};
    struct hn_matrix *picked = NULL;
    size_t some = options->samples < SAMPLES_OF_ALL ? options->samples : SAMPLES_OF_ALL;
    *learnt = (struct hn_learnt){.wanted_count = 0};
    hn_error_init(err);
    look_out(&learning, matrix, some, NULL, &learning.all, err);
    if (!hn_failed(err)) {
        pick(&learning);
        picked = hn_matrix_pick(matrix, learnt->picked, learning.count);
        look_out(&learning, picked, options->samples, learning.all.models, &learning.picked, err);
    }
    if (!hn_failed(err))
        learn(&learning, err);
    finish_outlook(&learning.all);
    finish_outlook(&learning.picked);
    hn_matrix_destroy(picked);
    free(learning.features);
    free(learning.costs);
    if (hn_failed(err))
        hn_learnt_finish(learnt);
    return err->status;
}

void hn_learnt_finish(struct hn_learnt *learnt)
{
    hn_rule_finish(&learnt->rule);
    for (size_t i = 0; i < learnt->wanted_count; i++)
        hn_bindings_finish(&learnt->wanted[i]);
    free(learnt->wanted);
    if (learnt->has_search)
        hn_bindings_finish(&learnt->search);
    *learnt = (struct hn_learnt){.wanted_count = 0};
}
