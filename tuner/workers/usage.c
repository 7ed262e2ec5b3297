/* SPDX-License-Identifier: MIT */
#include "tuner/workers/usage.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

void hn_timeline_add(struct hn_timeline *timeline, const char *what, double from_ms, double to_ms)
{
    struct hn_span *last = timeline->count > 0 ? &timeline->spans[timeline->count - 1] : NULL;
    bool full = timeline->count == HN_TIMELINE_LIMIT;
    if (last != NULL && (full || strcmp(last->what, what) == 0)) {
        last->from_ms = fmin(last->from_ms, from_ms);
        last->to_ms = fmax(last->to_ms, to_ms);
        last->count++;
        last->busy_ms += to_ms - from_ms;
        return;
    }
    struct hn_span *span = &timeline->spans[timeline->count++];
    *span = (struct hn_span){
        .from_ms = from_ms, .to_ms = to_ms, .count = 1, .busy_ms = to_ms - from_ms};
    snprintf(span->what, sizeof span->what, "%s", what);
}
