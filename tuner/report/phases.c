/* SPDX-License-Identifier: MIT */
#include "tuner/report/phases.h"

#include <math.h>

static void append(json_t *phases, const struct hn_timeline *timeline, double started_ms)
{
    for (size_t i = 0; timeline != NULL && i < timeline->count; i++) {
        const struct hn_span *span = &timeline->spans[i];
        json_array_append_new(
            phases, json_pack("{ss si sf sf sf}", "what", span->what, "count", span->count,
                              "from_s", (span->from_ms - started_ms) / 1e3, "to_s",
                              (span->to_ms - started_ms) / 1e3, "busy_s", span->busy_ms / 1e3));
    }
}

json_t *hn_phases_to_json(const struct hn_session_state *state)
{
    json_t *phases = json_array();
    append(phases, state->usage.compiling, state->started_ms);
    append(phases, state->usage.on_gpu, state->started_ms);
    return phases;
}

double hn_phases_overhead_s(const struct hn_session_state *state)
{
    return fmax(state->elapsed_s - state->usage.working_s, 0);
}

double hn_phases_overhead_ms_a_point(const struct hn_session_state *state)
{
    uint64_t fresh = state->finished - state->reused;
    return fresh > 0 ? hn_phases_overhead_s(state) * 1e3 / (double)fresh : 0;
}
