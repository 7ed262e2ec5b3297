/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "runtime/launch.h"
#include "tuner/process.h"
#include "tuner/session_internal.h"

/* Compiled images waiting for the GPU at most, when the strategy runs ahead. */
static const size_t waiting_limit = 256;

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
    status = hn_session_prepare(session, err);
    if (status != HN_OK)
        return status;
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
        ticket->original = original;
        ticket->state = HN_TICKET_DUPLICATE;
        if (session->tickets.items[original].state != HN_TICKET_FINISHED)
            return HN_OK;
        return hn_session_finish_ticket(session, number, err);
    }
    session->state.proposed++;
    uint32_t cached = session->cached_of_point[point];
    if (cached > 0 && !(full && session->cached.items[cached - 1].outcome == HN_OUTCOME_SLOWER)) {
        ticket->cached = true;
        status = hn_record_copy(&ticket->record, &session->cached.items[cached - 1], err);
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

static void tell_compiled(struct hn_session *session, uint64_t t)
{
    struct hn_ticket *ticket = strategy_ticket(session, t);
    const struct hn_strategy_kind *kind = session->options.strategy;
    if (kind->compiled != NULL && !kind->compiled(session->strategy, t, &ticket->record) &&
        ticket->state == HN_TICKET_COMPILED)
        hn_record_fail(&ticket->record, HN_OUTCOME_SKIPPED, "the strategy declined to measure it");
}

static void tell_finished(struct hn_session *session, uint64_t t)
{
    const struct hn_strategy_kind *kind = session->options.strategy;
    if (kind->finished != NULL)
        kind->finished(session->strategy, t, &strategy_ticket(session, t)->record);
}

/* Tells exactly what proposal t may know: compiled up to t - L/2, finished up to t - L. False when
 * it is not there yet. */
static bool tell_for(struct hn_session *session, uint64_t t)
{
    while (session->told_compiled + HN_LOOK_AHEAD / 2 <= t) {
        if (session->given_count + session->told_compiled >= session->next_register)
            return false;
        tell_compiled(session, session->told_compiled++);
    }
    while (session->told_finished + HN_LOOK_AHEAD <= t) {
        if (strategy_ticket(session, session->told_finished)->state != HN_TICKET_FINISHED)
            return false;
        tell_finished(session, session->told_finished++);
    }
    return true;
}

void hn_session_tell_all(struct hn_session *session)
{
    if (!session->options.strategy->needs_feedback)
        return;
    uint64_t count = session->tickets.count - session->given_count;
    while (session->told_compiled < count)
        tell_compiled(session, session->told_compiled++);
    for (; session->told_finished < count; session->told_finished++)
        if (strategy_ticket(session, session->told_finished)->state == HN_TICKET_FINISHED)
            tell_finished(session, session->told_finished);
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

enum hn_status hn_session_propose(struct hn_session *session, struct hn_error *err)
{
    while (!session->exhausted) {
        uint64_t t = session->tickets.count - session->given_count;
        if (budget_is_used(session)) {
            session->exhausted = true;
            break;
        }
        if (!has_room(session, t))
            break;
        if (!session->options.strategy->propose(session->strategy, t, session->choice)) {
            session->exhausted = true;
            break;
        }
        enum hn_status status = admit(session, false, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}
