/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_WAITS_H
#define HONE_TUNER_REPORT_WAITS_H

#include <jansson.h>

#include "tuner/session/session.h"

/* What held a search up, and what to change: a line where the GPU waited for the compiler for a good part of the time. */
void hn_waits_print(const struct hn_session *session, FILE *file);
json_t *hn_waits_to_json(const struct hn_waits *waits);

#endif
