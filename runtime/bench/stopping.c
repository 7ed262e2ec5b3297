/* SPDX-License-Identifier: MIT */
#include "runtime/bench/stopping.h"

#include <math.h>

/* From six samples on the interval of the median holds at 95%, and its lower end decides. Before,
 * the smallest decides, since what disturbs a launch makes it slower, by a margin that shrinks as
 * samples come in. Long kernels vary by a percent or two and each launch is dear: less will do. */
static const struct {
    size_t samples;
    double factor;
    double long_factor;
} slower_steps[] = {{6, 1.02, 1.01}, {4, 1.05, 1.015}, {2, 1.1, 1.03}, {1, 1.5, 1.1}};
static const double LONG_US = 1e3;
/* What a first launch may take longer on the device: it finds none of its code in the caches. */
static const double COLD_CODE_US = 20.0;
/* A launch that the host was late for may have waited that long: to load code, to make room for
 * local memory. One such sample decides only beyond it, and by more. */
static const double STALL_US = 1e3;
static const double STALL_FACTOR = 2.0;
static const double LONG_STALL_FACTOR = 1.2;
enum { TRUSTED_SAMPLES = 6 };

static double slower_factor(const struct hn_stopping_rule *rule, size_t count)
{
    size_t i = 0;
    while (count < slower_steps[i].samples)
        i++;
    return rule->censor_us >= LONG_US ? slower_steps[i].long_factor : slower_steps[i].factor;
}

struct hn_stopping_rule hn_stopping_rule_for(double estimate_us, double target,
                                             double resolution_us)
{
    return (struct hn_stopping_rule){
        .target = target > 0.0 ? target : 0.005,
        .resolution_us = resolution_us,
        .min_samples = estimate_us > 1e5 ? 3 : TRUSTED_SAMPLES,
        .max_samples = 200,
        .budget_ms = 500.0,
    };
}

static bool is_slower(const struct hn_stopping_rule *rule, const struct hn_interval *interval,
                      size_t count)
{
    if (rule->full || rule->censor_us <= 0.0 || count == 0)
        return false;
    struct hn_interval wide = hn_interval_widen(*interval, rule->resolution_us);
    double factor = slower_factor(rule, count);
    if (count == 1 && wide.low - rule->censor_us < (rule->clean ? COLD_CODE_US : STALL_US))
        return false;
    if (count == 1 && !rule->clean)
        factor = rule->censor_us >= LONG_US ? LONG_STALL_FACTOR : STALL_FACTOR;
    return wide.low > factor * rule->censor_us;
}

enum hn_stop hn_stopping_decide(const struct hn_stopping_rule *rule,
                                const struct hn_interval *interval, size_t count, double elapsed_ms)
{
    if (is_slower(rule, interval, count))
        return HN_STOP_SLOWER;
    if (count < rule->min_samples)
        return HN_STOP_NOT;
    double width = interval->high - interval->low;
    if (hn_interval_half_width(interval) <= rule->target || width <= rule->resolution_us)
        return HN_STOP_PRECISE;
    if (count >= rule->max_samples || elapsed_ms >= rule->budget_ms)
        return HN_STOP_BOUND;
    return HN_STOP_NOT;
}

enum { MOST_ROUNDS = 101 };
static const double RACE_TARGET = 0.005;

static struct hn_interval interval_of_differences(const double *times, const double *leader,
                                                  size_t rounds)
{
    double differences[MOST_ROUNDS];
    for (size_t r = 0; r < rounds; r++)
        differences[r] = times[r] - (leader != NULL ? leader[r] : 0.0);
    return hn_interval_of(differences, rounds);
}

bool hn_race_is_decided(const double *const *times, size_t count, size_t rounds,
                        double resolution_us)
{
    struct hn_interval best = {INFINITY, INFINITY, INFINITY};
    size_t leader = 0;
    if (rounds > MOST_ROUNDS || count == 0)
        return true;
    for (size_t c = 0; c < count; c++) {
        struct hn_interval own = interval_of_differences(times[c], NULL, rounds);
        if (own.median >= best.median)
            continue;
        best = own;
        leader = c;
    }
    double margin_us = fmax(RACE_TARGET * best.median, resolution_us);
    if (best.high - best.low > 2.0 * margin_us)
        return false;
    for (size_t c = 0; c < count; c++) {
        struct hn_interval behind = interval_of_differences(times[c], times[leader], rounds);
        bool slower = behind.low > 0.0 && behind.median > resolution_us;
        if (c != leader && !slower && (behind.low < -margin_us || behind.high > margin_us))
            return false;
    }
    return true;
}
