/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "tuner/strategy/model.h"

enum { LEAST_KNOWN = 3, FIRST_STEPS = 30, LATER_STEPS = 12 };

/* Targets are capped at quantile + (quantile - best) of the known ones. */
static const double cap_quantile = 0.3;

void hn_surrogate_init(struct hn_surrogate *surrogate, const struct hn_search *search,
                       const struct hn_trail *trail)
{
    *surrogate = (struct hn_surrogate){
        .trail = trail, .random = hn_random_seeded(search->seed ^ 0x5851f42d4c957f2d)};
    hn_encoding_init(&surrogate->encoding, search->space);
    if (search->prior_count > 0)
        hn_encoding_add_prior(&surrogate->encoding, search);
    surrogate->features = hn_need(surrogate->encoding.count, sizeof *surrogate->features);
    hn_gaussian_init(&surrogate->gaussian, surrogate->encoding.count, surrogate->encoding.category,
                     HN_SURROGATE_MOST);
}

void hn_surrogate_finish(struct hn_surrogate *surrogate)
{
    hn_gaussian_finish(&surrogate->gaussian);
    hn_encoding_finish(&surrogate->encoding);
    free(surrogate->features);
    free(surrogate->order);
    surrogate->features = NULL;
    surrogate->order = NULL;
}

/* Ascending by cost, pending ones last; ties as proposed. */
static int by_cost(const void *a, const void *b, void *costs)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    double p = ((const double *)costs)[x];
    double q = ((const double *)costs)[y];
    if (isnan(p) != isnan(q))
        return isnan(p) ? 1 : -1;
    if (p < q || p > q)
        return p < q ? -1 : 1;
    return (x > y) - (x < y);
}

/* surrogate->order: all points of the trail by cost. Returns how many are known. */
static size_t sort_points(struct hn_surrogate *surrogate)
{
    size_t count = surrogate->trail->count;
    if (count > surrogate->order_capacity) {
        surrogate->order_capacity = 2 * count;
        surrogate->order =
            hn_need_more(surrogate->order, surrogate->order_capacity, sizeof *surrogate->order);
    }
    for (uint32_t i = 0; i < count; i++)
        surrogate->order[i] = i;
    qsort_r(surrogate->order, count, sizeof *surrogate->order, by_cost, surrogate->trail->costs);
    size_t known = 0;
    while (known < count && isfinite(surrogate->trail->costs[surrogate->order[known]]))
        known++;
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
    /* where the better part are equals, the next worse cost is the bound */
    for (size_t i = 0; i < count && quantile == least; i++)
        quantile = raw_target(known[i], best, worst);
    return fmin(2 * quantile - least, most);
}

static void make_targets(struct hn_surrogate *surrogate, size_t all)
{
    double cap = collect(surrogate, all);
    double sum = 0, squares = 0;
    size_t known = 0;
    for (size_t i = 0; i < all; i++) {
        double *target = &surrogate->targets[i];
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
    for (size_t i = 0; i < all; i++) {
        double *target = &surrogate->targets[i];
        *target = (*target - mean) / surrogate->scale;
        if (*target < surrogate->best)
            surrogate->best = *target;
    }
}

static void append(struct hn_surrogate *surrogate, uint32_t point)
{
    hn_encoding_apply(&surrogate->encoding, hn_trail_point(surrogate->trail, point),
                      surrogate->features);
    surrogate->members[surrogate->gaussian.count] = point;
    hn_gaussian_append(&surrogate->gaussian, surrogate->features);
}

/* The process of the first `count` members, whose scales are fitted to the first `fitted` of them,
 * which are known. */
static void fit(struct hn_surrogate *surrogate, size_t count, size_t fitted)
{
    struct hn_gaussian *gaussian = &surrogate->gaussian;
    size_t features = gaussian->features;
    double *inputs = hn_need(count * features, sizeof *inputs);
    for (size_t i = 0; i < count; i++)
        hn_encoding_apply(&surrogate->encoding,
                          hn_trail_point(surrogate->trail, surrogate->members[i]),
                          inputs + i * features);
    make_targets(surrogate, count);
    hn_gaussian_fit(gaussian, inputs, surrogate->targets, count, fitted,
                    surrogate->fitted ? LATER_STEPS : FIRST_STEPS);
    free(inputs);
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
    *began = !surrogate->fitted || count >= surrogate->next_fit ||
             surrogate->gaussian.count + count - surrogate->seen > HN_SURROGATE_MOST;
    if (*began && !begin(surrogate))
        return false;
    for (size_t i = surrogate->seen; i < count && !*began; i++)
        append(surrogate, (uint32_t)i);
    surrogate->seen = count;
    make_targets(surrogate, surrogate->gaussian.count);
    hn_gaussian_whiten(&surrogate->gaussian, surrogate->targets, surrogate->whitened);
    return true;
}

double hn_surrogate_step(const struct hn_surrogate *surrogate, double gain)
{
    return log(1 + gain) / surrogate->scale;
}

double hn_surrogate_feasibility(const struct hn_surrogate *surrogate, const double *features,
                                size_t stride)
{
    /* as if a tenth of a fifth of a point next to it had failed */
    static const double prior_failed = 0.02, prior_all = 0.2;
    const struct hn_gaussian *gaussian = &surrogate->gaussian;
    double signal = exp(gaussian->scales.signal);
    double failed = prior_failed, all = prior_all;
    double own[gaussian->features + 1], covariances[HN_SURROGATE_MOST];
    for (size_t f = 0; f < gaussian->features; f++)
        own[f] = features[f * stride];
    hn_gaussian_covariances(gaussian, own, gaussian->columns, gaussian->capacity, gaussian->count,
                            covariances);
    for (size_t i = 0; i < gaussian->count; i++) {
        double cost = surrogate->trail->costs[surrogate->members[i]];
        if (isnan(cost))
            continue;
        double weight = (covariances[i] / signal) * (covariances[i] / signal);
        all += weight;
        failed += isinf(cost) ? weight : 0;
    }
    return 1 - failed / all;
}
