/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/launch.h"
#include "tuner/session/session_internal.h"
#include "tuner/workers/process.h"

/* Compiled images waiting for the GPU at most, when the strategy runs ahead. */
static const size_t waiting_limit = 256;

/* A strategy that comes back to known points so often in a row has nothing new to say. */
static const uint64_t repeat_limit = 10000;

static enum hn_status start_compiling(struct hn_session *session, size_t number,
                                      struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    struct hn_launch launch;
    enum hn_status status = hn_launch_make(session->task->plan, session->task->problem,
                                           &ticket->record.point, &launch, err);
    if (status != HN_OK)
        return status;
    bool fits = hn_launch_check(&launch, &session->backend->device, &ticket->record);
    hn_launch_finish(&launch);
    if (!fits)
        return hn_session_finish_ticket(session, number, err);
    session->compiles = true;
    ticket->state = HN_TICKET_COMPILING;
    ticket->compiling_since_ms = hn_now_ms();
    return session->backend->kind->compile(session->backend, number, &ticket->record.point, err);
}

/* Makes a ticket of the point in session->choice. */
static enum hn_status admit(struct hn_session *session, bool full, struct hn_error *err)
{
    struct hn_ticket *ticket;
    uint64_t point = hn_space_find(session->task->space, session->choice);
    if (point == UINT64_MAX)
        return hn_fail(err, HN_ECONFIG, "the strategy proposed a point that is not valid");
    struct hn_ticket *earlier = hn_tickets_of_point(&session->tickets, point);
    size_t original = earlier != NULL ? (size_t)(earlier - session->tickets.items) : 0;
    enum hn_status status = hn_tickets_add(&session->tickets, point, &ticket, err);
    if (status != HN_OK)
        return status;
    size_t number = session->tickets.count - 1;
    ticket->full = full;
    if (earlier != NULL) {
        ticket->replayed = true;
        hn_tickets_follow(&session->tickets, number, original);
        if (session->tickets.items[original].state != HN_TICKET_FINISHED)
            return HN_OK;
        return hn_session_finish_ticket(session, number, err);
    }
    session->state.proposed++;
    uint32_t cached = session->cached_of_point[point];
    if (cached > 0 && !(full && session->cached.items[cached - 1].outcome == HN_OUTCOME_SLOWER)) {
        ticket->cached = true;
        status = hn_record_copy(&ticket->record, &session->cached.items[cached - 1], err);
        if (session->fresh && session->backend->kind->race != NULL)
            ticket->record.final = false;
        return status == HN_OK ? hn_session_finish_ticket(session, number, err) : status;
    }
    status = hn_space_bindings(session->task->space, session->choice, &ticket->record.point, err);
    return status == HN_OK ? start_compiling(session, number, err) : status;
}

static enum hn_status admit_point(struct hn_session *session, const struct hn_bindings *point,
                                  bool full, struct hn_error *err)
{
    enum hn_status status = hn_space_choice(session->task->space, point, session->choice, err);
    return status == HN_OK ? admit(session, full, err) : status;
}

static enum hn_status admit_ladder(struct hn_session *session, struct hn_error *err)
{
    const struct hn_config *config = session->task->config;
    for (size_t i = 0; i < config->ladder_count; i++) {
        struct hn_bindings point;
        hn_bindings_init(&point);
        /* A restriction (-s) or another problem may leave a step out of the space: it is not
         * measured then. */
        if (hn_config_complete(config, session->task->space, &config->ladder[i], &point, NULL) !=
            HN_OK) {
            hn_bindings_finish(&point);
            continue;
        }
        enum hn_status status = admit_point(session, &point, true, err);
        hn_bindings_finish(&point);
        if (status != HN_OK)
            return status;
    }
    session->ladder_count = session->tickets.count;
    return HN_OK;
}

/* The best of what is cached takes part in every final race. */
static enum hn_status admit_incumbent(struct hn_session *session, struct hn_error *err)
{
    const struct hn_record *best = NULL;
    for (size_t i = 0; i < session->cached.count; i++) {
        const struct hn_record *record = &session->cached.items[i];
        if (record->outcome == HN_OUTCOME_OK &&
            (best == NULL || record->objective < best->objective))
            best = record;
    }
    if (best == NULL ||
        hn_space_choice(session->task->space, &best->point, session->choice, NULL) != HN_OK ||
        hn_space_find(session->task->space, session->choice) == UINT64_MAX)
        return HN_OK;
    return admit(session, false, err);
}

enum hn_status hn_session_admit_given(struct hn_session *session, struct hn_error *err)
{
    enum hn_status status = admit_ladder(session, err);
    if (status == HN_OK)
        status = admit_incumbent(session, err);
    session->given_count = session->tickets.count;
    return status;
}

static struct hn_ticket *strategy_ticket(struct hn_session *session, uint64_t t)
{
    return &session->tickets.items[session->given_count + t];
}

/* Whether an outcome is known when the compilation is. */
static bool known_early(enum hn_outcome outcome)
{
    return outcome == HN_OUTCOME_INVALID_LAUNCH || outcome == HN_OUTCOME_COMPILE_ERROR ||
           outcome == HN_OUTCOME_COMPILE_TIMEOUT || outcome == HN_OUTCOME_COMPILE_CRASH;
}

/* What compiling told, and no more: whether the measurement is there already depends on the
 * machine. */
static void tell_compiled(struct hn_session *session, uint64_t t)
{
    struct hn_ticket *ticket = strategy_ticket(session, t);
    const struct hn_strategy_kind *kind = session->options.strategy;
    const struct hn_record *record =
        ticket->replayed ? &session->tickets.items[ticket->original].record : &ticket->record;
    const struct hn_observation compiled = {
        .outcome = known_early(record->outcome) ? record->outcome : HN_OUTCOME_OK,
        .cost = NAN,
        .resources = &record->resources,
    };
    if (kind->compiled != NULL && !kind->compiled(session->strategy, t, &compiled) &&
        ticket->state == HN_TICKET_COMPILED)
        hn_record_fail(&ticket->record, HN_OUTCOME_SKIPPED, "the strategy declined to measure it");
}

static void tell_finished(struct hn_session *session, uint64_t t)
{
    const struct hn_strategy_kind *kind = session->options.strategy;
    const struct hn_record *record = &strategy_ticket(session, t)->record;
    bool measured = record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER ||
                    record->outcome == HN_OUTCOME_DUPLICATE;
    const struct hn_observation observation = {
        .outcome = record->outcome,
        .cost = measured ? record->objective : NAN,
        .resources = &record->resources,
    };
    if (kind->finished != NULL)
        kind->finished(session->strategy, t, &observation);
}

/* Tell the strategy's tickets below `end`, in order, up to the first of which it is not known. */
static void tell_compiled_below(struct hn_session *session, uint64_t end)
{
    for (; session->told_compiled < end; session->told_compiled++) {
        size_t number = session->given_count + session->told_compiled;
        if (number >= session->next_register ||
            session->tickets.items[number].state == HN_TICKET_COMPILING)
            return;
        tell_compiled(session, session->told_compiled);
    }
}

static void tell_finished_below(struct hn_session *session, uint64_t end)
{
    for (; session->told_finished < end; session->told_finished++) {
        if (strategy_ticket(session, session->told_finished)->state != HN_TICKET_FINISHED)
            return;
        tell_finished(session, session->told_finished);
    }
}

/* a - b, between 0 and limit. */
static uint64_t distance(uint64_t a, uint64_t b, uint64_t limit)
{
    uint64_t distance = a > b ? a - b : 0;
    return distance < limit ? distance : limit;
}

/* Tells exactly what proposal t may know: compiled up to t - L/2, finished up to t - L. False when
 * it is not there yet, or not all tickets that t may be held against (the ladder's too) are
 * finished. */
static bool tell_for(struct hn_session *session, uint64_t t)
{
    uint64_t count = session->tickets.count - session->given_count;
    uint64_t compiled_end = distance(t + 1, HN_LOOK_AHEAD / 2, count);
    uint64_t finished_end = distance(t + 1, HN_LOOK_AHEAD, count);
    tell_compiled_below(session, compiled_end);
    if (session->told_compiled < compiled_end)
        return false;
    tell_finished_below(session, finished_end);
    hn_session_settle(session);
    return session->told_finished >= finished_end &&
           session->next_settled >=
               distance(session->given_count + t + 1, HN_LOOK_AHEAD, session->tickets.count);
}

void hn_session_tell(struct hn_session *session)
{
    uint64_t count = session->tickets.count - session->given_count;
    if (!session->options.strategy->needs_feedback) {
        tell_compiled_below(session, count);
        tell_finished_below(session, count);
        return;
    }
    /* Behind the last proposal it goes on as if there were more, so that what is declined does not
     * depend on the machine either. */
    for (uint64_t t = count; session->exhausted && t < count + HN_LOOK_AHEAD; t++)
        if (!tell_for(session, t))
            return;
}

static bool budget_is_used(const struct hn_session *session)
{
    const struct hn_session_options *options = &session->options;
    return (options->budget_count > 0 && session->state.proposed >= options->budget_count) ||
           (options->budget_s > 0 && hn_now_ms() - session->started_ms >= options->budget_s * 1e3);
}

static bool has_room(struct hn_session *session, uint64_t t)
{
    if (session->options.strategy->needs_feedback)
        return tell_for(session, t);
    size_t unfinished = session->tickets.count - session->next_settled;
    return session->backend->kind->room(session->backend) > 0 && unfinished < waiting_limit;
}

static bool is_exhausted(const struct hn_session *session)
{
    return session->state.proposed == session->state.points || session->repeats >= repeat_limit ||
           budget_is_used(session);
}

enum hn_status hn_session_propose(struct hn_session *session, struct hn_error *err)
{
    while (!session->exhausted) {
        uint64_t t = session->tickets.count - session->given_count;
        uint64_t known = session->state.proposed;
        session->exhausted = is_exhausted(session);
        if (session->exhausted || !has_room(session, t))
            break;
        session->exhausted =
            !session->options.strategy->propose(session->strategy, t, session->choice);
        if (session->exhausted)
            break;
        enum hn_status status = admit(session, false, err);
        if (status != HN_OK)
            return status;
        session->repeats = session->state.proposed > known ? 0 : session->repeats + 1;
    }
    return HN_OK;
}
