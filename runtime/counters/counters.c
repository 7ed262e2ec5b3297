/* SPDX-License-Identifier: MIT */
#include "runtime/counters/counters.h"

#include <math.h>

const char *const hn_counter_names[HN_COUNTER_COUNT] = {
#define X(id, name, metric) [HN_COUNTER_##id] = "counters." name,
    HN_COUNTERS(X)
#undef X
};

void hn_counters_read(const struct hn_bindings *observed, struct hn_counters *counters)
{
    counters->known = false;
    for (int i = 0; i < HN_COUNTER_COUNT; i++) {
        const struct hn_value *value = hn_bindings_get(observed, hn_counter_names[i]);
        counters->of[i] = value != NULL ? hn_value_number(value) : NAN;
        counters->known = counters->known || value != NULL;
    }
}

double hn_counter(const struct hn_counters *counters, enum hn_counter counter)
{
    return isnan(counters->of[counter]) ? 0 : counters->of[counter];
}

double hn_counter_ratio(const struct hn_counters *counters, enum hn_counter a, enum hn_counter b)
{
    double below = hn_counter(counters, b);
    return below > 0 ? hn_counter(counters, a) / below : 0;
}

double hn_counters_dram_bytes(const struct hn_counters *counters)
{
    return hn_counter(counters, HN_COUNTER_DRAM_READ) +
           hn_counter(counters, HN_COUNTER_DRAM_WRITTEN);
}

double hn_counters_stall(const struct hn_counters *counters, enum hn_counter stall)
{
    return hn_counter_ratio(counters, stall, HN_COUNTER_WARPS_PER_ISSUE);
}
