/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "cache/record/record.h"
#include "tuner/session/session_internal.h"

/* Who is better: the order of results, who takes part in the finals, and whether there have to be
 * any. */

/* Times of a race lie at most this far from those of the search, beside what the clock tells apart.
 */
static const double race_shift = 0.1;

static const struct hn_result *result_at(const struct hn_session *session, size_t number)
{
    return &session->tickets.items[number].result;
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
    return hn_points_compare(&session->points, x->point, y->point);
}

bool hn_session_is_better(const struct hn_session *session, size_t a, size_t b)
{
    bool raced = result_at(session, a)->final;
    if (raced != result_at(session, b)->final)
        return raced;
    return hn_session_compare(&a, &b, (void *)session) < 0;
}

/* --- finalists -------------------------------------------------------------------------------- */

/* Where energy is the objective all are weighed, for some seconds each. */
static size_t limit_of(const struct hn_session *session)
{
    return hn_session_weighs(session) ? HN_WEIGHED_LIMIT : HN_FINALIST_LIMIT;
}

/* What decides who becomes a finalist. Energy is measured of the finalists only, so that where it
 * is the objective those come near the best who are as fast. */
static double merit_of(const struct hn_session *session, size_t number)
{
    const struct hn_result *result = result_at(session, number);
    return hn_session_weighs(session) ? result->median_us : result->objective;
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

/* Whether who asked for the session wants it to race with the best. */
static bool is_within(const struct hn_session *session, size_t number, double merit)
{
    return session->options.race_within > 0 &&
           merit_of(session, number) - merit <= session->options.race_within * fabs(merit);
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

size_t hn_session_pick_finalists(struct hn_session *session, size_t *numbers, struct hn_error *err)
{
    struct hn_record best;
    size_t found = hn_failed(err) ? 0 : pick_best(session, numbers);
    size_t count = 0;
    if (found == 0)
        return 0;
    if (hn_session_record(session, numbers[0], &best, err) == HN_OK) {
        double merit = merit_of(session, numbers[0]);
        count = 1;
        while (count < found && (overlaps(session, numbers[count], merit, &best.timing) ||
                                 is_within(session, numbers[count], merit)))
            count++;
        count = invite_winner(session, numbers, count);
    }
    hn_record_finish(&best);
    return count;
}

/* --- whether the last finals hold ------------------------------------------------------------- */

/* Whether the last race could have had more racers. */
static bool has_room(const struct hn_session *session)
{
    size_t raced = 0;
    for (size_t i = 0; i < session->tickets.count; i++)
        raced += result_at(session, i)->final ? 1 : 0;
    return raced < limit_of(session);
}

/* Of a finished ticket's record. */
static double read_time(struct hn_session *session, size_t number, struct hn_error *err)
{
    const struct hn_flight *flight = hn_session_recall(session, number, err);
    double time = flight != NULL ? flight->record.time : 0;
    hn_session_release(session, number);
    return time;
}

/* The best of the raced ones; SIZE_MAX when none was. *time: when the newest race was. */
static size_t find_raced(struct hn_session *session, double *time, struct hn_error *err)
{
    size_t best = SIZE_MAX;
    *time = 0;
    for (size_t i = 0; i < session->tickets.count && !hn_failed(err); i++) {
        const struct hn_result *result = result_at(session, i);
        if (session->tickets.items[i].state != HN_TICKET_FINISHED ||
            result->outcome != HN_OUTCOME_OK || !result->final)
            continue;
        *time = fmax(*time, read_time(session, i, err));
        if (best == SIZE_MAX || merit_of(session, i) < merit_of(session, best))
            best = i;
    }
    return best;
}

/* Whether a point was measured after the race, or is so much better than the best of it that it
 * belongs into one. A race shifts times a little, so that one that it left out may be better now.
 */
static bool challenges(struct hn_session *session, size_t number, size_t raced, double race_time,
                       struct hn_error *err)
{
    const struct hn_result *result = result_at(session, number);
    const struct hn_timing *timing = &session->tickets.items[raced].flight->record.timing;
    double merit = merit_of(session, raced);
    double lead = (merit - merit_of(session, number)) / fabs(merit);
    double shift = race_shift + timing->resolution_us / timing->median_us;
    if (result->outcome != HN_OUTCOME_OK || result->final)
        return false;
    if (is_within(session, number, merit) && has_room(session))
        return true;
    if (lead < 0 && !overlaps(session, number, merit, timing))
        return false;
    return read_time(session, number, err) >= race_time || lead > shift;
}

bool hn_session_is_settled(struct hn_session *session, struct hn_error *err)
{
    double time;
    bool challenged = false;
    if (session->fresh || hn_failed(err))
        return false;
    size_t raced = find_raced(session, &time, err);
    if (raced == SIZE_MAX || hn_session_recall(session, raced, err) == NULL)
        return false;
    for (size_t i = 0; !hn_failed(err) && !challenged && i < session->tickets.count; i++)
        challenged = challenges(session, i, raced, time, err);
    if (raced != session->leaders.best && !hn_failed(err))
        hn_session_release(session, raced);
    return !challenged && !hn_failed(err);
}

/* --- the order of all ------------------------------------------------------------------------- */

static int compare_tickets(const void *a, const void *b, void *session)
{
    size_t i = *(const uint32_t *)a;
    size_t j = *(const uint32_t *)b;
    bool i_ok = result_at(session, i)->outcome == HN_OUTCOME_OK;
    bool j_ok = result_at(session, j)->outcome == HN_OUTCOME_OK;
    if (i_ok != j_ok)
        return i_ok ? -1 : 1;
    if (i_ok && i != j)
        return hn_session_is_better(session, i, j) ? -1 : 1;
    return (i > j) - (i < j);
}

/* Whether b is slower than a beyond doubt: with samples of one race, when the interval of their
 * paired differences lies above zero and above the noise floor; else when the intervals do not
 * overlap. */
static bool is_tied(const struct hn_record *a, const struct hn_record *b, double noise)
{
    const struct hn_timing *x = &a->timing;
    const struct hn_timing *y = &b->timing;
    size_t rounds = x->sample_count;
    double resolution = fmax(x->resolution_us, noise * x->median_us);
    if (!a->final || !b->final || rounds != y->sample_count || rounds == 0)
        return y->low_us <= x->high_us + noise * x->median_us;
    double *differences = hn_need(rounds, sizeof *differences);
    for (size_t r = 0; r < rounds; r++)
        differences[r] = y->samples_us[r] - x->samples_us[r];
    struct hn_interval interval = hn_interval_of(differences, rounds);
    free(differences);
    return interval.low <= 0 || interval.median <= resolution;
}

static void count_tied(const struct hn_session *session, struct hn_ranking *ranking,
                       struct hn_error *err)
{
    struct hn_record best;
    bool tied = true;
    if (ranking->count == 0 || result_at(session, ranking->tickets[0])->outcome != HN_OUTCOME_OK)
        return;
    hn_session_record(session, ranking->tickets[0], &best, err);
    ranking->tied = 1;
    while (!hn_failed(err) && ranking->tied < ranking->count &&
           result_at(session, ranking->tickets[ranking->tied])->outcome == HN_OUTCOME_OK) {
        struct hn_record next;
        hn_session_record(session, ranking->tickets[ranking->tied], &next, err);
        tied = !hn_failed(err) &&
               (hn_session_weighs(session) ? hn_front_is_tied(&best, &next)
                                           : is_tied(&best, &next, session->state.noise));
        hn_record_finish(&next);
        if (!tied)
            break;
        ranking->tied++;
    }
    hn_record_finish(&best);
}

enum hn_status hn_session_ranking(const struct hn_session *session, struct hn_ranking *ranking,
                                  struct hn_error *err)
{
    struct hn_error ignored;
    err = err != NULL ? err : &ignored;
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
    uint32_t *tickets = hn_need(session->search.ladder_count, sizeof *tickets);
    *count = 0;
    /* An interrupted session has steps without a result. */
    for (size_t i = 0; i < session->search.ladder_count; i++)
        if (session->tickets.items[i].state == HN_TICKET_FINISHED)
            tickets[(*count)++] = (uint32_t)i;
    return tickets;
}

size_t hn_session_find(const struct hn_session *session, const struct hn_bindings *point)
{
    size_t found = SIZE_MAX;
    const struct hn_space *space = session->task->space;
    uint16_t *choice = hn_need(hn_space_parameter_count(space), sizeof *choice);
    if (hn_space_choice(space, point, choice, NULL) == HN_OK) {
        uint32_t key = hn_points_find(&session->points, choice);
        if (key != HN_NO_KEY)
            found = hn_tickets_of_point(&session->tickets, key);
    }
    free(choice);
    bool finished = found != SIZE_MAX && session->tickets.items[found].state == HN_TICKET_FINISHED;
    return finished ? found : SIZE_MAX;
}

enum hn_outcome hn_session_outcome(const struct hn_session *session, size_t ticket)
{
    return (enum hn_outcome)result_at(session, ticket)->outcome;
}
