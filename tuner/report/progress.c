/* SPDX-License-Identifier: MIT */
#include "tuner/report/progress.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tuner/report/terminal.h"

/* Off a terminal a line so often, so that a log shows life without growing. */
static const double log_interval_s = 5;

enum { LEAST_ROWS = 8 };

/* The locale of the environment, whatever the program's own is. */
static bool has_unicode(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    bool unicode = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return unicode;
}

static bool is_capable(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) != 0 && term != NULL && term[0] != '\0' &&
           strcmp(term, "dumb") != 0;
}

void hn_progress_init(struct hn_progress *progress, const struct hn_progress_view *view, bool quiet)
{
    *progress = (struct hn_progress){.view = *view, .quiet = quiet, .terminal = is_capable()};
    progress->view.unicode = has_unicode();
    progress->view.colour = progress->terminal && hn_terminal_allows_colour();
}

/* Asked each time: windows change their size. */
static struct winsize terminal_size(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size = (struct winsize){.ws_col = 80, .ws_row = 24};
    return size;
}

/* Goes back to where the first line began. A terminal that has become narrower has broken the lines
 * in two. */
static void take_back(struct hn_progress *progress, size_t columns, struct hn_text *text)
{
    size_t rows = 0;
    for (size_t i = 0; i < progress->drawn_count; i++)
        rows += progress->drawn[i] > columns ? (progress->drawn[i] + columns - 1) / columns : 1;
    if (rows > 1)
        hn_text_printf(text, "\033[%zuA", rows - 1);
    hn_text_append(text, progress->drawn_count > 0 ? "\r\033[J" : "");
    progress->drawn_count = 0;
}

static size_t make_lines(struct hn_progress *progress, const struct hn_session_state *state,
                         const struct winsize *size, char *lines[HN_PROGRESS_LINES])
{
    size_t columns = size->ws_col > 1 ? size->ws_col - 1u : 1;
    if (size->ws_col >= HN_PROGRESS_WIDE && (size->ws_row == 0 || size->ws_row >= LEAST_ROWS))
        return hn_progress_block(&progress->view, state, columns, lines);
    char *line = hn_progress_line(&progress->view, state);
    lines[0] = line != NULL ? hn_progress_clip(line, columns) : NULL;
    free(line);
    return lines[0] != NULL ? 1 : 0;
}

/* In one write, so that it does not flicker. */
static void draw(struct hn_progress *progress, const struct hn_session_state *state)
{
    char *lines[HN_PROGRESS_LINES];
    struct winsize size = terminal_size();
    struct hn_text text;
    size_t count = make_lines(progress, state, &size, lines);
    hn_text_init(&text);
    take_back(progress, size.ws_col, &text);
    for (size_t i = 0; i < count; i++) {
        hn_text_append(&text, lines[i]);
        hn_text_append(&text, i + 1 < count ? "\r\n" : "");
        progress->drawn[progress->drawn_count++] = hn_progress_columns(lines[i]);
        free(lines[i]);
    }
    if (!text.failed && text.length > 0)
        dprintf(STDERR_FILENO, "%s", text.data);
    hn_text_finish(&text);
}

void hn_progress_show(void *watcher, const struct hn_session_state *state)
{
    struct hn_progress *progress = watcher;
    hn_progress_note(&progress->view, state);
    if (progress->quiet)
        return;
    if (progress->terminal) {
        draw(progress, state);
        return;
    }
    bool announces = state->usage.holder != NULL && !progress->announced;
    progress->announced = progress->announced || announces;
    if (state->elapsed_s - progress->printed_s < log_interval_s && !announces)
        return;
    char *line = hn_progress_line(&progress->view, state);
    if (line != NULL)
        fprintf(stderr, "%s\n", line);
    free(line);
    progress->printed_s = state->elapsed_s;
}

void hn_progress_finish(struct hn_progress *progress)
{
    struct hn_text text;
    if (!progress->terminal || progress->quiet)
        return;
    hn_text_init(&text);
    take_back(progress, terminal_size().ws_col, &text);
    if (!text.failed && text.length > 0)
        dprintf(STDERR_FILENO, "%s", text.data);
    hn_text_finish(&text);
}
