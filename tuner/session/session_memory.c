/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/store/store_record.h"
#include "tuner/session/session_internal.h"

/* Images of variants this close to the best are kept for the final race. */
static const double close_within = 1.05;

/* The number of a point given as text; HN_NO_KEY when the space has no such point. */
static enum hn_status number_of(struct hn_session *session, const char *text, uint32_t *point,
                                struct hn_error *err)
{
    const struct hn_space *space = session->task->space;
    struct hn_bindings bindings;
    *point = HN_NO_KEY;
    if (text == NULL || hn_bindings_parse(text, &bindings, NULL) != HN_OK)
        return HN_OK;
    bool known = hn_space_choice(space, &bindings, session->choice, NULL) == HN_OK &&
                 hn_space_contains(space, session->choice);
    hn_bindings_finish(&bindings);
    return known ? hn_points_add(&session->points, session->choice, point, err) : HN_OK;
}

enum hn_status hn_session_result_of(struct hn_session *session, const struct hn_record *record,
                                    struct hn_result *result, struct hn_error *err)
{
    const struct hn_timing *timing = &record->timing;
    *result = (struct hn_result){
        .objective = record->objective,
        .median_us = timing->median_us,
        .clock_mhz = (float)timing->clock_mhz,
        .low = timing->median_us > 0 ? (float)(timing->low_us / timing->median_us) : 1,
        .outcome = (uint8_t)record->outcome,
        .final = record->final,
    };
    return number_of(session, record->original, &result->against, err);
}

enum hn_status hn_session_note_result(struct hn_session *session, size_t number,
                                      struct hn_error *err)
{
    struct hn_result result;
    const struct hn_flight *flight = session->tickets.items[number].flight;
    enum hn_status status = hn_session_result_of(session, &flight->record, &result, err);
    session->tickets.items[number].result = result;
    return status;
}

enum hn_status hn_session_point(const struct hn_session *session, uint32_t point,
                                struct hn_bindings *bindings, struct hn_error *err)
{
    hn_points_choice(&session->points, point, session->choice);
    return hn_space_bindings(session->task->space, session->choice, bindings, err);
}

/* Reads from the cache what is no longer in flight. */
static enum hn_status read_record(const struct hn_session *session, const struct hn_ticket *ticket,
                                  struct hn_record *record, struct hn_error *err)
{
    struct hn_bindings point;
    if (!ticket->kept)
        return hn_store_get(session->store, session->cached.entries[ticket->point].row, record,
                            err);
    enum hn_status status = hn_session_point(session, ticket->point, &point, err);
    if (status != HN_OK)
        return status;
    status = hn_store_get_last(session->store, session->session_id, &point, record, err);
    hn_bindings_finish(&point);
    return status;
}

enum hn_status hn_session_record(const struct hn_session *session, size_t number,
                                 struct hn_record *record, struct hn_error *err)
{
    const struct hn_ticket *ticket = &session->tickets.items[number];
    if (ticket->replayed)
        ticket = &session->tickets.items[hn_tickets_of_point(&session->tickets, ticket->point)];
    hn_record_init(record);
    enum hn_status status = ticket->flight != NULL
                                ? hn_record_copy(record, &ticket->flight->record, err)
                                : read_record(session, ticket, record, err);
    record->final = ticket->result.final;
    return status;
}

enum hn_status hn_session_recall(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_record record;
    if (session->tickets.items[number].flight != NULL)
        return HN_OK;
    enum hn_status status = hn_session_record(session, number, &record, err);
    if (status == HN_OK)
        status = hn_tickets_fly(&session->tickets, number, err);
    if (status == HN_OK)
        session->tickets.items[number].flight->record = record;
    else
        hn_record_finish(&record);
    return status;
}

static bool is_close(const struct hn_session *session, size_t number)
{
    for (size_t i = 0; i < session->close_count; i++)
        if (session->close[i] == number)
            return true;
    return number == session->best;
}

void hn_session_release(struct hn_session *session, size_t number)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    bool readable =
        ticket->replayed || (session->store != NULL && (ticket->kept || ticket->cached));
    bool told = number < session->given_count || ticket->told;
    if (ticket->flight == NULL || ticket->state != HN_TICKET_FINISHED || ticket->flight->held ||
        is_close(session, number))
        return;
    hn_image_finish(&ticket->flight->image);
    if (readable && told)
        hn_tickets_land(&session->tickets, number);
}

static void drop_close(struct hn_session *session, size_t place)
{
    size_t number = session->close[place];
    session->close_count--;
    memmove(&session->close[place], &session->close[place + 1],
            (session->close_count - place) * sizeof *session->close);
    hn_session_release(session, number);
}

static const struct hn_result *result_at(const struct hn_session *session, size_t number)
{
    return &session->tickets.items[number].result;
}

void hn_session_keep_close(struct hn_session *session, size_t number)
{
    double limit = result_at(session, session->best)->median_us * close_within;
    size_t place = session->close_count;
    while (place > 0 && result_at(session, number)->objective <
                            result_at(session, session->close[place - 1])->objective)
        place--;
    if (place < HN_KEPT_CLOSE) {
        if (session->close_count == HN_KEPT_CLOSE)
            drop_close(session, HN_KEPT_CLOSE - 1);
        memmove(&session->close[place + 1], &session->close[place],
                (session->close_count - place) * sizeof *session->close);
        session->close[place] = number;
        session->close_count++;
    }
    for (size_t i = session->close_count; i-- > 0;) {
        const struct hn_result *result = result_at(session, session->close[i]);
        if (result->median_us * (double)result->low > limit)
            drop_close(session, i);
    }
}

enum hn_status hn_session_set_best(struct hn_session *session, size_t number, struct hn_error *err)
{
    size_t before = session->best;
    enum hn_status status = number != SIZE_MAX ? hn_session_recall(session, number, err) : HN_OK;
    if (status != HN_OK)
        return status;
    session->best = number;
    if (before != SIZE_MAX && before != number)
        hn_session_release(session, before);
    return HN_OK;
}

enum hn_status hn_session_find_best(struct hn_session *session, struct hn_error *err)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state != HN_TICKET_FINISHED || ticket->result.outcome != HN_OUTCOME_OK ||
            ticket->replayed)
            continue;
        if (best == SIZE_MAX || hn_session_is_better(session, i, best))
            best = i;
    }
    return hn_session_set_best(session, best, err);
}

void hn_session_forget_races(struct hn_session *session)
{
    for (size_t i = 0; i < session->tickets.count; i++) {
        struct hn_ticket *ticket = &session->tickets.items[i];
        ticket->result.final = false;
        if (ticket->flight != NULL)
            ticket->flight->record.final = false;
    }
}
