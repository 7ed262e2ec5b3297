/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/model.h"
#include "tuner/strategy/schedule.h"

/* A compilation that was stopped would have taken longer: as long again is the median of what has
 * no scale. */
static const double stopped_factor = 2;
/* So many compilations are known before differences are. */
static const size_t known_least = 8;

void hn_prices_init(struct hn_prices *prices, const struct hn_search *search, size_t candidates)
{
    size_t width = hn_space_parameter_count(search->space);
    *prices = (struct hn_prices){.look_ahead = search->look_ahead, .space = search->space};
    prices->prices = hn_need(candidates, sizeof *prices->prices);
    hn_keys_init(&prices->programs, width * sizeof(uint16_t));
    if (search->unread == NULL)
        return;
    prices->unread = hn_need(width, sizeof *prices->unread);
    memcpy(prices->unread, search->unread, width * sizeof *prices->unread);
}

void hn_prices_finish(struct hn_prices *prices)
{
    free(prices->log_compile);
    free(prices->prices);
    free(prices->unread);
    hn_keys_finish(&prices->programs);
    *prices = (struct hn_prices){0};
}

/* The choice without what the program does not read. */
static void read_choice(const struct hn_prices *prices, const uint16_t *choice, uint16_t *read)
{
    for (size_t i = 0; i < hn_space_parameter_count(prices->space); i++)
        read[i] = prices->unread[i] ? 0 : choice[i];
}

void hn_prices_propose(struct hn_prices *prices, const uint16_t *choice)
{
    uint16_t read[hn_space_parameter_count(prices->space) + 1];
    if (prices->unread == NULL)
        return;
    read_choice(prices, choice, read);
    hn_keys_add(&prices->programs, read);
}

static bool is_compiled(const struct hn_prices *prices, const uint16_t *choice)
{
    uint16_t read[hn_space_parameter_count(prices->space) + 1];
    if (prices->programs.count == 0)
        return false;
    read_choice(prices, choice, read);
    return hn_keys_find(&prices->programs, read) != HN_NO_KEY;
}

static void make_room(struct hn_prices *prices, uint32_t point)
{
    if (point < prices->room)
        return;
    size_t room = 2 * ((size_t)point + 32);
    prices->log_compile = hn_need_more(prices->log_compile, room, sizeof *prices->log_compile);
    for (; prices->room < room; prices->room++)
        prices->log_compile[prices->room] = NAN;
}

void hn_prices_note(struct hn_prices *prices, uint32_t point,
                    const struct hn_observation *observation)
{
    if (!(observation->compile_ms > 0))
        return;
    make_room(prices, point);
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
    /* How many there really are is not asked, since what is proposed does not depend on the
     * machine. */
    double cores = fmin(prices->look_ahead / 2.0, HN_SCHEDULE_CORES);
    return prices->compile_ms > cores * prices->evaluate_ms;
}

/* The standard deviation of `known` values that are not NAN, of what is no noise in them. */
static double spread_of(const double *targets, size_t count, size_t known)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double value = isnan(targets[i]) ? 0 : fmax(targets[i] - log(HN_PRICES_LEAST_MS), 0);
        sum += value;
        squares += value * value;
    }
    double mean = known > 0 ? sum / (double)known : 0;
    return known > 0 ? sqrt(fmax(squares / (double)known - mean * mean, 0)) : 0;
}

/* The deviations of the process's points from their mean, NAN where not known. Returns how many are
 * known. */
static size_t collect(struct hn_prices *prices, const struct hn_surrogate *surrogate,
                      double *targets, double *mean)
{
    size_t known = 0;
    *mean = 0;
    for (size_t i = 0; i < surrogate->gaussian.count; i++) {
        uint32_t point = surrogate->members[i];
        targets[i] = point < prices->room ? prices->log_compile[point] : NAN;
        if (isnan(targets[i]))
            continue;
        *mean += targets[i];
        known++;
    }
    *mean /= known > 0 ? (double)known : 1;
    prices->spread = spread_of(targets, surrogate->gaussian.count, known);
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
    for (size_t c = 0; c < candidates->count; c++) {
        bool done = is_compiled(prices, candidates->points + c * candidates->width);
        double compile_ms = done ? 0 : exp(mean + prices->prices[c]);
        prices->prices[c] = fmax(compile_ms, HN_PRICES_LEAST_MS) + evaluate_ms;
    }
}
