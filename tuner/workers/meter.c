/* SPDX-License-Identifier: MIT */
#include "tuner/workers/meter.h"

#include <stddef.h>

void hn_meter_begin(struct hn_meter *meter, double now_ms)
{
    for (; meter != NULL; meter = meter->whole) {
        if (meter->active == 0)
            meter->since_ms = now_ms;
        meter->active++;
    }
}

void hn_meter_end(struct hn_meter *meter, double now_ms)
{
    for (; meter != NULL; meter = meter->whole) {
        meter->active--;
        if (meter->active == 0)
            meter->total_ms += now_ms - meter->since_ms;
    }
}

double hn_meter_total_ms(const struct hn_meter *meter, double now_ms)
{
    return meter->total_ms + (meter->active > 0 ? now_ms - meter->since_ms : 0);
}
