/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/statistics.h"
#include "cache/record/front.h"
#include "tuner/session/session_internal.h"

static const struct hn_result *result_at(const struct hn_session *session, size_t number)
{
    return &session->tickets.items[number].result;
}

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
    bool paired = a->final && b->final && rounds == y->sample_count && rounds > 0;
    double *differences = paired ? calloc(rounds, sizeof *differences) : NULL;
    if (differences == NULL)
        return y->low_us <= x->high_us + noise * x->median_us;
    for (size_t r = 0; r < rounds; r++)
        differences[r] = y->samples_us[r] - x->samples_us[r];
    struct hn_interval interval = hn_interval_of(differences, rounds);
    free(differences);
    return interval.low <= 0 || interval.median <= resolution;
}

static enum hn_status count_tied(const struct hn_session *session, struct hn_ranking *ranking,
                                 struct hn_error *err)
{
    struct hn_record best;
    bool tied = true;
    if (ranking->count == 0 || result_at(session, ranking->tickets[0])->outcome != HN_OUTCOME_OK)
        return HN_OK;
    enum hn_status status = hn_session_record(session, ranking->tickets[0], &best, err);
    ranking->tied = 1;
    while (status == HN_OK && ranking->tied < ranking->count &&
           result_at(session, ranking->tickets[ranking->tied])->outcome == HN_OUTCOME_OK) {
        struct hn_record next;
        status = hn_session_record(session, ranking->tickets[ranking->tied], &next, err);
        tied = status == HN_OK &&
               (hn_session_weighs(session) ? hn_front_is_tied(&best, &next)
                                           : is_tied(&best, &next, session->state.noise));
        hn_record_finish(&next);
        if (!tied)
            break;
        ranking->tied++;
    }
    hn_record_finish(&best);
    return status;
}

enum hn_status hn_session_ranking(const struct hn_session *session, struct hn_ranking *ranking,
                                  struct hn_error *err)
{
    *ranking = (struct hn_ranking){0};
    ranking->tickets = calloc(session->tickets.count + 1, sizeof *ranking->tickets);
    if (ranking->tickets == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state == HN_TICKET_FINISHED && !ticket->replayed)
            ranking->tickets[ranking->count++] = (uint32_t)i;
    }
    qsort_r(ranking->tickets, ranking->count, sizeof *ranking->tickets, compare_tickets,
            (void *)session);
    enum hn_status status = count_tied(session, ranking, err);
    if (status != HN_OK)
        hn_ranking_finish(ranking);
    return status;
}

void hn_ranking_finish(struct hn_ranking *ranking)
{
    free(ranking->tickets);
    *ranking = (struct hn_ranking){0};
}

enum hn_status hn_session_ladder(const struct hn_session *session, uint32_t **tickets,
                                 size_t *count, struct hn_error *err)
{
    *tickets = calloc(session->ladder_count + 1, sizeof **tickets);
    *count = 0;
    if (*tickets == NULL)
        return hn_fail_memory(err);
    /* An interrupted session has steps without a result. */
    for (size_t i = 0; i < session->ladder_count; i++)
        if (session->tickets.items[i].state == HN_TICKET_FINISHED)
            (*tickets)[(*count)++] = (uint32_t)i;
    return HN_OK;
}

size_t hn_session_find(const struct hn_session *session, const struct hn_bindings *point)
{
    size_t found = SIZE_MAX;
    const struct hn_space *space = session->task->space;
    uint16_t *choice = calloc(hn_space_parameter_count(space) + 1, sizeof *choice);
    if (choice != NULL && hn_space_choice(space, point, choice, NULL) == HN_OK) {
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
