/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_SESSION_INTERNAL_H
#define HONE_TUNER_SESSION_SESSION_INTERNAL_H

#include "tuner/session/points.h"
#include "tuner/session/session.h"
#include "tuner/session/session_cached.h"
#include "tuner/session/session_memory.h"
#include "tuner/session/ticket.h"
#include "tuner/strategy/schedule.h"

/* Shared by session.c (the loop), session_search.c (proposals), session_results.c (what comes back), session_memory.c
 * (what is held of it) and finals.c. */

/* Images of so many of the best are kept for the final race. */
#define HN_KEPT_CLOSE 24

struct hn_session {
    struct hn_backend *backend;
    struct hn_task *task;
    struct hn_store *store;
    struct hn_session_options options;
    /* L: so many tickets are in flight at most. A variant is stopped early only against tickets that were told before its
     * compilation was; a given one, against those L before it. */
    unsigned look_ahead;
    struct hn_schedule schedule; /* of the strategy's tickets, where it needs feedback */
    double held_ms;              /* in which what compiles may get old enough that more can be told; INFINITY: nothing is waited for so */
    struct hn_session_state state;
    hn_session_watch *watch;
    void *watcher;
    double started_ms;
    double watched_ms;
    double created_s; /* since the epoch */

    struct hn_strategy *strategy; /* NULL while the space is built */
    struct hn_points points;
    struct hn_tickets tickets;
    struct hn_cached cached;
    uint16_t *choice;    /* room for one point */
    size_t ladder_count; /* tickets of the ladder, the first ones */
    size_t given_count;  /* tickets before the strategy's first: ladder and incumbent */
    bool extended;       /* the budget has ended, and the first result is waited for */
    bool last_call;      /* the search is over: what is compiled is measured in any order */
    bool exhausted;      /* the strategy has no more proposals, or the budget is used up */
    uint64_t repeats;    /* proposals since the last new point */
    uint64_t next_doubt; /* points proposed when the strategy is asked next whether to go on */
    bool fresh;          /* something was found out that the cache did not have */
    bool compiles;       /* something was given to the compile workers */
    bool prepared;
    bool warm; /* preparing has come to its end */
    bool begun; /* session_id is valid */
    int64_t session_id;

    uint64_t told_compiled; /* strategy tickets told so far, in their order where no feedback is needed */
    uint64_t told_finished;
    uint64_t after; /* tickets that the schedule was given behind the last proposal */
    size_t next_given;    /* no given ticket below it is being compiled */
    size_t next_register; /* first ticket whose machine code is not yet looked up, but for given ones that are being compiled */
    size_t next_dispatch; /* no ticket below it waits for the GPU */
    size_t next_settled;  /* all tickets below it are finished, as of hn_session_settle */
    size_t censor_next;   /* tickets below it have been looked at for the censor */
    size_t censor;        /* best ok ticket among them, or SIZE_MAX */
    size_t best;          /* ticket, or SIZE_MAX; it has a flight */
    size_t close[HN_KEPT_CLOSE]; /* tickets whose images are kept, best first */
    size_t close_count;
};

/* session_search.c */
enum hn_status hn_session_admit_given(struct hn_session *session, struct hn_error *err);
enum hn_status hn_session_propose(struct hn_session *session, struct hn_error *err);
/* Tells the strategy what it may know by now. */
enum hn_status hn_session_tell(struct hn_session *session, struct hn_error *err);
/* Tickets whose compilation is told from now on are held against this one, where it is the best of those. */
void hn_session_hold_against(struct hn_session *session, size_t number);

/* session_results.c */
enum hn_status hn_session_take_event(struct hn_session *session, struct hn_backend_event *event,
                                     struct hn_error *err);
/* Looks up the machine code of tickets, in order, as far as they are compiled; or of one. */
enum hn_status hn_session_register(struct hn_session *session, struct hn_error *err);
bool hn_session_given_compile(struct hn_session *session);
enum hn_status hn_session_register_ticket(struct hn_session *session, size_t number, struct hn_error *err);
/* The ticket is done with what the record of its flight says, or its result where it has none. */
enum hn_status hn_session_finish_ticket(struct hn_session *session, size_t number, struct hn_error *err);
/* Writes the record of a ticket in flight (again). */
enum hn_status hn_session_keep(struct hn_session *session, size_t number, struct hn_error *err);
/* A ticket in flight is to be compiled and measured in full again; the caller submits it. */
void hn_session_reopen(struct hn_ticket *ticket);
/* Seconds since the epoch. */
double hn_session_epoch_s(void);

/* session_events.c: a line of --events each; nothing where there is none. HN_ERUN: it can not be written. */
enum hn_status hn_session_tell_start(struct hn_session *session, struct hn_error *err);
enum hn_status hn_session_tell_record(struct hn_session *session, const struct hn_record *record, struct hn_error *err);
enum hn_status hn_session_tell_chance(struct hn_session *session, double chance, struct hn_error *err);
enum hn_status hn_session_tell_end(struct hn_session *session, struct hn_error *err);

/* session.c */
/* Of a session with these options. */
unsigned hn_session_look_ahead(const struct hn_task *task, const struct hn_session_options *options);
/* Waits for the space, and makes the strategy. */
enum hn_status hn_session_begin_search(struct hn_session *session, struct hn_error *err);
enum hn_status hn_session_prepare(struct hn_session *session, struct hn_error *err);
enum hn_status hn_session_loop(struct hn_session *session, struct hn_error *err);
/* Waits for one event (or nothing), commits what is due, shows progress. */
enum hn_status hn_session_step(struct hn_session *session, struct hn_backend_event *event, struct hn_error *err);
void hn_session_show(struct hn_session *session, const char *phase);
/* Writes what the store still holds back. */
enum hn_status hn_session_commit(struct hn_session *session, struct hn_error *err);
void hn_session_settle(struct hn_session *session);

/* Whether energy, or energy_delay, is the objective. */
bool hn_session_weighs(const struct hn_session *session);

/* session_clock.c: a signal, and the end of a budget of time */
void hn_session_start_clock(struct hn_session *session);
/* Until the end of the budget; INFINITY without one. */
double hn_session_left_ms(const struct hn_session *session);
/* Nothing more is waited for. */
bool hn_session_is_over(const struct hn_session *session);
/* What is left of the time belongs to the finals. */
bool hn_session_search_is_over(const struct hn_session *session);
/* Behind that there is time to measure what is compiled already. */
bool hn_session_may_measure(const struct hn_session *session);
/* Where nothing is measured though something is compiled: from the middle of the budget on nothing else is waited for, and at its
 * end it is extended up to the first result. */
void hn_session_mind_clock(struct hn_session *session);
/* No GPU is at anything. */
bool hn_session_is_quiet(const struct hn_session *session);
/* What the GPU is at is soon done. */
enum hn_status hn_session_wait_for_gpu(struct hn_session *session, struct hn_error *err);
/* Ends the search before its time: what is compiling is killed, what the GPU is at is waited for. Points that come to
 * nothing so are no failures: they stay unfinished. */
enum hn_status hn_session_halt(struct hn_session *session, struct hn_error *err);

/* finals_field.c: who takes part in the finals */
#define HN_FINALIST_LIMIT 12
/* qsort_r's order of two tickets: by objective, then in the declared order of the points. */
int hn_session_compare(const void *a, const void *b, void *session);
/* The order of results, of two tickets that are ok: a raced one comes before one that was not, as its time was taken side by
 * side with its rivals'; then as above. */
bool hn_session_is_better(const struct hn_session *session, size_t a, size_t b);
/* All whose intervals overlap the best's, best first, and the winner of the last race; numbers has room for HN_FINALIST_LIMIT. */
enum hn_status hn_session_pick_finalists(struct hn_session *session, size_t *numbers, size_t *count,
                                         struct hn_error *err);
/* Nothing new was found out, and what is as good as the best of the last race was there when it was held. */
enum hn_status hn_session_is_settled(struct hn_session *session, bool *settled, struct hn_error *err);

/* finals.c: verifies the finalists on a second seed and races them. again: a finalist fell, what it had stopped early
 * waits to be measured and another may be among the best: run the loop once more, then the finals. */
enum hn_status hn_session_finals(struct hn_session *session, bool *again, struct hn_error *err);

#endif
