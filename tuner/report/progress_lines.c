/* SPDX-License-Identifier: MIT */
#include "tuner/report/progress_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/report/format.h"

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
    char *line = text->failed || text->length == 0 ? NULL : hn_progress_clip(text->data, columns);
    if (line != NULL)
        lines[(*count)++] = line;
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
    return hn_text_take(&text);
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
    return hn_text_take(&clipped);
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
