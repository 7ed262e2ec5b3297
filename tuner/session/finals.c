/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/launch.h"
#include "runtime/statistics.h"
#include "tuner/interrupt.h"
#include "tuner/session/session_internal.h"

/* Finalists are all whose intervals overlap the best's, but no more than these. */
static const size_t finalist_limit = 12;

/* Times of a race lie at most this far from those of the search. */
static const double race_shift = 0.05;

/* Images of so many of the best are kept, so that a replay needs no compiler. */
static const size_t kept_images = 3;

struct finals {
    struct hn_session *session;
    size_t *numbers; /* tickets */
    size_t count;
};

static struct hn_ticket *ticket_of(const struct finals *finals, size_t i)
{
    return &finals->session->tickets.items[finals->numbers[i]];
}

static int compare_objectives(const void *a, const void *b, void *session)
{
    const struct hn_ticket *tickets = ((const struct hn_session *)session)->tickets.items;
    const struct hn_record *x = &tickets[*(const size_t *)a].record;
    const struct hn_record *y = &tickets[*(const size_t *)b].record;
    if (x->objective != y->objective)
        return x->objective < y->objective ? -1 : 1;
    uint64_t p = tickets[*(const size_t *)a].point;
    uint64_t q = tickets[*(const size_t *)b].point;
    return (p > q) - (p < q);
}

/* Whether a record's interval overlaps the best's, widened by the noise floor. Objectives other
 * than time scale with the relative width of the time's interval. */
static bool overlaps(const struct hn_record *record, const struct hn_record *best, double noise)
{
    double reach = (best->timing.high_us / best->timing.median_us - 1) +
                   (1 - record->timing.low_us / record->timing.median_us) + noise;
    return fabs(record->objective - best->objective) <= reach * fabs(best->objective);
}

enum hn_status hn_session_finalists(const struct hn_session *session, size_t **numbers,
                                    size_t *count, struct hn_error *err)
{
    size_t *found = calloc(session->tickets.count + 1, sizeof *found);
    if (found == NULL)
        return hn_fail_memory(err);
    size_t all = 0;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state == HN_TICKET_FINISHED && !ticket->replayed &&
            ticket->record.outcome == HN_OUTCOME_OK)
            found[all++] = i;
    }
    qsort_r(found, all, sizeof *found, compare_objectives, (void *)session);
    *count = 0;
    while (*count < all && *count < finalist_limit &&
           overlaps(&session->tickets.items[found[*count]].record,
                    &session->tickets.items[found[0]].record, session->state.noise))
        ++*count;
    *numbers = found;
    return HN_OK;
}

/* Waits for an event of this kind; other kinds belong to what is measured after all. The event is
 * HN_EVENT_NONE when a signal came. */
static enum hn_status wait_for(struct finals *finals, enum hn_event_kind kind,
                               struct hn_backend_event *event, struct hn_error *err)
{
    for (;;) {
        enum hn_status status = hn_session_step(finals->session, event, err);
        if (status != HN_OK || event->kind == kind)
            return status;
        status = hn_session_take_event(finals->session, event, err);
        event->kind = HN_EVENT_NONE;
        if (status != HN_OK || hn_interrupted() != 0)
            return status;
    }
}

/* Compiles the finalists that came from the cache or whose images were dropped. */
static enum hn_status ensure_images(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_backend_kind *kind = session->backend->kind;
    size_t wanted = 0;
    for (size_t i = 0; i < finals->count; i++) {
        if (ticket_of(finals, i)->image.cubin != NULL)
            continue;
        enum hn_status status = kind->compile(session->backend, finals->numbers[i],
                                              &ticket_of(finals, i)->record.point, err);
        if (status != HN_OK)
            return status;
        wanted++;
    }
    for (; wanted > 0 && hn_interrupted() == 0; wanted--) {
        struct hn_backend_event event;
        enum hn_status status = wait_for(finals, HN_EVENT_COMPILED, &event, err);
        if (status != HN_OK)
            return status;
        if (event.kind != HN_EVENT_COMPILED)
            break;
        struct hn_ticket *ticket = &session->tickets.items[event.ticket];
        hn_image_finish(&ticket->image);
        ticket->image = event.image;
    }
    return HN_OK;
}

/* What the fallen point had stopped early was stopped without reason: it is measured in full. */
static enum hn_status measure_again(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    session->state.counts[HN_OUTCOME_SLOWER]--;
    session->state.finished--;
    session->state.reused -= ticket->cached;
    hn_session_reopen(ticket);
    if (session->next_settled > number)
        session->next_settled = number;
    if (session->next_dispatch > number)
        session->next_dispatch = number;
    return session->backend->kind->compile(session->backend, number, &ticket->record.point, err);
}

static enum hn_status fail_ticket(struct hn_session *session, struct hn_ticket *ticket,
                                  enum hn_outcome outcome, const char *message,
                                  struct hn_error *err)
{
    session->state.counts[ticket->record.outcome]--;
    session->state.counts[outcome]++;
    hn_record_fail(&ticket->record, outcome, "%s", message);
    ticket->record.final = false;
    ticket->record.time = hn_session_epoch_s();
    return hn_session_keep(session, &ticket->record, err);
}

/* Settles what was held against a fallen point: its duplicates fall with it. */
static enum hn_status settle_fall(struct hn_session *session, const struct hn_record *fallen,
                                  const char *point, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < session->tickets.count; i++) {
        struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state != HN_TICKET_FINISHED || ticket->replayed ||
            ticket->record.original == NULL || strcmp(ticket->record.original, point) != 0)
            continue;
        if (ticket->record.outcome == HN_OUTCOME_SLOWER)
            status = measure_again(session, i, err);
        else if (ticket->record.outcome == HN_OUTCOME_DUPLICATE)
            status = fail_ticket(session, ticket, fallen->outcome, fallen->message, err);
    }
    return status;
}

/* A finalist loses its ok; `where` is the end of its message. */
static enum hn_status fall(struct finals *finals, size_t i, const struct hn_record *verdict,
                           const char *where, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_ticket *ticket = ticket_of(finals, i);
    char *point = hn_bindings_text(&ticket->record.point);
    char *message = NULL;
    enum hn_status status = hn_fail_memory(err);
    if (point == NULL ||
        asprintf(&message, "%s %s", verdict->message != NULL ? verdict->message : "failed", where) <
            0)
        goto free_point;
    *again = true;
    status = fail_ticket(session, ticket, verdict->outcome, message, err);
    free(message);
    if (status == HN_OK)
        status = settle_fall(session, &ticket->record, point, err);
free_point:
    free(point);
    return status;
}

static enum hn_status verify_one(struct finals *finals, size_t i, struct hn_record *verdict,
                                 struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_ticket *ticket = ticket_of(finals, i);
    struct hn_backend_event event;
    struct hn_bench_request request = {.verify = true};
    if (ticket->image.cubin == NULL) {
        hn_record_fail(verdict, ticket->image.outcome, "%s",
                       ticket->image.message != NULL ? ticket->image.message : "no message");
        return HN_OK;
    }
    enum hn_status status = session->backend->kind->evaluate(
        session->backend, finals->numbers[i], &ticket->record.point, &ticket->image, &request, err);
    if (status == HN_OK)
        status = wait_for(finals, HN_EVENT_EVALUATED, &event, err);
    if (status == HN_OK && event.kind == HN_EVENT_EVALUATED)
        *verdict = event.record;
    return status;
}

/* Verifies all finalists on a second seed; those that fail leave the field. */
static enum hn_status verify_again(struct finals *finals, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status =
        session->backend->kind->reseed(session->backend, session->options.seed + 1, err);
    size_t left = 0;
    for (size_t i = 0; status == HN_OK && i < finals->count && hn_interrupted() == 0; i++) {
        struct hn_record verdict;
        hn_record_init(&verdict);
        status = verify_one(finals, i, &verdict, err);
        if (hn_interrupted() != 0) {
            hn_record_finish(&verdict);
            break;
        }
        if (status == HN_OK && verdict.outcome == HN_OUTCOME_OK) {
            ticket_of(finals, i)->record.verdict.seeds = 2;
            finals->numbers[left++] = finals->numbers[i];
        } else if (status == HN_OK) {
            status = fall(finals, i, &verdict, "(on the second seed)", again, err);
        }
        hn_record_finish(&verdict);
    }
    finals->count = left;
    return status;
}

/* The race's samples become the timing. */
static enum hn_status take_timing(struct hn_record *record, const double *samples, size_t rounds,
                                  struct hn_error *err)
{
    double *kept = calloc(rounds * 2, sizeof *kept);
    if (kept == NULL)
        return hn_fail_memory(err);
    double *sorted = kept + rounds;
    memcpy(kept, samples, rounds * sizeof *kept);
    memcpy(sorted, samples, rounds * sizeof *kept);
    struct hn_timing *timing = &record->timing;
    struct hn_interval interval =
        hn_interval_widen(hn_interval_of(sorted, rounds), timing->resolution_us);
    free(timing->samples_us);
    timing->samples_us = kept;
    timing->sample_count = rounds;
    timing->median_us = interval.median;
    timing->low_us = interval.low;
    timing->high_us = interval.high;
    record->final = true;
    record->time = hn_session_epoch_s();
    return HN_OK;
}

static enum hn_status take_result(struct finals *finals, const struct hn_race_result *result,
                                  bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < result->count; i++) {
        struct hn_record *record = &ticket_of(finals, i)->record;
        if (result->records[i].outcome != HN_OUTCOME_OK) {
            status = fall(finals, i, &result->records[i], "(in the final race)", again, err);
            continue;
        }
        if (result->rounds == 0)
            continue;
        status = take_timing(record, result->samples + i * result->rounds, result->rounds, err);
        if (status == HN_OK)
            status = hn_session_evaluate_metrics(session, record, err);
        if (status == HN_OK)
            status = hn_session_keep(session, record, err);
    }
    return status;
}

static enum hn_status race(struct finals *finals, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_racer *racers = calloc(finals->count + 1, sizeof *racers);
    struct hn_race_result result;
    if (racers == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < finals->count; i++)
        racers[i] =
            (struct hn_racer){&ticket_of(finals, i)->record.point, &ticket_of(finals, i)->image};
    enum hn_status status =
        session->backend->kind->race(session->backend, racers, finals->count, &result, err);
    free(racers);
    if (status != HN_OK)
        return status;
    status = take_result(finals, &result, again, err);
    hn_race_result_finish(&result);
    return status;
}

/* The kernels of a plan of several steps, one a line. */
static char *join_entries(const struct hn_image *image)
{
    struct hn_text text;
    hn_text_init(&text);
    for (size_t i = 0; i < image->entry_count; i++)
        hn_text_printf(&text, "%s%s", i > 0 ? "\n" : "", image->entries[i]);
    return hn_text_take(&text);
}

static enum hn_status keep_image(struct hn_session *session, const struct hn_ticket *ticket,
                                 struct hn_error *err)
{
    if (session->store == NULL || ticket->image.cubin == NULL)
        return HN_OK;
    char *entries = join_entries(&ticket->image);
    if (entries == NULL)
        return hn_fail_memory(err);
    enum hn_status status =
        hn_store_put_image(session->store, session->session_id, &ticket->record.point,
                           ticket->image.cubin, ticket->image.size, entries, err);
    free(entries);
    return status;
}

static enum hn_status keep_images(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status = HN_OK;
    qsort_r(finals->numbers, finals->count, sizeof *finals->numbers, compare_objectives, session);
    for (size_t i = 0; status == HN_OK && i < finals->count && i < kept_images; i++)
        status = keep_image(session, ticket_of(finals, i), err);
    return status;
}

/* What the best moves per second is set against a memcpy of as much, in the same run. A plan says
 * how much that is by a metric named bytes. */
static enum hn_status measure_copy(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_value *bytes = hn_bindings_get(&ticket_of(finals, 0)->record.metrics, "bytes");
    double moved = bytes != NULL ? hn_value_number(bytes) : 0;
    if (moved < 2 || session->backend->kind->copy_rate == NULL)
        return HN_OK;
    return session->backend->kind->copy_rate(session->backend, moved / 2,
                                             &session->state.copy_gb_per_s, err);
}

/* The best of the raced ones; NULL when none was. *time: when the newest race was. */
static const struct hn_record *find_raced(const struct hn_session *session, double *time)
{
    const struct hn_record *best = NULL;
    *time = 0;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_record *record = &session->tickets.items[i].record;
        if (record->outcome != HN_OUTCOME_OK || !record->final)
            continue;
        *time = fmax(*time, record->time);
        if (best == NULL || record->objective < best->objective)
            best = record;
    }
    return best;
}

/* Nothing new was found out, and what is as good as the best of the race was there when it was
 * held. A race shifts times a little, so that one that it left out may be better now. */
static bool is_settled(const struct hn_session *session)
{
    double time;
    const struct hn_record *raced = find_raced(session, &time);
    if (session->fresh || raced == NULL)
        return false;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_record *record = &session->tickets.items[i].record;
        double lead = (raced->objective - record->objective) / fabs(raced->objective);
        if (record->outcome != HN_OUTCOME_OK || record->final ||
            (lead < 0 && !overlaps(record, raced, session->state.noise)))
            continue;
        if (record->time >= time || lead > race_shift)
            return false;
    }
    return true;
}

static enum hn_status hold(struct finals *finals, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    hn_session_forget_races(session);
    hn_session_show(session, "verifying the finalists on a second seed");
    enum hn_status status = hn_session_prepare(session, err);
    if (status == HN_OK)
        status = ensure_images(finals, err);
    if (status == HN_OK && hn_interrupted() == 0)
        status = verify_again(finals, again, err);
    if (status != HN_OK || *again || finals->count == 0 || hn_interrupted() != 0)
        return status;
    hn_session_show(session, "racing the finalists");
    /* The race blocks, and what is pending must not wait for it. */
    status = hn_session_commit(session, err);
    if (status == HN_OK)
        status = race(finals, again, err);
    if (status == HN_OK && !*again)
        status = keep_images(finals, err);
    if (status == HN_OK && !*again && finals->count > 0)
        status = measure_copy(finals, err);
    return status;
}

enum hn_status hn_session_finals(struct hn_session *session, bool *again, struct hn_error *err)
{
    struct finals finals = {.session = session};
    *again = false;
    if (session->backend->kind->race == NULL) {
        hn_session_find_best(session);
        return HN_OK;
    }
    enum hn_status status = hn_session_finalists(session, &finals.numbers, &finals.count, err);
    if (status == HN_OK && finals.count > 0 && !is_settled(session))
        status = hold(&finals, again, err);
    /* The finals leave the second seed's inputs behind. */
    if (status == HN_OK && *again && hn_interrupted() == 0)
        status = session->backend->kind->reseed(session->backend, session->options.seed, err);
    free(finals.numbers);
    hn_session_find_best(session);
    return status;
}
