/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_MEASURING_H
#define HONE_TUNER_FAMILY_MEASURING_H

#include "cache/family/rule.h"
#include "tuner/family/family.h"
#include "tuner/family/learn.h"

/* The tuning of a family as its store sees it: tasks of its problems, what was measured before and what is kept. A function that
 * returns no status does nothing once err has failed. */

struct hn_measuring {
    const struct hn_family_options *options;
    struct hn_config *config; /* of which problems are tuned for the family: nothing that varies is a constant of the program */
    double started_ms;        /* from which lines count their time */
    struct hn_config *cells;  /* with no other points than those of the matrix */
    size_t cells_points;      /* so many points it knows */
    struct hn_matrix *matrix;
    const struct hn_model *model; /* of what the matrix has; NULL: none is learnt yet. Borrowed */
    size_t cell_count;
    char nvrtc[16]; /* the compiler's version, once a session was run */
};

/* The next problem of the sequence of a seed (hn_family_next), whole. */
struct hn_bindings hn_measuring_draw(const struct hn_measuring *measuring, uint64_t seed, uint64_t *at,
                                     struct hn_error *err);
/* A task for that problem, with the device and the version of all sessions; for after the first, which says what
 * compiles. */
enum hn_status hn_measuring_task(struct hn_measuring *measuring, const struct hn_bindings *problem,
                                 struct hn_task *task, struct hn_error *err);
/* The median of what was timed, NAN of anything else. */
double hn_measuring_time(enum hn_outcome outcome, const struct hn_record *record);
/* Puts the rule into the store, with its bytes and the machine code of its configurations; 0 becomes the session that is begun
 * for it. */
void hn_measuring_keep(struct hn_measuring *measuring, struct hn_rule *rule, int64_t *session, struct hn_error *err);

/* Puts into the matrix what the store knows of the family from before, by this device and version: points that were
 * measured at eight sizes or more, and the sizes where four of the matrix' points were, up to three quarters of all
 * that it takes. For after the first session. */
void hn_recall(struct hn_measuring *measuring, struct hn_error *err);

#endif
