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
/* The counters of so many of the best are read. */
static const size_t counted_finalists = 5;

/* So many race that are as near: the best may have been measured at higher clocks, after a wait. */
enum { FINALISTS_LEAST = 4 };

static const struct hn_result *result_at(const struct hn_session *session, size_t number)
{
    return &session->tickets.items[number].result;
}

/* Where energy is the objective all are weighed, for some seconds each. */
static size_t limit_of(const struct hn_session *session)
{
    return session->weighs ? HN_WEIGHED_LIMIT : HN_FINALIST_LIMIT;
}

/* This decides who becomes a finalist. Energy is measured of the finalists only, so that where it
 * is the objective those come near the best who are as fast. */
static double merit_of(const struct hn_session *session, size_t number)
{
    const struct hn_result *result = result_at(session, number);
    return session->weighs ? result->median_us : result->objective;
}

/* Whether a result's interval overlaps the best's, widened by what times differ by that were taken
 * at different moments, or on different cards. Objectives other than time scale with the relative
 * width of the time's interval. */
static bool overlaps(const struct hn_session *session, size_t number, double merit,
                     const struct hn_timing *timing)
{
    double low = result_at(session, number)->low;
    double noise = session->state.noise + session->backend->spread;
    double reach = (timing->high_us / timing->median_us - 1) + (1 - low) + noise;
    return fabs(merit_of(session, number) - merit) <= reach * fabs(merit);
}

static bool is_before(const struct hn_session *session, size_t a, size_t b)
{
    double own = merit_of(session, a), other = merit_of(session, b);
    return own != other ? own < other : hn_session_compare(&a, &b, (void *)session) < 0;
}

/* The best of all that are ok, in order. */
static size_t pick_best(const struct hn_session *session, size_t *numbers)
{
    size_t count = 0;
    const size_t limit = limit_of(session);
    for (size_t i = 0; i < session->tickets.count; i++) {
        if (!hn_ticket_is_ok(&session->tickets.items[i]))
            continue;
        size_t place = count;
        while (place > 0 && is_before(session, i, numbers[place - 1]))
            place--;
        if (place == limit)
            continue;
        count += count < limit;
        memmove(&numbers[place + 1], &numbers[place], (count - 1 - place) * sizeof *numbers);
        numbers[place] = i;
    }
    return count;
}

/* The winner of the last race takes part again, if as the last: those who look better by their
 * times of the search are to meet it. */
static size_t invite_winner(const struct hn_session *session, size_t *numbers, size_t count)
{
    size_t best = SIZE_MAX, place = 0;
    for (size_t i = 0; i < session->tickets.count; i++)
        if (hn_ticket_is_ok(&session->tickets.items[i]) && result_at(session, i)->final &&
            (best == SIZE_MAX || hn_session_compare(&i, &best, (void *)session) < 0))
            best = i;
    while (place < count && numbers[place] != best)
        place++;
    if (best == SIZE_MAX || place < count)
        return count;
    count -= count == limit_of(session);
    numbers[count] = best;
    return count + 1;
}

static size_t pick_finalists(struct hn_session *session, size_t *numbers, struct hn_error *err)
{
    struct hn_record best HN_ENDED_BY(hn_record_finish) = {0};
    size_t found = hn_failed(err) ? 0 : pick_best(session, numbers);
    size_t count = 1;
    if (found == 0)
        return 0;
    hn_session_record(session, numbers[0], &best, err);
    double merit = merit_of(session, numbers[0]);
    double within = session->options.race_within;
    while (count < found &&
           (overlaps(session, numbers[count], merit, &best.timing) ||
            merit_of(session, numbers[count]) - merit <=
                fabs(merit) * (count < FINALISTS_LEAST ? fmax(HN_RACE_SHIFT, within) : within)))
        count++;
    return invite_winner(session, numbers, count);
}

/* The best of the raced ones; SIZE_MAX when none was. *time: when the newest race was. *room: for
 * so many more. */
static size_t find_raced(const struct hn_session *session, double *time, size_t *room)
{
    size_t best = SIZE_MAX;
    *time = 0;
    *room = limit_of(session);
    for (size_t i = 0; i < session->tickets.count; i++) {
        if (!hn_ticket_is_ok(&session->tickets.items[i]) || !result_at(session, i)->final)
            continue;
        *time = fmax(*time, result_at(session, i)->time);
        *room -= *room > 0;
        if (best == SIZE_MAX || merit_of(session, i) < merit_of(session, best))
            best = i;
    }
    return best;
}

/* Whether a point was measured after the race, or is so much better than the best of it that it
 * belongs into one. A race shifts times a little, so that one it left out may be better now. */
static bool challenges(const struct hn_session *session, size_t number, size_t raced,
                       const struct hn_timing *timing, double race_time, bool has_room)
{
    const struct hn_result *result = result_at(session, number);
    double merit = merit_of(session, raced), asked = session->options.race_within;
    double lead = (merit - merit_of(session, number)) / fabs(merit);
    double shift = HN_RACE_SHIFT + timing->resolution_us / timing->median_us;
    if (result->outcome != HN_OUTCOME_OK || result->final)
        return false;
    /* Who asked for the session may want such as these to race. */
    if (has_room && asked > 0 && -lead <= asked)
        return true;
    if (lead < 0 && !overlaps(session, number, merit, timing))
        return false;
    return result->time >= race_time || lead > shift;
}

static bool is_unchallenged(const struct hn_session *session, struct hn_error *err)
{
    double time;
    struct hn_record best HN_ENDED_BY(hn_record_finish) = {0};
    bool challenged = false;
    size_t room, raced = find_raced(session, &time, &room);
    if (session->fresh || hn_failed(err) || raced == SIZE_MAX ||
        hn_session_record(session, raced, &best, err) != HN_OK)
        return false;
    for (size_t i = 0; !challenged && i < session->tickets.count; i++)
        challenged = challenges(session, i, raced, &best.timing, time, room > 0);
    return !challenged;
}

/* The field of the finals. */
struct finals {
    struct hn_session *session;
    size_t numbers[HN_FINALIST_LIMIT]; /* tickets that are left */
    size_t count;
    bool raced; /* their times are the race's */
    bool again; /* one fell, and others may be among the best now */
};

static struct hn_flight *flight_of(const struct finals *finals, size_t i)
{
    return finals->session->tickets.items[finals->numbers[i]].flight;
}

static struct hn_record *record_of(const struct finals *finals, size_t i)
{
    return &flight_of(finals, i)->record;
}

static void gather(struct finals *finals, struct hn_error *err)
{
    size_t count = pick_finalists(finals->session, finals->numbers, err);
    for (size_t i = 0; i < count; i++) {
        struct hn_flight *flight = hn_session_recall(finals->session, finals->numbers[i], err);
        if (flight != NULL)
            flight->held = true;
    }
    finals->count = hn_failed(err) ? 0 : count;
}

static bool has_fallen(const struct finals *finals, size_t i)
{
    return record_of(finals, i)->outcome != HN_OUTCOME_OK;
}

/* The others stand in their order, the best first. */
static void drop_fallen(struct finals *finals)
{
    size_t left = 0;
    for (size_t i = 0; i < finals->count; i++)
        if (!has_fallen(finals, i))
            finals->numbers[left++] = finals->numbers[i];
    finals->count = left;
    qsort_r(finals->numbers, left, sizeof *finals->numbers, hn_session_compare, finals->session);
}

/* Waits for an event of this kind; other kinds belong to what is measured after all. False when a
 * signal came or the time is up. */
static bool wait_for(struct hn_session *session, enum hn_event_kind kind,
                     struct hn_backend_event *event, struct hn_error *err)
{
    while (!hn_failed(err)) {
        hn_session_step(session, event, err);
        if (!hn_failed(err) && event->kind == kind)
            return true;
        hn_session_take_event(session, event, err);
        if (hn_session_is_over(session))
            break;
    }
    return false;
}

static void ensure_images(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_backend_event event;
    size_t wanted = 0;
    for (size_t i = 0; i < finals->count; i++) {
        if (flight_of(finals, i)->image.cubin != NULL)
            continue;
        hn_session_start(session, finals->numbers[i], INFINITY, NULL, err);
        wanted++;
    }
    for (; wanted > 0 && !hn_session_is_over(session) &&
           wait_for(session, HN_EVENT_COMPILED, &event, err);
         wanted--) {
        struct hn_image *image = &session->tickets.items[event.ticket].flight->image;
        hn_image_finish(image);
        *image = event.image;
    }
}

/* The fallen point stopped this one early without reason: it is compiled and measured in full. */
static void measure_again(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    struct hn_flight *flight = hn_session_recall(session, number, err);
    if (flight == NULL)
        return;
    session->state.counts[HN_OUTCOME_SLOWER]--;
    session->state.finished--;
    session->state.reused -= ticket->cached;
    struct hn_bindings point = flight->record.point;
    flight->record.point = (struct hn_bindings){0};
    hn_record_finish(&flight->record);
    flight->record.point = point;
    flight->compiling_since_ms = hn_now_ms();
    ticket->cached = false;
    ticket->full = true;
    ticket->state = HN_TICKET_COMPILING;
    if (session->next_settled > number)
        session->next_settled = number;
    if (session->next_dispatch > number)
        session->next_dispatch = number;
    hn_session_start(session, number, INFINITY, NULL, err);
}

static void fail_ticket(struct hn_session *session, size_t number, enum hn_outcome outcome,
                        const char *message, const char *where, struct hn_error *err)
{
    struct hn_flight *flight = hn_session_recall(session, number, err);
    if (flight == NULL || hn_failed(err))
        return;
    struct hn_record *record = &flight->record;
    session->state.counts[record->outcome]--;
    session->state.counts[outcome]++;
    hn_record_fail(record, outcome, "%s%s", message, where);
    record->final = false;
    record->time = hn_epoch_s();
    hn_session_keep(session, number, err);
}

static bool is_failure(const struct hn_record *verdict)
{
    return verdict->outcome != HN_OUTCOME_OK && verdict->outcome != HN_OUTCOME_SKIPPED;
}

static const char *message_of(const struct hn_record *verdict)
{
    return verdict->message != NULL ? verdict->message : "failed";
}

/* With it fall its duplicates, and who it stopped early is measured after all. */
static void fall(struct finals *finals, size_t i, const struct hn_record *verdict,
                 const char *where, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_ticket *tickets = session->tickets.items;
    const struct hn_ticket *fallen = &tickets[finals->numbers[i]];
    if (hn_failed(err))
        return;
    finals->again = true;
    fail_ticket(session, finals->numbers[i], verdict->outcome, message_of(verdict), where, err);
    const struct hn_record *record = &fallen->flight->record;
    for (size_t n = 0; !hn_failed(err) && n < session->tickets.count; n++) {
        if (tickets[n].state != HN_TICKET_FINISHED || tickets[n].replayed ||
            tickets[n].result.against != fallen->point)
            continue;
        if (tickets[n].result.outcome == HN_OUTCOME_SLOWER) {
            measure_again(session, n, err);
        } else if (tickets[n].result.outcome == HN_OUTCOME_DUPLICATE) {
            fail_ticket(session, n, record->outcome, record->message, "", err);
            hn_session_release(session, n);
        }
    }
}

/* SKIPPED: a signal came, the time is up, or it was not asked. */
static void evaluate(struct finals *finals, size_t i, const struct hn_bench_request *request,
                     struct hn_record *verdict, struct hn_error *err)
{
    struct hn_flight *flight = flight_of(finals, i);
    const struct hn_image *image = &flight->image;
    struct hn_backend_event event;
    *verdict = (struct hn_record){0};
    verdict->outcome = HN_OUTCOME_SKIPPED;
    if (hn_failed(err))
        return;
    if (image->cubin == NULL) {
        hn_record_fail(verdict, image->outcome, "%s",
                       image->message != NULL ? image->message : "no message");
        return;
    }
    hn_session_start(finals->session, finals->numbers[i], INFINITY, request, err);
    if (wait_for(finals->session, HN_EVENT_EVALUATED, &event, err))
        *verdict = event.record;
    if (verdict->suspicion != HN_SUSPICION_NONE)
        flight->record.suspicion = verdict->suspicion;
}

/* A group of what is observed of a launch becomes the finalist's. why: of 512 bytes, the reason
 * where it does not; NULL: nobody asks. */
static void observe(struct finals *finals, size_t i, const char *group, char *why,
                    struct hn_error *err)
{
    struct hn_bench_request request = {.verify = false};
    struct hn_record seen HN_ENDED_BY(hn_record_finish) = {0};
    snprintf(request.observe, sizeof request.observe, "%s", group);
    evaluate(finals, i, &request, &seen, err);
    if (!hn_failed(err) && seen.outcome == HN_OUTCOME_OK &&
        hn_observed_any(&seen.observed, group)) {
        hn_observed_replace(&record_of(finals, i)->observed, group, &seen.observed, err);
        hn_session_keep(finals->session, finals->numbers[i], err);
    } else if (!hn_failed(err) && why != NULL && seen.outcome != HN_OUTCOME_SKIPPED) {
        snprintf(why, 512, "%s", seen.message != NULL ? seen.message : "nothing was counted");
    }
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
    char where[64];
    if (hn_failed(err) || hn_random_seed_secretly(&secret, err) != HN_OK)
        return;
    /* As --seed takes it. */
    struct hn_run reseed = {.kind = HN_RUN_RESEED, .seed = hn_random_below(&secret, INT64_MAX)};
    snprintf(where, sizeof where, " (on the second seed, %llu)", (unsigned long long)reseed.seed);
    hn_session_show(session, "verifying the finalists on a second seed");
    session->backend->kind->run(session->backend, &reseed, err);
    size_t left = 0;
    bool skipped = false;
    for (size_t i = 0;
         !hn_failed(err) && !skipped && i < finals->count && !hn_session_is_over(session) &&
         (left == 0 || hn_session_left_ms(session) >= race_ms);
         i++) {
        struct hn_record verdict HN_ENDED_BY(hn_record_finish) = {0};
        evaluate(finals, i, &request, &verdict, err);
        skipped = verdict.outcome == HN_OUTCOME_SKIPPED;
        if (verdict.outcome == HN_OUTCOME_OK) {
            record_of(finals, i)->verdict.seeds = 2;
            record_of(finals, i)->verdict.seed = (int64_t)reseed.seed;
            record_of(finals, i)->verdict.launches += verdict.verdict.launches;
            finals->numbers[left++] = finals->numbers[i];
        } else if (!skipped) {
            fall(finals, i, &verdict, where, err);
        }
    }
    finals->count = left;
}

static struct hn_interval race_interval(const struct hn_record *raced)
{
    double sorted[HN_RACE_MOST_ROUNDS];
    size_t rounds = raced->timing.sample_count;
    memcpy(sorted, raced->timing.samples_us, rounds * sizeof *sorted);
    return hn_interval_of(sorted, rounds, HN_OUTSIDE_USUAL);
}

/* The race's samples become the timing; so does what the host's clock said of it. */
static void take_timing(struct hn_record *record, struct hn_record *raced, struct hn_error *err)
{
    struct hn_timing *timing = &record->timing;
    struct hn_interval interval = hn_interval_widen(race_interval(raced), timing->resolution_us);
    free(timing->samples_us);
    timing->samples_us = raced->timing.samples_us;
    raced->timing.samples_us = NULL;
    timing->sample_count = raced->timing.sample_count;
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
    record->time = hn_epoch_s();
    hn_observed_replace(&record->observed, "conditions", &raced->observed, err);
    hn_observed_replace(&record->observed, "workloads", &raced->observed, err);
}

/* How much longer than in the search a racer may have taken: as the one of the others that was
 * least slowed, and some more. Alone it may have been slowed by a lower clock. */
static double credible_slowdown(const struct finals *finals, const struct hn_racer *racers,
                                size_t racer)
{
    double least = INFINITY;
    for (size_t i = 0; i < finals->count; i++) {
        double searched_us = record_of(finals, i)->timing.median_us;
        if (i != racer && racers[i].record.outcome == HN_OUTCOME_OK && searched_us > 0)
            least = fmin(least, race_interval(&racers[i].record).median / searched_us);
    }
    return fmin(most_slowed * fmax(least, 1), most_slowed_alone);
}

/* The race is run on inputs that are new in every round: who is slower there may have known those
 * of the search. Or else the device was, or what ran between: the audit tells these apart, as a
 * trial does what compared laps were slower by. */
static void doubt_search(struct finals *finals, struct hn_racer *racers, struct hn_error *err)
{
    bool doubtful[HN_FINALIST_LIMIT];
    for (size_t i = 0; i < finals->count; i++) {
        const struct hn_record *searched = record_of(finals, i);
        const struct hn_record *raced = &racers[i].record;
        doubtful[i] = raced->suspicion != HN_SUSPICION_NONE ||
                      (!searched->final && raced->timing.sample_count > 0 &&
                       raced->outcome == HN_OUTCOME_OK &&
                       race_interval(raced).median >
                           credible_slowdown(finals, racers, i) * searched->timing.high_us);
    }
    for (size_t i = 0; !hn_failed(err) && i < finals->count; i++) {
        struct hn_record *raced = &racers[i].record;
        struct hn_record verdict HN_ENDED_BY(hn_record_finish) = {0};
        struct hn_bench_request request = {.trial = raced->suspicion};
        if (!doubtful[i] || hn_session_is_over(finals->session))
            continue;
        if (request.trial == HN_SUSPICION_NONE)
            snprintf(request.observe, sizeof request.observe, "audit=2");
        evaluate(finals, i, &request, &verdict, err);
        if (is_failure(&verdict))
            hn_record_fail(raced, verdict.outcome, "%s", message_of(&verdict));
    }
}

/* The numbers by which finalists are compared follow from their records. */
static void evaluate_metrics(const struct finals *finals, size_t i, struct hn_error *err)
{
    const struct hn_task *task = finals->session->task;
    if (!hn_failed(err) &&
        hn_metrics_evaluate(task->plan, task->problem, record_of(finals, i), err) == HN_OK)
        hn_session_note_result(finals->session, finals->numbers[i]);
}

static void take_race(struct finals *finals, struct hn_racer *racers, struct hn_error *err)
{
    doubt_search(finals, racers, err);
    for (size_t i = 0; !hn_failed(err) && i < finals->count; i++) {
        struct hn_record *raced = &racers[i].record;
        if (raced->outcome != HN_OUTCOME_OK) {
            fall(finals, i, raced, " (in the final race)", err);
        } else if (raced->timing.sample_count > 0) {
            take_timing(record_of(finals, i), raced, err);
            finals->raced = true;
            evaluate_metrics(finals, i, err);
        }
    }
}

static void race(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_racer racers[HN_FINALIST_LIMIT];
    struct hn_run run = {.kind = HN_RUN_RACE, .racers = racers, .racer_count = finals->count};
    for (size_t i = 0; i < finals->count; i++) {
        racers[i].point = &record_of(finals, i)->point;
        racers[i].image = &flight_of(finals, i)->image;
        racers[i].record = (struct hn_record){0};
    }
    /* The race blocks, and what is pending must not wait for it. */
    hn_session_commit(session, err);
    session->backend->kind->run(session->backend, &run, err);
    if (!hn_failed(err))
        take_race(finals, racers, err);
    for (size_t i = 0; i < run.racer_count; i++)
        hn_record_finish(&racers[i].record);
}

/* Why they cannot be read is told once. */
static void read_counters(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    char *why = session->state.no_counters;
    if (hn_failed(err) || !session->options.counters)
        return;
    hn_session_show(session, "reading the counters of the finalists");
    for (size_t i = 0; !hn_failed(err) && i < finals->count && i < counted_finalists &&
                       why[0] == '\0' && !hn_session_is_over(session);
         i++)
        if (!hn_observed_any(&record_of(finals, i)->observed, "counters"))
            observe(finals, i, "counters", why, err);
}

/* The finalists are those of finals that were held before. */
static void read_counters_again(struct finals *finals, struct hn_error *err)
{
    bool known = true;
    gather(finals, err);
    drop_fallen(finals);
    finals->count = finals->count < counted_finalists ? finals->count : counted_finalists;
    for (size_t i = 0; i < finals->count; i++)
        known = known && hn_observed_any(&record_of(finals, i)->observed, "counters");
    if (known)
        return;
    hn_session_prepare(finals->session, err);
    ensure_images(finals, err);
    read_counters(finals, err);
}

/* A window of one; false where there was none. */
static bool weigh_one(struct finals *finals, size_t i, struct hn_error *err)
{
    struct hn_bench_request request = {.verify = false};
    struct hn_record verdict HN_ENDED_BY(hn_record_finish) = {0};
    snprintf(request.observe, sizeof request.observe, "energy=%.17g",
             finals->session->options.energy_s);
    evaluate(finals, i, &request, &verdict, err);
    bool told = !hn_failed(err) && hn_observed_any(&verdict.observed, "energy");
    if (told)
        hn_energy_add(&record_of(finals, i)->observed, &verdict.observed, err);
    bool falls = is_failure(&verdict) && finals->session->weighs;
    if (falls)
        fall(finals, i, &verdict, " (while its energy was measured)", err);
    return told || falls;
}

/* One window of each, then another one in the order reversed, so that what warms up or cools down
 * meanwhile adds as much to all. */
static void weigh(struct finals *finals, bool decides, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    size_t count = finals->count < HN_WEIGHED_LIMIT ? finals->count : HN_WEIGHED_LIMIT;
    bool told = true, weighed = false;
    if (hn_failed(err) || session->options.energy_s <= 0 || count == 0 ||
        hn_session_is_over(session))
        return;
    hn_session_show(session, "measuring the energy of the finalists");
    for (size_t i = 0; i < count; i++)
        hn_observed_drop(&record_of(finals, i)->observed, "energy");
    for (size_t i = 0; !hn_failed(err) && told && i < 2 * count && !hn_session_is_over(session);
         i++) {
        size_t place = i < count ? i : 2 * count - 1 - i;
        told = has_fallen(finals, place) || weigh_one(finals, place, err);
    }
    for (size_t i = 0; !hn_failed(err) && i < count; i++) {
        struct hn_bindings *observed = &record_of(finals, i)->observed;
        /* Nobody knows what a single window is worth. */
        if (hn_observed(observed, "energy.windows") < 2)
            hn_observed_drop(observed, "energy");
        else if (!decides)
            hn_session_keep(session, finals->numbers[i], err);
        weighed = weighed || hn_observed_any(observed, "energy");
    }
    session->state.unweighed = !weighed && !hn_session_is_over(session);
    /* Where energy is the objective no race counts in which not all were weighed. */
    for (size_t i = 0; decides && !hn_failed(err) && i < finals->count; i++) {
        if (has_fallen(finals, i))
            continue;
        finals->raced = finals->raced && hn_observed_any(&record_of(finals, i)->observed, "energy");
        evaluate_metrics(finals, i, err);
    }
}

/* False: a tune without time for it, or where no worker comes up, does without. */
static bool run_beside(struct hn_session *session, struct hn_run *run, struct hn_error *err)
{
    struct hn_error reason = {.status = HN_OK};
    session->backend->kind->run(session->backend, run, &reason);
    if (hn_failed(&reason) && reason.status != HN_ERUN && hn_session_left_ms(session) > 0)
        *err = reason;
    return !hn_failed(&reason);
}

/* The parts of the best pipeline alone, or a copy of as much as the best kernel moves: a plan says
 * how much that is by a metric named bytes. */
static void measure_beside(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    if (hn_failed(err) || finals->count == 0 || hn_session_is_over(session))
        return;
    if (session->task->plan->pipeline != NULL) {
        hn_session_show(session, "measuring the parts of the best pipeline alone");
        observe(finals, 0, "staging", NULL, err);
        return;
    }
    const struct hn_value *bytes = hn_bindings_get(&record_of(finals, 0)->metrics, "bytes");
    double moved = bytes != NULL ? hn_value_number(bytes) : 0;
    struct hn_run run = {.kind = HN_RUN_COPY, .bytes = moved / 2};
    if (moved < 2)
        return;
    run_beside(session, &run, err);
    session->state.copy_gb_per_s = run.gb_per_s;
}

/* The best again in processes that begin anew: none can tell of itself how much they differ. One
 * that fails is the verdict. */
static void measure_processes(struct finals *finals, struct hn_record *verdict,
                              struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_flight *flight = flight_of(finals, 0);
    struct hn_racer best = {.point = &flight->record.point, .image = &flight->image};
    struct hn_run run = {.kind = HN_RUN_MEASURE, .racers = &best, .racer_count = 1, .anew = true};
    struct hn_timing *timing = &flight->record.timing;
    double medians_us[PROCESSES_MOST];
    bool came = true;
    if (hn_failed(err) || session->options.brief || session->task->plan->program != NULL)
        return;
    hn_session_show(session, "measuring the best in other processes");
    while (came && verdict->outcome == HN_OUTCOME_OK && hn_session_left_ms(session) > process_ms) {
        bool alike = timing->slowest_us <= processes_alike * timing->fastest_us;
        if (timing->processes >= (alike ? PROCESSES_LEAST : PROCESSES_MOST))
            break;
        hn_record_finish(verdict);
        best.record = (struct hn_record){0};
        came = run_beside(session, &run, err);
        *verdict = best.record;
        if (came && verdict->outcome == HN_OUTCOME_OK)
            hn_timing_add_process(timing, &verdict->timing, medians_us);
    }
}

/* The best is audited, and launched again and again, each time compared. HN_OUTCOME_OK: it passed;
 * SKIPPED: that was cut short; else it fell. */
static enum hn_outcome check_best(struct finals *finals, struct hn_error *err)
{
    double elapsed_ms = hn_now_ms() - finals->session->state.started_ms;
    const struct hn_bench_request request = {.verify = true,
                                             .observe = "audit",
                                             .repeat_ms =
                                                 fmax(least_repeat_ms, repeat_share * elapsed_ms)};
    struct hn_record verdict HN_ENDED_BY(hn_record_finish) = {0};
    evaluate(finals, 0, &request, &verdict, err);
    if (verdict.outcome == HN_OUTCOME_OK)
        measure_processes(finals, &verdict, err);
    enum hn_outcome outcome = verdict.outcome;
    if (is_failure(&verdict))
        fall(finals, 0, &verdict, " (after the final race)", err);
    return outcome;
}

/* The cache's best of the task, where it is that of a race; NULL: there is none. The state says
 * where it is a point that this session has not looked at: one that -s left out, or that was
 * measured since. A config may have left it out for good. */
static const struct hn_record *look_elsewhere(struct hn_session *session, struct hn_error *err)
{
    const struct hn_task *task = session->task;
    const bool partial = task->config->restricted || session->options.point_count > 0;
    session->state.elsewhere = NULL;
    hn_tuned_list_free(&session->stored);
    if (session->store == NULL ||
        hn_store_list(session->store, HN_STORE_UNCOUNTED, task->identity.kernel,
                      &task->identity.problem, &session->stored, err) != HN_OK)
        return NULL;
    const struct hn_tuned *tuned =
        hn_tuned_list_find(&session->stored, &task->identity, &task->version, false);
    if (tuned == NULL || !tuned->best.final)
        return NULL;
    if (hn_session_find(session, &tuned->best.point) == SIZE_MAX &&
        (partial || hn_space_has(task->space, &tuned->best.point, session->choice)))
        session->state.elsewhere = &tuned->best;
    return &tuned->best;
}

/* The best after the race has to pass, else the next one. What the race said counts then, but where
 * a better point lies outside of the part that was asked for; one cut short is held again later. */
static void find_winner(struct finals *finals, struct hn_error *err)
{
    enum hn_outcome checked = HN_OUTCOME_SKIPPED;
    bool fell = true;
    drop_fallen(finals);
    while (!hn_failed(err) && fell && finals->count > 0 && !hn_session_is_over(finals->session)) {
        checked = check_best(finals, err);
        fell = checked != HN_OUTCOME_OK && checked != HN_OUTCOME_SKIPPED;
        drop_fallen(finals);
    }
    look_elsewhere(finals->session, err);
    const struct hn_record *elsewhere = finals->session->state.elsewhere;
    bool counts = checked == HN_OUTCOME_OK &&
                  (elsewhere == NULL || record_of(finals, 0)->objective < elsewhere->objective);
    for (size_t i = 0; !hn_failed(err) && finals->raced && i < finals->count; i++) {
        record_of(finals, i)->final = counts;
        if (checked == HN_OUTCOME_OK)
            hn_session_keep(finals->session, finals->numbers[i], err);
        else
            hn_session_note_result(finals->session, finals->numbers[i]);
    }
}

/* The newest session's race counts. Where one that was begun later has ended before with a slower
 * best, this race is that of a session of its own. */
static void keep_ahead(struct finals *finals, struct hn_error *err)
{
    const struct hn_session *session = finals->session;
    const struct hn_record *own = record_of(finals, 0), *stored;
    hn_session_commit(finals->session, err);
    while (!hn_failed(err) && own->final &&
           (stored = look_elsewhere(finals->session, err)) != NULL &&
           hn_record_beats(own, stored)) {
        int64_t id;
        hn_task_begin(session->task, session->store, session->options.command, NULL, &id, err);
        for (size_t i = 0; !hn_failed(err) && i < finals->count; i++)
            hn_store_put(session->store, id, record_of(finals, i), err);
        hn_session_commit(finals->session, err);
    }
}

/* Where no race counts, any of them may be the best by the times of the search. */
static void keep_images(struct finals *finals, struct hn_error *err)
{
    const struct hn_session *session = finals->session;
    size_t most = record_of(finals, 0)->final ? kept_images : finals->count;
    for (size_t i = 0; !hn_failed(err) && i < finals->count && i < most; i++) {
        const struct hn_image *image = &flight_of(finals, i)->image;
        if (session->store == NULL || image->cubin == NULL || session->task->plan->program != NULL)
            continue;
        char *entries HN_FREED = hn_needed(hn_image_entry_lines(image));
        hn_store_put_image(session->store, session->session_id, &record_of(finals, i)->point,
                           image->cubin, image->size, entries, err);
    }
}

static void hold(struct finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    hn_session_forget_races(session);
    const struct hn_plan *plan = session->task->plan;
    /* Files say what is right for one seed only, and a program is told none. */
    bool one_seed = plan->reference.kind == HN_REFERENCE_FILES || plan->program != NULL;
    hn_session_prepare(session, err);
    ensure_images(finals, err);
    if (!one_seed && !hn_session_is_over(session))
        verify_again(finals, err);
    if (!hn_failed(err) && !finals->again && finals->count > 0 && !hn_session_is_over(session)) {
        hn_session_show(session, "racing the finalists");
        race(finals, err);
        if (!finals->again && finals->raced && session->weighs)
            weigh(finals, true, err);
        find_winner(finals, err);
    }
    if (hn_failed(err) || finals->again || finals->count == 0)
        return;
    keep_images(finals, err);
    measure_beside(finals, err);
    read_counters(finals, err);
    if (!session->weighs)
        weigh(finals, false, err);
    keep_ahead(finals, err);
}

/* Whether the finals that were held before tell all that is asked for, and the cache's best is that
 * of these: another race may have been held since, of another space, or a version that the config
 * has been taken back from may have been tuned, even in vain. */
static bool is_settled(struct hn_session *session, struct hn_error *err)
{
    const struct hn_record *stored = look_elsewhere(session, err);
    const struct hn_tuned *counts =
        hn_tuned_list_find(&session->stored, &session->task->identity, NULL, false);
    if (!is_unchallenged(session, err) ||
        (counts != NULL &&
         (counts->stale || !hn_version_equal(&counts->version, &session->task->version))))
        return false;
    hn_session_find_best(session, err);
    if (hn_failed(err) || session->best == SIZE_MAX)
        return true;
    const struct hn_record *best = &session->tickets.items[session->best].flight->record;
    return (stored == NULL || session->state.elsewhere != NULL ||
            hn_session_find(session, &stored->point) == session->best) &&
           (session->options.energy_s <= 0 || hn_observed_any(&best->observed, "energy"));
}

bool hn_session_has_finals(const struct hn_session *session)
{
    return !session->backend->simulated &&
           (!session->options.hasty || session->options.race_within > 0);
}

bool hn_session_finals(struct hn_session *session, struct hn_error *err)
{
    struct finals finals = {.session = session};
    struct hn_run reseed = {.kind = HN_RUN_RESEED, .seed = session->options.seed};
    struct hn_error found = {.status = HN_OK};
    if (hn_failed(err))
        return false;
    if (!hn_session_has_finals(session)) {
        hn_session_find_best(session, err);
        return false;
    }
    bool settled = is_settled(session, err);
    if (settled && session->options.counters)
        read_counters_again(&finals, err);
    if (!settled)
        gather(&finals, err);
    if (!settled && finals.count > 0)
        hold(&finals, err);
    /* The finals leave the second seed's inputs behind. */
    if (finals.again && !hn_session_is_over(session))
        session->backend->kind->run(session->backend, &reseed, err);
    /* All that were gathered, those that fell among them. */
    for (size_t i = 0; i < session->tickets.count; i++) {
        struct hn_flight *flight = session->tickets.items[i].flight;
        if (flight != NULL && flight->held) {
            flight->held = false;
            hn_session_release(session, i);
        }
    }
    /* Finals that were cut short may have made finalists fall. */
    if (hn_failed(err) && err->status != HN_EINTERRUPTED)
        return false;
    hn_session_find_best(session, &found);
    if (hn_failed(&found))
        *err = found;
    return finals.again;
}
