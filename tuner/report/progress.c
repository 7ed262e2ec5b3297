/* SPDX-License-Identifier: MIT */
#include "tuner/report/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tuner/report/format.h"

/* Off a terminal a line so often, so that a log shows life without growing. */
static const double log_interval_s = 5;

void hn_progress_init(struct hn_progress *progress, const struct hn_plan *plan,
                      uint64_t budget_count, bool quiet)
{
    *progress = (struct hn_progress){
        .plan = plan,
        .budget_count = budget_count,
        .quiet = quiet,
        .terminal = isatty(STDERR_FILENO) != 0,
    };
}

static void append_failures(struct hn_text *text, const struct hn_session_state *state)
{
    for (int outcome = 0; outcome < HN_OUTCOME_COUNT; outcome++) {
        if (outcome == HN_OUTCOME_OK || state->counts[outcome] == 0)
            continue;
        hn_text_printf(text, ", %llu %s", (unsigned long long)state->counts[outcome],
                       hn_outcome_name((enum hn_outcome)outcome));
    }
}

static void append_rate(struct hn_text *text, const struct hn_session_state *state, uint64_t total)
{
    char left[HN_FORMAT_SIZE];
    uint64_t fresh = state->finished - state->reused;
    if (fresh == 0 || state->elapsed_s <= 0)
        return;
    double rate = (double)fresh / state->elapsed_s;
    hn_text_printf(text, " | %.1f/s", rate);
    if (total > state->finished && total != UINT64_MAX) {
        hn_format_duration((double)(total - state->finished) / rate, left);
        hn_text_printf(text, ", %s left", left);
    }
}

static char *format_line(const struct hn_progress *progress, const struct hn_session_state *state)
{
    struct hn_text text;
    uint64_t total = state->points;
    if (progress->budget_count > 0 && progress->budget_count < total)
        total = progress->budget_count;
    hn_text_init(&text);
    hn_text_printf(&text, "%llu", (unsigned long long)state->finished);
    if (total != UINT64_MAX)
        hn_text_printf(&text, "/%llu", (unsigned long long)total);
    if (strcmp(state->phase, "searching") != 0)
        hn_text_printf(&text, " %s", state->phase);
    if (state->best != NULL) {
        char time[HN_FORMAT_SIZE];
        char merit[HN_FORMAT_SIZE];
        hn_format_time(state->best->timing.median_us, time);
        hn_format_merit(progress->plan, state->best, merit);
        hn_text_printf(&text, " | best %s%s%s", time, merit[0] != '\0' ? ", " : "", merit);
    }
    append_rate(&text, state, total);
    append_failures(&text, state);
    return hn_text_take(&text);
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

void hn_progress_show(void *watcher, const struct hn_session_state *state)
{
    struct hn_progress *progress = watcher;
    if (progress->quiet ||
        (!progress->terminal && state->elapsed_s - progress->printed_s < log_interval_s))
        return;
    char *line = format_line(progress, state);
    if (line == NULL)
        return;
    if (progress->terminal)
        fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    else
        fprintf(stderr, "%s\n", line);
    progress->printed_s = state->elapsed_s;
    free(line);
}

void hn_progress_finish(struct hn_progress *progress)
{
    if (progress->terminal && !progress->quiet)
        fputs("\r\033[K", stderr);
}
