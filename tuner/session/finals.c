/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/statistics.h"
#include "runtime/plan/launch.h"
#include "tuner/session/finals_part.h"

/* Images of so many of the best are kept, so that a replay needs no compiler. */
static const size_t kept_images = 3;
/* The winner is launched again and again for so long, or a share of the time that the tune took
 * until then, but no more often than HN_MOST_REPEATS. */
static const double least_repeat_ms = 25;
static const double repeat_share = 0.01;
/* Times of a race are those of the search but for a few percent, or what clocks do between them:
 * beyond this a variant may have been faster in the search because it knew its inputs. */
static const double most_slowed = 1.1;
static const double most_slowed_alone = 1.3;
/* The best is measured in so many more processes, in the most where two differ by so much; each
 * where there is so much time. */
enum { PROCESSES_LEAST = 2, PROCESSES_MOST = 5 };
static const double processes_alike = 1.02;
static const double process_ms = 400;

static enum hn_status take_hold(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < finals->held_count; i++) {
        status = hn_session_recall(session, finals->held[i], err);
        finals->numbers[i] = finals->held[i];
        if (status == HN_OK)
            session->tickets.items[finals->held[i]].flight->held = true;
    }
    finals->count = status == HN_OK ? finals->held_count : 0;
    return status;
}

enum hn_status hn_finals_gather(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status =
        hn_session_pick_finalists(session, finals->held, &finals->held_count, err);
    return status == HN_OK ? take_hold(finals, err) : status;
}

static void let_go(struct hn_finals *finals)
{
    for (size_t i = 0; i < finals->held_count; i++) {
        struct hn_flight *flight = finals->session->tickets.items[finals->held[i]].flight;
        if (flight != NULL)
            flight->held = false;
        hn_session_release(finals->session, finals->held[i]);
    }
}

/* Waits for an event of this kind; other kinds belong to what is measured after all. The event is
 * HN_EVENT_NONE when a signal came or the time is up. */
static enum hn_status wait_for(struct hn_finals *finals, enum hn_event_kind kind,
                               struct hn_backend_event *event, struct hn_error *err)
{
    for (;;) {
        enum hn_status status = hn_session_step(finals->session, event, err);
        if (status != HN_OK || event->kind == kind)
            return status;
        status = hn_session_take_event(finals->session, event, err);
        event->kind = HN_EVENT_NONE;
        if (status != HN_OK || hn_session_is_over(finals->session))
            return status;
    }
}

enum hn_status hn_finals_ensure_images(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_backend_kind *kind = session->backend->kind;
    size_t wanted = 0;
    for (size_t i = 0; i < finals->count; i++) {
        if (hn_finals_flight(finals, i)->image.cubin != NULL)
            continue;
        enum hn_status status =
            kind->compile(session->backend, finals->numbers[i],
                          &hn_finals_flight(finals, i)->record.point, INFINITY, err);
        if (status != HN_OK)
            return status;
        wanted++;
    }
    for (; wanted > 0 && !hn_session_is_over(session); wanted--) {
        struct hn_backend_event event;
        enum hn_status status = wait_for(finals, HN_EVENT_COMPILED, &event, err);
        if (status != HN_OK)
            return status;
        if (event.kind != HN_EVENT_COMPILED)
            break;
        struct hn_flight *flight = session->tickets.items[event.ticket].flight;
        hn_image_finish(&flight->image);
        flight->image = event.image;
    }
    return HN_OK;
}

/* What the fallen point had stopped early was stopped without reason: it is measured in full. */
static enum hn_status measure_again(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    enum hn_status status = hn_session_recall(session, number, err);
    if (status != HN_OK)
        return status;
    session->state.counts[HN_OUTCOME_SLOWER]--;
    session->state.finished--;
    session->state.reused -= ticket->cached;
    hn_session_reopen(ticket);
    if (session->next_settled > number)
        session->next_settled = number;
    if (session->next_dispatch > number)
        session->next_dispatch = number;
    return session->backend->kind->compile(session->backend, number, &ticket->flight->record.point,
                                           INFINITY, err);
}

static enum hn_status fail_ticket(struct hn_session *session, size_t number,
                                  enum hn_outcome outcome, const char *message,
                                  struct hn_error *err)
{
    enum hn_status status = hn_session_recall(session, number, err);
    if (status != HN_OK)
        return status;
    struct hn_record *record = &session->tickets.items[number].flight->record;
    session->state.counts[record->outcome]--;
    session->state.counts[outcome]++;
    hn_record_fail(record, outcome, "%s", message);
    record->final = false;
    record->time = hn_session_epoch_s();
    status = hn_session_keep(session, number, err);
    return status == HN_OK ? hn_session_note_result(session, number, err) : status;
}

/* Settles what was held against a fallen ticket's point: its duplicates fall with it. */
static enum hn_status settle_fall(struct hn_session *session, size_t fallen, struct hn_error *err)
{
    const struct hn_record *record = &session->tickets.items[fallen].flight->record;
    uint32_t point = session->tickets.items[fallen].point;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state != HN_TICKET_FINISHED || ticket->replayed ||
            ticket->result.against != point)
            continue;
        if (ticket->result.outcome == HN_OUTCOME_SLOWER) {
            status = measure_again(session, i, err);
        } else if (ticket->result.outcome == HN_OUTCOME_DUPLICATE) {
            status = fail_ticket(session, i, record->outcome, record->message, err);
            hn_session_release(session, i);
        }
    }
    return status;
}

enum hn_status hn_finals_fall(struct hn_finals *finals, size_t i, const struct hn_record *verdict,
                              const char *where, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    char *message = NULL;
    if (asprintf(&message, "%s %s", verdict->message != NULL ? verdict->message : "failed", where) <
        0)
        return hn_fail_memory(err);
    *again = true;
    enum hn_status status =
        fail_ticket(session, finals->numbers[i], verdict->outcome, message, err);
    free(message);
    return status == HN_OK ? settle_fall(session, finals->numbers[i], err) : status;
}

enum hn_status hn_finals_check(struct hn_finals *finals, size_t i,
                               const struct hn_bench_request *request, struct hn_record *verdict,
                               struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_flight *flight = hn_finals_flight(finals, i);
    struct hn_backend_event event;
    verdict->outcome = HN_OUTCOME_SKIPPED;
    if (flight->image.cubin == NULL) {
        hn_record_fail(verdict, flight->image.outcome, "%s",
                       flight->image.message != NULL ? flight->image.message : "no message");
        return HN_OK;
    }
    enum hn_status status = session->backend->kind->evaluate(
        session->backend, finals->numbers[i], &flight->record.point, &flight->image, request, err);
    if (status == HN_OK)
        status = wait_for(finals, HN_EVENT_EVALUATED, &event, err);
    if (status == HN_OK && event.kind == HN_EVENT_EVALUATED)
        *verdict = event.record;
    if (verdict->suspicion != HN_SUSPICION_NONE)
        flight->record.suspicion = verdict->suspicion;
    return status;
}

/* Verifies all finalists on a second seed, which nobody could prepare for; those that fail leave
 * the field. Where the time is short the race gets half of what is left, and who was not verified
 * by then leaves it too, the best being the first that are. */
static enum hn_status verify_again(struct hn_finals *finals, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_bench_request request = {.verify = true};
    double race_ms = hn_session_left_ms(session) / 2;
    struct hn_random secret;
    uint64_t seed = 0;
    enum hn_status status = hn_random_seed_secretly(&secret, err);
    if (status == HN_OK) {
        /* As --seed takes it. */
        seed = hn_random_below(&secret, INT64_MAX);
        status = session->backend->kind->reseed(session->backend, seed, err);
    }
    size_t left = 0;
    for (size_t i = 0; status == HN_OK && i < finals->count && !hn_session_is_over(session) &&
                       (left == 0 || hn_session_left_ms(session) >= race_ms);
         i++) {
        struct hn_record verdict;
        hn_record_init(&verdict);
        status = hn_finals_check(finals, i, &request, &verdict, err);
        if (status == HN_OK && verdict.outcome == HN_OUTCOME_SKIPPED) {
            hn_record_finish(&verdict);
            break;
        }
        if (status == HN_OK && verdict.outcome == HN_OUTCOME_OK) {
            hn_finals_flight(finals, i)->record.verdict.seeds = 2;
            hn_finals_flight(finals, i)->record.verdict.launches += verdict.verdict.launches;
            finals->numbers[left++] = finals->numbers[i];
        } else if (status == HN_OK) {
            char where[64];
            snprintf(where, sizeof where, "(on the second seed, %llu)", (unsigned long long)seed);
            status = hn_finals_fall(finals, i, &verdict, where, again, err);
        }
        hn_record_finish(&verdict);
    }
    finals->count = left;
    return status;
}

/* The race's samples become the timing; so does what the host's clock said of it. */
static enum hn_status take_timing(struct hn_record *record, const double *samples, size_t rounds,
                                  const struct hn_record *raced, struct hn_error *err)
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
    timing->host_us = raced->timing.host_us;
    timing->processes = 0;
    timing->fastest_us = timing->middle_us = timing->slowest_us = timing->copy_gb_per_s = 0;
    memcpy(record->host, raced->host, sizeof record->host);
    memcpy(record->card, raced->card, sizeof record->card);
    record->ratio = raced->ratio;
    record->final = true;
    record->time = hn_session_epoch_s();
    hn_error_init(err);
    hn_observed_replace(&record->observed, "conditions", &raced->observed, err);
    return err->status;
}

static double race_median(const struct hn_race_result *result, size_t racer)
{
    double sorted[HN_RACE_MOST_ROUNDS];
    memcpy(sorted, result->samples + racer * result->rounds, result->rounds * sizeof *sorted);
    return hn_median(sorted, result->rounds);
}

/* How much longer than in the search a racer may have taken: as the one of the others that was
 * least slowed, and some more. Alone it may have been slowed by a lower clock. */
static double credible_slowdown(const struct hn_finals *finals, const struct hn_race_result *result,
                                size_t racer)
{
    double least = INFINITY;
    for (size_t i = 0; i < result->count; i++) {
        double searched_us = hn_finals_flight(finals, i)->record.timing.median_us;
        if (i != racer && result->records[i].outcome == HN_OUTCOME_OK && searched_us > 0)
            least = fmin(least, race_median(result, i) / searched_us);
    }
    return fmin(most_slowed * fmax(least, 1), most_slowed_alone);
}

/* The race is run on inputs that are new in every round: who is slower there may have known those
 * of the search. */
static bool is_doubtful(const struct hn_finals *finals, const struct hn_race_result *result,
                        size_t i)
{
    const struct hn_record *searched = &hn_finals_flight(finals, i)->record;
    return !searched->final && result->rounds > 0 && result->records[i].outcome == HN_OUTCOME_OK &&
           race_median(result, i) > credible_slowdown(finals, result, i) * searched->timing.high_us;
}

/* Or else the device was, or what ran between: the audit tells these apart, as a trial does what
 * compared laps were slower by. */
static enum hn_status doubt_search(struct hn_finals *finals, struct hn_race_result *result,
                                   struct hn_error *err)
{
    bool doubtful[HN_FINALIST_LIMIT];
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < result->count; i++)
        doubtful[i] =
            is_doubtful(finals, result, i) || result->records[i].suspicion != HN_SUSPICION_NONE;
    for (size_t i = 0; status == HN_OK && i < result->count; i++) {
        if (!doubtful[i] || hn_session_is_over(finals->session))
            continue;
        struct hn_record verdict;
        struct hn_bench_request request = {.trial = result->records[i].suspicion};
        request.audit = request.audit_memory = request.trial == HN_SUSPICION_NONE;
        hn_record_init(&verdict);
        status = hn_finals_check(finals, i, &request, &verdict, err);
        if (status == HN_OK && verdict.outcome != HN_OUTCOME_OK &&
            verdict.outcome != HN_OUTCOME_SKIPPED)
            hn_record_fail(&result->records[i], verdict.outcome, "%s",
                           verdict.message != NULL ? verdict.message : "failed");
        hn_record_finish(&verdict);
    }
    return status;
}

static enum hn_status take_result(struct hn_finals *finals, struct hn_race_result *result,
                                  bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status = doubt_search(finals, result, err);
    for (size_t i = 0; status == HN_OK && i < result->count; i++) {
        struct hn_record *record = &hn_finals_flight(finals, i)->record;
        if (result->records[i].outcome != HN_OUTCOME_OK) {
            status =
                hn_finals_fall(finals, i, &result->records[i], "(in the final race)", again, err);
            continue;
        }
        if (result->rounds == 0)
            continue;
        status = take_timing(record, result->samples + i * result->rounds, result->rounds,
                             &result->records[i], err);
        if (status == HN_OK)
            status = hn_metrics_evaluate(session->task->plan, session->task->problem, record, err);
        if (status == HN_OK)
            status = hn_session_note_result(session, finals->numbers[i], err);
    }
    finals->raced = result->rounds > 0;
    return status;
}

/* What the race said counts once the best has passed its audit: one that a signal or the clock cut
 * short is run again by the next session. */
static enum hn_status keep_results(const struct hn_finals *finals, bool passed,
                                   struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && finals->raced && i < finals->count; i++) {
        hn_finals_flight(finals, i)->record.final = passed;
        status = passed ? hn_session_keep(finals->session, finals->numbers[i], err)
                        : hn_session_note_result(finals->session, finals->numbers[i], err);
    }
    return status;
}

static enum hn_status race(struct hn_finals *finals, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_racer *racers = calloc(finals->count + 1, sizeof *racers);
    struct hn_race_result result;
    if (racers == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < finals->count; i++)
        racers[i] = (struct hn_racer){&hn_finals_flight(finals, i)->record.point,
                                      &hn_finals_flight(finals, i)->image};
    enum hn_status status =
        session->backend->kind->race(session->backend, racers, finals->count, &result, err);
    free(racers);
    if (status != HN_OK)
        return status;
    status = take_result(finals, &result, again, err);
    hn_race_result_finish(&result);
    return status;
}

static bool are_enough(const struct hn_timing *timing)
{
    bool alike = timing->slowest_us <= processes_alike * timing->fastest_us;
    return timing->processes >= (alike ? PROCESSES_LEAST : PROCESSES_MOST);
}

/* The best again in processes that begin anew: none can tell of itself how much they differ. A tune
 * without time for one, or where none comes up, does without; one that fails is the verdict. */
static enum hn_status measure_processes(struct hn_finals *finals, struct hn_record *verdict,
                                        struct hn_error *err)
{
    struct hn_backend *backend = finals->session->backend;
    struct hn_flight *flight = hn_finals_flight(finals, 0);
    const struct hn_racer best = {&flight->record.point, &flight->image};
    struct hn_timing *timing = &flight->record.timing;
    double medians_us[PROCESSES_MOST];
    enum hn_status status = HN_OK;
    if (backend->kind->measure == NULL || finals->session->options.brief)
        return HN_OK;
    hn_session_show(finals->session, "measuring the best in other processes");
    while (status == HN_OK && verdict->outcome == HN_OUTCOME_OK && !are_enough(timing) &&
           hn_session_left_ms(finals->session) > process_ms) {
        hn_record_finish(verdict);
        status = backend->kind->measure(backend, &best, true, verdict, err);
        if (status == HN_OK && verdict->outcome == HN_OUTCOME_OK)
            hn_timing_add_process(timing, &verdict->timing, medians_us);
    }
    return status == HN_ERUN || hn_session_left_ms(finals->session) <= 0 ? HN_OK : status;
}

enum check { CHECK_PASSED, CHECK_FELL, CHECK_CUT_SHORT };

/* The best is audited, and launched again and again, each time compared. */
static enum hn_status check_best(struct hn_finals *finals, enum check *check, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    double elapsed_ms = hn_now_ms() - session->started_ms;
    const struct hn_bench_request request = {.verify = true,
                                             .audit = true,
                                             .repeat_ms =
                                                 fmax(least_repeat_ms, repeat_share * elapsed_ms)};
    struct hn_record verdict;
    hn_record_init(&verdict);
    enum hn_status status = hn_finals_check(finals, 0, &request, &verdict, err);
    if (status == HN_OK && verdict.outcome == HN_OUTCOME_OK)
        status = measure_processes(finals, &verdict, err);
    bool fell = verdict.outcome != HN_OUTCOME_OK && verdict.outcome != HN_OUTCOME_SKIPPED;
    *check = verdict.outcome == HN_OUTCOME_OK ? CHECK_PASSED : fell ? CHECK_FELL : CHECK_CUT_SHORT;
    if (status == HN_OK && fell)
        status = hn_finals_fall(finals, 0, &verdict, "(after the final race)", &fell, err);
    hn_record_finish(&verdict);
    return status;
}

void hn_finals_sort(struct hn_finals *finals)
{
    qsort_r(finals->numbers, finals->count, sizeof *finals->numbers, hn_session_compare,
            finals->session);
}

static void drop_fallen(struct hn_finals *finals)
{
    size_t left = 0;
    for (size_t i = 0; i < finals->count; i++)
        if (hn_finals_flight(finals, i)->record.outcome == HN_OUTCOME_OK)
            finals->numbers[left++] = finals->numbers[i];
    finals->count = left;
}

/* Whoever is the best after the race has to pass: where one falls, the next one does. */
static enum hn_status find_winner(struct hn_finals *finals, bool *again, struct hn_error *err)
{
    enum check check = CHECK_FELL;
    enum hn_status status = HN_OK;
    drop_fallen(finals);
    hn_finals_sort(finals);
    while (status == HN_OK && check == CHECK_FELL && finals->count > 0 &&
           !hn_session_is_over(finals->session)) {
        status = check_best(finals, &check, err);
        *again = *again || check == CHECK_FELL;
        if (status == HN_OK && check == CHECK_FELL)
            drop_fallen(finals);
    }
    return status == HN_OK ? keep_results(finals, check == CHECK_PASSED, err) : status;
}

static enum hn_status keep_image(struct hn_session *session, const struct hn_flight *flight,
                                 struct hn_error *err)
{
    if (session->store == NULL || flight->image.cubin == NULL)
        return HN_OK;
    char *entries = hn_image_entry_lines(&flight->image);
    if (entries == NULL)
        return hn_fail_memory(err);
    enum hn_status status =
        hn_store_put_image(session->store, session->session_id, &flight->record.point,
                           flight->image.cubin, flight->image.size, entries, err);
    free(entries);
    return status;
}

static enum hn_status keep_images(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < finals->count && i < kept_images; i++)
        status = keep_image(session, hn_finals_flight(finals, i), err);
    return status;
}

/* What the best moves per second is set against a memcpy of as much, in the same run. A plan says
 * how much that is by a metric named bytes. */
static enum hn_status measure_copy(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_value *bytes =
        hn_bindings_get(&hn_finals_flight(finals, 0)->record.metrics, "bytes");
    double moved = bytes != NULL ? hn_value_number(bytes) : 0;
    if (moved < 2 || session->backend->kind->copy_rate == NULL ||
        session->backend->task->plan->pipeline != NULL)
        return HN_OK;
    return session->backend->kind->copy_rate(session->backend, moved / 2,
                                             &session->state.copy_gb_per_s, err);
}

/* What the parts of the best pipeline take alone: its time is set against them. */
static enum hn_status measure_parts(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_flight *flight = hn_finals_flight(finals, 0);
    const struct hn_bench_request request = {.parts = true};
    struct hn_record parts;
    if (session->backend->task->plan->pipeline == NULL)
        return HN_OK;
    hn_session_show(session, "measuring the parts of the best pipeline alone");
    hn_record_init(&parts);
    enum hn_status status = hn_finals_check(finals, 0, &request, &parts, err);
    if (status == HN_OK && parts.outcome == HN_OUTCOME_OK) {
        hn_error_init(err);
        hn_observed_replace(&flight->record.observed, "staging", &parts.observed, err);
        status = hn_failed(err) ? err->status : hn_session_keep(session, finals->numbers[0], err);
    }
    hn_record_finish(&parts);
    return status;
}

static enum hn_status hold(struct hn_finals *finals, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    hn_session_forget_races(session);
    /* Files say what is right for one seed only. */
    bool one_seed = session->task->plan->reference.kind == HN_REFERENCE_FILES;
    if (!one_seed)
        hn_session_show(session, "verifying the finalists on a second seed");
    enum hn_status status = hn_session_prepare(session, err);
    if (status == HN_OK)
        status = hn_finals_ensure_images(finals, err);
    if (status == HN_OK && !one_seed && !hn_session_is_over(session))
        status = verify_again(finals, again, err);
    if (status != HN_OK || *again || finals->count == 0 || hn_session_is_over(session))
        return status;
    hn_session_show(session, "racing the finalists");
    /* The race blocks, and what is pending must not wait for it. */
    status = hn_session_commit(session, err);
    if (status == HN_OK)
        status = race(finals, again, err);
    if (status == HN_OK && !*again && finals->raced && hn_session_weighs(session))
        status = hn_finals_weigh(finals, again, err);
    if (status == HN_OK)
        status = find_winner(finals, again, err);
    if (status == HN_OK && !*again)
        status = keep_images(finals, err);
    if (status == HN_OK && !*again && finals->count > 0 && !hn_session_is_over(session))
        status = measure_copy(finals, err);
    if (status == HN_OK && !*again && finals->count > 0 && !hn_session_is_over(session))
        status = measure_parts(finals, err);
    if (status == HN_OK && !*again)
        status = hn_finals_count(finals, err);
    if (status == HN_OK && !*again && !hn_session_weighs(session))
        status = hn_finals_weigh(finals, again, err);
    return status;
}

enum hn_status hn_session_finals(struct hn_session *session, bool *again, struct hn_error *err)
{
    struct hn_finals finals = {.session = session};
    bool settled = false;
    *again = false;
    if (session->backend->kind->race == NULL)
        return hn_session_find_best(session, err);
    enum hn_status status = hn_session_is_settled(session, &settled, err);
    if (status == HN_OK && settled && session->options.energy_s > 0) {
        status = hn_session_find_best(session, err);
        settled = !hn_finals_lack_energy(session);
    }
    if (status == HN_OK && settled && session->options.counters)
        status = hn_finals_count_again(&finals, err);
    if (status == HN_OK && !settled)
        status = hn_finals_gather(&finals, err);
    if (status == HN_OK && !settled && finals.count > 0)
        status = hold(&finals, again, err);
    /* The finals leave the second seed's inputs behind. */
    if (status == HN_OK && *again && !hn_session_is_over(session))
        status = session->backend->kind->reseed(session->backend, session->options.seed, err);
    let_go(&finals);
    /* Finals that were cut short may have made finalists fall. */
    if (status != HN_OK && status != HN_EINTERRUPTED)
        return status;
    enum hn_status found = hn_session_find_best(session, err);
    return found == HN_OK ? status : found;
}
