/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_MEASURING_H
#define HONE_TUNER_FAMILY_MEASURING_H

#include "cache/family/rule.h"
#include "tuner/family/family.h"
#include "tuner/family/learn.h"

/* The matrix is filled by sessions over one problem each and by what earlier tunes of the family measured, and rules
 * are held against searches. A function that returns no status does nothing once err has failed. */

struct hn_measuring {
    const struct hn_family_options *options;
    struct hn_config *config; /* of which problems are tuned for the family: nothing that varies is a constant of the program */
    double started_ms;        /* from which lines count their time */
    struct hn_config *cells;  /* with no other points than those of the matrix */
    size_t cells_points;      /* so many points it knows */
    struct hn_matrix *matrix;
    size_t cell_count;
    char nvrtc[16]; /* the compiler's version, once a session was run */
};

void hn_measuring_init(struct hn_measuring *measuring, const struct hn_family_options *options, struct hn_error *err);
void hn_measuring_finish(struct hn_measuring *measuring);

/* The next problem of the sequence of a seed (hn_family_next), whole. */
struct hn_bindings hn_measuring_draw(const struct hn_measuring *measuring, uint64_t seed, uint64_t *at,
                                     struct hn_error *err);
/* A task for that problem, with the device and the version of all sessions; for after the first, which says what
 * compiles. */
enum hn_status hn_measuring_task(struct hn_measuring *measuring, const struct hn_bindings *problem,
                                 struct hn_task *task, struct hn_error *err);
/* Searches at a size for so many seconds; what is good there joins the points. */
void hn_measuring_tune(struct hn_measuring *measuring, size_t size, double budget_s, struct hn_error *err);
/* Measures all points at a size, as far as they were not and `budget_s` (0: any) lasts: a session takes longer to
 * begin than most of them. */
void hn_measuring_fill(struct hn_measuring *measuring, size_t size, double budget_s, struct hn_error *err);
/* At a problem that is no size of the matrix, which is searched among all points of the space, those with sizes as
 * constants too. The search begins with all points of the matrix, and where there are none with those of the rule. NAN
 * where there is no time. */
struct hn_compared {
    double chosen_us, default_us; /* of the rule's choice; of the default point for that problem */
    double best_us; /* the least of all */
};
void hn_measuring_compare(struct hn_measuring *measuring, const struct hn_bindings *problem, const struct hn_rule *rule,
                          size_t chosen, double budget_s, struct hn_compared *compared, struct hn_error *err);
/* Puts the rule into the store, in a session that is begun for it, and the machine code of its configurations. */
void hn_measuring_keep(struct hn_measuring *measuring, const struct hn_rule *rule, int64_t *session,
                       struct hn_error *err);

/* Puts into the matrix what the store knows of the family from before, by this device and version: points that were
 * measured at eight sizes or more, and the sizes where four of the matrix' points were, up to three quarters of all
 * that it takes. For after the first session. */
void hn_recall(struct hn_measuring *measuring, struct hn_error *err);

#endif
