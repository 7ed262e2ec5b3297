/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_MEASURING_H
#define HONE_TUNER_FAMILY_MEASURING_H

#include "cache/family/rule.h"
#include "tuner/family/family.h"
#include "tuner/family/learn.h"

/* The tuning of a family as its store sees it: tasks of its problems, what was measured before and what is kept. A function that
 * returns no status does nothing once err has failed. */

/* The effort that is spent on a family where nobody says. */
struct hn_family_worth {
    double budget_s;
    size_t tuned;       /* sizes that are searched */
    unsigned held_out;  /* and sizes that are not used */
    size_t least_sizes; /* before a predicted loss is believed */
};

/* Of a budget that is a number of evaluations. */
#define HN_EVALUATIONS_PER_S 50.0

struct hn_measuring {
    const struct hn_family_options *options;
    struct hn_config *config; /* of which problems are tuned for the family: nothing that varies is a constant of the program */
    struct hn_config *whole;  /* as written: whoever keeps points of it gives it back with all */
    struct hn_template template; /* of all sessions: a rule is of one program, however long it takes */
    double started_ms;        /* from which lines count their time */
    struct hn_matrix *matrix;
    const struct hn_model *model; /* of what the matrix has; NULL: none is learnt yet. Borrowed */
    size_t cell_count;
    struct hn_family_worth worth;
    double budget_s;      /* that was given, in seconds or in evaluations of so many a second; 0: none */
    uint64_t evaluations; /* of all sessions */
    char nvrtc[16]; /* the compiler's version, once a session was run */
};

/* Takes the configs, and opens the device. Finish it in any case. */
void hn_measuring_start(struct hn_measuring *measuring, const struct hn_family_options *options, struct hn_error *err);
void hn_measuring_finish(struct hn_measuring *measuring);
/* What was used of the budget: time since the start or, of a number of evaluations, what these stand for. */
double hn_measuring_spent_s(const struct hn_measuring *measuring);
/* A line behind the time since the start. */
void hn_measuring_say(const struct hn_measuring *measuring, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A task for a problem, with the device and version of all sessions; for after the first, which says what compiles. */
enum hn_status hn_measuring_task(struct hn_measuring *measuring, const struct hn_bindings *problem,
                                 struct hn_task *task, struct hn_error *err);
/* The median of what was timed, NAN of anything else. */
double hn_measuring_time(const struct hn_record *record);

/* Puts into the matrix what the store knows of the family from before, by this device and version, with whatever
 * budget: points that were measured at eight sizes or more, and the sizes where four of the matrix' points were, up to
 * three quarters of all that it takes; says so. For after the first session. */
void hn_recall(struct hn_measuring *measuring, struct hn_error *err);

/* A session that has run, for whoever reads what it found. */
struct hn_visit {
    struct hn_task task;
    struct hn_backend *backend;
    struct hn_session *session;
};

/* A session of a problem that measures the points that are asked for, or where none are searches. False: it failed, or nothing is
 * valid for the problem, so that there is nothing to read. The visit begins with all zero; end it in any case. */
bool hn_visit_run(struct hn_measuring *measuring, struct hn_config *config, const struct hn_bindings *problem,
                  const struct hn_session_options *asked, struct hn_visit *visit, struct hn_error *err);
void hn_visit_end(struct hn_visit *visit);
/* The time of a point that ran, INFINITY of one that failed, NAN of one not evaluated. The matrix' point, which may be NULL, is told
 * what its record says beside. */
double hn_visit_time(const struct hn_session *session, const struct hn_bindings *point, struct hn_matrix_point *told,
                     struct hn_error *err);

enum { HN_MEASURING_PROPOSED = 24 };

/* The points of the matrix, `most` at most, that may be the best at a problem, these first: by the model, if any. How many. */
size_t hn_measuring_promising(const struct hn_measuring *measuring, const struct hn_bindings *problem, size_t most,
                              size_t *points);
/* Those that a search begins with. `borrowed` has room for all of the matrix. */
size_t hn_measuring_borrow(const struct hn_measuring *measuring, const struct hn_bindings *problem,
                           struct hn_bindings *borrowed);

/* Shares of the time: searches at sizes of their own, cells of the matrix, and, at least, the sizes that were not used. */
#define HN_TUNED_SHARE 0.45
#define HN_CELLS_SHARE 0.30
#define HN_HELD_OUT_SHARE 0.25

/* At named sizes, and where a rule is compared, points whose times are so near to the best one's meet it in a race. */
#define HN_RACE_LOSS 0.2

/* A rule is held against searches at sizes that it has not seen. */
struct hn_held_out {
    struct hn_measuring *measuring;
    const struct hn_rule *rule;
    uint64_t seed; /* of the sequence that sizes are drawn from */
    unsigned count;
    double budget_s;                 /* of all searches */
    struct hn_known_problems *known; /* which are passed over; NULL: the sizes of the matrix */
};

struct hn_held_out_loss hn_held_out_measure(const struct hn_held_out *held_out, struct hn_error *err);

#endif
