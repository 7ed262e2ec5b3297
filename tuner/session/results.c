/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record.h"
#include "cache/store/store.h"
#include "runtime/plan/launch.h"
#include "tuner/session/session_internal.h"

enum { CODE_BYTES = 32 };

/* The points that somebody has looked at are keys, the index of each value, numbered in the order
 * seen: what is known of them goes into arrays by this number, so that memory goes with what was
 * tried and not with the size of the space, which need not be enumerated. */

static void tickets_land(struct hn_tickets *tickets, size_t number)
{
    struct hn_flight *flight = tickets->items[number].flight;
    if (flight == NULL)
        return;
    hn_record_finish(&flight->record);
    hn_image_finish(&flight->image);
    free(flight);
    tickets->items[number].flight = NULL;
}

void hn_tickets_finish(struct hn_tickets *tickets)
{
    for (size_t i = 0; i < tickets->count; i++)
        tickets_land(tickets, i);
    free(tickets->items);
    free(tickets->of_point);
    hn_keys_finish(&tickets->codes);
    free(tickets->of_code);
    *tickets = (struct hn_tickets){.count = 0};
}

size_t hn_tickets_add(struct hn_tickets *tickets, uint32_t point)
{
    while (tickets->point_count <= point)
        *HN_NEXT(tickets->of_point, tickets->point_count) = 0;
    *HN_NEXT(tickets->items, tickets->count) =
        (struct hn_ticket){.point = point, .result = {.against = HN_NO_KEY}};
    if (tickets->of_point[point] == 0)
        tickets->of_point[point] = (uint32_t)tickets->count;
    return tickets->count - 1;
}

struct hn_flight *hn_tickets_fly(struct hn_tickets *tickets, size_t number)
{
    struct hn_ticket *ticket = &tickets->items[number];
    if (ticket->flight != NULL)
        return ticket->flight;
    ticket->flight = hn_need(1, sizeof *ticket->flight);
    ticket->flight->censor = SIZE_MAX;
    ticket->flight->image = HN_NO_IMAGE;
    return ticket->flight;
}

size_t hn_tickets_of_point(const struct hn_tickets *tickets, uint32_t point)
{
    uint32_t entry = point < tickets->point_count ? tickets->of_point[point] : 0;
    return entry > 0 ? entry - 1 : SIZE_MAX;
}

/* The ticket that first had this code; when there is none it is this one, and its own number comes
 * back. code: as in a record. */
static size_t tickets_first_of_code(struct hn_tickets *tickets, const char *code, size_t number)
{
    uint32_t known = tickets->codes.count;
    tickets->codes.stride = CODE_BYTES;
    /* A recording may have keys of another kind. */
    const struct hn_hash own = hn_hash_string(code);
    uint32_t entry = hn_keys_add(&tickets->codes, strlen(code) == CODE_BYTES ? code : own.hex);
    if (entry == known) {
        tickets->of_code = hn_need_room(tickets->of_code, known, sizeof *tickets->of_code);
        tickets->of_code[known] = (uint32_t)number;
    }
    return tickets->of_code[entry];
}

/* The part of a record that is compared; its original becomes the number of a point. */
static struct hn_result result_of(struct hn_session *session, const struct hn_record *record)
{
    const struct hn_timing *timing = &record->timing;
    struct hn_bindings original HN_ENDED_BY(hn_bindings_finish) = {0};
    uint32_t against = HN_NO_KEY;
    if (record->original != NULL && hn_bindings_parse(record->original, &original, NULL) == HN_OK &&
        hn_space_has(session->task->space, &original, session->choice))
        against = hn_keys_add(&session->points, session->choice);
    return (struct hn_result){
        .objective = record->objective,
        .median_us = timing->median_us,
        .time = record->time,
        .clock_mhz = (float)timing->clock_mhz,
        .low = timing->median_us > 0 ? (float)(timing->low_us / timing->median_us) : 1,
        .outcome = (uint8_t)record->outcome,
        .final = record->final,
        .against = against,
    };
}

void hn_session_note_result(struct hn_session *session, size_t number)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    ticket->result = result_of(session, &ticket->flight->record);
}

bool hn_ticket_is_ok(const struct hn_ticket *ticket)
{
    return ticket->state == HN_TICKET_FINISHED && !ticket->replayed &&
           ticket->result.outcome == HN_OUTCOME_OK;
}

int hn_session_compare(const void *a, const void *b, void *pointer)
{
    const struct hn_session *session = pointer;
    const struct hn_ticket *x = &session->tickets.items[*(const size_t *)a];
    const struct hn_ticket *y = &session->tickets.items[*(const size_t *)b];
    if (x->result.objective != y->result.objective)
        return x->result.objective < y->result.objective ? -1 : 1;
    struct hn_record first = {.outcome = HN_OUTCOME_OK}, second = {.outcome = HN_OUTCOME_OK};
    hn_session_point(session, x->point, &first.point);
    hn_session_point(session, y->point, &second.point);
    int order = hn_record_beats(&first, &second) ? -1 : hn_record_beats(&second, &first);
    hn_bindings_finish(&first.point);
    hn_bindings_finish(&second.point);
    return order;
}

static bool is_better(const struct hn_session *session, size_t a, size_t b)
{
    bool raced = session->tickets.items[a].result.final;
    if (raced != session->tickets.items[b].result.final)
        return raced;
    return hn_session_compare(&a, &b, (void *)session) < 0;
}

/* Into the cache, where the first one begins the session. */
static void put(struct hn_session *session, const struct hn_record *record, struct hn_error *err)
{
    if (!hn_failed(err) && session->session_id == 0)
        hn_task_begin(session->task, session->store, session->options.command,
                      session->backend->simulated ? &session->backend->origin : NULL,
                      &session->session_id, err);
    if (!hn_failed(err))
        hn_store_put(session->store, session->session_id, record, err);
}

/* Metrics follow from what was measured, and their formulas may have changed since. Whether they
 * have: then no race counts that was decided by others. Who had a time was skipped for want of an
 * objective. */
static bool renew_metrics(const struct hn_session *session, struct hn_record *record,
                          struct hn_error *err)
{
    const struct hn_task *task = session->task;
    struct hn_bindings before HN_ENDED_BY(hn_bindings_finish) = {0};
    if (record->outcome == HN_OUTCOME_SKIPPED && record->timing.median_us > 0) {
        record->outcome = HN_OUTCOME_OK;
        free(record->message);
        record->message = NULL;
    }
    if ((record->outcome != HN_OUTCOME_OK && record->outcome != HN_OUTCOME_SLOWER) ||
        hn_bindings_copy(&before, &record->metrics, err) != HN_OK)
        return false;
    hn_metrics_evaluate(task->plan, task->problem, record, err);
    bool renewed = !hn_bindings_equal(&before, &record->metrics);
    record->final = record->final && !renewed;
    return renewed;
}

static void take_record(void *visitor, int64_t id, struct hn_record *record, struct hn_error *err)
{
    struct hn_session *session = visitor;
    struct hn_cached *cached = &session->cached;
    struct hn_records *renewed = &cached->renewed;
    cached->earliest = fmin(cached->earliest, record->time);
    /* The space may have changed since: points that it no longer has are left alone. */
    if (!hn_space_has(session->task->space, &record->point, session->choice))
        return;
    if (renew_metrics(session, record, err) &&
        hn_make_room(&renewed->items, renewed->count, sizeof *renewed->items, err))
        (void)hn_record_copy(&renewed->items[renewed->count++], record, err);
    uint32_t point = hn_keys_add(&session->points, session->choice);
    while (cached->count <= point)
        HN_NEXT(cached->entries, cached->count)->row = 0;
    struct hn_cached_entry *entry = &cached->entries[point];
    entry->row = id;
    memcpy(entry->code_hash, record->code_hash, sizeof entry->code_hash);
    entry->result = result_of(session, record);
    if (record->outcome == HN_OUTCOME_OK &&
        (cached->incumbent == HN_NO_KEY ||
         record->objective < cached->entries[cached->incumbent].result.objective))
        cached->incumbent = point;
}

/* Somebody else's measurements are no result, but their best is worth a try. */
static void take_lead(void *visitor, int64_t id, struct hn_record *record, struct hn_error *err)
{
    struct hn_session *session = visitor;
    struct hn_cached *cached = &session->cached;
    (void)id;
    (void)err;
    if (record->outcome != HN_OUTCOME_OK || !(record->objective < cached->lead_objective) ||
        !hn_space_has(session->task->space, &record->point, session->choice))
        return;
    cached->lead_objective = record->objective;
    cached->lead = hn_keys_add(&session->points, session->choice);
}

/* What the cache has of a plan that was measured may be damaged, or removed since. */
static void keep_plan(const struct hn_session *session, struct hn_error *err)
{
    struct hn_error reason;
    struct hn_stored_plan kept HN_ENDED_BY(hn_stored_plan_free) = {0};
    const struct hn_task *task = session->task;
    if (task->stale || !hn_version_knows_template(&task->version) ||
        hn_store_session_of(session->store, &task->identity, &task->version, err) == 0 ||
        hn_store_get_plan(session->store, task->identity.kernel, &task->version, &kept, &reason) ==
            HN_OK)
        return;
    json_auto_t *json = hn_needed(hn_plan_to_json(task->plan));
    const struct hn_stored_plan plan = {json, task->template.files, task->template.file_count};
    hn_store_put_plan(session->store, task->identity.kernel, &task->version, &plan, err);
}

void hn_session_load_cached(struct hn_session *session, struct hn_error *err)
{
    const struct hn_task *task = session->task;
    bool simulated = session->backend->simulated;
    session->cached = (struct hn_cached){.incumbent = HN_NO_KEY,
                                         .earliest = INFINITY,
                                         .lead = HN_NO_KEY,
                                         .lead_objective = INFINITY};
    /* Kernel Tuner names no driver and compiler: another file of it is another measurement. */
    if (session->store == NULL || task->version.protocol == HN_KERNEL_TUNER_PROTOCOL)
        return;
    keep_plan(session, err);
    hn_store_visit(session->store, &task->identity, &task->version, simulated, HN_STORE_OWN,
                   take_record, session, err);
    struct hn_records *renewed = &session->cached.renewed;
    session->fresh = renewed->count > 0;
    for (size_t i = 0; i < renewed->count; i++)
        put(session, &renewed->items[i], err);
    hn_records_free(renewed);
    hn_store_visit(session->store, &task->identity, &task->version, simulated, HN_STORE_IMPORTED,
                   take_lead, session, err);
}

void hn_session_point(const struct hn_session *session, uint32_t point,
                      struct hn_bindings *bindings)
{
    hn_space_bindings(session->task->space, hn_keys_at(&session->points, point), bindings);
}

enum hn_status hn_session_record(const struct hn_session *session, size_t number,
                                 struct hn_record *record, struct hn_error *err)
{
    struct hn_error ignored;
    struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
    const struct hn_ticket *ticket = &session->tickets.items[number];
    err = hn_error_begin(err, &ignored);
    if (ticket->replayed)
        ticket = &session->tickets.items[hn_tickets_of_point(&session->tickets, ticket->point)];
    *record = (struct hn_record){0};
    /* A record that is no longer in flight is in the cache. */
    if (ticket->flight != NULL) {
        hn_record_copy(record, &ticket->flight->record, err);
    } else if (ticket->kept) {
        hn_session_point(session, ticket->point, &point);
        hn_store_get_last(session->store, session->session_id, &point, record, err);
    } else {
        hn_store_get(session->store, session->cached.entries[ticket->point].row, record, err);
        if (!hn_failed(err))
            (void)renew_metrics(session, record, err);
    }
    record->final = ticket->result.final;
    return err->status;
}

struct hn_flight *hn_session_recall(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_record record;
    if (hn_failed(err) || session->tickets.items[number].flight != NULL)
        return session->tickets.items[number].flight;
    if (hn_session_record(session, number, &record, err) != HN_OK) {
        hn_record_finish(&record);
        return NULL;
    }
    struct hn_flight *flight = hn_tickets_fly(&session->tickets, number);
    flight->record = record;
    return flight;
}

void hn_session_release(struct hn_session *session, size_t number)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    bool readable =
        ticket->replayed || (session->store != NULL && (ticket->kept || ticket->cached));
    bool told =
        number < session->given_count || ticket->told || !session->options.strategy->needs_feedback;
    bool close = number == session->best;
    for (size_t i = 0; i < session->close_count; i++)
        close = close || session->close[i] == number;
    if (ticket->flight == NULL || ticket->state != HN_TICKET_FINISHED || ticket->flight->held ||
        close)
        return;
    hn_image_finish(&ticket->flight->image);
    if (readable && told)
        tickets_land(&session->tickets, number);
}

static void drop_close(struct hn_session *session, size_t place)
{
    size_t number = session->close[place];
    HN_DROP(session->close, session->close_count, place);
    hn_session_release(session, number);
}

static void keep_close(struct hn_session *session, size_t number)
{
    const struct hn_ticket *tickets = session->tickets.items;
    const size_t *close = session->close;
    double limit = tickets[session->best].result.median_us * (1 + HN_RACE_SHIFT);
    size_t worst = 0;
    session->close[session->close_count++] = number;
    for (size_t i = session->close_count; i-- > 0;) {
        const struct hn_result *result = &tickets[close[i]].result;
        if (result->median_us * (double)result->low > limit)
            drop_close(session, i);
    }
    for (size_t i = 0; i < session->close_count; i++)
        if (tickets[close[i]].result.objective >= tickets[close[worst]].result.objective)
            worst = i;
    if (session->close_count > HN_KEPT_CLOSE)
        drop_close(session, worst);
}

static void set_best(struct hn_session *session, size_t number, struct hn_error *err)
{
    size_t before = session->best;
    if (number != SIZE_MAX)
        hn_session_recall(session, number, err);
    if (hn_failed(err))
        return;
    session->best = number;
    if (before != SIZE_MAX && before != number)
        hn_session_release(session, before);
}

void hn_session_find_best(struct hn_session *session, struct hn_error *err)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < session->tickets.count; i++)
        if (hn_ticket_is_ok(&session->tickets.items[i]) &&
            (best == SIZE_MAX || is_better(session, i, best)))
            best = i;
    set_best(session, best, err);
}

void hn_session_forget_races(struct hn_session *session)
{
    HN_EACH(ticket, session->tickets) {
        ticket->result.final = false;
        if (ticket->flight != NULL)
            ticket->flight->record.final = false;
    }
}

void hn_session_keep(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    const struct hn_record *record = &ticket->flight->record;
    if (hn_failed(err))
        return;
    if (session->store != NULL)
        put(session, record, err);
    ticket->kept = session->store != NULL && !hn_failed(err);
    hn_session_tell_news(session, record, err);
    hn_session_note_result(session, number);
}

/* A duplicate has its original's fate: the time that was measured, or the failure. */
static void copy_fate(struct hn_record *record, const struct hn_record *original,
                      struct hn_error *err)
{
    struct hn_record copy = {0};
    if (hn_record_copy(&copy, original, err) != HN_OK)
        return;
    /* A duplicate of a duplicate has that one's original; a point stopped early, its censor. */
    if (copy.original == NULL)
        copy.original = hn_needed(hn_bindings_text(&original->point));
    hn_bindings_finish(&copy.point);
    copy.point = record->point;
    record->point = (struct hn_bindings){0};
    copy.costs = (struct hn_costs){.compile_ms = record->costs.compile_ms};
    copy.resources = record->resources;
    copy.final = false;
    if (original->outcome == HN_OUTCOME_OK)
        hn_record_fail(&copy, HN_OUTCOME_DUPLICATE, "same machine code and launch as %s",
                       copy.original);
    hn_record_finish(record);
    *record = copy;
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

static void finish_one(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *tickets = session->tickets.items, *ticket = &tickets[number];
    if (ticket->replayed) {
        ticket->result = tickets[hn_tickets_of_point(&session->tickets, ticket->point)].result;
    } else if (ticket->state == HN_TICKET_DUPLICATE) {
        size_t original = ticket->flight->original;
        const struct hn_flight *flight = hn_session_recall(session, original, err);
        if (flight != NULL)
            copy_fate(&ticket->flight->record, &flight->record, err);
        hn_session_release(session, original);
    }
    if (hn_failed(err))
        return;
    ticket->state = HN_TICKET_FINISHED;
    while (session->next_settled < session->tickets.count &&
           tickets[session->next_settled].state == HN_TICKET_FINISHED)
        session->next_settled++;
    if (!ticket->cached && !ticket->replayed) {
        struct hn_record *record = &ticket->flight->record;
        /* A point that the recording lacks was not measured, and is not kept. */
        bool unknown = session->backend->simulated && record->outcome == HN_OUTCOME_SKIPPED;
        /* New points were in no race of an earlier session, so those no longer decide. */
        if (!unknown && !session->fresh && !session->backend->simulated)
            hn_session_forget_races(session);
        session->fresh = session->fresh || !unknown;
        record->time = hn_epoch_s();
        if (unknown)
            hn_session_note_result(session, number);
        else
            hn_session_keep(session, number, err);
        if (hn_failed(err))
            return;
    }
    count_ticket(session, ticket);
    if (!hn_ticket_is_ok(ticket))
        return;
    /* During the search the best is by time alone, and the progress line tells each improvement. */
    if (session->best == SIZE_MAX ||
        ticket->result.objective < tickets[session->best].result.objective)
        set_best(session, number, err);
    if (session->best == number && !hn_failed(err))
        hn_session_show(session, session->state.phase);
    if (!hn_failed(err) && !ticket->cached)
        keep_close(session, number);
}

void hn_session_finish_ticket(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_flight *flight = session->tickets.items[number].flight;
    if (hn_failed(err))
        return;
    if (flight != NULL)
        flight->held = true;
    finish_one(session, number, err);
    size_t count = session->tickets.items[number].awaited ? session->tickets.count : 0;
    for (size_t i = session->next_settled; !hn_failed(err) && i < count; i++) {
        const struct hn_ticket *waits = &session->tickets.items[i];
        if (waits->state == HN_TICKET_DUPLICATE && waits->flight != NULL &&
            waits->flight->original == number)
            hn_session_finish_ticket(session, i, err);
    }
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
    size_t first = tickets_first_of_code(&session->tickets, code_of(session, ticket), number);
    if (first == number || ticket->state != HN_TICKET_COMPILED)
        return;
    struct hn_ticket *original = &session->tickets.items[first];
    bool finished = original->state == HN_TICKET_FINISHED;
    /* An early stop is no time for a step of the ladder, which is to be measured in full. */
    if (ticket->full && finished && original->result.outcome == HN_OUTCOME_SLOWER)
        return;
    ticket->state = HN_TICKET_DUPLICATE;
    ticket->flight->original = first;
    original->awaited = !finished;
    if (finished)
        hn_session_finish_ticket(session, number, err);
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
    if (image->outcome == HN_OUTCOME_OK && backend->kind->complete == NULL)
        memcpy(record->code_hash, image->code_hash, sizeof record->code_hash);
    else if (backend->kind->complete != NULL)
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
    if (number < session->next_register || session->tickets.items[number].decided)
        hn_session_register_ticket(session, number, err);
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
    double recorded = record->objective;
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER)
        hn_metrics_evaluate(session->task->plan, session->task->problem, record, err);
    /* The race of a recording was for the objective that it was recorded with. */
    record->final = record->final && fabs(record->objective - recorded) <= 1e-9 * fabs(recorded);
    if (!hn_failed(err) && record->outcome == HN_OUTCOME_SLOWER && flight->censor != SIZE_MAX) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
        hn_session_point(session, session->tickets.items[flight->censor].point, &point);
        free(record->original);
        record->original = hn_needed(hn_bindings_text(&point));
    }
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

static int compare_tickets(const void *a, const void *b, void *pointer)
{
    const struct hn_session *session = pointer;
    const struct hn_ticket *tickets = session->tickets.items;
    size_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    bool i_ok = tickets[i].result.outcome == HN_OUTCOME_OK;
    bool j_ok = tickets[j].result.outcome == HN_OUTCOME_OK;
    if (i_ok != j_ok)
        return i_ok ? -1 : 1;
    if (i_ok && i != j)
        return is_better(session, i, j) ? -1 : 1;
    return (i > j) - (i < j);
}

/* Whether b is slower than a beyond doubt: with samples of one race, when the interval of their
 * paired differences lies above zero and above the noise floor; else when the intervals do not
 * overlap. */
static bool is_tied(const struct hn_record *a, const struct hn_record *b, double noise)
{
    const struct hn_timing *x = &a->timing, *y = &b->timing;
    size_t rounds = x->sample_count;
    double resolution = fmax(x->resolution_us, noise * x->median_us);
    /* A metric, which is as uncertain as times are, tells apart even what takes as long. */
    double within = x->high_us - x->median_us + y->median_us - y->low_us + resolution;
    if ((b->objective - a->objective) * x->median_us > within * fabs(a->objective))
        return false;
    if (!a->final || !b->final || rounds != y->sample_count || rounds == 0)
        return y->low_us <= x->high_us + noise * x->median_us;
    double *differences HN_FREED = hn_need(rounds, sizeof *differences);
    for (size_t r = 0; r < rounds; r++)
        differences[r] = y->samples_us[r] - x->samples_us[r];
    struct hn_interval interval = hn_interval_of(differences, rounds, HN_OUTSIDE_USUAL);
    return interval.low <= 0 || interval.median <= resolution;
}

static void count_tied(const struct hn_session *session, struct hn_ranking *ranking,
                       struct hn_error *err)
{
    const struct hn_ticket *tickets = session->tickets.items;
    struct hn_record best HN_ENDED_BY(hn_record_finish) = {0};
    if (ranking->count == 0 || !hn_ticket_is_ok(&tickets[ranking->tickets[0]]))
        return;
    bool tied = hn_session_record(session, ranking->tickets[0], &best, err) == HN_OK;
    ranking->tied = 1;
    while (tied && ranking->tied < ranking->count &&
           hn_ticket_is_ok(&tickets[ranking->tickets[ranking->tied]])) {
        struct hn_record next HN_ENDED_BY(hn_record_finish) = {0};
        hn_session_record(session, ranking->tickets[ranking->tied], &next, err);
        tied = !hn_failed(err) && (session->weighs ? hn_front_is_tied(&best, &next)
                                                   : is_tied(&best, &next, session->state.noise));
        ranking->tied += tied;
    }
}

enum hn_status hn_session_ranking(const struct hn_session *session, struct hn_ranking *ranking,
                                  struct hn_error *err)
{
    hn_error_init(err);
    *ranking = (struct hn_ranking){0};
    ranking->tickets = hn_need(session->tickets.count, sizeof *ranking->tickets);
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state == HN_TICKET_FINISHED && !ticket->replayed)
            ranking->tickets[ranking->count++] = (uint32_t)i;
    }
    qsort_r(ranking->tickets, ranking->count, sizeof *ranking->tickets, compare_tickets,
            (void *)session);
    count_tied(session, ranking, err);
    if (hn_failed(err))
        hn_ranking_finish(ranking);
    return err->status;
}

void hn_ranking_finish(struct hn_ranking *ranking)
{
    free(ranking->tickets);
    *ranking = (struct hn_ranking){0};
}

uint32_t *hn_session_ladder(const struct hn_session *session, size_t *count)
{
    uint32_t *tickets = hn_need(session->ladder_count, sizeof *tickets);
    *count = 0;
    /* An interrupted session has steps without a result. */
    for (size_t i = 0; i < session->ladder_count; i++)
        if (session->tickets.items[i].state == HN_TICKET_FINISHED)
            tickets[(*count)++] = (uint32_t)i;
    return tickets;
}

size_t hn_session_find(const struct hn_session *session, const struct hn_bindings *point)
{
    const struct hn_space *space = session->task->space;
    uint16_t choice[hn_space_parameter_count(space) + 1];
    if (hn_space_choice(space, point, choice, NULL) != HN_OK)
        return SIZE_MAX;
    uint32_t key = hn_keys_find(&session->points, choice);
    size_t found = key != HN_NO_KEY ? hn_tickets_of_point(&session->tickets, key) : SIZE_MAX;
    bool finished = found != SIZE_MAX && session->tickets.items[found].state == HN_TICKET_FINISHED;
    return finished ? found : SIZE_MAX;
}

enum hn_outcome hn_session_outcome(const struct hn_session *session, size_t ticket)
{
    return (enum hn_outcome)session->tickets.items[ticket].result.outcome;
}
