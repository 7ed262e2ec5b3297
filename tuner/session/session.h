/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_SESSION_H
#define HONE_TUNER_SESSION_SESSION_H

#include <stdio.h>

#include "cache/store/store.h"
#include "tuner/session/backend.h"
#include "tuner/strategy/strategy.h"

/* The tuning of one task: proposals become tickets, tickets records, records go to the store and back to the strategy. */

struct hn_session_options {
    const struct hn_strategy_kind *strategy;
    uint64_t look_ahead; /* 0: as the config says */
    uint64_t seed;
    double budget_s;       /* of the whole, finals and all; 0: none */
    uint64_t budget_count; /* evaluations; 0: none */
    double stop_chance;    /* ends when the strategy's chance of a better point is below; 0: never */
    bool full;             /* no early stop; cached early stops are measured again */
    bool retry_failed;     /* cached failures are tried again */
    FILE *events;          /* one JSON line an event; NULL: none */
    const char *command;   /* kept with the measurements */
    double started_ms;     /* when the command began with this task; 0: now */
    /* Only these are evaluated, each in full unless they are hasty: no ladder, no strategy. Those that are not valid are left out. Borrowed. */
    const struct hn_bindings *points;
    size_t point_count; /* 0: the strategy proposes */
    const struct hn_bindings *first; /* that are valid are evaluated before anything else, the ladder too, which is a seed then and stopped early; borrowed */
    size_t first_count;
    bool counters;      /* of the best finalists it is also read what the GPU counts of a launch */
    bool brief;         /* one of many: the best is not measured in other processes, since nobody replays it */
    bool hasty;         /* points that cannot be the best are stopped early, others are timed to 2%; no finals unless race_within is set */
    double energy_s;    /* what launches of the finalists consume, in two windows of so many seconds; 0: not asked for */
    double race_within; /* results within this share of the best take part in the race as well as who cannot be told from it */
};

/* A window in which energy is measured, where no other length is asked for; and who takes this much longer than the best is weighed,
 * too. */
#define HN_ENERGY_SECONDS 2.0
#define HN_WEIGHED_WITHIN 0.1

/* How long the search waited for what, in seconds. While the GPU has something to do nothing holds the search up but the GPU. */
struct hn_waits {
    double gpu_s;
    double cores_s;      /* all of them compiled */
    double look_ahead_s; /* some compiled, and nothing more could be proposed before results are known */
    double single_s;     /* one point alone was compiled, or the last ones */
};

/* Where the session stands, for the progress line and the summary. */
struct hn_session_state {
    bool planned;      /* the space is built and there is a strategy: before, points and sources are not known */
    bool unweighed;    /* energy was asked for, and there is no counter, or launches cannot follow one another */
    uint64_t points;   /* of the space; UINT64_MAX: too many to be numbered */
    char points_text[HN_SPACE_COUNT_TEXT];
    uint64_t proposed; /* distinct points */
    uint64_t finished;
    uint64_t reused; /* of them, from the cache */
    uint64_t counts[HN_OUTCOME_COUNT];
    const struct hn_record *best; /* NULL: none yet */
    const struct hn_record *elsewhere; /* the cache's best, of a point that -s left out or that was measured beside; NULL: it is none of these */
    double started_ms; /* as hn_now_ms */
    double elapsed_s;
    double compile_s; /* summed over the workers */
    double verify_s;
    double measure_s;
    /* L: so many tickets are in flight at most. A variant is stopped early only against tickets that were told
     * before its compilation was; a given one, against those L before it. */
    unsigned look_ahead;
    struct hn_waits waits;
    double slowest_s;     /* compilation of a point, and its ticket */
    size_t slowest;
    struct hn_usage usage; /* zero when not known */
    double noise;      /* relative; 0 when not measured */
    double copy_gb_per_s; /* of a device-to-device memcpy of what the best moves; 0 when not measured */
    char no_counters[512]; /* why there are no counters, where they were asked for; "": there are, or nobody asked */
    const char *phase; /* "preparing", "searching", "racing 5 finalists" */
    double chance;     /* that a point exists that is better by 2%, as the strategy estimated last; NAN: unknown */
    bool stopped;      /* because the chance was low */
    unsigned sources;  /* other tunings that the search began with */
    bool interrupted;
    uint64_t cut; /* points that were under way when the time was up */
    bool unraced; /* the time was up before the finals were held to their end */
};

/* Called a few times a second and at the end. */
typedef void hn_session_watch(void *watcher, const struct hn_session_state *state);

struct hn_session;

/* Borrows backend and store. Without a store (NULL) it keeps nothing, and holds all records until its end. */
enum hn_status hn_session_create(struct hn_backend *backend, struct hn_store *store,
                                 const struct hn_session_options *options, struct hn_session **session,
                                 struct hn_error *err);
void hn_session_destroy(struct hn_session *session);

/* At most `limit` points; none where the cache may hold some, whatever the device. The caller frees them, also after a failure. */
void hn_points_ahead_make(struct hn_points_ahead *ahead, const struct hn_task *task, struct hn_store *store,
                          const struct hn_session_options *options, size_t limit, struct hn_error *err);

/* Runs to its end: strategy done, budget used up, or a signal. backend->end_ms says until when it may be used. HN_OK also when nothing valid was found (state.best is
 * NULL). On HN_ERUN what was finished is committed. */
enum hn_status hn_session_run(struct hn_session *session, hn_session_watch *watch, void *watcher,
                              struct hn_error *err);

const struct hn_session_state *hn_session_state(const struct hn_session *session);
/* How many points have each outcome, of those that there are. */
json_t *hn_counts_to_json(const uint64_t counts[HN_OUTCOME_COUNT]);

/* The tickets that are finished, best first: ok by objective, then the rest in the order proposed. tied: how many of the
 * first cannot be told from the best. */
struct hn_ranking {
    uint32_t *tickets;
    size_t count;
    size_t tied;
};
enum hn_status hn_session_ranking(const struct hn_session *session, struct hn_ranking *ranking, struct hn_error *err);
void hn_ranking_finish(struct hn_ranking *ranking);
/* Those of the ladder, in its order. Free it. */
uint32_t *hn_session_ladder(const struct hn_session *session, size_t *count);

/* The finished ticket of a point; SIZE_MAX when there is none. */
size_t hn_session_find(const struct hn_session *session, const struct hn_bindings *point);
enum hn_outcome hn_session_outcome(const struct hn_session *session, size_t ticket);
/* The record of a finished ticket, the caller's to finish: most are read from the store. HN_ENOTFOUND when somebody has
 * taken it out of there meanwhile. */
enum hn_status hn_session_record(const struct hn_session *session, size_t ticket, struct hn_record *record,
                                 struct hn_error *err);

#endif
