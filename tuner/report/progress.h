/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_PROGRESS_H
#define HONE_TUNER_REPORT_PROGRESS_H

#include "tuner/session/session.h"

/* The progress line on stderr: rewritten in place on a terminal, a line every few seconds elsewhere, nothing when
 * quiet. */
struct hn_progress {
    const struct hn_plan *plan;
    uint64_t budget_count; /* evaluations to expect when fewer than the points; 0: all points */
    bool quiet;
    bool terminal;
    double printed_s;
};

void hn_progress_init(struct hn_progress *progress, const struct hn_plan *plan, uint64_t budget_count, bool quiet);
/* A hn_session_watch. */
void hn_progress_show(void *progress, const struct hn_session_state *state);
/* Leaves the line behind, so that what is printed next starts on its own. */
void hn_progress_finish(struct hn_progress *progress);

#endif
