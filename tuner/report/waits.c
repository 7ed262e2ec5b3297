/* SPDX-License-Identifier: MIT */
#include "tuner/report/waits.h"

/* Less is not worth a line. */
static const double least_s = 1;
static const double least_part = 0.2;
/* Of the waiting: less is not worth a word. */
static const double least_share = 0.1;

static double on_compiler(const struct hn_waits *waits)
{
    return waits->cores_s + waits->look_ahead_s + waits->single_s;
}

static void append_slowest(const struct hn_session *session, struct hn_text *text)
{
    const struct hn_session_state *state = hn_session_state(session);
    struct hn_record record;
    if (state->slowest_s <= 0 || hn_session_record(session, state->slowest, &record, NULL) != HN_OK)
        return;
    hn_text_printf(text, ": the slowest took %.1f s, ", state->slowest_s);
    hn_bindings_append(text, &record.point);
    hn_record_finish(&record);
}

static void append_parts(const struct hn_session *session, struct hn_text *text)
{
    const struct hn_session_state *state = hn_session_state(session);
    const struct hn_waits *waits = &state->waits;
    double least = least_share * on_compiler(waits);
    const char *separator = "; ";
    if (waits->cores_s > least) {
        hn_text_printf(text,
                       "%s%.1f s with all compile workers busy (--jobs, --workers: more of them)",
                       separator, waits->cores_s);
        separator = ", ";
    }
    if (waits->look_ahead_s > least) {
        hn_text_printf(text, "%s%.1f s with some, until it may propose more", separator,
                       waits->look_ahead_s);
        hn_text_printf(text, " (--look-ahead %u)", 2 * state->look_ahead);
        separator = ", ";
    }
    if (waits->single_s > least) {
        hn_text_printf(text, "%s%.1f s for one point alone, or the last ones (--compile-timeout",
                       separator, waits->single_s);
        append_slowest(session, text);
        hn_text_append(text, ")");
    }
}

void hn_waits_print(const struct hn_session *session, FILE *file)
{
    const struct hn_session_state *state = hn_session_state(session);
    double waited_s = on_compiler(&state->waits);
    struct hn_text text;
    if (waited_s < least_s || waited_s < least_part * state->elapsed_s)
        return;
    hn_text_init(&text);
    append_parts(session, &text);
    if (!text.failed)
        fprintf(file, "  the GPU waited %.1f s for the compiler%s\n", waited_s, text.data);
    hn_text_finish(&text);
}

json_t *hn_waits_to_json(const struct hn_waits *waits)
{
    return json_pack("{sf sf sf sf}", "gpu_s", waits->gpu_s, "cores_s", waits->cores_s,
                     "look_ahead_s", waits->look_ahead_s, "single_s", waits->single_s);
}
