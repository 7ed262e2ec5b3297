/* SPDX-License-Identifier: MIT */
#include "runtime/stopping.h"

/* From six samples on the interval of the median holds at 95%, and its lower end decides; fewer
 * decide only where the smallest is far above what there is to beat. Long kernels vary by a percent
 * or two from launch to launch, and each launch is dear: less is far for them. */
static const double CLEARLY_SLOWER = 1.02;
static const double FAR_SLOWER = 2.0;
static const double FAR_SLOWER_LONG = 1.2;
static const double LONG_US = 1e3;
enum { TRUSTED_SAMPLES = 6 };

static double slower_factor(const struct hn_stopping_rule *rule, size_t count)
{
    if (count >= TRUSTED_SAMPLES)
        return CLEARLY_SLOWER;
    return rule->censor_us >= LONG_US ? FAR_SLOWER_LONG : FAR_SLOWER;
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
