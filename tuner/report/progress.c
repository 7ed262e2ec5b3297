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

void hn_progress_board_init(struct hn_progress_board *board, bool quiet)
{
    *board = (struct hn_progress_board){.quiet = quiet, .terminal = is_capable()};
    pthread_mutex_init(&board->lock, NULL);
}

void hn_progress_board_finish(struct hn_progress_board *board)
{
    pthread_mutex_destroy(&board->lock);
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
static void take_back(struct hn_progress_board *board, size_t columns, struct hn_text *text)
{
    size_t rows = 0;
    for (size_t i = 0; i < board->drawn_count; i++)
        rows += board->drawn[i] > columns ? (board->drawn[i] + columns - 1) / columns : 1;
    if (rows > 1)
        hn_text_printf(text, "\033[%zuA", rows - 1);
    hn_text_append(text, board->drawn_count > 0 ? "\r\033[J" : "");
    board->drawn_count = 0;
}

static size_t columns_of(const struct winsize *size)
{
    return size->ws_col > 1 ? size->ws_col - 1u : 1;
}

/* "m=512: 31/900 | best 12.1 us | …" */
static char *make_line(const struct hn_progress *progress, const struct hn_session_state *state)
{
    struct hn_text text;
    char *line = hn_progress_line(&progress->view, state);
    if (line == NULL || progress->board->most < 2)
        return line;
    hn_text_init(&text);
    hn_text_printf(&text, "%s: %s", progress->label, line);
    free(line);
    return hn_text_take(&text);
}

static void forget_lines(struct hn_progress *progress)
{
    for (size_t i = 0; i < progress->line_count; i++)
        free(progress->lines[i]);
    progress->line_count = 0;
}

static void make_lines(struct hn_progress *progress, const struct hn_session_state *state,
                       const struct winsize *size)
{
    forget_lines(progress);
    if (progress->board->count == 1 && size->ws_col >= HN_PROGRESS_WIDE &&
        (size->ws_row == 0 || size->ws_row >= LEAST_ROWS)) {
        progress->line_count =
            hn_progress_block(&progress->view, state, columns_of(size), progress->lines);
        return;
    }
    char *line = make_line(progress, state);
    progress->lines[0] = line != NULL ? hn_progress_clip(line, columns_of(size)) : NULL;
    progress->line_count = progress->lines[0] != NULL;
    free(line);
}

static void add_line(struct hn_progress_board *board, const char *line, struct hn_text *text)
{
    hn_text_append(text, board->drawn_count > 0 ? "\r\n" : "");
    hn_text_append(text, line);
    board->drawn[board->drawn_count++] = hn_progress_columns(line);
}

/* In one write, so that it does not flicker. Those that do not fit are counted. */
static void draw(struct hn_progress_board *board, const struct winsize *size)
{
    struct hn_text text;
    size_t rows = size->ws_row > 2 ? size->ws_row - 2u : HN_PROGRESS_MOST;
    size_t shown = board->count > rows ? rows - 1 : board->count;
    hn_text_init(&text);
    take_back(board, size->ws_col, &text);
    for (size_t i = 0; i < shown; i++) {
        const struct hn_progress *progress = board->items[i];
        /* What was a block may be one of several by now. */
        size_t count = board->count == 1 || progress->line_count == 0 ? progress->line_count : 1;
        for (size_t n = 0; n < count; n++)
            add_line(board, progress->lines[n], &text);
    }
    if (shown < board->count) {
        char rest[64];
        snprintf(rest, sizeof rest, "and %zu more", board->count - shown);
        add_line(board, rest, &text);
    }
    if (!text.failed && text.length > 0)
        dprintf(STDERR_FILENO, "%s", text.data);
    hn_text_finish(&text);
}

static void log_line(struct hn_progress *progress, const struct hn_session_state *state)
{
    bool announces = state->usage.holder != NULL && !progress->announced;
    progress->announced = progress->announced || announces;
    if (state->elapsed_s - progress->printed_s < log_interval_s && !announces)
        return;
    char *line = make_line(progress, state);
    if (line != NULL)
        fprintf(stderr, "%s\n", line);
    free(line);
    progress->printed_s = state->elapsed_s;
}

void hn_progress_show(void *watcher, const struct hn_session_state *state)
{
    struct hn_progress *progress = watcher;
    struct hn_progress_board *board = progress->board;
    hn_progress_note(&progress->view, state);
    if (board->quiet)
        return;
    pthread_mutex_lock(&board->lock);
    if (board->terminal) {
        struct winsize size = terminal_size();
        make_lines(progress, state, &size);
        draw(board, &size);
    } else {
        log_line(progress, state);
    }
    pthread_mutex_unlock(&board->lock);
}

void hn_progress_begin(struct hn_progress *progress, struct hn_progress_board *board,
                       const struct hn_progress_view *view, const char *label)
{
    *progress = (struct hn_progress){.board = board, .view = *view};
    snprintf(progress->label, sizeof progress->label, "%s", label);
    progress->view.unicode = has_unicode();
    progress->view.colour = board->terminal && hn_terminal_allows_colour();
    pthread_mutex_lock(&board->lock);
    board->items[board->count++] = progress;
    board->most = board->count > board->most ? board->count : board->most;
    pthread_mutex_unlock(&board->lock);
}

static void hide(struct hn_progress_board *board)
{
    struct hn_text text;
    if (!board->terminal || board->quiet)
        return;
    hn_text_init(&text);
    take_back(board, terminal_size().ws_col, &text);
    if (!text.failed && text.length > 0)
        dprintf(STDERR_FILENO, "%s", text.data);
    hn_text_finish(&text);
}

void hn_progress_board_hold(struct hn_progress_board *board)
{
    pthread_mutex_lock(&board->lock);
    hide(board);
}

void hn_progress_board_release(struct hn_progress_board *board)
{
    pthread_mutex_unlock(&board->lock);
}

void hn_progress_end(struct hn_progress *progress)
{
    struct hn_progress_board *board = progress->board;
    size_t at = 0;
    hn_progress_board_hold(board);
    while (board->items[at] != progress)
        at++;
    board->count--;
    memmove(&board->items[at], &board->items[at + 1], (board->count - at) * sizeof *board->items);
    forget_lines(progress);
    hn_progress_board_release(board);
}
