/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_PROGRESS_H
#define HONE_TUNER_REPORT_PROGRESS_H

#include <pthread.h>

#include "tuner/report/bounds.h"
#include "tuner/session/session.h"

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

/* The progress of sessions on stderr: a few lines redrawn in place on a terminal, one on a narrow or low one, a plain line
 * every few seconds elsewhere (and where TERM is dumb or not set), nothing when quiet. Sessions that run side by side, each in a
 * thread, have a line each. The cursor stays visible and no mode of the terminal is changed, so that whatever ends the process leaves
 * it usable. */
enum { HN_PROGRESS_MOST = 256 };

struct hn_progress {
    struct hn_progress_board *board;
    struct hn_progress_view view;
    char label[160]; /* before its line, where there are several */
    double printed_s;
    bool announced; /* that it waits for the GPU */
    char *lines[HN_PROGRESS_LINES];
    size_t line_count;
};

struct hn_progress_board {
    pthread_mutex_t lock; /* of all progress on it, and of what is printed beside it */
    bool quiet;
    bool terminal;
    struct hn_progress *items[HN_PROGRESS_MOST]; /* as they began */
    size_t count;
    size_t most;            /* there were at once */
    size_t drawn[HN_PROGRESS_MOST + HN_PROGRESS_LINES]; /* columns of the lines that stand on the terminal */
    size_t drawn_count;
};

/* Takes the lines away and keeps others from drawing, so that what is printed starts on its own and stays whole. */
void hn_progress_board_hold(struct hn_progress_board *board);
void hn_progress_board_release(struct hn_progress_board *board);

/* Copies view and label, borrows what the view points to. */
void hn_progress_begin(struct hn_progress *progress, struct hn_progress_board *board, const struct hn_progress_view *view,
                       const char *label);
/* A hn_session_watch. */
void hn_progress_show(void *progress, const struct hn_session_state *state);
void hn_progress_end(struct hn_progress *progress);

#endif
