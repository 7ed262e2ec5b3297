/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record_json.h"
#include "runtime/plan/launch.h"
#include "tuner/session/session_internal.h"

/* A compilation that takes longer than this no longer holds up the look-up of machine code behind
 * it. */
static const double patience_ms = 3000;

double hn_session_epoch_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void hn_session_keep(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    const struct hn_record *record = &ticket->flight->record;
    if (hn_failed(err))
        return;
    if (session->store != NULL && !session->begun)
        err->status = hn_task_begin(session->task, session->store, session->options.command,
                                    session->backend->simulated, &session->session_id, err);
    session->begun = session->begun || session->store != NULL;
    if (session->store != NULL && !hn_failed(err))
        err->status = hn_store_put(session->store, session->session_id, record, err);
    ticket->kept = session->store != NULL && !hn_failed(err);
    hn_session_tell_record(session, record, err);
}

/* During the search the best is by time alone, so that the progress line tells of each improvement.
 */
static void compare_with_best(struct hn_session *session, size_t number, struct hn_error *err)
{
    const struct hn_ticket *tickets = session->tickets.items;
    size_t best = session->leaders.best;
    if (hn_failed(err) || !hn_ticket_is_ok(&tickets[number]))
        return;
    if (best == SIZE_MAX || tickets[number].result.objective < tickets[best].result.objective)
        hn_session_set_best(session, number, err);
    if (session->leaders.best == number && !hn_failed(err))
        hn_session_show(session, session->state.phase);
    if (!hn_failed(err) && !tickets[number].cached)
        hn_session_keep_close(session, number);
}

/* A duplicate has its original's fate: its time when that was measured, its failure when it failed.
 */
static void copy_fate(struct hn_record *record, const struct hn_record *original,
                      struct hn_error *err)
{
    struct hn_record copy;
    hn_record_init(&copy);
    if (hn_record_copy(&copy, original, err) != HN_OK)
        return;
    /* What duplicates a duplicate has that one's original; what was stopped early, its censor. */
    if (copy.original == NULL)
        copy.original = hn_needed(hn_bindings_text(&original->point));
    hn_bindings_finish(&copy.point);
    copy.point = record->point;
    hn_bindings_init(&record->point);
    copy.costs = (struct hn_costs){.compile_ms = record->costs.compile_ms};
    copy.resources = record->resources;
    copy.final = false;
    if (original->outcome == HN_OUTCOME_OK)
        hn_record_fail(&copy, HN_OUTCOME_DUPLICATE, "same machine code and launch as %s",
                       copy.original);
    hn_record_finish(record);
    *record = copy;
}

static void settle_duplicate(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    if (ticket->replayed) {
        size_t first = hn_tickets_of_point(&session->tickets, ticket->point);
        ticket->result = session->tickets.items[first].result;
        return;
    }
    size_t original = ticket->flight->original;
    const struct hn_flight *flight = hn_session_recall(session, original, err);
    if (flight != NULL)
        copy_fate(&ticket->flight->record, &flight->record, err);
    hn_session_release(session, original);
}

static void count_ticket(struct hn_session *session, const struct hn_ticket *ticket)
{
    struct hn_session_state *state = &session->state;
    if (ticket->replayed)
        return;
    state->finished++;
    state->counts[ticket->result.outcome]++;
    if (ticket->cached) {
        state->reused++;
        return;
    }
    const struct hn_costs *costs = &ticket->flight->record.costs;
    state->compile_s += costs->compile_ms / 1e3;
    if (costs->compile_ms / 1e3 > state->slowest_s) {
        state->slowest_s = costs->compile_ms / 1e3;
        state->slowest = (size_t)(ticket - session->tickets.items);
    }
    state->verify_s += costs->verify_ms / 1e3;
    state->measure_s += costs->measure_ms / 1e3;
}

/* What is new was in no race of an earlier session, so those no longer decide. */
static void learn(struct hn_session *session)
{
    if (!session->fresh && !session->backend->simulated)
        hn_session_forget_races(session);
    session->fresh = true;
}

static void finish_one(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    if (ticket->state == HN_TICKET_DUPLICATE)
        settle_duplicate(session, number, err);
    if (hn_failed(err))
        return;
    ticket->state = HN_TICKET_FINISHED;
    if (!ticket->cached && !ticket->replayed) {
        struct hn_record *record = &ticket->flight->record;
        /* What a recording does not hold was not measured, and is not kept. */
        bool unknown = session->backend->simulated && record->outcome == HN_OUTCOME_SKIPPED;
        if (!unknown)
            learn(session);
        record->time = hn_session_epoch_s();
        if (!unknown)
            hn_session_keep(session, number, err);
        if (hn_failed(err))
            return;
        hn_session_note_result(session, number);
    }
    count_ticket(session, ticket);
    compare_with_best(session, number, err);
}

void hn_session_finish_ticket(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_flight *flight = session->tickets.items[number].flight;
    size_t follower;
    if (hn_failed(err))
        return;
    if (flight != NULL)
        flight->held = true;
    finish_one(session, number, err);
    while (!hn_failed(err) &&
           (follower = hn_tickets_take_follower(&session->tickets, number)) != SIZE_MAX)
        hn_session_finish_ticket(session, follower, err);
    if (flight != NULL)
        flight->held = false;
    hn_session_release(session, number);
}

/* "" where there is none; what is no longer in flight failed before it had its turn. */
static const char *code_of(const struct hn_session *session, const struct hn_ticket *ticket)
{
    if (ticket->flight != NULL)
        return ticket->flight->record.code_hash;
    return ticket->cached ? session->cached.entries[ticket->point].code_hash : "";
}

/* The first ticket that is looked up with a code is the original. */
void hn_session_register_ticket(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    if (hn_failed(err) || ticket->state == HN_TICKET_COMPILING || ticket->replayed ||
        code_of(session, ticket)[0] == '\0')
        return;
    size_t first = hn_tickets_first_of_code(&session->tickets, code_of(session, ticket), number);
    if (first == number || ticket->state != HN_TICKET_COMPILED)
        return;
    const struct hn_ticket *original = &session->tickets.items[first];
    bool finished = original->state == HN_TICKET_FINISHED;
    /* An early stop is no time to share with a step of the ladder, which is to be measured in full.
     */
    if (ticket->full && finished && original->result.outcome == HN_OUTCOME_SLOWER)
        return;
    if (!finished) {
        hn_tickets_follow(&session->tickets, number, first);
        return;
    }
    ticket->state = HN_TICKET_DUPLICATE;
    ticket->flight->original = first;
    hn_session_finish_ticket(session, number, err);
}

bool hn_session_given_compile(struct hn_session *session)
{
    size_t *next = &session->way.next_given;
    while (*next < session->search.given_count &&
           session->tickets.items[*next].state != HN_TICKET_COMPILING)
        ++*next;
    return *next < session->search.given_count;
}

/* Whether the look-up of this ticket's machine code has to wait. Where a strategy needs feedback,
 * it is looked up when that is told of it, so that duplicates are the same whatever the machine;
 * but nobody is told of the given tickets, which are looked up as they come. */
static bool has_to_wait(const struct hn_session *session, size_t number)
{
    const struct hn_ticket *ticket = &session->tickets.items[number];
    if (number < session->search.given_count)
        return false;
    return session->options.strategy->needs_feedback ||
           (ticket->state == HN_TICKET_COMPILING &&
            hn_now_ms() - ticket->flight->compiling_since_ms < patience_ms);
}

void hn_session_register(struct hn_session *session, struct hn_error *err)
{
    size_t *next = &session->way.next_register;
    while (!hn_failed(err) && *next < session->tickets.count && !has_to_wait(session, *next))
        hn_session_register_ticket(session, (*next)++, err);
}

void hn_session_reopen(struct hn_ticket *ticket)
{
    struct hn_record *record = &ticket->flight->record;
    struct hn_bindings point = record->point;
    hn_bindings_init(&record->point);
    hn_record_finish(record);
    hn_record_init(record);
    record->point = point;
    ticket->cached = false;
    ticket->full = true;
    ticket->state = HN_TICKET_COMPILING;
    ticket->flight->compiling_since_ms = hn_now_ms();
}

static void take_compiled(struct hn_session *session, struct hn_backend_event *event,
                          struct hn_error *err)
{
    const struct hn_backend *backend = session->backend;
    size_t number = event->ticket;
    struct hn_ticket *ticket = &session->tickets.items[number];
    struct hn_image *image = &ticket->flight->image;
    struct hn_record *record = &ticket->flight->record;
    hn_image_finish(image);
    *image = event->image;
    record->costs.compile_ms = image->compile_ms;
    if (image->outcome == HN_OUTCOME_OK)
        backend->kind->complete(session->backend, &record->point, image, record->code_hash, err);
    record->resources = image->resources;
    if (hn_failed(err))
        return;
    if (image->outcome == HN_OUTCOME_OK) {
        ticket->state = HN_TICKET_COMPILED;
    } else {
        hn_record_fail(record, image->outcome, "%s",
                       image->message != NULL ? image->message : "no message");
        hn_session_finish_ticket(session, number, err);
    }
    /* Arrived after its turn: it is looked up now. */
    if (number < session->way.next_register || session->tickets.items[number].decided)
        hn_session_register_ticket(session, number, err);
}

static void name_censor(struct hn_session *session, struct hn_flight *flight, struct hn_error *err)
{
    struct hn_bindings point;
    hn_session_point(session, session->tickets.items[flight->censor].point, &point, err);
    if (hn_failed(err))
        return;
    free(flight->record.original);
    flight->record.original = hn_needed(hn_bindings_text(&point));
    hn_bindings_finish(&point);
}

static void take_evaluated(struct hn_session *session, struct hn_backend_event *event,
                           struct hn_error *err)
{
    struct hn_flight *flight = session->tickets.items[event->ticket].flight;
    struct hn_record *record = &event->record;
    record->resources = flight->record.resources;
    record->costs.compile_ms = flight->record.costs.compile_ms;
    memcpy(record->code_hash, flight->record.code_hash, sizeof record->code_hash);
    hn_record_finish(&flight->record);
    flight->record = *record;
    record = &flight->record;
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER)
        hn_metrics_evaluate(session->task->plan, session->task->problem, record, err);
    if (!hn_failed(err) && record->outcome == HN_OUTCOME_SLOWER && flight->censor != SIZE_MAX)
        name_censor(session, flight, err);
    hn_session_finish_ticket(session, event->ticket, err);
}

void hn_session_take_event(struct hn_session *session, struct hn_backend_event *event,
                           struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (event->kind == HN_EVENT_COMPILED)
        take_compiled(session, event, err);
    else if (event->kind == HN_EVENT_EVALUATED)
        take_evaluated(session, event, err);
}
