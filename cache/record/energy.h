/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_ENERGY_H
#define HONE_CACHE_RECORD_ENERGY_H

#include "base/schema.h"

/* What launches of a variant cost, one behind the other for some seconds, by the GPU's own counter. */
struct hn_energy {
    double joules;     /* a launch, on the average of the windows; 0: not measured */
    double spread;     /* half of what the windows differ by, over the average; 0 of one */
    double power_w;    /* of the GPU meanwhile */
    double launch_us;  /* from one launch to the next meanwhile */
    double idle_w;     /* of the GPU with nothing to do, a second after it had */
    double seconds;    /* that were measured, in all windows together */
    int windows;
    int temperature_c; /* at the end; 0: not known */
};
extern const struct hn_structure hn_energy_structure;

/* Takes another window of the same variant into account. */
void hn_energy_add(struct hn_energy *all, const struct hn_energy *window);

#endif
