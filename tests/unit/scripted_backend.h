/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_SCRIPTED_BACKEND_H
#define HONE_TESTS_SCRIPTED_BACKEND_H

#include "tuner/session/session.h"

/* A backend over the 400 points of tests/data/session/grid.yaml whose fate a test writes down: point 20 * A + B. What
 * is under way ends in the order started, or in a random one. */
enum { GRID_POINTS = 400, GRID_SIDE = 20, GRID_LADDER = 2, GRID_TOO_LARGE = 3, GRID_BEST = 200, LOG_LIMIT = 4096 };

struct fate {
    enum hn_outcome compiled, measured;
    enum hn_outcome second; /* on the second seed */
    enum hn_outcome raced;
    enum hn_outcome anew; /* in a process that begins anew */
    double us;
    double raced_us; /* in the race; 0: as in the search */
    int code;  /* points of the same code have the same machine code; 0: its own */
    int delay; /* waits that its compilation takes */
    double compile_ms; /* that it says it took; 0: 10 */
    bool stuck; /* its compilation never ends */
    double age_ms; /* for how long it says that it compiles, where that does not end */
    double slow_ms; /* that its evaluation really takes */
};

struct scripted_evaluation {
    uint64_t ticket;
    int point;
    struct hn_bench_request request;
};

struct scripted_job {
    struct hn_backend_event event;
    int point, due;
    double due_ms; /* as hn_now_ms; 0: at once */
};

struct scripted {
    struct hn_backend base;
    struct fate fates[GRID_POINTS];
    int jobs;            /* compilations at a time */
    unsigned shuffle;    /* not 0: seed of the order in which they end */
    double race_factor;  /* of the times in the race */
    bool race_hangs;
    int fail_at;         /* this evaluation is a run failure; 0: none */
    int interrupt_at;    /* SIGINT comes during this evaluation; 0: none */
    bool fail_seeded;    /* a compilation after the second seed is a run failure */

    int prepared; /* counts of calls */
    int races, processes, reseeds, halts;
    uint64_t seed, first_seed;
    int compiled[LOG_LIMIT]; /* points in order */
    int compiled_count;
    double ages_ms[LOG_LIMIT]; /* by ticket */
    struct scripted_evaluation evaluated[LOG_LIMIT];
    int evaluated_count;

    struct scripted_job *queue;
    size_t queue_count;
    bool evaluating;
    int clock;
    int waits_in_vain; /* with nothing under way */
};

struct grid {
    struct hn_config *config;
    struct hn_task task;
    struct scripted backend;
};

/* All points are fine; point p takes 100 + (7 * p + 200) % 400 us, so that point 200 is the best. restriction as of -s, or
 * NULL. Grids, sessions and records are kept until the test ends. */
struct grid *make_grid(const char *restriction);

int point_number(const struct hn_bindings *point);
/* "A=1,B=2" of 22. */
const char *point_text(int number, char text[32]);

/* A record of the session. */
const struct hn_record *keep_record(const struct hn_session *session, size_t ticket);
/* The record of a point; NULL when the session has none. */
const struct hn_record *record_of(const struct hn_session *session, int point);
/* How often a point was measured. */
int measured_count(const struct scripted *backend, int point);
/* All points in their order, with seed 1. */
struct hn_session_options exhaustive(void);
/* A finished session on the grid with these options (NULL: exhaustive); fails the test when it is not HN_OK. */
struct hn_session *run_session(struct grid *grid, struct hn_store *store, const struct hn_session_options *options);
void assert_near(double value, double expected, double margin);
uint64_t sum_of_counts(const struct hn_session_state *state);

#endif
