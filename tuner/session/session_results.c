/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/record_json.h"
#include "runtime/launch.h"
#include "tuner/session/session_internal.h"
#include "tuner/workers/process.h"

/* A compilation that takes longer than this no longer holds up the look-up of machine code behind
 * it. */
static const double patience_ms = 3000;

/* Images of variants this close to the best are kept for the final race. */
static const double keep_image_within = 1.05;

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

static enum hn_status write_event(struct hn_session *session, const struct hn_record *record,
                                  struct hn_error *err)
{
    FILE *events = session->options.events;
    if (events == NULL)
        return HN_OK;
    json_t *json =
        json_pack("{ss so so}", "event", "record", "problem",
                  hn_bindings_to_json(session->task->problem), "record", hn_record_to_json(record));
    if (json != NULL)
        json_dumpf(json, events, JSON_COMPACT);
    json_decref(json);
    fputc('\n', events);
    if (fflush(events) != 0 || ferror(events))
        return hn_fail(err, HN_ERUN, "the events (--events) can not be written: %s",
                       strerror(errno));
    return HN_OK;
}

enum hn_status hn_session_keep(struct hn_session *session, const struct hn_record *record,
                               struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (session->store != NULL)
        status = begin(session, err);
    if (status == HN_OK && session->store != NULL)
        status = hn_store_put(session->store, session->session_id, record, err);
    return status == HN_OK ? write_event(session, record, err) : status;
}

/* Lower is better; a raced one before one that was not: its time was taken side by side with its
 * rivals'. */
static bool better(const struct hn_record *a, const struct hn_record *b)
{
    if (a->final != b->final)
        return a->final;
    return a->objective < b->objective;
}

void hn_session_find_best(struct hn_session *session)
{
    session->best = SIZE_MAX;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state != HN_TICKET_FINISHED || ticket->record.outcome != HN_OUTCOME_OK ||
            ticket->replayed)
            continue;
        if (session->best == SIZE_MAX ||
            better(&ticket->record, &session->tickets.items[session->best].record))
            session->best = i;
    }
}

void hn_session_forget_races(struct hn_session *session)
{
    for (size_t i = 0; i < session->tickets.count; i++)
        session->tickets.items[i].record.final = false;
}

static void drop_image(struct hn_ticket *ticket)
{
    hn_image_finish(&ticket->image);
    hn_image_init(&ticket->image);
}

static void sort_out_images(struct hn_session *session, size_t number)
{
    const struct hn_record *best = &session->tickets.items[session->best].record;
    double limit = best->timing.median_us * keep_image_within;
    if (session->best != number) {
        if (session->tickets.items[number].record.timing.low_us > limit)
            drop_image(&session->tickets.items[number]);
        return;
    }
    for (size_t i = 0; i < session->tickets.count; i++) {
        struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state == HN_TICKET_FINISHED && ticket->record.timing.low_us > limit)
            drop_image(ticket);
    }
}

/* During the search the best is by time alone, so that the progress line tells of each improvement.
 */
static void compare_with_best(struct hn_session *session, size_t number)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    if (ticket->record.outcome != HN_OUTCOME_OK || ticket->replayed) {
        drop_image(ticket);
        return;
    }
    if (session->best == SIZE_MAX ||
        ticket->record.objective < session->tickets.items[session->best].record.objective)
        session->best = number;
    sort_out_images(session, number);
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

static enum hn_status settle_duplicate(struct hn_session *session, struct hn_ticket *ticket,
                                       struct hn_error *err)
{
    const struct hn_record *original = &session->tickets.items[ticket->original].record;
    if (!ticket->replayed)
        return copy_fate(&ticket->record, original, err);
    hn_record_finish(&ticket->record);
    hn_record_init(&ticket->record);
    return hn_record_copy(&ticket->record, original, err);
}

static void count_ticket(struct hn_session *session, const struct hn_ticket *ticket)
{
    struct hn_session_state *state = &session->state;
    if (ticket->replayed)
        return;
    state->finished++;
    state->counts[ticket->record.outcome]++;
    if (ticket->cached) {
        state->reused++;
        return;
    }
    state->compile_s += ticket->record.costs.compile_ms / 1e3;
    state->verify_s += ticket->record.costs.verify_ms / 1e3;
    state->measure_s += ticket->record.costs.measure_ms / 1e3;
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
        status = settle_duplicate(session, ticket, err);
    if (status != HN_OK)
        return status;
    ticket->state = HN_TICKET_FINISHED;
    /* What a recording does not hold was not measured, and is not kept. */
    bool unknown = session->backend->simulated && ticket->record.outcome == HN_OUTCOME_SKIPPED;
    if (!ticket->cached && !ticket->replayed && !unknown) {
        learn(session);
        ticket->record.time = hn_session_epoch_s();
        status = hn_session_keep(session, &ticket->record, err);
    }
    count_ticket(session, ticket);
    compare_with_best(session, number);
    return status;
}

enum hn_status hn_session_finish_ticket(struct hn_session *session, size_t number,
                                        struct hn_error *err)
{
    enum hn_status status = finish_one(session, number, err);
    size_t follower = SIZE_MAX;
    while (status == HN_OK &&
           (follower = hn_tickets_take_follower(&session->tickets, number)) != SIZE_MAX)
        status = hn_session_finish_ticket(session, follower, err);
    return status;
}

static enum hn_status take_compiled(struct hn_session *session, struct hn_backend_event *event,
                                    struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[event->ticket];
    hn_image_finish(&ticket->image);
    ticket->image = event->image;
    ticket->record.costs.compile_ms = ticket->image.compile_ms;
    enum hn_status status = HN_OK;
    if (ticket->image.outcome == HN_OUTCOME_OK)
        status = session->backend->kind->complete(session->backend, &ticket->record.point,
                                                  &ticket->image, ticket->record.code_hash, err);
    ticket->record.resources = ticket->image.resources;
    if (status != HN_OK)
        return status;
    if (ticket->image.outcome == HN_OUTCOME_OK) {
        ticket->state = HN_TICKET_COMPILED;
        return HN_OK;
    }
    hn_record_fail(&ticket->record, ticket->image.outcome, "%s",
                   ticket->image.message != NULL ? ticket->image.message : "no message");
    return hn_session_finish_ticket(session, event->ticket, err);
}

/* Looks up the machine code of one ticket: the lowest ticket with it is the original. */
static enum hn_status register_ticket(struct hn_session *session, size_t number,
                                      struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    uint64_t first;
    if (ticket->record.code_hash[0] == '\0' || ticket->replayed)
        return HN_OK;
    enum hn_status status =
        hn_tickets_first_of_code(&session->tickets, ticket->record.code_hash, number, &first, err);
    if (status != HN_OK || first == number || ticket->state != HN_TICKET_COMPILED)
        return status;
    const struct hn_ticket *original = &session->tickets.items[first];
    /* An early stop is no time to share with a step of the ladder, which is to be measured in full.
     */
    if (ticket->full && original->record.outcome == HN_OUTCOME_SLOWER &&
        original->state == HN_TICKET_FINISHED)
        return HN_OK;
    hn_tickets_follow(&session->tickets, number, first);
    if (original->state == HN_TICKET_FINISHED)
        return hn_session_finish_ticket(session, number, err);
    return HN_OK;
}

enum hn_status hn_session_register(struct hn_session *session, struct hn_error *err)
{
    while (session->next_register < session->tickets.count) {
        size_t number = session->next_register;
        const struct hn_ticket *ticket = &session->tickets.items[number];
        /* A strategy that needs feedback waits for it anyway, and must find the same duplicates
         * whatever the machine. */
        if (ticket->state == HN_TICKET_COMPILING &&
            (session->options.strategy->needs_feedback ||
             hn_now_ms() - ticket->compiling_since_ms < patience_ms))
            return HN_OK;
        session->next_register++;
        enum hn_status status = register_ticket(session, number, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* The means of the metric arguments, which the bench leaves under their names. */
enum hn_status hn_session_evaluate_metrics(struct hn_session *session, struct hn_record *record,
                                           struct hn_error *err)
{
    const struct hn_plan *plan = session->task->plan;
    double *values = calloc(plan->argument_count + 1, sizeof *values);
    size_t count = 0;
    if (values == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (plan->arguments[i].role != HN_ROLE_METRIC)
            continue;
        const struct hn_value *mean = hn_bindings_get(&record->metrics, plan->arguments[i].name);
        values[count++] = mean != NULL ? hn_value_number(mean) : (double)NAN;
    }
    enum hn_status status =
        hn_metrics_evaluate(plan, session->task->problem, values, count, record, err);
    free(values);
    return status;
}

static enum hn_status name_censor(struct hn_session *session, struct hn_ticket *ticket,
                                  struct hn_error *err)
{
    const struct hn_record *censor = &session->tickets.items[ticket->censor].record;
    free(ticket->record.original);
    ticket->record.original = hn_bindings_text(&censor->point);
    return ticket->record.original != NULL ? HN_OK : hn_fail_memory(err);
}

void hn_session_reopen(struct hn_ticket *ticket)
{
    struct hn_bindings point = ticket->record.point;
    hn_bindings_init(&ticket->record.point);
    hn_record_finish(&ticket->record);
    hn_record_init(&ticket->record);
    ticket->record.point = point;
    ticket->cached = false;
    ticket->full = true;
    ticket->state = HN_TICKET_COMPILING;
    ticket->compiling_since_ms = hn_now_ms();
}

static enum hn_status take_evaluated(struct hn_session *session, struct hn_backend_event *event,
                                     struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[event->ticket];
    struct hn_record *record = &event->record;
    record->resources = ticket->record.resources;
    record->costs.compile_ms = ticket->record.costs.compile_ms;
    memcpy(record->code_hash, ticket->record.code_hash, sizeof record->code_hash);
    hn_record_finish(&ticket->record);
    ticket->record = *record;
    record = &ticket->record;
    enum hn_status status = HN_OK;
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER)
        status = hn_session_evaluate_metrics(session, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_SLOWER && ticket->censor != SIZE_MAX)
        status = name_censor(session, ticket, err);
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
        if (status == HN_OK && event->ticket < session->next_register)
            status = register_ticket(session, event->ticket, err);
        break;
    case HN_EVENT_EVALUATED:
        status = take_evaluated(session, event, err);
        break;
    }
    return status;
}
