/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "runtime/plan/launch.h"
#include "tuner/session/finals_part.h"

/* Where energy is the objective: what the power of a few points tells of that of all others, so
 * that those become finalists who may be the most frugal. */

/* The power of HN_POWER_POINTS is measured, for so long each. */
static const double most_window_s = 0.5;
/* Who may be so much more frugal than estimated as the estimate is off in the mean, times this, is
 * a finalist as well. */
static const double doubt = 3;
/* Of so many of the fastest it is estimated. */
static const size_t most_candidates = 512;

struct candidate {
    size_t number;
    double features[HN_POWER_FEATURES];
    double distance; /* from the nearest that is measured */
};

struct candidates {
    struct candidate *items; /* the fastest first */
    size_t count;
    double scale[HN_POWER_FEATURES]; /* the largest of each; 0: it is not known of any */
};

static int compare_times(const void *a, const void *b, void *pointer)
{
    const struct hn_session *session = pointer;
    const struct candidate *x = a;
    const struct candidate *y = b;
    double own = session->tickets.items[x->number].result.median_us;
    double other = session->tickets.items[y->number].result.median_us;
    if (own != other)
        return own < other ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool can_be_finalist(const struct hn_ticket *ticket)
{
    return ticket->state == HN_TICKET_FINISHED && !ticket->replayed &&
           ticket->result.outcome == HN_OUTCOME_OK;
}

static enum hn_status gather(struct hn_session *session, struct candidates *all,
                             struct hn_error *err)
{
    *all = (struct candidates){.items = calloc(session->tickets.count + 1, sizeof *all->items)};
    if (all->items == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < session->tickets.count; i++)
        if (can_be_finalist(&session->tickets.items[i]))
            all->items[all->count++].number = i;
    qsort_r(all->items, all->count, sizeof *all->items, compare_times, session);
    if (all->count > most_candidates)
        all->count = most_candidates;
    for (size_t i = 0; i < all->count; i++) {
        struct hn_record record;
        enum hn_status status = hn_session_record(session, all->items[i].number, &record, err);
        if (status != HN_OK)
            return status;
        hn_power_features(&record, all->items[i].features);
        hn_record_finish(&record);
        all->items[i].distance = INFINITY;
        for (int f = 0; f < HN_POWER_FEATURES; f++)
            all->scale[f] = fmax(all->scale[f], all->items[i].features[f]);
    }
    return HN_OK;
}

static double distance_of(const struct candidates *all, const struct candidate *a,
                          const struct candidate *b)
{
    double sum = 0;
    for (int f = 0; f < HN_POWER_FEATURES; f++) {
        double apart = a->features[f] - b->features[f];
        sum += all->scale[f] > 0 ? apart * apart / (all->scale[f] * all->scale[f]) : 0;
    }
    return sum;
}

/* The fastest, then always the one that is least like those that are picked; where all are alike,
 * the next. */
static size_t pick(struct candidates *all, size_t *numbers)
{
    size_t count = 0;
    size_t next = 0;
    while (count < HN_POWER_POINTS && count < all->count) {
        size_t picked = next;
        numbers[count++] = all->items[picked].number;
        all->items[picked].distance = -1;
        next = 0;
        for (size_t i = 0; i < all->count; i++) {
            struct candidate *one = &all->items[i];
            one->distance = fmin(one->distance, distance_of(all, one, &all->items[picked]));
            if (one->distance > all->items[next].distance + 1e-4)
                next = i;
        }
    }
    return count;
}

static enum hn_status measure_one(struct hn_finals *few, size_t i, struct hn_power_sample *samples,
                                  bool *again, struct hn_error *err)
{
    struct hn_session *session = few->session;
    const struct hn_bench_request request = {
        .energy_s = fmin(most_window_s, few->session->options.energy_s)};
    struct hn_record verdict;
    hn_record_init(&verdict);
    enum hn_status status = hn_finals_check(few, i, &request, &verdict, err);
    if (status == HN_OK && verdict.energy.windows > 0) {
        size_t place = session->power_count++;
        hn_power_features(&hn_finals_flight(few, i)->record, samples[place].features);
        samples[place].watts = verdict.energy.power_w;
        session->powers[place] = (struct hn_session_power){few->numbers[i], verdict.energy.power_w};
    } else if (status == HN_OK && verdict.outcome != HN_OUTCOME_OK &&
               verdict.outcome != HN_OUTCOME_SKIPPED) {
        status = hn_finals_fall(few, i, &verdict, "(while its power was measured)", again, err);
    }
    hn_record_finish(&verdict);
    return status;
}

static enum hn_status measure(struct hn_session *session, struct candidates *all, bool *again,
                              struct hn_error *err)
{
    struct hn_finals few = {.session = session};
    struct hn_power_sample samples[HN_POWER_POINTS];
    few.held_count = pick(all, few.held);
    enum hn_status status = hn_finals_hold(&few, err);
    if (status == HN_OK)
        status = hn_finals_ensure_images(&few, err);
    for (size_t i = 0; status == HN_OK && i < few.count && !hn_session_is_over(session); i++)
        status = measure_one(&few, i, samples, again, err);
    hn_finals_let_go(&few);
    hn_power_model_fit(&session->power, samples, session->power_count);
    session->options.race_within = fmax(session->options.race_within, doubt * session->power.error);
    session->state.power_points = session->power.samples;
    session->state.power_error = session->power.error;
    return status;
}

enum hn_status hn_finals_reckon(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_record *record = &session->tickets.items[number].flight->record;
    double features[HN_POWER_FEATURES];
    if (session->power.samples == 0 || record->energy.windows > 0)
        return HN_OK;
    hn_power_features(record, features);
    record->estimated_w = hn_power_model_watts(&session->power, features);
    for (size_t i = 0; i < session->power_count; i++)
        if (session->powers[i].ticket == number)
            record->estimated_w = session->powers[i].watts;
    enum hn_status status =
        hn_metrics_evaluate(session->task->plan, session->task->problem, record, err);
    return status == HN_OK ? hn_session_note_result(session, number, err) : status;
}

/* In memory only: records of those that are no finalists keep what they were reckoned with. */
static enum hn_status estimate_all(struct hn_session *session, const struct candidates *all,
                                   struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < all->count; i++) {
        size_t number = all->items[i].number;
        if (!can_be_finalist(&session->tickets.items[number]))
            continue;
        status = hn_session_recall(session, number, err);
        if (status == HN_OK)
            status = hn_finals_reckon(session, number, err);
        hn_session_release(session, number);
    }
    return status;
}

enum hn_status hn_finals_estimate(struct hn_session *session, bool *again, struct hn_error *err)
{
    struct candidates all = {0};
    if (!hn_session_weighs(session))
        return HN_OK;
    hn_session_show(session, "measuring the power of a few points");
    enum hn_status status = hn_session_prepare(session, err);
    if (status == HN_OK)
        status = gather(session, &all, err);
    if (status == HN_OK && all.count > 0 && session->power.samples == 0 &&
        !hn_session_is_over(session))
        status = measure(session, &all, again, err);
    if (status == HN_OK)
        status = estimate_all(session, &all, err);
    free(all.items);
    return status;
}
