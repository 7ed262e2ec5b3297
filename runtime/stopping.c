/* SPDX-License-Identifier: MIT */
#include "runtime/stopping.h"

/* From six samples on the interval of the median holds at 95%, and its lower end decides. Before,
 * the smallest decides, since what disturbs a launch makes it slower, by a margin that shrinks as
 * samples come in. Long kernels vary by a percent or two and each launch is dear: less will do. */
static const struct {
    size_t samples;
    double factor;
    double long_factor;
} slower_steps[] = {{6, 1.02, 1.02}, {4, 1.06, 1.04}, {2, 1.15, 1.08}, {1, 2.0, 1.2}};
static const double LONG_US = 1e3;
/* The first launch of a module may wait for the host that long: to load code, to make room for
 * local memory. One sample decides only beyond it. */
static const double STALL_US = 1e3;
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
    if (count == 1 && wide.low - rule->censor_us < STALL_US)
        return false;
    return wide.low > slower_factor(rule, count) * rule->censor_us;
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
