/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_PHASES_H
#define HONE_TUNER_REPORT_PHASES_H

#include <jansson.h>

#include "tuner/session/session.h"

/* What the workers did when, for whoever wants to know where the time of a tune goes: docs/formats.md describes it. An
 * empty array where that is not known. */
json_t *hn_phases_to_json(const struct hn_session_state *state);

/* Neither compiling nor on the GPU: what the tuner itself takes, its start included. The points are those that were not
 * in the cache; 0 where there are none. */
double hn_phases_overhead_s(const struct hn_session_state *state);
double hn_phases_overhead_ms_a_point(const struct hn_session_state *state);

#endif
