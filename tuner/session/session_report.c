/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "runtime/statistics.h"
#include "tuner/session/session_internal.h"

static int compare_records(const void *a, const void *b)
{
    const struct hn_record *x = *(const struct hn_record *const *)a;
    const struct hn_record *y = *(const struct hn_record *const *)b;
    bool x_ok = x->outcome == HN_OUTCOME_OK;
    bool y_ok = y->outcome == HN_OUTCOME_OK;
    if (x_ok != y_ok)
        return x_ok ? -1 : 1;
    if (!x_ok)
        return (x->time > y->time) - (x->time < y->time);
    if (x->final != y->final)
        return x->final ? -1 : 1;
    return (x->objective > y->objective) - (x->objective < y->objective);
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

enum hn_status hn_session_ranking(const struct hn_session *session,
                                  const struct hn_record ***ranking, size_t *count, size_t *tied,
                                  struct hn_error *err)
{
    const struct hn_record **records = calloc(session->tickets.count + 1, sizeof(void *));
    if (records == NULL)
        return hn_fail_memory(err);
    *count = 0;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        if (ticket->state == HN_TICKET_FINISHED && !ticket->replayed)
            records[(*count)++] = &ticket->record;
    }
    qsort(records, *count, sizeof(void *), compare_records);
    *tied = 0;
    while (*tied < *count && records[*tied]->outcome == HN_OUTCOME_OK &&
           is_tied(records[0], records[*tied], session->state.noise))
        ++*tied;
    *ranking = records;
    return HN_OK;
}

enum hn_status hn_session_ladder(const struct hn_session *session, const struct hn_record ***ladder,
                                 size_t *count, struct hn_error *err)
{
    const struct hn_record **records = calloc(session->ladder_count + 1, sizeof(void *));
    if (records == NULL)
        return hn_fail_memory(err);
    *count = 0;
    for (size_t i = 0; i < session->ladder_count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        /* An interrupted session has steps without a result. */
        if (ticket->state != HN_TICKET_FINISHED)
            continue;
        const struct hn_ticket *own =
            ticket->replayed ? &session->tickets.items[ticket->original] : ticket;
        records[(*count)++] = &own->record;
    }
    *ladder = records;
    return HN_OK;
}
