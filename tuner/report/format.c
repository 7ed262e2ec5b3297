/* SPDX-License-Identifier: MIT */
#include "tuner/report/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cache/record/identity.h"
#include "runtime/plan/launch.h"

void hn_format_time(double us, char text[HN_FORMAT_SIZE])
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1e6, "s"}, {1e3, "ms"}, {1, "us"}};
    /* The bounds are where the last digit shown rounds up to one more before the point. */
    size_t u = us >= 999.95e3 ? 0 : us >= 999.95 ? 1 : 2;
    double number = us / units[u].scale;
    int decimals = number >= 99.995 ? 1 : number >= 9.9995 ? 2 : 3;
    snprintf(text, HN_FORMAT_SIZE, "%.*f %s", decimals, number, units[u].unit);
}

void hn_format_duration(double seconds, char text[HN_FORMAT_SIZE])
{
    long whole = lround(seconds);
    if (seconds < 9.95)
        snprintf(text, HN_FORMAT_SIZE, "%.1f s", seconds);
    else if (whole < 60)
        snprintf(text, HN_FORMAT_SIZE, "%ld s", whole);
    else if (whole < 3600)
        snprintf(text, HN_FORMAT_SIZE, "%ld min %02ld s", whole / 60, whole % 60);
    else
        snprintf(text, HN_FORMAT_SIZE, "%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

void hn_format_spread(const struct hn_timing *timing, char text[HN_FORMAT_SIZE])
{
    double spread = (timing->high_us - timing->low_us) / 2 / timing->median_us;
    if (isfinite(spread) && spread > 0)
        snprintf(text, HN_FORMAT_SIZE, "%.*f%%", spread < 0.01 ? 2 : 1, spread * 100);
    else
        snprintf(text, HN_FORMAT_SIZE, "?");
}

void hn_format_timing(const struct hn_timing *timing, char text[HN_FORMAT_SIZE])
{
    char time[HN_FORMAT_SIZE];
    char spread[HN_FORMAT_SIZE];
    hn_format_time(timing->median_us, time);
    hn_format_spread(timing, spread);
    snprintf(text, HN_FORMAT_SIZE, "%.30s ±%.20s", time, spread);
}

void hn_format_energy(double joules, char text[HN_FORMAT_SIZE])
{
    static const char *const units[] = {"J", "mJ", "uJ"};
    size_t unit = 0;
    for (; unit < 2 && joules < 1; unit++)
        joules *= 1e3;
    text[0] = '\0';
    if (joules > 0)
        snprintf(text, HN_FORMAT_SIZE, "%.4g %s", joules, units[unit]);
}

void hn_format_regime(const char *regime, char text[HN_FORMAT_SIZE])
{
    if (strcmp(regime, HN_REGIME_UNKNOWN) == 0)
        snprintf(text, HN_FORMAT_SIZE, "L2 state not recorded");
    else if (strcmp(regime, "stream") == 0)
        snprintf(text, HN_FORMAT_SIZE, "back to back in a stream");
    else if (strcmp(regime, "graph") == 0)
        snprintf(text, HN_FORMAT_SIZE, "replayed as a graph");
    else if (strcmp(regime, "graph10") == 0)
        snprintf(text, HN_FORMAT_SIZE, "in graphs of ten");
    else
        snprintf(text, HN_FORMAT_SIZE, "%s L2", regime);
}

int hn_format_percent(double share)
{
    return (int)floor(share * 100 + 0.5);
}

void hn_format_bytes(double bytes, char text[HN_FORMAT_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t u = 0;
    while (bytes >= 1024 && u + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024;
        u++;
    }
    snprintf(text, HN_FORMAT_SIZE, "%.*f %s", u == 0 || bytes >= 100 ? 0 : 1, bytes, units[u]);
}

const char *hn_format_merit_name(const struct hn_plan *plan)
{
    enum hn_front_by by;
    if (strcmp(plan->objective, "time") != 0 && !hn_plan_weighs(plan, &by))
        return plan->objective;
    return plan->metric_count > 0 ? plan->metrics[plan->metric_count - 1].name : NULL;
}

double hn_format_merit_value(const struct hn_plan *plan, const struct hn_record *record)
{
    const char *name = hn_format_merit_name(plan);
    const struct hn_value *value = name != NULL ? hn_bindings_get(&record->metrics, name) : NULL;
    return value != NULL ? hn_value_number(value) : (double)NAN;
}

void hn_format_merit(const struct hn_plan *plan, const struct hn_record *record,
                     char text[HN_FORMAT_SIZE])
{
    double value = hn_format_merit_value(plan, record);
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, HN_FORMAT_SIZE, "%s %.*f", hn_format_merit_name(plan),
                 fabs(value) >= 100 ? 0 : 2, value);
}
