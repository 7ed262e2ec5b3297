/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/run.h"
#include "base/statistics.h"
#include "runtime/bench/observe/observers.h"
#include "runtime/plan/launch.h"
#include "tuner/session/session_internal.h"

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

/* Of so many of the best. */
static const size_t counted_finalists = 5;

/* The field of the finals. */
struct finals {
    struct hn_session *session;
    size_t numbers[HN_FINALIST_LIMIT]; /* tickets that are left */
    size_t count;
    size_t held[HN_FINALIST_LIMIT]; /* all that there were */
    size_t held_count;
    bool raced; /* their times are the race's */
    bool again; /* one fell, and others may be among the best now */
};

static struct hn_flight *flight_of(const struct finals *finals, size_t i)
{
    return finals->session->tickets.items[finals->numbers[i]].flight;
}

/* --- the field -------------------------------------------------------------------------------- */

static void gather(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    finals->held_count = hn_session_pick_finalists(session, finals->held, err);
    for (size_t i = 0; i < finals->held_count; i++) {
        struct hn_flight *flight = hn_session_recall(session, finals->held[i], err);
        finals->numbers[i] = finals->held[i];
        if (flight != NULL)
            flight->held = true;
    }
    finals->count = hn_failed(err) ? 0 : finals->held_count;
}

static void let_go(struct finals *finals)
{
    for (size_t i = 0; i < finals->held_count; i++) {
        struct hn_flight *flight = finals->session->tickets.items[finals->held[i]].flight;
        if (flight != NULL)
            flight->held = false;
        hn_session_release(finals->session, finals->held[i]);
    }
}

static void sort(struct finals *finals)
{
    qsort_r(finals->numbers, finals->count, sizeof *finals->numbers, hn_session_compare,
            finals->session);
}

static void drop_fallen(struct finals *finals)
{
    size_t left = 0;
    for (size_t i = 0; i < finals->count; i++)
        if (flight_of(finals, i)->record.outcome == HN_OUTCOME_OK)
            finals->numbers[left++] = finals->numbers[i];
    finals->count = left;
}

/* Waits for an event of this kind; other kinds belong to what is measured after all. False when a
 * signal came or the time is up. */
static bool wait_for(struct finals *finals, enum hn_event_kind kind, struct hn_backend_event *event,
                     struct hn_error *err)
{
    while (!hn_failed(err)) {
        hn_session_step(finals->session, event, err);
        if (!hn_failed(err) && event->kind == kind)
            return true;
        hn_session_take_event(finals->session, event, err);
        if (hn_session_is_over(finals->session))
            break;
    }
    return false;
}

static void ensure_images(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    size_t wanted = 0;
    for (size_t i = 0; i < finals->count; i++) {
        if (flight_of(finals, i)->image.cubin != NULL)
            continue;
        hn_session_start(session, finals->numbers[i], INFINITY, NULL, err);
        wanted++;
    }
    for (; wanted > 0 && !hn_session_is_over(session); wanted--) {
        struct hn_backend_event event;
        if (!wait_for(finals, HN_EVENT_COMPILED, &event, err))
            return;
        struct hn_flight *flight = session->tickets.items[event.ticket].flight;
        hn_image_finish(&flight->image);
        flight->image = event.image;
    }
}

/* --- who falls -------------------------------------------------------------------------------- */

/* What the fallen point had stopped early was stopped without reason: it is measured in full. */
static void measure_again(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    if (hn_session_recall(session, number, err) == NULL)
        return;
    session->state.counts[HN_OUTCOME_SLOWER]--;
    session->state.finished--;
    session->state.reused -= ticket->cached;
    hn_session_reopen(ticket);
    if (session->way.next_settled > number)
        session->way.next_settled = number;
    if (session->way.next_dispatch > number)
        session->way.next_dispatch = number;
    hn_session_start(session, number, INFINITY, NULL, err);
}

static void fail_ticket(struct hn_session *session, size_t number, enum hn_outcome outcome,
                        const char *message, struct hn_error *err)
{
    struct hn_flight *flight = hn_session_recall(session, number, err);
    if (flight == NULL || hn_failed(err))
        return;
    struct hn_record *record = &flight->record;
    session->state.counts[record->outcome]--;
    session->state.counts[outcome]++;
    hn_record_fail(record, outcome, "%s", message);
    record->final = false;
    record->time = hn_session_epoch_s();
    hn_session_keep(session, number, err);
    if (!hn_failed(err))
        hn_session_note_result(session, number);
}

/* Settles what was held against a fallen ticket's point: its duplicates fall with it. */
static void settle_fall(struct hn_session *session, size_t fallen, struct hn_error *err)
{
    const struct hn_record *record = &session->tickets.items[fallen].flight->record;
    uint32_t point = session->tickets.items[fallen].point;
    for (size_t i = 0; !hn_failed(err) && i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state != HN_TICKET_FINISHED || ticket->replayed ||
            ticket->result.against != point)
            continue;
        if (ticket->result.outcome == HN_OUTCOME_SLOWER) {
            measure_again(session, i, err);
        } else if (ticket->result.outcome == HN_OUTCOME_DUPLICATE) {
            fail_ticket(session, i, record->outcome, record->message, err);
            hn_session_release(session, i);
        }
    }
}

static bool is_failure(const struct hn_record *verdict)
{
    return verdict->outcome != HN_OUTCOME_OK && verdict->outcome != HN_OUTCOME_SKIPPED;
}

static const char *message_of(const struct hn_record *verdict)
{
    return verdict->message != NULL ? verdict->message : "failed";
}

static void fall(struct finals *finals, size_t i, const struct hn_record *verdict,
                 const char *where, struct hn_error *err)
{
    char *message = NULL;
    if (hn_failed(err))
        return;
    if (asprintf(&message, "%s %s", message_of(verdict), where) < 0)
        hn_needed(NULL);
    finals->again = true;
    fail_ticket(finals->session, finals->numbers[i], verdict->outcome, message, err);
    free(message);
    settle_fall(finals->session, finals->numbers[i], err);
}

static void evaluate(struct finals *finals, size_t i, const struct hn_bench_request *request,
                     struct hn_record *verdict, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_flight *flight = flight_of(finals, i);
    struct hn_backend_event event;
    hn_record_init(verdict);
    verdict->outcome = HN_OUTCOME_SKIPPED;
    if (hn_failed(err))
        return;
    if (flight->image.cubin == NULL) {
        hn_record_fail(verdict, flight->image.outcome, "%s",
                       flight->image.message != NULL ? flight->image.message : "no message");
        return;
    }
    hn_session_start(session, finals->numbers[i], INFINITY, request, err);
    if (wait_for(finals, HN_EVENT_EVALUATED, &event, err))
        *verdict = event.record;
    if (verdict->suspicion != HN_SUSPICION_NONE)
        flight->record.suspicion = verdict->suspicion;
}

/* --- the second seed -------------------------------------------------------------------------- */

static void reseed(struct hn_session *session, uint64_t seed, struct hn_error *err)
{
    struct hn_run run = {.kind = HN_RUN_RESEED, .seed = seed};
    if (!hn_failed(err))
        session->backend->kind->run(session->backend, &run, err);
}

/* Verifies all finalists on a second seed, which nobody could prepare for; those that fail leave
 * the field. Where the time is short the race gets half of what is left, and who was not verified
 * by then leaves it too, the best being the first that are. */
static void verify_again(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_bench_request request = {.verify = true};
    double race_ms = hn_session_left_ms(session) / 2;
    struct hn_random secret;
    if (hn_failed(err) || hn_random_seed_secretly(&secret, err) != HN_OK)
        return;
    /* As --seed takes it. */
    uint64_t seed = hn_random_below(&secret, INT64_MAX);
    reseed(session, seed, err);
    size_t left = 0;
    bool skipped = false;
    for (size_t i = 0;
         !hn_failed(err) && !skipped && i < finals->count && !hn_session_is_over(session) &&
         (left == 0 || hn_session_left_ms(session) >= race_ms);
         i++) {
        struct hn_flight *flight = flight_of(finals, i);
        struct hn_record verdict;
        evaluate(finals, i, &request, &verdict, err);
        skipped = verdict.outcome == HN_OUTCOME_SKIPPED;
        if (verdict.outcome == HN_OUTCOME_OK) {
            flight->record.verdict.seeds = 2;
            flight->record.verdict.launches += verdict.verdict.launches;
            finals->numbers[left++] = finals->numbers[i];
        } else if (!skipped) {
            char where[64];
            snprintf(where, sizeof where, "(on the second seed, %llu)", (unsigned long long)seed);
            fall(finals, i, &verdict, where, err);
        }
        hn_record_finish(&verdict);
    }
    finals->count = left;
}

/* --- the race --------------------------------------------------------------------------------- */

/* The race's samples become the timing; so does what the host's clock said of it. */
static void take_timing(struct hn_record *record, struct hn_record *raced, struct hn_error *err)
{
    struct hn_timing *timing = &record->timing;
    double sorted[HN_RACE_MOST_ROUNDS];
    size_t rounds = raced->timing.sample_count;
    memcpy(sorted, raced->timing.samples_us, rounds * sizeof *sorted);
    struct hn_interval interval =
        hn_interval_widen(hn_interval_of(sorted, rounds), timing->resolution_us);
    free(timing->samples_us);
    timing->samples_us = raced->timing.samples_us;
    raced->timing.samples_us = NULL;
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
    hn_observed_replace(&record->observed, "conditions", &raced->observed, err);
}

static double race_median(const struct hn_record *raced)
{
    double sorted[HN_RACE_MOST_ROUNDS];
    size_t rounds = raced->timing.sample_count;
    memcpy(sorted, raced->timing.samples_us, rounds * sizeof *sorted);
    return hn_median(sorted, rounds);
}

/* How much longer than in the search a racer may have taken: as the one of the others that was
 * least slowed, and some more. Alone it may have been slowed by a lower clock. */
static double credible_slowdown(const struct finals *finals, const struct hn_racer *racers,
                                size_t racer)
{
    double least = INFINITY;
    for (size_t i = 0; i < finals->count; i++) {
        double searched_us = flight_of(finals, i)->record.timing.median_us;
        if (i != racer && racers[i].record.outcome == HN_OUTCOME_OK && searched_us > 0)
            least = fmin(least, race_median(&racers[i].record) / searched_us);
    }
    return fmin(most_slowed * fmax(least, 1), most_slowed_alone);
}

/* The race is run on inputs that are new in every round: who is slower there may have known those
 * of the search. */
static bool is_doubtful(const struct finals *finals, const struct hn_racer *racers, size_t i)
{
    const struct hn_record *searched = &flight_of(finals, i)->record;
    const struct hn_record *raced = &racers[i].record;
    if (raced->suspicion != HN_SUSPICION_NONE)
        return true;
    return !searched->final && raced->timing.sample_count > 0 && raced->outcome == HN_OUTCOME_OK &&
           race_median(raced) > credible_slowdown(finals, racers, i) * searched->timing.high_us;
}

/* Or else the device was, or what ran between: the audit tells these apart, as a trial does what
 * compared laps were slower by. */
static void doubt_search(struct finals *finals, struct hn_racer *racers, struct hn_error *err)
{
    bool doubtful[HN_FINALIST_LIMIT];
    for (size_t i = 0; i < finals->count; i++)
        doubtful[i] = is_doubtful(finals, racers, i);
    for (size_t i = 0; !hn_failed(err) && i < finals->count; i++) {
        struct hn_record *raced = &racers[i].record;
        if (!doubtful[i] || hn_session_is_over(finals->session))
            continue;
        struct hn_record verdict;
        struct hn_bench_request request = {.trial = raced->suspicion};
        if (request.trial == HN_SUSPICION_NONE)
            snprintf(request.observe, sizeof request.observe, "audit=2");
        evaluate(finals, i, &request, &verdict, err);
        if (is_failure(&verdict))
            hn_record_fail(raced, verdict.outcome, "%s", message_of(&verdict));
        hn_record_finish(&verdict);
    }
}

static void take_race(struct finals *finals, struct hn_racer *racers, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    doubt_search(finals, racers, err);
    for (size_t i = 0; !hn_failed(err) && i < finals->count; i++) {
        struct hn_record *record = &flight_of(finals, i)->record;
        struct hn_record *raced = &racers[i].record;
        if (raced->outcome != HN_OUTCOME_OK) {
            fall(finals, i, raced, "(in the final race)", err);
            continue;
        }
        if (raced->timing.sample_count == 0)
            continue;
        take_timing(record, raced, err);
        finals->raced = true;
        if (!hn_failed(err) &&
            hn_metrics_evaluate(session->task->plan, session->task->problem, record, err) == HN_OK)
            hn_session_note_result(session, finals->numbers[i]);
    }
}

static void race(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_racer racers[HN_FINALIST_LIMIT];
    struct hn_run run = {.kind = HN_RUN_RACE, .racers = racers, .racer_count = finals->count};
    for (size_t i = 0; i < finals->count; i++) {
        racers[i].point = &flight_of(finals, i)->record.point;
        racers[i].image = &flight_of(finals, i)->image;
        hn_record_init(&racers[i].record);
    }
    /* The race blocks, and what is pending must not wait for it. */
    hn_session_commit(session, err);
    if (!hn_failed(err))
        session->backend->kind->run(session->backend, &run, err);
    if (!hn_failed(err))
        take_race(finals, racers, err);
    for (size_t i = 0; i < run.racer_count; i++)
        hn_record_finish(&racers[i].record);
}

/* --- counters --------------------------------------------------------------------------------- */

/* What the GPU counts of a finalist's launch; why it can not is told once. */
static void read_counters_of(struct finals *finals, size_t i, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_record *record = &flight_of(finals, i)->record;
    const struct hn_bench_request request = {.observe = "counters"};
    struct hn_record counted;
    evaluate(finals, i, &request, &counted, err);
    if (!hn_failed(err) && counted.outcome == HN_OUTCOME_OK &&
        hn_observed_any(&counted.observed, "counters")) {
        hn_observed_replace(&record->observed, "counters", &counted.observed, err);
        hn_session_keep(session, finals->numbers[i], err);
    } else if (!hn_failed(err) && counted.outcome != HN_OUTCOME_SKIPPED) {
        snprintf(session->state.no_counters, sizeof session->state.no_counters, "%s",
                 counted.message != NULL ? counted.message : "nothing was counted");
    }
    hn_record_finish(&counted);
}

static void read_counters(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    if (hn_failed(err) || !session->options.counters)
        return;
    hn_session_show(session, "reading the counters of the finalists");
    for (size_t i = 0; !hn_failed(err) && i < finals->count && i < counted_finalists &&
                       session->state.no_counters[0] == '\0' && !hn_session_is_over(session);
         i++)
        if (!hn_observed_any(&flight_of(finals, i)->record.observed, "counters"))
            read_counters_of(finals, i, err);
}

static void read_counters_again(struct finals *finals, struct hn_error *err)
{
    bool known = true;
    gather(finals, err);
    sort(finals);
    finals->count = finals->count < counted_finalists ? finals->count : counted_finalists;
    for (size_t i = 0; i < finals->count; i++)
        known = known && hn_observed_any(&flight_of(finals, i)->record.observed, "counters");
    if (known)
        return;
    hn_session_prepare(finals->session, err);
    ensure_images(finals, err);
    read_counters(finals, err);
}

/* --- energy ----------------------------------------------------------------------------------- */

static bool has_fallen(const struct finals *finals, size_t i)
{
    return flight_of(finals, i)->record.outcome != HN_OUTCOME_OK;
}

/* A window of one; false where there was none. */
static bool weigh_one(struct finals *finals, size_t i, struct hn_error *err)
{
    struct hn_bench_request request = {.verify = false};
    struct hn_record verdict;
    snprintf(request.observe, sizeof request.observe, "energy=%.17g",
             finals->session->options.energy_s);
    evaluate(finals, i, &request, &verdict, err);
    bool told = !hn_failed(err) && hn_observed_any(&verdict.observed, "energy");
    if (told)
        hn_observers_add("energy", &flight_of(finals, i)->record.observed, &verdict.observed, err);
    bool falls = is_failure(&verdict) && hn_session_weighs(finals->session);
    if (falls)
        fall(finals, i, &verdict, "(while its energy was measured)", err);
    hn_record_finish(&verdict);
    return told || falls;
}

/* One window of each, then another one in the order reversed, so that what warms up or cools down
 * meanwhile adds as much to all. */
static void weigh(struct finals *finals, size_t count, struct hn_error *err)
{
    bool told = true;
    for (size_t i = 0; i < count; i++)
        hn_observed_drop(&flight_of(finals, i)->record.observed, "energy");
    for (size_t i = 0; !hn_failed(err) && told && i < 2 * count; i++) {
        size_t place = i < count ? i : 2 * count - 1 - i;
        if (hn_session_is_over(finals->session))
            break;
        if (!has_fallen(finals, place))
            told = weigh_one(finals, place, err);
    }
}

/* Where energy is the objective: no race counts in which not all were weighed. */
static void take_joules(struct finals *finals, struct hn_error *err)
{
    const struct hn_task *task = finals->session->task;
    for (size_t i = 0; !hn_failed(err) && i < finals->count; i++) {
        struct hn_record *record = &flight_of(finals, i)->record;
        if (has_fallen(finals, i))
            continue;
        finals->raced = finals->raced && hn_observed_any(&record->observed, "energy");
        if (hn_metrics_evaluate(task->plan, task->problem, record, err) == HN_OK)
            hn_session_note_result(finals->session, finals->numbers[i]);
    }
}

static void weigh_finalists(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    bool decides = hn_session_weighs(session);
    size_t count = finals->count < HN_WEIGHED_LIMIT ? finals->count : HN_WEIGHED_LIMIT;
    bool weighed = false;
    if (hn_failed(err) || session->options.energy_s <= 0 || count == 0 ||
        hn_session_is_over(session))
        return;
    hn_session_show(session, "measuring the energy of the finalists");
    weigh(finals, count, err);
    for (size_t i = 0; !hn_failed(err) && i < count; i++) {
        struct hn_bindings *observed = &flight_of(finals, i)->record.observed;
        /* Of a single window it is not known what it is worth. */
        if (hn_observed(observed, "energy.windows") < 2)
            hn_observed_drop(observed, "energy");
        else if (!decides)
            hn_session_keep(session, finals->numbers[i], err);
        weighed = weighed || hn_observed_any(observed, "energy");
    }
    session->state.unweighed = !weighed && !hn_session_is_over(session);
    if (decides)
        take_joules(finals, err);
}

static bool lacks_energy(const struct hn_session *session)
{
    return session->options.energy_s > 0 && session->state.best != NULL &&
           !hn_observed_any(&session->state.best->observed, "energy");
}

/* --- copies and parts ------------------------------------------------------------------------- */

/* A plan says how much the best moves by a metric named bytes. */
static void measure_copy(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    if (finals->count == 0 || hn_session_is_over(session) || session->task->plan->pipeline != NULL)
        return;
    const struct hn_value *bytes = hn_bindings_get(&flight_of(finals, 0)->record.metrics, "bytes");
    double moved = bytes != NULL ? hn_value_number(bytes) : 0;
    struct hn_run run = {.kind = HN_RUN_COPY, .bytes = moved / 2};
    if (moved < 2)
        return;
    session->backend->kind->run(session->backend, &run, err);
    session->state.copy_gb_per_s = run.gb_per_s;
}

static void measure_parts(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_bench_request request = {.observe = "staging"};
    struct hn_record parts;
    if (finals->count == 0 || hn_session_is_over(session) || session->task->plan->pipeline == NULL)
        return;
    hn_session_show(session, "measuring the parts of the best pipeline alone");
    evaluate(finals, 0, &request, &parts, err);
    if (!hn_failed(err) && parts.outcome == HN_OUTCOME_OK) {
        hn_observed_replace(&flight_of(finals, 0)->record.observed, "staging", &parts.observed,
                            err);
        hn_session_keep(session, finals->numbers[0], err);
    }
    hn_record_finish(&parts);
}

static void weigh_deciding(struct finals *finals, struct hn_error *err)
{
    if (finals->raced && hn_session_weighs(finals->session))
        weigh_finalists(finals, err);
}

/* --- the winner ------------------------------------------------------------------------------- */

/* What the race said counts once the best has passed its audit: one that a signal or the clock cut
 * short is run again by the next session. */
static void keep_results(const struct finals *finals, bool passed, struct hn_error *err)
{
    for (size_t i = 0; !hn_failed(err) && finals->raced && i < finals->count; i++) {
        flight_of(finals, i)->record.final = passed;
        if (passed)
            hn_session_keep(finals->session, finals->numbers[i], err);
        else
            hn_session_note_result(finals->session, finals->numbers[i]);
    }
}

static bool are_enough(const struct hn_timing *timing)
{
    bool alike = timing->slowest_us <= processes_alike * timing->fastest_us;
    return timing->processes >= (alike ? PROCESSES_LEAST : PROCESSES_MOST);
}

/* The best again in processes that begin anew: none can tell of itself how much they differ. A tune
 * without time for one, or where none comes up, does without; one that fails is the verdict. */
static void measure_processes(struct finals *finals, struct hn_record *verdict,
                              struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_flight *flight = flight_of(finals, 0);
    struct hn_racer best = {.point = &flight->record.point, .image = &flight->image};
    struct hn_timing *timing = &flight->record.timing;
    double medians_us[PROCESSES_MOST];
    struct hn_error reason;
    hn_error_init(&reason);
    if (hn_failed(err) || session->options.brief)
        return;
    hn_session_show(session, "measuring the best in other processes");
    while (!hn_failed(&reason) && verdict->outcome == HN_OUTCOME_OK && !are_enough(timing) &&
           hn_session_left_ms(session) > process_ms) {
        struct hn_run run = {
            .kind = HN_RUN_MEASURE, .racers = &best, .racer_count = 1, .anew = true};
        hn_record_finish(verdict);
        hn_record_init(&best.record);
        session->backend->kind->run(session->backend, &run, &reason);
        *verdict = best.record;
        if (!hn_failed(&reason) && verdict->outcome == HN_OUTCOME_OK)
            hn_timing_add_process(timing, &verdict->timing, medians_us);
    }
    if (hn_failed(&reason) && reason.status != HN_ERUN && hn_session_left_ms(session) > 0)
        *err = reason;
}

enum check { CHECK_PASSED, CHECK_FELL, CHECK_CUT_SHORT };

/* The best is audited, and launched again and again, each time compared. */
static enum check check_best(struct finals *finals, struct hn_error *err)
{
    double elapsed_ms = hn_now_ms() - finals->session->state.started_ms;
    const struct hn_bench_request request = {.verify = true,
                                             .observe = "audit",
                                             .repeat_ms =
                                                 fmax(least_repeat_ms, repeat_share * elapsed_ms)};
    struct hn_record verdict;
    evaluate(finals, 0, &request, &verdict, err);
    if (verdict.outcome == HN_OUTCOME_OK)
        measure_processes(finals, &verdict, err);
    enum check check = verdict.outcome == HN_OUTCOME_OK ? CHECK_PASSED
                       : is_failure(&verdict)           ? CHECK_FELL
                                                        : CHECK_CUT_SHORT;
    if (check == CHECK_FELL)
        fall(finals, 0, &verdict, "(after the final race)", err);
    hn_record_finish(&verdict);
    return check;
}

/* Whoever is the best after the race has to pass: where one falls, the next one does. */
static void find_winner(struct finals *finals, struct hn_error *err)
{
    enum check check = CHECK_FELL;
    drop_fallen(finals);
    sort(finals);
    while (!hn_failed(err) && check == CHECK_FELL && finals->count > 0 &&
           !hn_session_is_over(finals->session)) {
        check = check_best(finals, err);
        if (!hn_failed(err) && check == CHECK_FELL)
            drop_fallen(finals);
    }
    keep_results(finals, check == CHECK_PASSED, err);
}

static void keep_images(struct finals *finals, struct hn_error *err)
{
    const struct hn_session *session = finals->session;
    for (size_t i = 0; !hn_failed(err) && i < finals->count && i < kept_images; i++) {
        const struct hn_flight *flight = flight_of(finals, i);
        if (session->store == NULL || flight->image.cubin == NULL)
            continue;
        char *entries = hn_needed(hn_image_entry_lines(&flight->image));
        err->status = hn_store_put_image(session->store, session->session_id, &flight->record.point,
                                         flight->image.cubin, flight->image.size, entries, err);
        free(entries);
    }
}

static void weigh_all(struct finals *finals, struct hn_error *err)
{
    if (!hn_session_weighs(finals->session))
        weigh_finalists(finals, err);
}

/* --- the phases ------------------------------------------------------------------------------- */

/* Of those that are left on the second seed, in this order. */
static const struct {
    const char *shows;
    bool always; /* also once a finalist fell */
    void (*run)(struct finals *finals, struct hn_error *err);
} phases[] = {
    {"racing the finalists", false, race},
    {NULL, false, weigh_deciding},
    {NULL, true, find_winner},
    {NULL, false, keep_images},
    {NULL, false, measure_copy},
    {NULL, false, measure_parts},
    {NULL, false, read_counters},
    {NULL, false, weigh_all},
};

static void hold(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    hn_session_forget_races(session);
    /* Files say what is right for one seed only. */
    bool one_seed = session->task->plan->reference.kind == HN_REFERENCE_FILES;
    if (!one_seed)
        hn_session_show(session, "verifying the finalists on a second seed");
    hn_session_prepare(session, err);
    ensure_images(finals, err);
    if (!one_seed && !hn_session_is_over(session))
        verify_again(finals, err);
    if (finals->again || finals->count == 0 || hn_session_is_over(session))
        return;
    for (size_t i = 0; i < sizeof phases / sizeof phases[0] && !hn_failed(err); i++) {
        if (finals->again && !phases[i].always)
            continue;
        if (phases[i].shows != NULL)
            hn_session_show(session, phases[i].shows);
        phases[i].run(finals, err);
    }
}

bool hn_session_finals(struct hn_session *session, struct hn_error *err)
{
    struct finals finals = {.session = session};
    struct hn_error found;
    if (hn_failed(err))
        return false;
    hn_error_init(&found);
    if (session->backend->simulated) {
        hn_session_find_best(session, err);
        return false;
    }
    bool settled = hn_session_is_settled(session, err);
    if (settled && session->options.energy_s > 0) {
        hn_session_find_best(session, err);
        settled = !lacks_energy(session);
    }
    if (settled && session->options.counters)
        read_counters_again(&finals, err);
    if (!settled)
        gather(&finals, err);
    if (!settled && finals.count > 0)
        hold(&finals, err);
    /* The finals leave the second seed's inputs behind. */
    if (finals.again && !hn_session_is_over(session))
        reseed(session, session->options.seed, err);
    let_go(&finals);
    /* Finals that were cut short may have made finalists fall. */
    if (hn_failed(err) && err->status != HN_EINTERRUPTED)
        return false;
    hn_session_find_best(session, &found);
    if (hn_failed(&found))
        *err = found;
    return finals.again;
}
