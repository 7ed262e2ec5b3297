/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_SESSION_INTERNAL_H
#define HONE_TUNER_SESSION_SESSION_INTERNAL_H

#include "base/hash.h"
#include "tuner/session/session.h"
#include "tuner/space/space.h"
#include "tuner/strategy/schedule.h"

/* Shared by session.c (the loop and the clock), search.c (proposals), results.c (tickets, what comes back, what is
 * held of it, and who is better) and finals.c. Functions that take an err and return nothing are sticky. */

/* One proposal on its way through a session. Tickets are numbered as proposed: the ladder's first, then the strategy's. */
enum hn_ticket_state {
    HN_TICKET_COMPILING,
    HN_TICKET_COMPILED,   /* waits for its turn on the GPU */
    HN_TICKET_DUPLICATE,  /* waits for its original to finish */
    HN_TICKET_EVALUATING,
    HN_TICKET_FINISHED,
};

/* The part of a record that is compared. */
struct hn_result {
    double objective;
    double median_us;
    double time; /* when the record was made */
    float low; /* lower end of the interval over the median */
    float clock_mhz;
    uint32_t against; /* the point that it duplicates or that stopped it early; HN_NO_KEY: none */
    uint8_t outcome;  /* enum hn_outcome */
    bool final;       /* took part in the final race that counts */
};

/* All that a ticket needs while it is under way, and for as long as somebody needs its record or its image. */
struct hn_flight {
    struct hn_record record;
    struct hn_image image; /* kept until measured, and for the best */
    size_t original;       /* the ticket that a duplicate waits for */
    size_t censor;         /* the ticket that it was held against when measured, or SIZE_MAX */
    double compiling_since_ms;
    bool held; /* somebody works on it: it stays */
};

/* There is one for every proposal of a session, so that it is small. */
struct hn_ticket {
    struct hn_result result;  /* once finished */
    struct hn_flight *flight; /* NULL: the record is in the cache */
    uint32_t point;           /* its number */
    uint8_t state;            /* enum hn_ticket_state */
    bool full;                /* of the ladder: no early stop */
    bool cached;              /* its record is of an earlier session */
    bool kept;                /* its record is in this session of the cache */
    bool decided;             /* the strategy was told of its compilation */
    bool told;                /* and that it is finished */
    bool replayed;            /* shares the record of an earlier ticket of the same point */
    bool awaited;             /* duplicates wait for it */
};

/* Growing array of tickets and where each point and each machine code has its first one. Begin with all zero. */
struct hn_tickets {
    struct hn_ticket *items;
    size_t count;
    uint32_t *of_point; /* ticket + 1 by point; 0 for none */
    uint32_t point_count;
    struct hn_keys codes; /* of machine code with its launch */
    uint32_t *of_code;    /* ticket by code */
};

void hn_tickets_finish(struct hn_tickets *tickets);
/* A new ticket, zeroed but for its point; its number. Earlier pointers become invalid; flights stay where they are. */
size_t hn_tickets_add(struct hn_tickets *tickets, uint32_t point);
/* Gives it a flight with empty record and image, where it has none. */
struct hn_flight *hn_tickets_fly(struct hn_tickets *tickets, size_t number);
/* The first ticket of a point; SIZE_MAX when there is none. */
size_t hn_tickets_of_point(const struct hn_tickets *tickets, uint32_t point);

/* Images of so many of the best are kept for the final race. */
#define HN_KEPT_CLOSE 24
/* Times of it and of the search differ by at most this, beside the clock's resolution. */
#define HN_RACE_SHIFT 0.1

/* The findings of an earlier session about a point of this space: a few numbers a record, which stays in the cache. */
struct hn_cached_entry {
    int64_t row; /* hn_store_get; 0: there is none */
    struct hn_result result;
    char code_hash[33];
};

struct hn_cached {
    struct hn_cached_entry *entries; /* by point */
    uint32_t count;
    double earliest;    /* time of the earliest record; INFINITY: there is none */
    uint32_t incumbent; /* the best of the ok ones; HN_NO_KEY: there is none */
    uint32_t lead;      /* the best of what was imported, which is measured before it counts; HN_NO_KEY: there is none */
    double lead_objective;
    struct hn_records renewed; /* while they are loaded: those whose metrics have other values by now */
};

struct hn_session {
    struct hn_backend *backend;
    struct hn_task *task;
    struct hn_store *store;
    struct hn_session_options options;
    struct hn_session_state state;
    hn_session_watch *watch;
    void *watcher;

    struct hn_keys points; /* those looked at */
    struct hn_tickets tickets;
    struct hn_cached cached;
    uint16_t *choice; /* room for one point */
    struct hn_tuned_list stored; /* what the cache had of the problem before the finals */

    /* Proposing, and telling the strategy. */
    struct hn_strategy *strategy; /* NULL while the space is built */
    struct hn_schedule schedule; /* of the strategy's tickets, where it needs feedback */
    double held_ms;       /* in which what compiles may get old enough that more can be told; INFINITY: nothing is waited for so */
    size_t ladder_count;  /* tickets of the ladder, the first ones */
    size_t given_count;   /* tickets before the strategy's first: ladder and incumbent */
    bool exhausted;       /* the strategy has no more proposals, or the budget is used up */
    bool last_call;       /* the search is over: what is compiled is measured in any order */
    uint64_t repeats;     /* proposals since the last new point */
    uint64_t next_doubt;  /* points proposed when the strategy is asked next whether to go on */
    uint64_t told_finished; /* strategy tickets told so far */
    uint64_t after; /* tickets that the schedule was given behind the last proposal */

    /* How far the tickets are on their way. */
    size_t next_given;    /* no given ticket below it is being compiled */
    size_t next_register; /* first ticket whose machine code is not yet looked up, but for given ones that are being compiled */
    size_t next_dispatch; /* no ticket below it waits for the GPU */
    size_t next_settled;  /* all tickets below it are finished */

    /* Who is ahead. */
    size_t best;        /* ticket, or SIZE_MAX; it has a flight */
    size_t censor_next; /* tickets below it have been looked at for the censor */
    size_t censor;      /* best ok ticket among them, or SIZE_MAX */
    size_t close[HN_KEPT_CLOSE + 1]; /* tickets whose images are kept, with room for one more */
    size_t close_count;

    double watched_ms;
    double created_s; /* since the epoch */
    bool extended;    /* the budget has ended, and the first result is waited for */
    bool fresh;       /* something was found out that the cache did not have */
    bool compiles;    /* something was given to the compile workers */
    bool prepared;
    bool warm; /* preparing has come to its end */
    bool weighs; /* energy, or energy_delay, is the objective */
    int64_t session_id; /* in the store; 0: not yet */
};

/* search.c */
/* The tunings that the cache holds of the same kernel under other circumstances, as priors for a search: tunings of other problems,
 * devices and versions, whose points are valid in this space too. */
struct hn_knowledge {
    struct hn_prior *priors; /* source 0 is the nearest tuning */
    size_t count;
    uint16_t *choices; /* of the priors */
    unsigned sources;
};

/* Waits for the space, and makes the strategy. */
void hn_session_begin_search(struct hn_session *session, struct hn_error *err);
void hn_session_admit_given(struct hn_session *session, struct hn_error *err);
void hn_session_propose(struct hn_session *session, struct hn_error *err);
/* Tells a strategy that needs feedback what it may know by now. */
void hn_session_tell(struct hn_session *session, struct hn_error *err);
/* Tickets whose compilation is told from now on are held against this one, where it is the best of those. */
void hn_session_hold_against(struct hn_session *session, size_t number);

/* results.c */
void hn_session_take_event(struct hn_session *session, struct hn_backend_event *event, struct hn_error *err);
/* Looks up the machine code of a ticket, where it is compiled. */
void hn_session_register_ticket(struct hn_session *session, size_t number, struct hn_error *err);
/* The ticket is done with what the record of its flight says, or its result where it has none. */
void hn_session_finish_ticket(struct hn_session *session, size_t number, struct hn_error *err);
/* Writes the record of a ticket in flight (again), and notes its result. */
void hn_session_keep(struct hn_session *session, size_t number, struct hn_error *err);

/* Also results.c: what a session holds of its tickets. The record of a finished one stays in flight as long as it is needed, and is
 * read from the cache when it is needed again. */
/* Numbers the points of the cached records, the first that a session numbers. A session without a store has none. */
void hn_session_load_cached(struct hn_session *session, struct hn_error *err);
/* The ticket has a flight, with its record, until it is released; NULL only on failure. */
struct hn_flight *hn_session_recall(struct hn_session *session, size_t number, struct hn_error *err);
/* Lets go of a finished ticket's flight, unless it is held, among the close ones, or not yet told to the strategy. */
void hn_session_release(struct hn_session *session, size_t number);
/* The result of a ticket from the record of its flight. */
void hn_session_note_result(struct hn_session *session, size_t number);
/* A point by its number. */
void hn_session_point(const struct hn_session *session, uint32_t point, struct hn_bindings *bindings);
/* Looks for the best among all: raced ones before others. */
void hn_session_find_best(struct hn_session *session, struct hn_error *err);
/* qsort_r's order of two tickets: by objective, then as records that tie (hn_record_beats). */
int hn_session_compare(const void *a, const void *b, void *session);
/* Finished with a time of its own: what can be the best. */
bool hn_ticket_is_ok(const struct hn_ticket *ticket);
/* No record counts as raced any more, until the next race. */
void hn_session_forget_races(struct hn_session *session);

/* session.c */
/* A line of --events about a record, or (NULL) the chance of a better point; nothing where there is none. HN_ERUN:
 * it cannot be written. */
void hn_session_tell_news(struct hn_session *session, const struct hn_record *record, struct hn_error *err);
void hn_session_prepare(struct hn_session *session, struct hn_error *err);
/* Starts an evaluation of a ticket, or (request NULL) its compilation. */
void hn_session_start(struct hn_session *session, size_t number, double patience_ms, const struct hn_bench_request *request,
                      struct hn_error *err);
struct hn_backend_state hn_session_look(const struct hn_session *session);
/* Waits for one event (or nothing), commits what is due, shows progress. */
void hn_session_step(struct hn_session *session, struct hn_backend_event *event, struct hn_error *err);
void hn_session_show(struct hn_session *session, const char *phase);
/* Writes what the store still holds back. */
void hn_session_commit(struct hn_session *session, struct hn_error *err);

/* Until the end of the budget; INFINITY without one. */
double hn_session_left_ms(const struct hn_session *session);
/* Nothing more is waited for: a signal came, or the time is up. */
bool hn_session_is_over(const struct hn_session *session);
/* The rest of the time belongs to the finals. */
bool hn_session_search_is_over(const struct hn_session *session);

/* finals.c */
#define HN_FINALIST_LIMIT 12
/* So many are weighed, the best of them. */
#define HN_WEIGHED_LIMIT 6
bool hn_session_has_finals(const struct hn_session *session);
/* Verifies the finalists on a second seed and races them. True: a finalist fell, what it had stopped early
 * waits to be measured and another may be among the best: run the loop once more, then the finals. */
bool hn_session_finals(struct hn_session *session, struct hn_error *err);

#endif
