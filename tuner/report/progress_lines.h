/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_PROGRESS_LINES_H
#define HONE_TUNER_REPORT_PROGRESS_LINES_H

#include "tuner/report/roof.h"
#include "tuner/session/session.h"

/* What the progress of a session looks like, as text. */

enum { HN_PROGRESS_LINES = 5, HN_PROGRESS_TRAIL = 256 };

/* When the best got better: after so many points, to this objective. */
struct hn_progress_step {
    uint64_t finished;
    double objective;
};

struct hn_progress_view {
    const struct hn_backend *backend;
    const struct hn_roofs *roofs; /* NULL: not known */
    uint64_t budget_count;        /* evaluations to expect when fewer than the points; 0: all points */
    double budget_s;              /* 0: none */
    double stop_chance;           /* the search ends when the stated chance is below; 0: it does not */
    bool unicode;
    bool colour;
    struct hn_progress_step trail[HN_PROGRESS_TRAIL];
    size_t trail_count;
};

/* Notes whether the best got better. */
void hn_progress_note(struct hn_progress_view *view, const struct hn_session_state *state);

/* Up to HN_PROGRESS_LINES lines of at most `columns` columns, for a terminal that is wide enough (HN_PROGRESS_WIDE); free
 * each. Returns how many. */
enum { HN_PROGRESS_WIDE = 72 };
size_t hn_progress_block(const struct hn_progress_view *view, const struct hn_session_state *state, size_t columns,
                         char *lines[HN_PROGRESS_LINES]);
/* All in one line, the most important first; free it. NULL when out of memory. */
char *hn_progress_line(const struct hn_progress_view *view, const struct hn_session_state *state);

/* The text without what goes beyond so many columns; colours are kept and ended. NULL when out of memory. */
char *hn_progress_clip(const char *text, size_t columns);
/* Columns that a text takes: characters without escape sequences. */
size_t hn_progress_columns(const char *text);
/* How the best got better from left to right, the best lowest, on a logarithmic scale; "" before there is one. */
void hn_progress_sparkline(const struct hn_progress_view *view, uint64_t finished, size_t columns, struct hn_text *text);

#endif
