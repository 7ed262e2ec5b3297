/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/record/record_json.h"
#include "runtime/plan/launch.h"
#include "runtime/process/process.h"
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

static enum hn_status begin(struct hn_session *session, struct hn_error *err)
{
    if (session->begun)
        return HN_OK;
    session->begun = true;
    return hn_task_begin(session->task, session->store, session->options.command,
                         session->backend->simulated, &session->session_id, err);
}

enum hn_status hn_session_keep(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    const struct hn_record *record = &ticket->flight->record;
    enum hn_status status = HN_OK;
    if (session->store != NULL)
        status = begin(session, err);
    if (status == HN_OK && session->store != NULL)
        status = hn_store_put(session->store, session->session_id, record, err);
    ticket->kept = status == HN_OK && session->store != NULL;
    return status == HN_OK ? hn_session_tell_record(session, record, err) : status;
}

/* During the search the best is by time alone, so that the progress line tells of each improvement.
 */
static enum hn_status compare_with_best(struct hn_session *session, size_t number,
                                        struct hn_error *err)
{
    const struct hn_ticket *tickets = session->tickets.items;
    enum hn_status status = HN_OK;
    if (tickets[number].result.outcome != HN_OUTCOME_OK || tickets[number].replayed)
        return HN_OK;
    if (session->best == SIZE_MAX ||
        tickets[number].result.objective < tickets[session->best].result.objective)
        status = hn_session_set_best(session, number, err);
    if (status == HN_OK && session->best == number)
        hn_session_show(session, session->state.phase);
    if (status == HN_OK && !tickets[number].cached)
        hn_session_keep_close(session, number);
    return status;
}

/* A duplicate has its original's fate: its time when that was measured, its failure when it failed.
 */
static enum hn_status copy_fate(struct hn_record *record, const struct hn_record *original,
                                struct hn_error *err)
{
    struct hn_record copy;
    hn_record_init(&copy);
    enum hn_status status = hn_record_copy(&copy, original, err);
    if (status != HN_OK)
        return status;
    /* What duplicates a duplicate has that one's original; what was stopped early, its censor. */
    if (copy.original == NULL)
        copy.original = hn_bindings_text(&original->point);
    if (copy.original == NULL) {
        hn_record_finish(&copy);
        return hn_fail_memory(err);
    }
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
    return HN_OK;
}

static enum hn_status settle_duplicate(struct hn_session *session, size_t number,
                                       struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    size_t original = ticket->replayed ? hn_tickets_of_point(&session->tickets, ticket->point)
                                       : ticket->flight->original;
    if (ticket->replayed) {
        ticket->result = session->tickets.items[original].result;
        return HN_OK;
    }
    enum hn_status status = hn_session_recall(session, original, err);
    if (status == HN_OK)
        status = copy_fate(&ticket->flight->record,
                           &session->tickets.items[original].flight->record, err);
    hn_session_release(session, original);
    return status;
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
    if (!session->fresh && session->backend->kind->race != NULL)
        hn_session_forget_races(session);
    session->fresh = true;
}

static enum hn_status finish_one(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    enum hn_status status = HN_OK;
    if (ticket->state == HN_TICKET_DUPLICATE)
        status = settle_duplicate(session, number, err);
    if (status != HN_OK)
        return status;
    ticket->state = HN_TICKET_FINISHED;
    if (!ticket->cached && !ticket->replayed) {
        struct hn_record *record = &ticket->flight->record;
        /* What a recording does not hold was not measured, and is not kept. */
        bool unknown = session->backend->simulated && record->outcome == HN_OUTCOME_SKIPPED;
        if (!unknown)
            learn(session);
        record->time = hn_session_epoch_s();
        status = unknown ? HN_OK : hn_session_keep(session, number, err);
        if (status == HN_OK)
            status = hn_session_note_result(session, number, err);
    }
    if (status != HN_OK)
        return status;
    count_ticket(session, ticket);
    return compare_with_best(session, number, err);
}

enum hn_status hn_session_finish_ticket(struct hn_session *session, size_t number,
                                        struct hn_error *err)
{
    struct hn_flight *flight = session->tickets.items[number].flight;
    if (flight != NULL)
        flight->held = true;
    enum hn_status status = finish_one(session, number, err);
    size_t follower = SIZE_MAX;
    while (status == HN_OK &&
           (follower = hn_tickets_take_follower(&session->tickets, number)) != SIZE_MAX)
        status = hn_session_finish_ticket(session, follower, err);
    if (flight != NULL)
        flight->held = false;
    hn_session_release(session, number);
    return status;
}

static enum hn_status take_compiled(struct hn_session *session, struct hn_backend_event *event,
                                    struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[event->ticket];
    struct hn_image *image = &ticket->flight->image;
    struct hn_record *record = &ticket->flight->record;
    hn_image_finish(image);
    *image = event->image;
    record->costs.compile_ms = image->compile_ms;
    enum hn_status status = HN_OK;
    if (image->outcome == HN_OUTCOME_OK)
        status = session->backend->kind->complete(session->backend, &record->point, image,
                                                  record->code_hash, err);
    record->resources = image->resources;
    if (status != HN_OK)
        return status;
    if (image->outcome == HN_OUTCOME_OK) {
        ticket->state = HN_TICKET_COMPILED;
        return HN_OK;
    }
    hn_record_fail(record, image->outcome, "%s",
                   image->message != NULL ? image->message : "no message");
    return hn_session_finish_ticket(session, event->ticket, err);
}

/* "" where there is none; what is no longer in flight failed before it had its turn. */
static const char *code_of(const struct hn_session *session, const struct hn_ticket *ticket)
{
    if (ticket->flight != NULL)
        return ticket->flight->record.code_hash;
    return ticket->cached ? session->cached.entries[ticket->point].code_hash : "";
}

/* The first ticket that is looked up with a code is the original. */
enum hn_status hn_session_register_ticket(struct hn_session *session, size_t number,
                                          struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    size_t first;
    if (ticket->state == HN_TICKET_COMPILING || ticket->replayed ||
        code_of(session, ticket)[0] == '\0')
        return HN_OK;
    enum hn_status status =
        hn_tickets_first_of_code(&session->tickets, code_of(session, ticket), number, &first, err);
    if (status != HN_OK || first == number || ticket->state != HN_TICKET_COMPILED)
        return status;
    const struct hn_ticket *original = &session->tickets.items[first];
    bool finished = original->state == HN_TICKET_FINISHED;
    /* An early stop is no time to share with a step of the ladder, which is to be measured in full.
     */
    if (ticket->full && finished && original->result.outcome == HN_OUTCOME_SLOWER)
        return HN_OK;
    if (!finished) {
        hn_tickets_follow(&session->tickets, number, first);
        return HN_OK;
    }
    ticket->state = HN_TICKET_DUPLICATE;
    ticket->flight->original = first;
    return hn_session_finish_ticket(session, number, err);
}

/* Whether one of the given tickets is still being compiled. */
bool hn_session_given_compile(struct hn_session *session)
{
    const struct hn_ticket *tickets = session->tickets.items;
    while (session->next_given < session->given_count &&
           tickets[session->next_given].state != HN_TICKET_COMPILING)
        session->next_given++;
    return session->next_given < session->given_count;
}

/* Whether the look-up of this ticket's machine code has to wait. Where a strategy needs feedback,
 * it is looked up when that is told of it, so that duplicates are the same whatever the machine;
 * but nobody is told of the given tickets, which are looked up as they come. */
static bool has_to_wait(struct hn_session *session, size_t number)
{
    const struct hn_ticket *ticket = &session->tickets.items[number];
    if (number < session->given_count)
        return false;
    if (session->options.strategy->needs_feedback)
        return true;
    return ticket->state == HN_TICKET_COMPILING &&
           hn_now_ms() - ticket->flight->compiling_since_ms < patience_ms;
}

enum hn_status hn_session_register(struct hn_session *session, struct hn_error *err)
{
    while (session->next_register < session->tickets.count) {
        size_t number = session->next_register;
        if (has_to_wait(session, number))
            return HN_OK;
        session->next_register++;
        enum hn_status status = hn_session_register_ticket(session, number, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static enum hn_status name_censor(struct hn_session *session, struct hn_flight *flight,
                                  struct hn_error *err)
{
    struct hn_bindings point;
    enum hn_status status =
        hn_session_point(session, session->tickets.items[flight->censor].point, &point, err);
    if (status != HN_OK)
        return status;
    free(flight->record.original);
    flight->record.original = hn_bindings_text(&point);
    hn_bindings_finish(&point);
    return flight->record.original != NULL ? HN_OK : hn_fail_memory(err);
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

static enum hn_status take_evaluated(struct hn_session *session, struct hn_backend_event *event,
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
    enum hn_status status = HN_OK;
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER)
        status = hn_metrics_evaluate(session->task->plan, session->task->problem, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_SLOWER && flight->censor != SIZE_MAX)
        status = name_censor(session, flight, err);
    if (status != HN_OK)
        return status;
    return hn_session_finish_ticket(session, event->ticket, err);
}

enum hn_status hn_session_take_event(struct hn_session *session, struct hn_backend_event *event,
                                     struct hn_error *err)
{
    enum hn_status status = HN_OK;
    switch (event->kind) {
    case HN_EVENT_NONE:
        break;
    case HN_EVENT_COMPILED:
        status = take_compiled(session, event, err);
        /* Arrived after its turn: it is looked up now. */
        if (status == HN_OK && (event->ticket < session->next_register ||
                                session->tickets.items[event->ticket].decided))
            status = hn_session_register_ticket(session, event->ticket, err);
        break;
    case HN_EVENT_EVALUATED:
        status = take_evaluated(session, event, err);
        break;
    }
    return status;
}
