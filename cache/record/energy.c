/* SPDX-License-Identifier: MIT */
#include "cache/record/energy.h"

#include <math.h>

#define ALWAYS(member, what)                                                                       \
    .key = #member, .always = true, .kind = (what), HN_AT(hn_energy, member)
static const struct hn_field fields[] = {
    {ALWAYS(joules, HN_FIELD_AMOUNT)},  {ALWAYS(spread, HN_FIELD_AMOUNT)},
    {ALWAYS(power_w, HN_FIELD_AMOUNT)}, {ALWAYS(launch_us, HN_FIELD_AMOUNT)},
    {ALWAYS(idle_w, HN_FIELD_AMOUNT)},  {ALWAYS(seconds, HN_FIELD_AMOUNT)},
    {ALWAYS(windows, HN_FIELD_COUNT)},  {ALWAYS(temperature_c, HN_FIELD_COUNT)},
};
const struct hn_structure hn_energy_structure = HN_STRUCTURE(hn_energy, fields, NULL);

static double average(double all, int windows, double one)
{
    return (all * windows + one) / (windows + 1);
}

void hn_energy_add(struct hn_energy *all, const struct hn_energy *window)
{
    double half = all->spread * all->joules;
    double low = fmin(all->joules - half, window->joules);
    double high = fmax(all->joules + half, window->joules);
    if (all->windows == 0) {
        *all = *window;
        return;
    }
    all->joules = average(all->joules, all->windows, window->joules);
    all->power_w = average(all->power_w, all->windows, window->power_w);
    all->launch_us = average(all->launch_us, all->windows, window->launch_us);
    all->spread = all->joules > 0 ? (high - low) / 2 / all->joules : 0;
    all->idle_w = window->idle_w;
    all->temperature_c = window->temperature_c;
    all->seconds += window->seconds;
    all->windows++;
}
