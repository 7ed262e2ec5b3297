/* SPDX-License-Identifier: MIT */
#include "cache/record/front.h"

#include <math.h>
#include <string.h>

static const double counter_leaves = 0.002;

static bool is_weighed(const struct hn_record *record)
{
    return hn_observed(&record->observed, "energy.windows") > 0;
}

double hn_front_cost(const struct hn_record *record, enum hn_front_by by)
{
    double time_us = record->timing.median_us;
    double joules = hn_observed(&record->observed, "energy.joules");
    if (record->outcome != HN_OUTCOME_OK || (by != HN_FRONT_TIME && !(joules > 0)))
        return INFINITY;
    if (by == HN_FRONT_TIME)
        return time_us;
    return by == HN_FRONT_ENERGY ? joules : joules * time_us;
}

bool hn_front_parse(const char *objective, enum hn_front_by *by)
{
    *by = strcmp(objective, "energy_delay") == 0 ? HN_FRONT_ENERGY_DELAY : HN_FRONT_ENERGY;
    return *by == HN_FRONT_ENERGY_DELAY || strcmp(objective, "energy") == 0;
}

double hn_front_objective(const struct hn_record *record, enum hn_front_by by)
{
    double seconds = 1e-6 * record->timing.median_us;
    double joules = is_weighed(record) ? hn_observed(&record->observed, "energy.joules")
                                       : record->estimated_w * seconds;
    if (!(joules > 0))
        return (double)NAN;
    return by == HN_FRONT_ENERGY_DELAY ? joules * seconds : joules;
}

bool hn_front_is_tied(const struct hn_record *better, const struct hn_record *other)
{
    double apart = (other->objective - better->objective) / better->objective;
    return is_weighed(better) && is_weighed(other) &&
           apart <= fmax(hn_observed(&better->observed, "energy.spread"), counter_leaves) +
                        fmax(hn_observed(&other->observed, "energy.spread"), counter_leaves);
}

bool hn_front_has(const struct hn_record *records, size_t count, size_t record)
{
    double time = hn_front_cost(&records[record], HN_FRONT_TIME);
    double energy = hn_front_cost(&records[record], HN_FRONT_ENERGY);
    for (size_t i = 0; i < count; i++) {
        double other_time = hn_front_cost(&records[i], HN_FRONT_TIME);
        double other_energy = hn_front_cost(&records[i], HN_FRONT_ENERGY);
        if (other_time <= time && other_energy <= energy &&
            (other_time < time || other_energy < energy))
            return false;
    }
    return isfinite(energy);
}
