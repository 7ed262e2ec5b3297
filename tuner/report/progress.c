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
#include "base/schema.h"
#include "cache/record/record.h"
#include "tuner/report/render.h"
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

/* Notes whether the best got better. */
static void progress_note(struct hn_progress_view *view, const struct hn_session_state *state)
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

/* How the best got better from left to right, the best lowest, on a logarithmic scale; "" before
 * there is one. */
static void progress_sparkline(const struct hn_progress_view *view, uint64_t finished,
                               size_t columns, struct hn_text *text)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {"_", ".", ",", "-", "~", "=", "+", "#"};
    if (view->trail_count == 0)
        return;
    double worst = scale(view->trail[0].objective);
    double best = scale(view->trail[view->trail_count - 1].objective);
    for (size_t c = 0; c < columns; c++) {
        /* The best after so many points; in the first column the first that there was. */
        double after = (double)finished * (double)c / (double)(columns - 1);
        double value = worst;
        for (size_t i = 0; i < view->trail_count && (double)view->trail[i].finished <= after; i++)
            value = scale(view->trail[i].objective);
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

static void append_outcomes(const struct hn_progress_view *view,
                            const struct hn_session_state *state, bool all, struct hn_text *text)
{
    for (int outcome = all ? 0 : HN_OUTCOME_OK + 1; outcome < HN_OUTCOME_COUNT; outcome++) {
        if (state->counts[outcome] == 0)
            continue;
        hn_text_append(text, text->length > 0 ? ", " : "");
        paint(view, text, outcome >= HN_OUTCOME_INVALID_LAUNCH ? red : "");
        hn_text_printf(text, "%llu %s", (unsigned long long)state->counts[outcome],
                       hn_outcome_names[(enum hn_outcome)outcome]);
        paint(view, text, outcome >= HN_OUTCOME_INVALID_LAUNCH ? plain : "");
    }
    if (all && state->reused > 0)
        hn_text_printf(text, "%s%llu of them from the cache", text->length > 0 ? ", " : "",
                       (unsigned long long)state->reused);
}

/* "7/100 racing 5 finalists"; "9 s left", with a rule that may stop the search "at most 9 s left,
 * chance of better 31%"; "7 compile, one for 12 s". Between them stands {sep}. */
#define COUNT "{finished}[/{total}][ {phase}][, waiting for the GPU: {holder}]"
#define BEST                                                                                       \
    "best [{bold}]{best.us:time}[{plain}][{comma}{best.merit}]"                                    \
    "[{comma}{best.roof.share:.0%} of {best.roof.name}]"
#define REST                                                                                       \
    "[{sep}{rate:.1f}/s{?rate<100}|{sep}{rate:.0f}/s]"                                             \
    "[{sep}[{?stop_chance}at most ]{left_s:duration} left]"                                        \
    "[{sep}chance of better {chance:.0%}, ends below {stop_chance*100:.3g}%{?stop_chance}]"        \
    "[{sep}{compiling} compile[, one for {longest_s:duration}]{?compiling>1}"                      \
    "|{sep}{compiling} compiles{?compiling=1}[, for {longest_s:duration}]]"

static const char *const block_lines[HN_PROGRESS_LINES] = {
    "  [{bar}  ]" COUNT REST,
    "  " BEST "[  {best.point}]",
    ("  {spark}[  better {better} time{better:s}{?better}|  the first is the best so far]"
     "[, from {from_us:time}]"),
    "  {cards}",
    "[  {?finished}]{outcomes}",
};
static const char whole_line[] = COUNT "[{sep}" BEST "]" REST "[{sep}{outcomes}][{sep}{cards}]";

static json_t *best_to_json(const struct hn_progress_view *view, const struct hn_record *best)
{
    struct hn_roof roof;
    json_t *json = json_pack("{sf so so}", "us", best->timing.median_us, "point",
                             hn_bindings_to_json(&best->point), "merit",
                             hn_merit_to_json(view->backend->task->plan, best));
    if (hn_roof_find(view->roofs, view->backend->task->regime, best, &roof))
        json_object_set_new(json, "roof",
                            json_pack("{ss sf}", "name", roof.name, "share", roof.share));
    return json;
}

/* The time that is left, as far as it can be told; INFINITY: it cannot. A few points, while
 * workers still start, say nothing of the rest. */
static double left_s(const struct hn_progress_view *view, const struct hn_session_state *state,
                     double rate)
{
    uint64_t total = total_of(view, state);
    bool early = state->finished - state->reused < EARLY_POINTS && state->elapsed_s < EARLY_S;
    double left = INFINITY;
    if (rate > 0 && total != UINT64_MAX && total > state->finished && !early)
        left = (double)(total - state->finished) / rate;
    return view->budget_s > 0 ? fmin(left, fmax(view->budget_s - state->elapsed_s, 0)) : left;
}

/* What the lines say: those of a block, or the whole one. */
static json_t *describe(const struct hn_progress_view *view, const struct hn_session_state *state,
                        bool block)
{
    struct hn_text outcomes = {0}, cards = {0}, bar = {0}, spark = {0};
    const struct hn_usage *usage = &state->usage;
    uint64_t total = total_of(view, state), fresh = state->finished - state->reused;
    /* Of the points or of the time, whatever is nearer; below 0: not known. */
    double part = total != UINT64_MAX && total > 0 ? (double)state->finished / (double)total : -1;
    if (view->budget_s > 0)
        part = fmax(part, state->elapsed_s / view->budget_s);
    double rate = fresh > 0 && state->elapsed_s > 0 ? (double)fresh / state->elapsed_s : NAN;
    append_outcomes(view, state, block, &outcomes);
    append_cards(state, &cards);
    if (block && part >= 0)
        append_bar(view, &bar, fmin(part, 1));
    if (block && state->best != NULL)
        progress_sparkline(view, state->finished, SPARK, &spark);
    json_t *json = hn_needed(json_pack(
        "{ss ss ss ss sI so so so sf si so so* so* so* so*}", "sep", block ? "  " : " | ", "comma",
        block ? "  " : ", ", "bold", view->colour ? bold : "", "plain", view->colour ? plain : "",
        "finished", (json_int_t)state->finished, "rate", hn_render_number(rate), "left_s",
        hn_render_number(left_s(view, state, rate)), "chance", hn_render_number(state->chance),
        "stop_chance", view->stop_chance, "compiling", usage->under_way, "longest_s",
        hn_render_number(usage->longest_s < 1 ? NAN : usage->longest_s), "outcomes",
        hn_render_text(&outcomes), "cards", hn_render_text(&cards), "bar", hn_render_text(&bar),
        "spark", hn_render_text(&spark)));
    if (total != UINT64_MAX)
        json_object_set_new(json, "total", json_integer((json_int_t)total));
    if (strcmp(state->phase, "searching") != 0)
        json_object_set_new(json, "phase", hn_string_to_json(state->phase));
    if (usage->holder != NULL)
        json_object_set_new(json, "holder", hn_string_to_json(usage->holder));
    if (state->best != NULL)
        json_object_set_new(json, "best", best_to_json(view, state->best));
    if (view->trail_count > 1 && block) {
        json_object_set_new(json, "better", json_integer((json_int_t)view->trail_count - 1));
        if (strcmp(view->backend->task->plan->objective, "time") == 0)
            json_object_set_new(json, "from_us", json_real(view->trail[0].objective));
    }
    return json;
}

/* How long the next character is, or a sequence that sets colours, which takes no column. */
static size_t next_length(const char *text, bool *colours)
{
    size_t length = 1;
    *colours = strncmp(text, "\033[", 2) == 0 && text[strcspn(text, "m")] == 'm';
    while (!*colours && (text[length] & 0xC0) == 0x80)
        length++;
    return *colours ? strcspn(text, "m") + 1 : length;
}

/* The text without what goes beyond so many columns; colours are kept and ended; free it. */
static char *progress_clip(const char *text, size_t columns)
{
    struct hn_text clipped = {0};
    bool coloured = false, colours;
    for (size_t used = 0; *text != '\0';) {
        size_t length = next_length(text, &colours);
        if (!colours && used++ == columns)
            break;
        coloured |= colours;
        hn_text_append_bytes(&clipped, text, length);
        text += length;
    }
    hn_text_append(&clipped, coloured ? plain : "");
    return hn_needed(hn_text_take(&clipped));
}

/* All in one line, the most important first, behind its label where there are several: "m=512:
 * 31/900 | best 12.1 us | …". Free it. */
static char *progress_line(const struct hn_progress *progress, const struct hn_session_state *state)
{
    struct hn_text text = {0};
    json_auto_t *json = describe(&progress->view, state, false);
    if (progress->board->most >= 2)
        hn_text_printf(&text, "%s: ", progress->label);
    hn_render_line(&text, json, whole_line);
    return hn_needed(hn_text_take(&text));
}

/* Columns that a text takes: characters without escape sequences. */
static size_t progress_columns(const char *text)
{
    size_t columns = 0;
    bool colours;
    for (; *text != '\0'; columns += !colours)
        text += next_length(text, &colours);
    return columns;
}

/* Off a terminal a line so often, so that a log shows life without growing. */
static const double log_interval_s = 5;

enum { LEAST_ROWS = 8, WIDE = 72 }; /* of a terminal that has room for a block */

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

static void forget_lines(struct hn_progress *progress)
{
    while (progress->line_count > 0)
        free(progress->lines[--progress->line_count]);
}

static void make_lines(struct hn_progress *progress, const struct hn_session_state *state,
                       const struct winsize *size)
{
    bool block = progress->board->count == 1 && size->ws_col >= WIDE &&
                 (size->ws_row == 0 || size->ws_row >= LEAST_ROWS);
    size_t columns = size->ws_col > 1 ? size->ws_col - 1u : 1;
    forget_lines(progress);
    if (!block) {
        char *line HN_FREED = progress_line(progress, state);
        progress->lines[progress->line_count++] = progress_clip(line, columns);
        return;
    }
    json_auto_t *json = describe(&progress->view, state, true);
    for (size_t i = 0; i < HN_PROGRESS_LINES; i++) {
        struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
        if (hn_render_line(&text, json, block_lines[i]))
            progress->lines[progress->line_count++] = progress_clip(text.data, columns);
    }
}

static void add_line(struct hn_progress_board *board, const char *line, struct hn_text *text)
{
    hn_text_append(text, board->drawn_count > 0 ? "\r\n" : "");
    hn_text_append(text, line);
    board->drawn[board->drawn_count++] = progress_columns(line);
}

static void write_text(struct hn_text *text)
{
    if (text->length > 0)
        dprintf(STDERR_FILENO, "%s", text->data);
    hn_text_finish(text);
}

/* Those that do not fit are counted. */
static void draw(struct hn_progress_board *board, const struct winsize *size)
{
    struct hn_text text = {0};
    size_t rows = size->ws_row > 2 ? size->ws_row - 2u : HN_PROGRESS_MOST;
    size_t shown = board->count > rows ? rows - 1 : board->count;
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
    write_text(&text);
}

void hn_progress_show(void *watcher, const struct hn_session_state *state)
{
    struct hn_progress *progress = watcher;
    struct hn_progress_board *board = progress->board;
    bool announces = state->usage.holder != NULL && !progress->announced;
    progress_note(&progress->view, state);
    if (board->quiet)
        return;
    pthread_mutex_lock(&board->lock);
    if (board->terminal) {
        struct winsize size = terminal_size();
        make_lines(progress, state, &size);
        draw(board, &size);
    } else if (announces || state->elapsed_s - progress->printed_s >= log_interval_s) {
        char *line HN_FREED = progress_line(progress, state);
        fprintf(stderr, "%s\n", line);
        progress->printed_s = state->elapsed_s;
    }
    progress->announced = progress->announced || announces;
    pthread_mutex_unlock(&board->lock);
}

void hn_progress_begin(struct hn_progress *progress, struct hn_progress_board *board,
                       const struct hn_progress_view *view, const char *label)
{
    *progress = (struct hn_progress){.board = board, .view = *view};
    snprintf(progress->label, sizeof progress->label, "%s", label);
    /* That of the environment, whatever the program's own is. */
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale != (locale_t)0) {
        progress->view.unicode = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
        freelocale(locale);
    }
    progress->view.colour = board->terminal && hn_terminal_allows_colour();
    pthread_mutex_lock(&board->lock);
    board->items[board->count++] = progress;
    board->most = board->count > board->most ? board->count : board->most;
    pthread_mutex_unlock(&board->lock);
}

void hn_progress_board_hold(struct hn_progress_board *board)
{
    struct hn_text text = {0};
    pthread_mutex_lock(&board->lock);
    if (!board->terminal || board->quiet)
        return;
    take_back(board, terminal_size().ws_col, &text);
    write_text(&text);
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
    HN_DROP(board->items, board->count, at);
    forget_lines(progress);
    hn_progress_board_release(board);
}
