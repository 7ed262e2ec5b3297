/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "tuner/session/finals_part.h"

/* Who takes part in the finals, and whether there have to be any. */

/* Times of a race lie at most this far from those of the search, beside what the clock tells apart.
 */
static const double race_shift = 0.1;

static const struct hn_result *result_at(const struct hn_session *session, size_t number)
{
    return &session->tickets.items[number].result;
}

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

/* What times differ by that were taken at different moments, or on different cards. */
static double noise_of(const struct hn_session *session)
{
    return session->state.noise + session->backend->spread;
}

/* Whether a result's interval overlaps the best's, widened by the noise floor. Objectives other
 * than time scale with the relative width of the time's interval. */
static bool overlaps(const struct hn_session *session, size_t number, double merit,
                     const struct hn_timing *timing)
{
    double low = result_at(session, number)->low;
    double reach = (timing->high_us / timing->median_us - 1) + (1 - low) + noise_of(session);
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
static size_t pick_best(struct hn_session *session, size_t *numbers)
{
    size_t count = 0;
    const size_t limit = limit_of(session);
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state != HN_TICKET_FINISHED || ticket->replayed ||
            ticket->result.outcome != HN_OUTCOME_OK)
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
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state == HN_TICKET_FINISHED && !ticket->replayed &&
            ticket->result.outcome == HN_OUTCOME_OK && ticket->result.final &&
            (best == SIZE_MAX || hn_session_compare(&i, &best, (void *)session) < 0))
            best = i;
    }
    while (place < count && numbers[place] != best)
        place++;
    if (best == SIZE_MAX || place < count)
        return count;
    count -= count == limit_of(session);
    numbers[count] = best;
    return count + 1;
}

enum hn_status hn_session_pick_finalists(struct hn_session *session, size_t *numbers, size_t *count,
                                         struct hn_error *err)
{
    struct hn_record best;
    *count = 0;
    size_t found = pick_best(session, numbers);
    if (found == 0)
        return HN_OK;
    enum hn_status status = hn_session_record(session, numbers[0], &best, err);
    *count = status == HN_OK;
    while (status == HN_OK && *count < found &&
           (overlaps(session, numbers[*count], merit_of(session, numbers[0]), &best.timing) ||
            is_within(session, numbers[*count], merit_of(session, numbers[0]))))
        ++*count;
    if (status == HN_OK)
        *count = invite_winner(session, numbers, *count);
    hn_record_finish(&best);
    return status;
}

/* Whether the last race could have had more racers. */
static bool has_room(const struct hn_session *session)
{
    size_t raced = 0;
    for (size_t i = 0; i < session->tickets.count; i++)
        raced += result_at(session, i)->final ? 1 : 0;
    return raced < limit_of(session);
}

/* Of a finished ticket's record. */
static enum hn_status read_time(struct hn_session *session, size_t number, double *time,
                                struct hn_error *err)
{
    enum hn_status status = hn_session_recall(session, number, err);
    if (status != HN_OK)
        return status;
    *time = session->tickets.items[number].flight->record.time;
    hn_session_release(session, number);
    return HN_OK;
}

/* The best of the raced ones; SIZE_MAX when none was. *time: when the newest race was. */
static enum hn_status find_raced(struct hn_session *session, size_t *best, double *time,
                                 struct hn_error *err)
{
    *best = SIZE_MAX;
    *time = 0;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_result *result = result_at(session, i);
        double own_time = 0;
        if (session->tickets.items[i].state != HN_TICKET_FINISHED ||
            result->outcome != HN_OUTCOME_OK || !result->final)
            continue;
        enum hn_status status = read_time(session, i, &own_time, err);
        if (status != HN_OK)
            return status;
        *time = fmax(*time, own_time);
        if (*best == SIZE_MAX || merit_of(session, i) < merit_of(session, *best))
            *best = i;
    }
    return HN_OK;
}

/* Whether a point was measured after the race, or is so much better than the best of it that it
 * belongs into one. A race shifts times a little, so that one that it left out may be better now.
 */
static enum hn_status challenges(struct hn_session *session, size_t number, size_t raced,
                                 double race_time, bool *challenges, struct hn_error *err)
{
    const struct hn_result *result = result_at(session, number);
    const struct hn_timing *timing = &session->tickets.items[raced].flight->record.timing;
    double merit = merit_of(session, raced);
    double lead = (merit - merit_of(session, number)) / fabs(merit);
    double shift = race_shift + timing->resolution_us / timing->median_us;
    double time = 0;
    *challenges = false;
    if (result->outcome != HN_OUTCOME_OK || result->final)
        return HN_OK;
    *challenges = is_within(session, number, merit) && has_room(session);
    if (*challenges || (lead < 0 && !overlaps(session, number, merit, timing)))
        return HN_OK;
    enum hn_status status = read_time(session, number, &time, err);
    *challenges = time >= race_time || lead > shift;
    return status;
}

enum hn_status hn_session_is_settled(struct hn_session *session, bool *settled,
                                     struct hn_error *err)
{
    double time;
    size_t raced;
    bool challenged = false;
    *settled = false;
    if (session->fresh)
        return HN_OK;
    enum hn_status status = find_raced(session, &raced, &time, err);
    if (status != HN_OK || raced == SIZE_MAX)
        return status;
    status = hn_session_recall(session, raced, err);
    for (size_t i = 0; status == HN_OK && !challenged && i < session->tickets.count; i++)
        status = challenges(session, i, raced, time, &challenged, err);
    if (status == HN_OK && raced != session->best)
        hn_session_release(session, raced);
    *settled = !challenged;
    return status;
}
