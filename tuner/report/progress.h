/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_PROGRESS_H
#define HONE_TUNER_REPORT_PROGRESS_H

#include "tuner/report/progress_lines.h"

/* The progress of a session on stderr: a few lines redrawn in place on a terminal, one on a narrow or low one, a plain line
 * every few seconds elsewhere (and where TERM is dumb or not set), nothing when quiet. The cursor stays visible and no
 * mode of the terminal is changed, so that whatever ends the process leaves it usable. */
struct hn_progress {
    struct hn_progress_view view;
    bool quiet;
    bool terminal;
    double printed_s;
    bool announced; /* that it waits for the GPU */
    size_t drawn[HN_PROGRESS_LINES]; /* columns of the lines that stand on the terminal */
    size_t drawn_count;
};

/* Copies the view, borrows what it points to. */
void hn_progress_init(struct hn_progress *progress, const struct hn_progress_view *view, bool quiet);
/* A hn_session_watch. */
void hn_progress_show(void *progress, const struct hn_session_state *state);
/* Takes the lines away, so that what is printed next starts on its own. */
void hn_progress_finish(struct hn_progress *progress);

#endif
