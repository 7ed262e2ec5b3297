/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "tuner/strategy/schedule.h"

static size_t most_compiling(const struct hn_schedule *schedule)
{
    return schedule->look_ahead > 3 ? schedule->look_ahead / 2 : 1;
}

void hn_schedule_init(struct hn_schedule *schedule, unsigned look_ahead)
{
    *schedule = (struct hn_schedule){.look_ahead = look_ahead,
                                     .tickets = hn_need(look_ahead, sizeof *schedule->tickets)};
}

void hn_schedule_finish(struct hn_schedule *schedule)
{
    free(schedule->tickets);
    *schedule = (struct hn_schedule){0};
}

bool hn_schedule_has_room(const struct hn_schedule *schedule)
{
    return schedule->compiling < most_compiling(schedule) && schedule->count < schedule->look_ahead;
}

/* NULL: it is not in flight. */
static struct hn_schedule_ticket *find(const struct hn_schedule *schedule, uint64_t number)
{
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->tickets[i].number == number)
            return &schedule->tickets[i];
    return NULL;
}

static bool compiles(const struct hn_schedule_ticket *ticket)
{
    return isnan(ticket->compiled_ms);
}

/* Free cores take what waits, oldest first. */
static void start(struct hn_schedule *schedule)
{
    size_t running = 0;
    for (size_t i = 0; i < schedule->count && running < HN_SCHEDULE_CORES; i++) {
        struct hn_schedule_ticket *ticket = &schedule->tickets[i];
        if (!compiles(ticket))
            continue;
        running++;
        ticket->start_ms = fmin(ticket->start_ms, schedule->now_ms);
    }
}

void hn_schedule_propose(struct hn_schedule *schedule, uint64_t number, uint64_t original)
{
    schedule->tickets[schedule->count++] =
        (struct hn_schedule_ticket){.number = number,
                                    .original = original,
                                    .start_ms = INFINITY,
                                    .least_ms = HN_SCHEDULE_LEAST_MS,
                                    .known = original != number,
                                    .compiled_ms = NAN};
    schedule->compiling++;
    start(schedule);
}

void hn_schedule_note(struct hn_schedule *schedule, uint64_t number, double compile_ms, bool known)
{
    struct hn_schedule_ticket *ticket = find(schedule, number);
    if (ticket == NULL || ticket->known)
        return;
    ticket->least_ms = fmax(ticket->least_ms, compile_ms);
    ticket->known = known;
}

/* When it is compiled at the earliest, and whether that is so; a repeated point is with its first
 * ticket. */
static double earliest(const struct hn_schedule *schedule, const struct hn_schedule_ticket *ticket,
                       bool *known)
{
    double ms = ticket->start_ms + ticket->least_ms;
    *known = ticket->known;
    if (ticket->original == ticket->number)
        return ms;
    const struct hn_schedule_ticket *first = find(schedule, ticket->original);
    if (first == NULL)
        return ms;
    *known = first->known;
    return fmax(ms, compiles(first) ? first->start_ms + first->least_ms : first->compiled_ms);
}

/* The first that is known to be compiled, and what may be before it. */
static const struct hn_schedule_ticket *find_compiled(const struct hn_schedule *schedule,
                                                      double *known_ms, double *unknown_ms)
{
    const struct hn_schedule_ticket *next = NULL;
    *known_ms = INFINITY;
    *unknown_ms = INFINITY;
    HN_EACH_OF(ticket, schedule->tickets, schedule->count) {
        bool known;
        if (!compiles(ticket) || isinf(ticket->start_ms))
            continue;
        double ms = earliest(schedule, ticket, &known);
        if (known && ms < *known_ms) {
            *known_ms = ms;
            next = ticket;
        }
        /* The lower number is first of two at once. */
        if (!known && next != NULL && ms >= *known_ms)
            ms = nextafter(ms, INFINITY);
        if (!known)
            *unknown_ms = fmin(*unknown_ms, ms);
    }
    return next;
}

enum hn_schedule_event hn_schedule_next(struct hn_schedule *schedule, uint64_t *number)
{
    double known_ms, unknown_ms;
    const struct hn_schedule_ticket *compiled = find_compiled(schedule, &known_ms, &unknown_ms);
    const struct hn_schedule_ticket *finished = NULL;
    HN_EACH_OF(ticket, schedule->tickets, schedule->count) {
        if (!compiles(ticket) && (finished == NULL || ticket->compiled_ms < finished->compiled_ms))
            finished = ticket;
    }
    /* The one that makes room is first of two at once. */
    bool presses = schedule->compiling >= most_compiling(schedule);
    double finished_ms = finished != NULL ? finished->compiled_ms + HN_SCHEDULE_LEAST_MS : INFINITY;
    bool finishes = finished_ms < known_ms || (finished_ms <= known_ms && !presses);
    const struct hn_schedule_ticket *next = finishes ? finished : compiled;
    double ms = finishes ? finished_ms : known_ms;
    schedule->event_ms = ms;
    schedule->held_ms = INFINITY;
    if (next == NULL)
        return HN_SCHEDULE_NONE;
    if (unknown_ms < ms || (unknown_ms <= ms && (!finishes || presses))) {
        schedule->held_ms = ms - unknown_ms;
        return HN_SCHEDULE_NONE;
    }
    *number = next->number;
    return finishes ? HN_SCHEDULE_FINISHED : HN_SCHEDULE_COMPILED;
}

static void finish(struct hn_schedule *schedule, struct hn_schedule_ticket *ticket,
                   double evaluate_ms)
{
    double compiled_ms = ticket->compiled_ms;
    schedule->now_ms = fmax(schedule->now_ms, compiled_ms + HN_SCHEDULE_LEAST_MS);
    if (evaluate_ms >= HN_SCHEDULE_LEAST_MS) {
        schedule->gpu_free_ms = fmax(schedule->gpu_free_ms, compiled_ms) + evaluate_ms;
        schedule->now_ms = fmax(schedule->now_ms, schedule->gpu_free_ms);
    }
    HN_DROP(schedule->tickets, schedule->count, (size_t)(ticket - schedule->tickets));
}

void hn_schedule_tell(struct hn_schedule *schedule, enum hn_schedule_event event, uint64_t number,
                      double evaluate_ms)
{
    struct hn_schedule_ticket *ticket = find(schedule, number);
    bool known;
    if (event == HN_SCHEDULE_FINISHED) {
        finish(schedule, ticket, evaluate_ms);
        return;
    }
    ticket->compiled_ms = earliest(schedule, ticket, &known);
    schedule->now_ms = fmax(schedule->now_ms, ticket->compiled_ms);
    schedule->compiling--;
    start(schedule);
}

bool hn_may_propose(const struct hn_strategy_kind *kind, const struct hn_strategy *strategy,
                    const struct hn_schedule *schedule)
{
    return hn_schedule_has_room(schedule) &&
           (kind->waits == NULL || schedule->count == 0 || !kind->waits(strategy));
}

bool hn_tell_compiled(const struct hn_strategy_kind *kind, struct hn_strategy *strategy,
                      uint64_t ticket, const struct hn_observation *known)
{
    const enum hn_outcome outcome = known->outcome;
    bool failed = outcome == HN_OUTCOME_INVALID_LAUNCH || outcome == HN_OUTCOME_COMPILE_ERROR ||
                  outcome == HN_OUTCOME_COMPILE_TIMEOUT || outcome == HN_OUTCOME_COMPILE_CRASH ||
                  outcome == HN_OUTCOME_COMPILE_STOPPED;
    const struct hn_observation compiled = {
        .outcome = failed ? outcome : HN_OUTCOME_OK,
        .cost = NAN,
        .resources = known->resources,
    };
    return kind->compiled == NULL || kind->compiled(strategy, ticket, &compiled) || failed;
}
