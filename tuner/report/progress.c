/* SPDX-License-Identifier: MIT */
#include "tuner/report/progress.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "tuner/report/format.h"
#include "tuner/report/table.h"

enum { BAR = 24, SPARK = 32, EARLY_POINTS = 20, EARLY_S = 5 };

static const char *const bold = "\033[1m";
static const char *const red = "\033[31m";
static const char *const green = "\033[32m";
static const char *const plain = "\033[0m";

static void paint(const struct hn_progress_view *view, struct hn_text *text, const char *colour)
{
    if (view->colour)
        hn_text_append(text, colour);
}

void hn_progress_note(struct hn_progress_view *view, const struct hn_session_state *state)
{
    struct hn_progress_step *trail = view->trail;
    size_t *count = &view->trail_count;
    if (state->best == NULL ||
        (*count > 0 && state->best->objective >= trail[*count - 1].objective))
        return;
    if (*count == HN_PROGRESS_TRAIL) {
        for (size_t i = 0; i < *count / 2; i++)
            trail[i] = trail[2 * i];
        *count /= 2;
    }
    trail[(*count)++] = (struct hn_progress_step){state->finished, state->best->objective};
}

/* A metric that is maximised is kept negated. */
static double scale(double objective)
{
    if (objective > 0)
        return log(objective);
    return objective < 0 ? -log(-objective) : 0;
}

/* The best after so many points; of the first column the first that there was. */
static double best_after(const struct hn_progress_view *view, double finished)
{
    double objective = view->trail[0].objective;
    for (size_t i = 0; i < view->trail_count && (double)view->trail[i].finished <= finished; i++)
        objective = view->trail[i].objective;
    return scale(objective);
}

void hn_progress_sparkline(const struct hn_progress_view *view, uint64_t finished, size_t columns,
                           struct hn_text *text)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {"_", ".", ",", "-", "~", "=", "+", "#"};
    if (view->trail_count == 0)
        return;
    double worst = scale(view->trail[0].objective);
    double best = scale(view->trail[view->trail_count - 1].objective);
    for (size_t c = 0; c < columns; c++) {
        double value = best_after(view, (double)finished * (double)c / (double)(columns - 1));
        double part = worst > best ? (value - best) / (worst - best) : 0;
        size_t level = (size_t)fmin(fmax(part * 8, 0), 7);
        hn_text_append(text, view->unicode ? blocks[level] : letters[level]);
    }
}

static uint64_t total_of(const struct hn_progress_view *view, const struct hn_session_state *state)
{
    return view->budget_count > 0 && view->budget_count < state->points ? view->budget_count
                                                                        : state->points;
}

/* How far it is, of the points or of the time, whatever is nearer; below 0: not known. */
static double part_done(const struct hn_progress_view *view, const struct hn_session_state *state)
{
    uint64_t total = total_of(view, state);
    double part = total != UINT64_MAX && total > 0 ? (double)state->finished / (double)total : -1;
    if (view->budget_s > 0)
        part = fmax(part, state->elapsed_s / view->budget_s);
    return fmin(part, 1);
}

static void append_bar(const struct hn_progress_view *view, struct hn_text *text, double part)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t steps = (size_t)lround(part * BAR * 8);
    size_t full = view->unicode ? steps / 8 : (steps + 4) / 8;
    size_t columns = full;
    paint(view, text, green);
    for (size_t i = 0; i < full; i++)
        hn_text_append(text, view->unicode ? "█" : "#");
    if (view->unicode && steps % 8 > 0) {
        hn_text_append(text, eighths[steps % 8]);
        columns++;
    }
    paint(view, text, plain);
    for (; columns < BAR; columns++)
        hn_text_append(text, view->unicode ? "░" : ".");
}

static double rate_of(const struct hn_session_state *state)
{
    uint64_t fresh = state->finished - state->reused;
    return fresh > 0 && state->elapsed_s > 0 ? (double)fresh / state->elapsed_s : 0;
}

/* A few points, while workers still start, say nothing of the rest. */
static bool is_early(const struct hn_session_state *state)
{
    return state->finished - state->reused < EARLY_POINTS && state->elapsed_s < EARLY_S;
}

/* "9 s left", with a rule that may stop the search "at most 9 s left, the chance of a better point
 * is 31%". */
static void append_rest(const struct hn_progress_view *view, const struct hn_session_state *state,
                        const char *separator, struct hn_text *text)
{
    char left[HN_FORMAT_SIZE];
    double rate = rate_of(state);
    uint64_t total = total_of(view, state);
    double seconds = INFINITY;
    if (rate > 0)
        hn_text_printf(text, "%s%.*f/s", separator, rate < 100 ? 1 : 0, rate);
    if (rate > 0 && total != UINT64_MAX && total > state->finished && !is_early(state))
        seconds = (double)(total - state->finished) / rate;
    if (view->budget_s > 0)
        seconds = fmin(seconds, fmax(view->budget_s - state->elapsed_s, 0));
    if (isfinite(seconds)) {
        hn_format_duration(seconds, left);
        hn_text_printf(text, "%s%s%s left", separator, view->stop_chance > 0 ? "at most " : "",
                       left);
    }
    if (view->stop_chance > 0 && !isnan(state->chance))
        hn_text_printf(text, "%schance of better %.0f%%, ends below %.3g%%", separator,
                       state->chance * 100, view->stop_chance * 100);
}

/* "7 compile, one for 12 s" */
static void append_compiling(const struct hn_session_state *state, const char *separator,
                             struct hn_text *text)
{
    char longest[HN_FORMAT_SIZE];
    if (state->usage.under_way == 0)
        return;
    hn_text_printf(text, "%s%d compil%s", separator, state->usage.under_way,
                   state->usage.under_way > 1 ? "e" : "es");
    if (state->usage.longest_s < 1)
        return;
    hn_format_duration(state->usage.longest_s, longest);
    hn_text_printf(text, ", %sfor %s", state->usage.under_way > 1 ? "one " : "", longest);
}

static void append_count(const struct hn_progress_view *view, const struct hn_session_state *state,
                         struct hn_text *text)
{
    uint64_t total = total_of(view, state);
    hn_text_printf(text, "%llu", (unsigned long long)state->finished);
    if (total != UINT64_MAX)
        hn_text_printf(text, "/%llu", (unsigned long long)total);
    if (strcmp(state->phase, "searching") != 0)
        hn_text_printf(text, " %s", state->phase);
    if (state->usage.holder != NULL)
        hn_text_printf(text, ", waiting for the GPU: %s", state->usage.holder);
}

static void append_best(const struct hn_progress_view *view, const struct hn_session_state *state,
                        const char *separator, struct hn_text *text)
{
    char time[HN_FORMAT_SIZE];
    char merit[HN_FORMAT_SIZE];
    struct hn_roof roof;
    hn_format_time(state->best->timing.median_us, time);
    hn_format_merit(view->backend->task->plan, state->best, merit);
    hn_text_append(text, "best ");
    paint(view, text, bold);
    hn_text_append(text, time);
    paint(view, text, plain);
    if (merit[0] != '\0')
        hn_text_printf(text, "%s%s", separator, merit);
    if (view->roofs != NULL && hn_roof_of(view->roofs, view->backend, state->best, &roof))
        hn_text_printf(text, "%s%.0f%% of %s", separator, roof.share * 100, roof.name);
}

/* "gpu7 2 GPUs 31.2/s, gpu8 1 GPU 0/s (its host is not there)", cards of a host together, which
 * follow one another. */
static void append_cards(const struct hn_session_state *state, struct hn_text *text)
{
    const struct hn_usage *usage = &state->usage;
    for (size_t i = 0; i < usage->card_count;) {
        const char *host = usage->cards[i].host;
        const char *doing = "";
        uint64_t measured = 0;
        size_t first = i;
        for (; i < usage->card_count && strcmp(usage->cards[i].host, host) == 0; i++) {
            measured += usage->cards[i].measured;
            doing = doing[0] != '\0' ? doing : usage->cards[i].doing;
        }
        hn_text_printf(text, "%s%s %zu GPU%s %.1f/s", first > 0 ? ", " : "",
                       host[0] != '\0' ? host : "a host", i - first, i - first > 1 ? "s" : "",
                       state->elapsed_s > 0 ? (double)measured / state->elapsed_s : 0);
        if (doing[0] != '\0')
            hn_text_printf(text, " (%s)", doing);
    }
}

static bool is_failure(int outcome)
{
    return outcome >= HN_OUTCOME_INVALID_LAUNCH;
}

static void append_outcomes(const struct hn_progress_view *view,
                            const struct hn_session_state *state, bool all, struct hn_text *text)
{
    const char *separator = "";
    for (int outcome = 0; outcome < HN_OUTCOME_COUNT; outcome++) {
        if (state->counts[outcome] == 0 || (!all && outcome == HN_OUTCOME_OK))
            continue;
        hn_text_append(text, separator);
        if (is_failure(outcome))
            paint(view, text, red);
        hn_text_printf(text, "%llu %s", (unsigned long long)state->counts[outcome],
                       hn_outcome_name((enum hn_outcome)outcome));
        if (is_failure(outcome))
            paint(view, text, plain);
        separator = ", ";
    }
    if (all && state->reused > 0)
        hn_text_printf(text, "%s%llu of them from the cache", separator,
                       (unsigned long long)state->reused);
}

/* Clips a line and lets go of the text. */
static void keep(struct hn_text *text, size_t columns, char **lines, size_t *count)
{
    if (text->length > 0)
        lines[(*count)++] = hn_progress_clip(text->data, columns);
    hn_text_finish(text);
}

size_t hn_progress_block(const struct hn_progress_view *view, const struct hn_session_state *state,
                         size_t columns, char *lines[HN_PROGRESS_LINES])
{
    struct hn_text text;
    size_t count = 0;
    double part = part_done(view, state);
    hn_text_init(&text);
    hn_text_append(&text, "  ");
    if (part >= 0)
        append_bar(view, &text, part);
    hn_text_append(&text, part >= 0 ? "  " : "");
    append_count(view, state, &text);
    append_rest(view, state, "  ", &text);
    append_compiling(state, "  ", &text);
    keep(&text, columns, lines, &count);
    if (state->best != NULL) {
        hn_text_init(&text);
        hn_text_append(&text, "  ");
        append_best(view, state, "  ", &text);
        hn_text_append(&text, "  ");
        hn_bindings_append(&text, &state->best->point);
        keep(&text, columns, lines, &count);
    }
    if (state->best != NULL && view->trail_count > 0) {
        char first[HN_FORMAT_SIZE];
        hn_text_init(&text);
        hn_text_append(&text, "  ");
        hn_progress_sparkline(view, state->finished, SPARK, &text);
        if (view->trail_count == 1)
            hn_text_append(&text, "  the first is the best so far");
        else
            hn_text_printf(&text, "  better %zu time%s", view->trail_count - 1,
                           view->trail_count == 2 ? "" : "s");
        if (view->trail_count > 1 && strcmp(view->backend->task->plan->objective, "time") == 0) {
            hn_format_time(view->trail[0].objective, first);
            hn_text_printf(&text, ", from %s", first);
        }
        keep(&text, columns, lines, &count);
    }
    if (state->usage.card_count > 0) {
        hn_text_init(&text);
        hn_text_append(&text, "  ");
        append_cards(state, &text);
        keep(&text, columns, lines, &count);
    }
    hn_text_init(&text);
    if (state->finished > 0)
        hn_text_append(&text, "  ");
    append_outcomes(view, state, true, &text);
    keep(&text, columns, lines, &count);
    return count;
}

char *hn_progress_line(const struct hn_progress_view *view, const struct hn_session_state *state)
{
    struct hn_text text;
    hn_text_init(&text);
    append_count(view, state, &text);
    if (state->best != NULL) {
        hn_text_append(&text, " | ");
        append_best(view, state, ", ", &text);
    }
    append_rest(view, state, " | ", &text);
    append_compiling(state, " | ", &text);
    if (state->finished > state->counts[HN_OUTCOME_OK])
        hn_text_append(&text, " | ");
    append_outcomes(view, state, false, &text);
    if (state->usage.card_count > 0)
        hn_text_append(&text, " | ");
    append_cards(state, &text);
    return hn_needed(hn_text_take(&text));
}

/* The length of an escape sequence that sets colours; 0 where there is none. */
static size_t escape_length(const char *text)
{
    size_t length = 2;
    if (text[0] != '\033' || text[1] != '[')
        return 0;
    while (text[length] != '\0' && text[length] != 'm')
        length++;
    return text[length] == 'm' ? length + 1 : 0;
}

static size_t character_length(const char *text)
{
    size_t length = 1;
    while ((text[length] & 0xC0) == 0x80)
        length++;
    return length;
}

char *hn_progress_clip(const char *text, size_t columns)
{
    struct hn_text clipped;
    bool coloured = false;
    hn_text_init(&clipped);
    for (size_t used = 0; *text != '\0';) {
        size_t length = escape_length(text);
        if (length > 0) {
            coloured = true;
            hn_text_append_bytes(&clipped, text, length);
        } else {
            length = character_length(text);
            if (used++ == columns)
                break;
            hn_text_append_bytes(&clipped, text, length);
        }
        text += length;
    }
    if (coloured)
        hn_text_append(&clipped, plain);
    return hn_needed(hn_text_take(&clipped));
}

size_t hn_progress_columns(const char *text)
{
    size_t columns = 0;
    while (*text != '\0') {
        size_t length = escape_length(text);
        columns += length == 0;
        text += length > 0 ? length : character_length(text);
    }
    return columns;
}

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
    if (progress->board->most < 2)
        return line;
    hn_text_init(&text);
    hn_text_printf(&text, "%s: %s", progress->label, line);
    free(line);
    return hn_needed(hn_text_take(&text));
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
    progress->lines[0] = hn_progress_clip(line, columns_of(size));
    progress->line_count = 1;
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
    if (text.length > 0)
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
    if (text.length > 0)
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
