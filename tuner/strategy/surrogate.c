/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "tuner/strategy/model.h"

enum { TWOS_MOST = 5, SAMPLE = 256 };

/* Estimates beyond it, which the median is half way to, are equal. */
static const double worst_estimate = 2;

static void scale(double *values, size_t count)
{
    double low = values[0];
    double high = values[0];
    for (size_t i = 1; i < count; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    /* a zero among powers of two switches something off */
    double shift = low == 0 && high >= 8 ? 1 : 0;
    bool logarithmic = low + shift > 0 && high + shift >= 4 * (low + shift);
    for (size_t i = 0; i < count; i++) {
        double place = logarithmic ? log2((values[i] + shift) / (low + shift)) : values[i] - low;
        values[i] = place / (logarithmic ? log2((high + shift) / (low + shift)) : high - low);
    }
}

static void add_feature(struct hn_encoding *encoding, size_t parameter, double *values,
                        bool category)
{
    encoding->values[encoding->varied] = values;
    encoding->category[encoding->varied] = category;
    encoding->parameters[encoding->varied] = parameter;
    encoding->count = ++encoding->varied;
}

static void add_place(struct hn_encoding *encoding, size_t parameter)
{
    size_t count = hn_space_parameter(encoding->space, parameter)->count;
    double *values = hn_need_block(&encoding->memory, count, sizeof *values);
    bool numbers = true;
    for (size_t i = 0; i < count && numbers; i++) {
        const struct hn_value *value = &hn_space_parameter(encoding->space, parameter)->values[i];
        numbers = value->type != HN_WORD;
        values[i] = numbers ? hn_value_number(value) : 0;
    }
    if (numbers)
        scale(values, count);
    for (size_t i = 0; i < count && !numbers; i++)
        values[i] = (double)i;
    add_feature(encoding, parameter, values, !numbers);
}

/* Warps, vectors, sectors and banks come in powers of two: 48 and 80 have in common what 64 has
 * not. Between powers of two the logarithm says as much. Counted is how often 2 divides a whole
 * number, up to a warp's 32. */
static void add_twos(struct hn_encoding *encoding, size_t parameter)
{
    size_t count = hn_space_parameter(encoding->space, parameter)->count;
    double *values = hn_need_block(&encoding->memory, count, sizeof *values);
    bool powers = true, differ = false, whole = true;
    for (size_t i = 0; i < count && whole; i++) {
        const struct hn_value *value = &hn_space_parameter(encoding->space, parameter)->values[i];
        whole = value->type == HN_INTEGER && value->integer >= 0;
        int64_t rest = whole ? value->integer : 1;
        for (values[i] = 0; values[i] < TWOS_MOST && rest % 2 == 0; rest /= 2)
            ++values[i];
        powers = powers && whole && (value->integer & (value->integer - 1)) == 0;
        values[i] /= TWOS_MOST;
        differ = differ || values[i] < values[0] || values[i] > values[0];
    }
    if (whole && differ && !powers)
        add_feature(encoding, parameter, values, false);
}

/* The scale of estimates, by a sample: 0 is the least, 1 the median. */
static void add_estimate(struct hn_encoding *encoding)
{
    const struct hn_space *space = encoding->space;
    struct hn_random random = hn_random_seeded(0);
    uint16_t drawn[hn_space_parameter_count(space) + 1];
    double estimates[SAMPLE];
    size_t count = 0;
    for (int i = 0; i < SAMPLE; i++) {
        hn_space_sample(space, &random, drawn);
        estimates[count] = hn_space_estimate(space, drawn);
        count += isfinite(estimates[count]) ? 1 : 0;
    }
    if (count == 0)
        return;
    hn_sort(estimates, count);
    encoding->least_estimate = estimates[0];
    encoding->estimate_span = estimates[count / 2] - estimates[0];
    if (encoding->estimate_span > 0)
        encoding->category[encoding->count++] = false;
}

enum { MOST = 200, LEAST = 8, FITTED = 120, STEPS = 30 };

struct hn_prior_model {
    struct hn_gaussian gaussian;
    double *weights; /* of the covariances with the inputs, in a prediction */
};

/* The logarithms of one source's costs, standardised and capped, because it is the good points that
 * matter; appended to entries, with the places of the priors. */
static size_t add_source(const struct hn_search *search, unsigned source, struct hn_ranked *entries)
{
    size_t count = 0;
    double sum = 0;
    for (size_t i = 0; i < search->prior_count; i++) {
        const struct hn_prior *prior = &search->priors[i];
        double cost = prior->observation.cost;
        if (prior->source == source && isfinite(cost) && cost > 0 &&
            prior->observation.outcome != HN_OUTCOME_SLOWER)
            entries[count++] = (struct hn_ranked){log(cost), i};
    }
    if (count < LEAST)
        return 0;
    qsort(entries, count, sizeof *entries, hn_ranked_compare);
    double cap = 2 * entries[count / 2].key - entries[0].key;
    for (size_t i = 0; i < count; i++) {
        entries[i].key = fmin(entries[i].key, cap);
        sum += entries[i].key;
    }
    double mean = sum / (double)count;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (entries[i].key - mean) * (entries[i].key - mean);
    double deviation = sqrt(fmax(squares / (double)count, 1e-12));
    for (size_t i = 0; i < count; i++)
        entries[i].key = (entries[i].key - mean) / deviation;
    return count;
}

static void learn(struct hn_prior_model *model, const struct hn_encoding *encoding,
                  const struct hn_search *search, const struct hn_ranked *entries, size_t count)
{
    size_t features = encoding->count;
    double *inputs HN_FREED = hn_need(count * features + count, sizeof *inputs);
    double *targets = inputs + count * features;
    /* the points that the scales are fitted to come first: every second or so, good and bad */
    size_t fitted = count < FITTED ? count : FITTED;
    size_t place[2] = {0, fitted};
    for (size_t i = 0; i < count; i++) {
        bool first = i * fitted / count != (i + 1) * fitted / count;
        size_t to = place[!first]++;
        hn_encoding_apply(encoding, search->priors[entries[i].place].choice,
                          inputs + to * features);
        targets[to] = entries[i].key;
    }
    hn_gaussian_fit(&model->gaussian, inputs, targets, count, fitted, STEPS);
    hn_gaussian_weigh(&model->gaussian, targets, model->weights);
}

/* Adds what the priors of the search say as a feature, where there are enough of them: a Gaussian
 * process of their costs. That is no cost here, measured under other circumstances (another device,
 * another problem): how much it tells is learnt as for any other. Of many entries it sees the best
 * half of MOST, and an even choice of the others. */
static void add_prior(struct hn_encoding *encoding, const struct hn_search *search)
{
    enum { BEST = MOST / 2, OTHERS = MOST - BEST };
    struct hn_ranked *entries HN_FREED = hn_need(search->prior_count, sizeof *entries);
    size_t count = 0;
    for (unsigned source = 0; source < search->prior_count && count == 0; source++)
        count = add_source(search, source, entries);
    if (count > 0 && encoding->count > 0) {
        for (size_t i = 0; count > MOST && i < OTHERS; i++)
            entries[BEST + i] = entries[BEST + i * (count - BEST) / OTHERS];
        count = count < MOST ? count : MOST;
        struct hn_prior_model *model = hn_need_block(&encoding->memory, 1, sizeof *model);
        model->weights = hn_need_block(&encoding->memory, count, sizeof *model->weights);
        hn_gaussian_init(&model->gaussian, encoding->count, encoding->category, count);
        learn(model, encoding, search, entries, count);
        encoding->prior = model;
        encoding->category[encoding->count++] = false;
    }
}

/* Of a search's space and, where there are enough of them, its priors. */
static void init_encoding(struct hn_encoding *encoding, const struct hn_search *search)
{
    const struct hn_space *space = search->space;
    size_t parameters = hn_space_parameter_count(space);
    *encoding = (struct hn_encoding){.space = space};
    encoding->parameters =
        hn_need_block(&encoding->memory, 2 * parameters, sizeof *encoding->parameters);
    encoding->values = hn_need_block(&encoding->memory, 2 * parameters, sizeof *encoding->values);
    encoding->category =
        hn_need_block(&encoding->memory, 2 * parameters + 2, sizeof *encoding->category);
    for (size_t i = 0; i < parameters; i++)
        if (hn_space_parameter(space, i)->count > 1)
            add_place(encoding, i);
    encoding->plain = encoding->varied;
    for (size_t i = 0; i < encoding->plain; i++)
        add_twos(encoding, encoding->parameters[i]);
    if (hn_space_has_estimate(space))
        add_estimate(encoding);
    if (search->prior_count > 0)
        add_prior(encoding, search);
}

/* How bad the bad ones are is not what an estimate is good for. A prior says about -1 (good) to 1,
 * by the other features. */
void hn_encoding_apply(const struct hn_encoding *encoding, const uint16_t *choice, double *features)
{
    size_t count = encoding->varied;
    for (size_t i = 0; i < count; i++)
        features[i] = encoding->values[i][choice[encoding->parameters[i]]];
    if (encoding->estimate_span > 0) {
        double estimate = hn_space_estimate(encoding->space, choice) - encoding->least_estimate;
        features[count++] = isnan(estimate)
                                ? worst_estimate
                                : fmin(estimate / encoding->estimate_span, worst_estimate);
    }
    if (encoding->prior == NULL)
        return;
    const struct hn_gaussian *gaussian = &encoding->prior->gaussian;
    double sum = 0;
    for (size_t i = 0; i < gaussian->count; i++) {
        double covariance;
        hn_gaussian_covariances(gaussian, gaussian->inputs + i * gaussian->features, features, 1, 1,
                                &covariance);
        sum += encoding->prior->weights[i] * covariance;
    }
    features[count] = sum / 3;
}

enum { LEAST_KNOWN = 3, FIRST_STEPS = 30, LATER_STEPS = 12 };

/* Targets are capped at quantile + (quantile - best) of the known ones, or at this logarithm above
 * the best: where many are near it, others must not look alike. */
static const double cap_quantile = 0.3, least_span = 0.4;

void hn_surrogate_init(struct hn_surrogate *surrogate, const struct hn_search *search,
                       const struct hn_trail *trail)
{
    *surrogate = (struct hn_surrogate){
        .trail = trail, .random = hn_random_seeded(search->seed ^ 0x5851f42d4c957f2d)};
    init_encoding(&surrogate->encoding, search);
    hn_gaussian_init(&surrogate->gaussian, surrogate->encoding.count, surrogate->encoding.category,
                     HN_SURROGATE_MOST);
}

void hn_surrogate_finish(struct hn_surrogate *surrogate)
{
    hn_gaussian_finish(&surrogate->gaussian);
    if (surrogate->encoding.prior != NULL)
        hn_gaussian_finish(&surrogate->encoding.prior->gaussian);
    hn_blocks_finish(&surrogate->encoding.memory);
    surrogate->encoding = (struct hn_encoding){0};
    free(surrogate->order);
    surrogate->order = NULL;
}

/* surrogate->order: all points of the trail by cost, then those that failed, pending ones last;
 * ties as proposed. Returns how many are known. */
static size_t sort_points(struct hn_surrogate *surrogate)
{
    size_t count = surrogate->trail->count, known = 0;
    struct hn_ranked *ranked HN_FREED = hn_need(count, sizeof *ranked);
    for (size_t i = 0; i < count; i++) {
        double cost = surrogate->trail->costs[i];
        ranked[i] = (struct hn_ranked){isnan(cost) ? INFINITY : fmin(cost, DBL_MAX), i};
        known += isfinite(cost) ? 1 : 0;
    }
    qsort(ranked, count, sizeof *ranked, hn_ranked_compare);
    surrogate->order = hn_need_more(surrogate->order, count, sizeof *surrogate->order);
    for (size_t i = 0; i < count; i++)
        surrogate->order[i] = (uint32_t)ranked[i].place;
    return known;
}

/* Brings `count` random ones of items[from .. end) to the front of that part. */
static void draw(struct hn_random *random, uint32_t *items, size_t from, size_t count, size_t end)
{
    for (size_t i = from; i < from + count && i < end; i++) {
        size_t other = i + hn_random_below(random, end - i);
        uint32_t item = items[i];
        items[i] = items[other];
        items[other] = item;
    }
}

/* The logarithm of a cost where all have the same sign. */
static double raw_target(double cost, double best, double worst)
{
    if (best > 0)
        return log(cost);
    return worst < 0 ? -log(-cost) : cost;
}

/* The costs of the first `all` members as raw targets, NAN where not known. Returns the cap. */
static double collect(struct hn_surrogate *surrogate, size_t all)
{
    double known[HN_SURROGATE_MOST];
    size_t count = 0;
    for (size_t i = 0; i < all; i++) {
        double cost = surrogate->trail->costs[surrogate->members[i]];
        surrogate->targets[i] = isfinite(cost) ? cost : NAN;
        if (isfinite(cost))
            known[count++] = cost;
    }
    if (count == 0)
        return INFINITY;
    hn_sort(known, count);
    double best = known[0];
    double worst = known[count - 1];
    for (size_t i = 0; i < all; i++)
        if (!isnan(surrogate->targets[i]))
            surrogate->targets[i] = raw_target(surrogate->targets[i], best, worst);
    double least = raw_target(best, best, worst);
    double quantile = raw_target(known[(size_t)(cap_quantile * (double)count)], best, worst);
    double most = raw_target(worst, best, worst);
    double span = best > 0 || worst < 0 ? least_span : (most - least) / 2;
    return fmin(fmax(2 * quantile - least, least + span), most);
}

static void make_targets(struct hn_surrogate *surrogate, size_t all)
{
    double cap = collect(surrogate, all);
    double sum = 0, squares = 0;
    size_t known = 0;
    HN_EACH_OF(target, surrogate->targets, all) {
        if (isnan(*target))
            continue;
        *target = *target < cap ? *target : cap;
        sum += *target;
        squares += *target * *target;
        known++;
    }
    double mean = known > 0 ? sum / (double)known : 0;
    double variance = known > 0 ? squares / (double)known - mean * mean : 0;
    surrogate->scale = sqrt(fmax(variance, 1e-12));
    surrogate->best = INFINITY;
    HN_EACH_OF(target, surrogate->targets, all) {
        *target = (*target - mean) / surrogate->scale;
        if (*target < surrogate->best)
            surrogate->best = *target;
    }
}

/* The process of the first `count` members, whose scales are fitted to the first `fitted` of them,
 * which are known. */
static void fit(struct hn_surrogate *surrogate, size_t count, size_t fitted)
{
    struct hn_gaussian *gaussian = &surrogate->gaussian;
    size_t features = gaussian->features;
    double *inputs HN_FREED = hn_need(count * features, sizeof *inputs);
    for (size_t i = 0; i < count; i++)
        hn_encoding_apply(&surrogate->encoding,
                          hn_keys_at(&surrogate->trail->points, surrogate->members[i]),
                          inputs + i * features);
    make_targets(surrogate, count);
    hn_gaussian_fit(gaussian, inputs, surrogate->targets, count, fitted,
                    surrogate->fitted ? LATER_STEPS : FIRST_STEPS);
    surrogate->fitted = true;
}

/* Chooses the points of the process anew: known ones (the best and random others), then some that
 * failed or are pending. */
static bool begin(struct hn_surrogate *surrogate)
{
    size_t known = sort_points(surrogate);
    size_t count = surrogate->trail->count;
    if (known < LEAST_KNOWN || surrogate->gaussian.features == 0)
        return false;
    size_t kept = known < HN_SURROGATE_KEPT ? known : HN_SURROGATE_KEPT;
    size_t fitted = known < HN_SURROGATE_FITTED ? known : HN_SURROGATE_FITTED;
    draw(&surrogate->random, surrogate->order, fitted / 2, kept - fitted / 2, known);
    draw(&surrogate->random, surrogate->order, known, count - known, count);
    size_t others = count - known < HN_SURROGATE_KEPT / 4 ? count - known : HN_SURROGATE_KEPT / 4;
    memcpy(surrogate->members, surrogate->order, kept * sizeof *surrogate->members);
    memcpy(surrogate->members + kept, surrogate->order + known,
           others * sizeof *surrogate->members);
    surrogate->next_fit = count + 1 + count / 7;
    fit(surrogate, kept + others, fitted);
    return true;
}

bool hn_surrogate_update(struct hn_surrogate *surrogate, bool *began)
{
    size_t count = surrogate->trail->count;
    double features[surrogate->encoding.count + 1];
    *began = !surrogate->fitted || count >= surrogate->next_fit ||
             surrogate->gaussian.count + count - surrogate->seen > HN_SURROGATE_MOST;
    if (*began && !begin(surrogate))
        return false;
    for (size_t i = surrogate->seen; i < count && !*began; i++) {
        hn_encoding_apply(&surrogate->encoding, hn_keys_at(&surrogate->trail->points, (uint32_t)i),
                          features);
        surrogate->members[surrogate->gaussian.count] = (uint32_t)i;
        hn_gaussian_append(&surrogate->gaussian, features);
    }
    surrogate->seen = count;
    make_targets(surrogate, surrogate->gaussian.count);
    hn_gaussian_whiten(&surrogate->gaussian, surrogate->targets, surrogate->whitened);
    return true;
}
