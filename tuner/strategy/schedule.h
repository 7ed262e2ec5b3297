/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_SCHEDULE_H
#define HONE_TUNER_STRATEGY_SCHEDULE_H

#include "tuner/strategy/strategy.h"

/* In which order a strategy is told of its tickets: as they would be compiled and finished on a machine of look-ahead
 * / 2 cores, HN_SCHEDULE_CORES at most, each of which compiles for as long as was measured. That is a function of
 * proposals and measurements, whatever the machine, and near the order in which they really end. A compilation of less
 * than HN_SCHEDULE_LEAST_MS, which is mostly noise, takes that: such tickets are told in the order of the proposals. A
 * ticket is finished HN_SCHEDULE_LEAST_MS after it was compiled; evaluations that take longer hold up what is proposed
 * next. */
#define HN_SCHEDULE_LEAST_MS 300.0
#define HN_SCHEDULE_CORES 16

enum hn_schedule_event { HN_SCHEDULE_NONE, HN_SCHEDULE_COMPILED, HN_SCHEDULE_FINISHED };

struct hn_schedule_ticket {
    uint64_t number;
    uint64_t original; /* of the same point; its own number: none */
    double start_ms;   /* INFINITY: waits for a core */
    double least_ms;   /* it compiles for so long at least; once known, for exactly so long */
    bool known;
    double compiled_ms; /* once it was told; NAN before */
};

struct hn_schedule {
    unsigned look_ahead;
    double now_ms, gpu_free_ms;
    struct hn_schedule_ticket *tickets; /* proposed and not finished, by number */
    size_t count;
    size_t compiling; /* of them */
    double event_ms;  /* as of the last hn_schedule_next: when what is next is, */
    double held_ms;   /* and by how much older those that compile have to be before it is sure */
};

void hn_schedule_init(struct hn_schedule *schedule, unsigned look_ahead);
void hn_schedule_finish(struct hn_schedule *schedule);

/* Whether another ticket may be proposed: fewer than look-ahead / 2 compile (one always may), fewer than look-ahead
 * are unfinished. */
bool hn_schedule_has_room(const struct hn_schedule *schedule);
/* original: the first ticket of the point; the number itself where it is new. */
void hn_schedule_propose(struct hn_schedule *schedule, uint64_t number, uint64_t original);
/* Notes of a ticket that is in flight how long it compiles, or (not known) for how long it does so far. */
void hn_schedule_note(struct hn_schedule *schedule, uint64_t number, double compile_ms, bool known);
/* The next event, and its ticket; NONE: that cannot be told yet, or there is nothing in flight. */
enum hn_schedule_event hn_schedule_next(struct hn_schedule *schedule, uint64_t *number);
/* It was told. evaluate_ms: of what is finished. */
void hn_schedule_tell(struct hn_schedule *schedule, enum hn_schedule_event event, uint64_t number, double evaluate_ms);

/* The search contract of strategy.h, for whoever drives a strategy: a tune or a simulation. */

/* A strategy that comes back to known points so often in a row has nothing new to say. */
#define HN_REPEATS_MOST 10000

/* Whether it is to be asked for another proposal before more is told. */
bool hn_may_propose(const struct hn_strategy_kind *kind, const struct hn_strategy *strategy,
                    const struct hn_schedule *schedule);

/* Tells what compiling found, and no more: of a measurement that is already there nothing. False when the strategy
 * declines to have it measured; not of what failed. */
bool hn_tell_compiled(const struct hn_strategy_kind *kind, struct hn_strategy *strategy, uint64_t ticket,
                      const struct hn_observation *known);

#endif
