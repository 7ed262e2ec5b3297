/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "tuner/session/session_internal.h"

/* Of a budget of time the finals get what they are expected to take: the race as long as
 * live_race.c lets it, verifying some finalists as the search has verified its points, an audit of
 * so many launches of the winner, and the second seed's reference and the rest; a half at most. */
static const double race_part = 0.1;
static const double race_least_ms = 300;
static const double race_most_ms = 1500;
static const double expected_finalists = 8;
static const double audit_launches = 14;
static const double rest_ms = 500;
static const double most_processes_ms = 1000; /* the best in other processes */
/* With energy, two windows of each that is weighed, what comes before one, and the idle power. */
static const double windows = 12;
static const double window_rest_ms = 600;
static const double idle_ms = 2000;

/* Of the finals' time so much is left to them when what is compiled was measured. */
static const double finals_kept = 0.7;

/* A search that has measured nothing when its time is up, but has something compiled, gets the
 * first of it measured, for so long. */
static const double extension_ms = 1500;
/* What is waited for looks at the clock at least this often. */
static const double extension_ahead_ms = 200;

static double finals_ms(const struct hn_session *session)
{
    /* Without a result there is nothing to hold finals of. */
    if (session->best == SIZE_MAX)
        return 0;
    const struct hn_session_state *state = &session->state;
    double whole_ms = session->options.budget_s * 1e3;
    uint64_t measured = state->finished - state->reused;
    double verify_ms = measured > 0 ? state->verify_s * 1e3 / (double)measured : 0;
    double race_ms = fmax(fmin(race_part * whole_ms, race_most_ms), race_least_ms);
    double wanted_ms = race_ms + (expected_finalists + audit_launches) * verify_ms + rest_ms;
    wanted_ms += session->options.brief ? 0 : fmin(whole_ms / 20, most_processes_ms);
    if (session->options.energy_s > 0)
        wanted_ms += windows * (1e3 * session->options.energy_s + window_rest_ms) + idle_ms;
    return session->backend->kind->race != NULL ? fmin(wanted_ms, whole_ms / 2) : 0;
}

void hn_session_start_clock(struct hn_session *session)
{
    const struct hn_session_options *options = &session->options;
    session->started_ms = options->started_ms > 0 ? options->started_ms : hn_now_ms();
    session->state.started_ms = session->started_ms;
    session->backend->end_ms =
        options->budget_s > 0 ? session->started_ms + options->budget_s * 1e3 : 0;
}

double hn_session_left_ms(const struct hn_session *session)
{
    double end_ms = session->backend->end_ms;
    return end_ms > 0 ? end_ms - hn_now_ms() : INFINITY;
}

bool hn_session_is_over(const struct hn_session *session)
{
    return hn_interrupted() != 0 || hn_session_left_ms(session) <= 0;
}

static bool is_at_hand(const struct hn_ticket *ticket)
{
    return ticket->state == HN_TICKET_COMPILED || ticket->state == HN_TICKET_EVALUATING;
}

/* Whether a variant is compiled and may be the first to be measured, or soon will be: where the
 * default point has been, the others are worth waiting for. */
static bool has_compiled(const struct hn_session *session)
{
    const struct hn_backend_kind *kind = session->backend->kind;
    struct hn_usage usage = {0};
    if (kind->usage != NULL)
        kind->usage(session->backend, &usage);
    bool has = usage.compiled > 0 || (session->warm && usage.under_way > 0);
    for (size_t i = session->next_settled; i < session->tickets.count && !has; i++)
        has = is_at_hand(&session->tickets.items[i]);
    return has;
}

bool hn_session_search_is_over(const struct hn_session *session)
{
    if (session->options.budget_s <= 0)
        return false;
    if (session->extended)
        return session->best != SIZE_MAX || hn_session_left_ms(session) <= 0 ||
               !has_compiled(session);
    return hn_session_left_ms(session) <= finals_ms(session);
}

bool hn_session_may_measure(const struct hn_session *session)
{
    return session->warm && !hn_session_is_over(session) &&
           hn_session_left_ms(session) > finals_kept * finals_ms(session);
}

void hn_session_mind_clock(struct hn_session *session)
{
    const double budget_ms = session->options.budget_s * 1e3;
    double left_ms = hn_session_left_ms(session);
    if (budget_ms <= 0 || session->extended || session->best != SIZE_MAX ||
        left_ms > budget_ms / 2 || !has_compiled(session))
        return;
    session->backend->hurries = true;
    session->extended = left_ms < extension_ahead_ms;
    if (session->extended)
        session->backend->end_ms += extension_ms;
}

bool hn_session_is_quiet(const struct hn_session *session)
{
    const struct hn_backend_kind *kind = session->backend->kind;
    return kind->quiet != NULL ? kind->quiet(session->backend) : kind->idle(session->backend);
}

/* What is being compiled may take a minute. */
enum hn_status hn_session_wait_for_gpu(struct hn_session *session, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    while (status == HN_OK && !hn_session_is_quiet(session) && !hn_session_is_over(session)) {
        struct hn_backend_event event;
        status = hn_session_step(session, &event, err);
        if (status == HN_OK)
            status = hn_session_take_event(session, &event, err);
    }
    return status;
}

enum hn_status hn_session_halt(struct hn_session *session, struct hn_error *err)
{
    session->exhausted = true;
    if (session->extended)
        session->backend->end_ms = fmin(session->backend->end_ms, hn_now_ms());
    if (session->backend->kind->halt != NULL)
        session->backend->kind->halt(session->backend);
    return hn_session_wait_for_gpu(session, err);
}
