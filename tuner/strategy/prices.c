/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/prices.h"

#include <math.h>
#include <stdlib.h>

/* Half of the look-ahead is compiled at a time, on machines with at least so many cores. How many
 * there really are is not asked, since what is proposed does not depend on the machine. */
static const double cores_most = 16;
/* What was stopped would have taken longer: as long again is the median of what has no scale. */
static const double stopped_factor = 2;
/* So many compilations are known before differences are. */
static const size_t known_least = 8;

bool hn_prices_init(struct hn_prices *prices, unsigned look_ahead, size_t candidates)
{
    *prices = (struct hn_prices){.look_ahead = look_ahead};
    prices->prices = calloc(candidates, sizeof *prices->prices);
    return prices->prices != NULL;
}

void hn_prices_finish(struct hn_prices *prices)
{
    free(prices->log_compile);
    free(prices->prices);
    *prices = (struct hn_prices){0};
}

static bool make_room(struct hn_prices *prices, uint32_t point)
{
    if (point < prices->room)
        return true;
    size_t room = 2 * ((size_t)point + 32);
    double *grown = realloc(prices->log_compile, room * sizeof *grown);
    if (grown == NULL)
        return false;
    for (size_t i = prices->room; i < room; i++)
        grown[i] = NAN;
    prices->log_compile = grown;
    prices->room = room;
    return true;
}

void hn_prices_note(struct hn_prices *prices, uint32_t point,
                    const struct hn_observation *observation)
{
    if (!(observation->compile_ms > 0) || !make_room(prices, point))
        return;
    bool stopped = observation->outcome == HN_OUTCOME_COMPILE_STOPPED;
    prices->log_compile[point] = log(observation->compile_ms * (stopped ? stopped_factor : 1));
    if (!(observation->evaluate_ms > 0))
        return;
    prices->compile_ms += observation->compile_ms;
    prices->evaluate_ms += observation->evaluate_ms;
    prices->measured++;
}

/* Whether the GPU waits for the compiler: always, where only one thing is done at a time. */
static bool compiler_is_scarce(const struct hn_prices *prices)
{
    if (prices->look_ahead == 1)
        return true;
    double cores = fmin(prices->look_ahead / 2.0, cores_most);
    return prices->compile_ms > cores * prices->evaluate_ms;
}

/* The deviations of the process's points from their mean, NAN where not known. Returns how many are
 * known. */
static size_t collect(struct hn_prices *prices, const struct hn_surrogate *surrogate,
                      double *targets, double *mean)
{
    size_t known = 0;
    double squares = 0;
    *mean = 0;
    for (size_t i = 0; i < surrogate->gaussian.count; i++) {
        uint32_t point = surrogate->members[i];
        targets[i] = point < prices->room ? prices->log_compile[point] : NAN;
        if (isnan(targets[i]))
            continue;
        *mean += targets[i];
        squares += targets[i] * targets[i];
        known++;
    }
    *mean /= known > 0 ? (double)known : 1;
    prices->spread = known > 0 ? sqrt(fmax(squares / (double)known - *mean * *mean, 0)) : 0;
    for (size_t i = 0; i < surrogate->gaussian.count; i++)
        targets[i] -= *mean;
    return known;
}

void hn_prices_predict(struct hn_prices *prices, const struct hn_surrogate *surrogate,
                       const struct hn_candidates *candidates)
{
    double targets[HN_SURROGATE_MOST];
    double whitened[HN_SURROGATE_MOST];
    double mean;
    size_t known = compiler_is_scarce(prices) ? collect(prices, surrogate, targets, &mean) : 0;
    prices->differ = known >= known_least;
    if (known == 0) {
        for (size_t c = 0; c < candidates->count; c++)
            prices->prices[c] = 1;
        return;
    }
    double evaluate_ms = prices->measured > 0 ? prices->evaluate_ms / (double)prices->measured : 0;
    hn_gaussian_whiten(&surrogate->gaussian, targets, whitened);
    hn_candidates_regress(candidates, whitened, prices->prices);
    for (size_t c = 0; c < candidates->count; c++)
        prices->prices[c] = fmax(exp(mean + prices->prices[c]), HN_PRICES_LEAST_MS) + evaluate_ms;
}
