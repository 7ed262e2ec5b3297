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

/* What points lose at many problems of the family to the best of their size, in logarithms: as
 * measured, else as predicted. */
struct forecast {
    const struct hn_bindings *problems; /* the learning's samples */
    size_t count;
    double *losses;   /* [point][problem]; INFINITY: it cannot be used there */
    double *cautious; /* the same and a deviation: who is believed to be fast where little is known
                         has to be more so */
};

static const double caution = 0.5;

struct learning {
    const struct hn_family_kernel *kernel;
    const struct hn_matrix *matrix;
    const struct hn_learn_options *options;
    struct hn_learnt *learnt;
    struct hn_bindings *samples; /* problems of the family */
    double *weights;
    size_t sample_count;
    size_t count;             /* of configurations: of learnt->picked */
    struct forecast forecast; /* of the configurations */
    int64_t *features;        /* [feature][sample] */
    double *costs;            /* [configuration][sample] */
    double sure_risk;         /* up to which a leaf is sure */
};

/* Problems drawn from the family by seed, behind those that it names, which together weigh as
 * much. HN_ECONFIG in err: there are none. */
static void draw_samples(struct learning *learning, struct hn_error *err)
{
    const struct hn_family *family = learning->kernel->family;
    size_t wanted = learning->options->samples;
    uint64_t at = 0;
    double named = 0;
    learning->samples = hn_need(wanted + family->size_count, sizeof *learning->samples);
    learning->weights = hn_need(wanted + family->size_count, sizeof *learning->weights);
    for (size_t i = 0; i < family->size_count; i++)
        named += family->weights[i];
    for (size_t i = 0; i < family->size_count; i++) {
        learning->weights[i] = (double)wanted * family->weights[i] / named;
        learning->samples[learning->sample_count++] =
            hn_need_bindings(&learning->matrix->sizes[i].problem, NULL);
    }
    for (size_t i = 0; i < wanted && !hn_failed(err); i++) {
        struct hn_bindings problem;
        hn_family_next(family, learning->options->seed, &at, &problem, err);
        /* With what a problem has beside the family's values. */
        learning->weights[learning->sample_count] = 1;
        learning->samples[learning->sample_count++] =
            hn_need_bindings(&learning->matrix->sizes[0].problem, &problem);
        hn_bindings_finish(&problem);
    }
}

/* The size of the matrix that a problem is; its size_count for none. */
static size_t size_of(const struct hn_matrix *matrix, const struct hn_bindings *problem)
{
    size_t size = 0;
    while (size < matrix->size_count && !hn_bindings_equal(&matrix->sizes[size].problem, problem))
        size++;
    return size;
}

/* Of these points of the matrix, at the first `count` samples. Measured times stand for
 * themselves. */
static void make_forecast(const struct learning *learning, const size_t *points, size_t point_count,
                          size_t count, struct forecast *forecast)
{
    const struct hn_matrix *matrix = learning->matrix;
    const struct hn_matrix_point *asked[HN_MATRIX_POINTS];
    *forecast = (struct forecast){.problems = learning->samples,
                                  .count = count,
                                  .losses = hn_need(point_count * count, sizeof(double)),
                                  .cautious = hn_need(point_count * count, sizeof(double))};
    for (size_t p = 0; p < point_count; p++)
        asked[p] = &matrix->points[points[p]];
    hn_model_ask(learning->learnt->model, asked, point_count, learning->samples, count,
                 forecast->losses, forecast->cautious);
    for (size_t i = 0; i < point_count * count; i++)
        forecast->cautious[i] = forecast->losses[i] + caution * forecast->cautious[i];
    for (size_t i = 0; i < count; i++) {
        size_t size = size_of(matrix, &learning->samples[i]);
        if (size == matrix->size_count)
            continue;
        for (size_t p = 0; p < point_count; p++)
            if (!isnan(matrix->times[points[p]][size]))
                forecast->cautious[p * count + i] = forecast->losses[p * count + i] =
                    log(matrix->times[points[p]][size] / hn_matrix_least(matrix, size));
    }
}

static void finish_forecast(struct forecast *forecast)
{
    free(forecast->losses);
    free(forecast->cautious);
    *forecast = (struct forecast){.count = 0};
}

/* Costs of a forecast and the tree that they give; and the predicted loss: what a rule that was
 * learnt without a part of the sizes loses there, and what a search of its own would find besides.
 */

enum { MOST_LEAVES = 400, LEAST_SAMPLES = 4, FOLDS = 5 };
/* The share of the mean time that one more leaf has to save. */
static const double least_split_gain = 0.0001;
/* Where the mean counts, a loss of 10% weighs as much as 13 of 1%; where the worst does, as 23. */
static const double mean_power = 4, worst_power = 16;

/* A loss in logarithms, as it counts. */
static double cost_of_loss(const struct learning *learning, double loss)
{
    double power = learning->kernel->family->worst ? worst_power : mean_power;
    return expm1(power * fmin(loss, 4 / power)) / power + fmax(0, loss - 4 / power);
}

/* The least of the losses at a sample. */
static double least_loss(const struct forecast *forecast, const double *losses, size_t points,
                         size_t sample)
{
    double least = INFINITY;
    for (size_t p = 0; p < points; p++)
        least = fmin(least, losses[p * forecast->count + sample]);
    return least;
}

/* Losses of points against the best of them, as they count. */
static void find_costs(const struct learning *learning, const struct forecast *forecast,
                       size_t points, double *costs)
{
    size_t samples = forecast->count;
    for (size_t s = 0; s < samples; s++) {
        double least = least_loss(forecast, forecast->cautious, points, s);
        for (size_t p = 0; p < points; p++) {
            double own = forecast->cautious[p * samples + s];
            costs[p * samples + s] = isinf(own) ? INFINITY : cost_of_loss(learning, own - least);
        }
    }
}

/* A configuration that cannot be used costs what is used instead. */
static void cost_fallback(struct learning *learning)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    size_t samples = learning->forecast.count;
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
        .samples = learning->forecast.count,
        .choices = learning->count,
        .features = learning->learnt->rule.feature_count,
        .values = learning->features,
        .costs = learning->costs,
        .weights = learning->weights,
    };
}

/* Whether a configuration would be there without the other sizes (NULL: all are used): not if the
 * search at one of them alone found it. */
static bool has(const struct learning *learning, const bool *use, size_t configuration)
{
    size_t point = learning->learnt->picked[configuration];
    int64_t only = learning->matrix->points[point].only_size;
    return use == NULL || configuration == 0 || only < 0 || use[only];
}

static struct hn_rule_node *grow_tree(struct learning *learning, size_t *count)
{
    const struct hn_choice_tree_data data = samples_of(learning);
    find_costs(learning, &learning->forecast, learning->count, learning->costs);
    cost_fallback(learning);
    return hn_choice_tree_grow(&data, MOST_LEAVES, LEAST_SAMPLES, least_split_gain, count);
}

/* The logarithm of how much longer than the best that is known a configuration takes at a size; as
 * the model says where it was not measured. INFINITY: it cannot be used. */
static double known_loss(const struct learning *learning, const double *predicted,
                         size_t configuration, size_t size)
{
    const struct hn_matrix *matrix = learning->matrix;
    double time = matrix->times[learning->learnt->picked[configuration]][size];
    return isnan(time) ? predicted[configuration * matrix->size_count + size]
                       : log(time / hn_matrix_best(matrix, size));
}

/* What a model says of all configurations at all sizes, and (NULL: not asked) how sure it is. */
static void ask_sizes(const struct learning *learning, const struct hn_model *model, double *losses,
                      double *deviations)
{
    const struct hn_matrix *matrix = learning->matrix;
    struct hn_bindings problems[HN_MATRIX_SIZES]; /* borrowed */
    const struct hn_matrix_point *points[HN_RULE_CONFIGURATIONS_MOST];
    for (size_t s = 0; s < matrix->size_count; s++)
        problems[s] = matrix->sizes[s].problem;
    for (size_t c = 0; c < learning->count; c++)
        points[c] = &matrix->points[learning->learnt->picked[c]];
    hn_model_ask(model, points, learning->count, problems, matrix->size_count, losses, deviations);
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
    double risk; /* of its leaf */
    double loss; /* NAN: it cannot be told */
};

/* A choice is sure where it loses less than this: in logarithms. */
static const double sure_loss = 0.0953;
/* Of the choices that are called sure, at least so many are. */
static const double sure_are = 0.95;

/* The loss of a configuration at a sample to the best of all configurations; INFINITY: it cannot
 * be used. */
static double plain_loss(const struct learning *learning, size_t configuration, size_t sample)
{
    const struct forecast *forecast = &learning->forecast;
    return forecast->losses[configuration * forecast->count + sample] -
           least_loss(forecast, forecast->losses, learning->count, sample);
}

/* The deviation of its prediction there. */
static double deviation_of(const struct learning *learning, size_t configuration, size_t sample)
{
    const struct forecast *forecast = &learning->forecast;
    size_t at = configuration * forecast->count + sample;
    return isinf(forecast->losses[at]) ? 1
                                       : (forecast->cautious[at] - forecast->losses[at]) / caution;
}

/* [node]: the loss and its deviation of a leaf's samples, as the root of their mean square: few
 * that lose much count more than many that lose little. */
static double *find_risks(const struct learning *learning, const struct hn_rule_node *nodes,
                          size_t node_count)
{
    const struct hn_choice_tree_data data = samples_of(learning);
    double *risks = hn_need(2 * node_count, sizeof *risks), *weights = risks + node_count;
    for (size_t s = 0; s < data.samples; s++) {
        size_t leaf = hn_choice_tree_leaf(nodes, &data, s);
        size_t c = (size_t)nodes[leaf].configuration;
        double risk = fmin(1, plain_loss(learning, c, s) + deviation_of(learning, c, s));
        weights[leaf] += data.weights[s];
        risks[leaf] += data.weights[s] * risk * risk;
    }
    for (size_t n = 0; n < node_count; n++)
        risks[n] = weights[n] > 0 ? sqrt(risks[n] / weights[n]) : INFINITY;
    return risks;
}

static int by_risk(const void *a, const void *b)
{
    const struct judged *x = a, *y = b;
    return (x->risk > y->risk) - (x->risk < y->risk);
}

/* The highest risk with which a leaf is sure: of the sizes that were left out, and had such leaves,
 * few lost much. Below 0: there is none. */
static double find_sure_risk(struct judged *judged, size_t count)
{
    double highest = -1;
    size_t wrong = 0, seen = 0;
    qsort(judged, count, sizeof *judged, by_risk);
    for (size_t i = 0; i < count; i++) {
        if (isnan(judged[i].loss))
            continue;
        seen++;
        wrong += judged[i].loss >= sure_loss;
        /* One that was wrong may as well be one and a half. */
        double expected = wrong > 0 ? (double)wrong + 0.5 : 0;
        bool is_last = i + 1 == count || judged[i + 1].risk > judged[i].risk;
        if (is_last && expected <= (1 - sure_are) * (double)seen)
            highest = judged[i].risk;
    }
    return highest;
}

static void mark_sure(struct learning *learning)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data data = samples_of(learning);
    double *risks = find_risks(learning, rule->nodes, rule->node_count);
    double sure = 0, all = 0;
    for (size_t n = 0; n < rule->node_count; n++)
        rule->nodes[n].sure = rule->nodes[n].feature < 0 && risks[n] <= learning->sure_risk;
    for (size_t s = 0; s < data.samples; s++) {
        all += data.weights[s];
        sure += rule->nodes[hn_choice_tree_leaf(rule->nodes, &data, s)].sure ? data.weights[s] : 0;
    }
    learning->learnt->sure = all > 0 ? sure / all : 0;
    free(risks);
}

/* The folds share this. */
struct folds {
    const struct learning *learning;
    const double *predicted; /* of all configurations at all sizes, by the model of all */
    double search_gain;
    struct losses losses[FOLDS];
    struct judged judged[HN_MATRIX_SIZES];
};

/* What a model that has not seen a size chooses there. Trees of thousands of samples choose as
 * their models do. */
static void judge_size(struct folds *folds, size_t fold, const bool *use, const double *losses,
                       const double *deviations, size_t s)
{
    const struct learning *learning = folds->learning;
    const struct hn_matrix_size *size = &learning->matrix->sizes[s];
    double least = INFINITY, cautious = INFINITY, loss = INFINITY;
    struct judged *judged = &folds->judged[s];
    *judged = (struct judged){.risk = INFINITY, .loss = NAN};
    for (size_t c = 0; c < learning->count; c++) {
        size_t at = c * learning->matrix->size_count + s;
        if (!has(learning, use, c) || isinf(losses[at]))
            continue;
        least = fmin(least, losses[at]);
        if (losses[at] + caution * deviations[at] < cautious) {
            cautious = losses[at] + caution * deviations[at];
            judged->risk = losses[at] + deviations[at];
            loss = known_loss(learning, folds->predicted, c, s);
        }
    }
    judged->risk -= least;
    loss = isfinite(loss) ? fmax(0, loss) : NAN;
    judged->loss = loss + (isnan(size->tuned_us) ? folds->search_gain : 0);
    add_loss(&folds->losses[fold], size, loss, folds->search_gain);
}

/* Leaves out every fifth of the sizes. */
static void learn_without(void *context, size_t fold)
{
    struct folds *folds = context;
    const struct learning *learning = folds->learning;
    size_t sizes = learning->matrix->size_count;
    bool use[HN_MATRIX_SIZES];
    double *losses = hn_need(2 * learning->count * sizes, sizeof *losses);
    double *deviations = losses + learning->count * sizes;
    for (size_t s = 0; s < sizes; s++)
        use[s] = s % FOLDS != fold;
    struct hn_model *model = hn_model_make(learning->kernel, learning->matrix, use,
                                           learning->options->trees, learning->options->seed);
    ask_sizes(learning, model, losses, deviations);
    for (size_t s = fold; s < sizes; s += FOLDS)
        judge_size(folds, fold, use, losses, deviations, s);
    hn_model_destroy(model);
    free(losses);
}

static void predict_loss(struct learning *learning)
{
    const struct hn_matrix *matrix = learning->matrix;
    struct losses losses = {.count = 0};
    double *predicted = hn_need(learning->count * matrix->size_count, sizeof *predicted);
    struct folds folds = {
        .learning = learning, .predicted = predicted, .search_gain = find_search_gain(matrix)};
    ask_sizes(learning, learning->learnt->model, predicted, NULL);
    hn_parallel_do(FOLDS, 0, learn_without, &folds);
    for (size_t fold = 0; fold < FOLDS; fold++) {
        const struct losses *own = &folds.losses[fold];
        losses.worst = fmax(losses.worst, own->worst);
        losses.sum_of_all += own->sum_of_all;
        losses.count_of_all += own->count_of_all;
        losses.sum += own->sum;
        losses.count += own->count;
    }
    free(predicted);
    learning->learnt->rule.predicted = rule_loss(&losses);
    learning->sure_risk = find_sure_risk(folds.judged, matrix->size_count);
}

/* How alike two problems are, by their values alone: 1 for the same, 0.37 where a size is seven
 * times the other. */
static double likeness_of(const struct hn_family *family, const struct hn_bindings *a,
                          const struct hn_bindings *b)
{
    double squares = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_value *x = hn_bindings_get(a, family->values[i].name);
        const struct hn_value *y = hn_bindings_get(b, family->values[i].name);
        double apart = family->values[i].kind == HN_FAMILY_RANGE
                           ? log(fmax(1, hn_value_number(x)) / fmax(1, hn_value_number(y)))
                           : !hn_value_equal(x, y);
        squares += apart * apart;
    }
    return exp(-squares / 4);
}

/* Samples where the choice is least sure, away from each other. */
static void find_wanted(struct learning *learning)
{
    struct hn_learnt *learnt = learning->learnt;
    const struct hn_choice_tree_data data = samples_of(learning);
    size_t wanted = learning->options->wanted;
    double *scores = hn_need(data.samples, sizeof *scores);
    learnt->wanted = hn_need(wanted, sizeof *learnt->wanted);
    for (size_t s = 0; s < data.samples; s++) {
        size_t leaf = hn_choice_tree_leaf(learnt->rule.nodes, &data, s);
        size_t c = (size_t)learnt->rule.nodes[leaf].configuration;
        scores[s] = deviation_of(learning, c, s) + fmin(1, plain_loss(learning, c, s));
        if (size_of(learning->matrix, &learning->samples[s]) < learning->matrix->size_count)
            scores[s] = 0;
    }
    while (learnt->wanted_count < wanted) {
        size_t best = 0;
        for (size_t s = 1; s < data.samples; s++)
            if (scores[s] > scores[best])
                best = s;
        if (!(scores[best] > 0))
            break;
        const struct hn_bindings *chosen = &learning->samples[best];
        learnt->wanted[learnt->wanted_count++] = hn_need_bindings(chosen, NULL);
        for (size_t s = 0; s < data.samples; s++)
            if (s != best && scores[s] > 0)
                scores[s] *=
                    1 - likeness_of(learning->kernel->family, chosen, &learning->samples[s]);
        scores[best] = 0;
    }
    free(scores);
}

/* The share of the mean time that one more configuration has to save. */
static const double least_gain = 0.0005;
/* A point that is further from the best at each size where it was measured is no configuration. */
static const double most_candidate_loss = 0.15;
/* Enough to tell which points go together well. */
enum { SAMPLES_OF_ALL = 1500 };

/* The default point, and the points that are near to the best somewhere. */
static size_t find_candidates(const struct hn_matrix *matrix, size_t *candidates)
{
    size_t count = 0;
    double least[HN_MATRIX_SIZES];
    for (size_t s = 0; s < matrix->size_count; s++)
        least[s] = hn_matrix_least(matrix, s);
    for (size_t p = 0; p < matrix->point_count; p++) {
        bool is_near = p == 0;
        for (size_t s = 0; s < matrix->size_count && !is_near; s++)
            is_near = matrix->times[p][s] < (1 + most_candidate_loss) * least[s];
        if (is_near)
            candidates[count++] = p;
    }
    return count;
}

static void pick(struct learning *learning)
{
    size_t candidates[HN_MATRIX_POINTS], picked[HN_MATRIX_POINTS];
    size_t count = find_candidates(learning->matrix, candidates);
    size_t samples =
        learning->sample_count < SAMPLES_OF_ALL ? learning->sample_count : SAMPLES_OF_ALL;
    size_t most = (size_t)learning->kernel->family->configurations;
    struct forecast forecast;
    make_forecast(learning, candidates, count, samples, &forecast);
    double *costs = hn_need(count * samples, sizeof *costs);
    find_costs(learning, &forecast, count, costs);
    const struct hn_costs_table table = {count, samples, costs, learning->weights};
    learning->count = hn_pick(&table, most < count ? most : count, least_gain, picked);
    for (size_t c = 0; c < learning->count; c++)
        learning->learnt->picked[c] = candidates[picked[c]];
    free(costs);
    finish_forecast(&forecast);
}

/* By what they cost, and the default point where they cannot be used: so what serves few problems
 * comes late. The default point is last, since it serves all. */
static void order_fallback(struct learning *learning)
{
    struct hn_rule *rule = &learning->learnt->rule;
    size_t samples = learning->forecast.count, count = learning->count;
    double *sums = hn_need(count, sizeof *sums);
    rule->fallback = hn_need(count, sizeof *rule->fallback);
    for (size_t c = 0; c < count; c++)
        for (size_t s = 0; s < samples; s++) {
            double own = learning->costs[c * samples + s], instead = learning->costs[s];
            double cost = !isinf(own) ? own : isinf(instead) ? 0 : instead;
            sums[c] += learning->weights[s] * cost;
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

enum { EDGES_ASKED = 6 };

/* Which share of a size, in percent, its last part lacks: of the edges that tell most. */
static void add_edges(const struct learning *learning, struct hn_rule *rule)
{
    struct hn_family_edges edges;
    size_t asked[EDGES_ASKED], count = hn_model_edges(learning->learnt->model, asked, EDGES_ASKED);
    hn_family_edges_find(&edges, learning->kernel);
    for (size_t c = 0; c < rule->configuration_count; c++) {
        int64_t parts[HN_EDGES_MOST];
        hn_family_edges_parts(&edges, learning->kernel, &learning->matrix->sizes[0].problem,
                              &rule->configurations[c], parts);
        for (size_t i = 0; i < count; i++)
            if (parts[asked[i]] > 1)
                add(rule, "-%s %% %lld * 100 // %s", edges.items[asked[i]].size,
                    (long long)parts[asked[i]], edges.items[asked[i]].size);
    }
    hn_family_edges_finish(&edges);
}

static void evaluate_features(struct learning *learning, struct hn_error *err)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    size_t samples = learning->sample_count;
    int64_t own[HN_RULE_FEATURES_MOST];
    bool inside;
    learning->features = hn_need(rule->feature_count * samples, sizeof *own);
    for (size_t s = 0; s < samples && !hn_failed(err); s++) {
        if (!hn_rule_evaluate(rule, &learning->samples[s], own, &inside))
            hn_fail(err, HN_ECONFIG, "the problems of the family have different names");
        for (size_t f = 0; f < rule->feature_count && !hn_failed(err); f++)
            learning->features[f * samples + s] = own[f];
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

/* Up to where features can be evaluated: a rule of one leaf. */
static void begin_rule(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_bindings *example = &learning->matrix->sizes[0].problem;
    rule->worst = learning->kernel->family->worst;
    rule->configurations = hn_need(learning->count, sizeof *rule->configurations);
    for (size_t i = 0; i < learning->count; i++)
        rule->configurations[i] =
            hn_need_bindings(&learning->matrix->points[learning->learnt->picked[i]].values, NULL);
    rule->configuration_count = learning->count;
    rule->nodes = hn_need(1, sizeof *rule->nodes);
    rule->nodes[0] = (struct hn_rule_node){.feature = -1};
    rule->node_count = 1;
    learning->costs = hn_need(learning->count * learning->sample_count, sizeof *learning->costs);
    find_costs(learning, &learning->forecast, learning->count, learning->costs);
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

/* From the model to the rule. */
static void learn(struct learning *learning, struct hn_error *err)
{
    struct hn_learnt *learnt = learning->learnt;
    struct hn_rule *rule = &learnt->rule;
    learnt->model = hn_model_make(learning->kernel, learning->matrix, NULL,
                                  learning->options->trees, learning->options->seed);
    pick(learning);
    make_forecast(learning, learnt->picked, learning->count, learning->sample_count,
                  &learning->forecast);
    begin_rule(learning, err);
    if (hn_failed(err))
        return;
    free(rule->nodes);
    rule->nodes = grow_tree(learning, &rule->node_count);
    predict_loss(learning);
    mark_sure(learning);
    find_wanted(learning);
    drop_unused(rule);
    hn_rule_complete(rule, err);
}

enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt,
                        struct hn_error *err)
{
    struct learning learning = {
        .kernel = kernel, .matrix = matrix, .options = options, .learnt = learnt};
    *learnt = (struct hn_learnt){.wanted_count = 0};
    hn_error_init(err);
    draw_samples(&learning, err);
    if (!hn_failed(err))
        learn(&learning, err);
    for (size_t i = 0; i < learning.sample_count; i++)
        hn_bindings_finish(&learning.samples[i]);
    free(learning.samples);
    free(learning.weights);
    finish_forecast(&learning.forecast);
    free(learning.features);
    free(learning.costs);
    if (hn_failed(err))
        hn_learnt_finish(learnt);
    return err->status;
}

void hn_learnt_finish(struct hn_learnt *learnt)
{
    hn_rule_finish(&learnt->rule);
    hn_model_destroy(learnt->model);
    for (size_t i = 0; i < learnt->wanted_count; i++)
        hn_bindings_finish(&learnt->wanted[i]);
    free(learnt->wanted);
    *learnt = (struct hn_learnt){.wanted_count = 0};
}
