/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_OPEN_H
#define HONE_TUNER_SPACE_SPACE_OPEN_H

#include "tuner/space/space_count.h"
#include "tuner/space/space_parts.h"

/* A group with more combinations than can be kept, for space*.c only: asks the checks instead. Safe from several
 * threads. */
struct hn_space_open {
    struct hn_space_solver solver;
    struct hn_space_plan declared; /* binds the parameters in declared order */
    size_t *checks;                /* of the problem */
    size_t check_count;
    struct hn_space_counts counts;
    bool counted;         /* else valid is an estimate, and draws are only about uniform */
    double valid;
    uint16_t *some;       /* a valid choice, of the group's parameters */
    pthread_mutex_t lock; /* of the solver's search, which draws */
};

/* Counts the part's points where that takes few steps. HN_WALK_TOO_LONG else. */
enum hn_walk hn_space_open_count(struct hn_space_open *open, uint64_t most_steps);
/* Estimates how many there are (Knuth, "Estimating the efficiency of backtrack programs", 1975). */
double hn_space_open_estimate(struct hn_space_open *open, uint64_t most_steps);

/* The part's solver, to begin with; problem outlives it. */
enum hn_status hn_space_open_create(struct hn_space_problem *problem, const struct hn_space_part *part,
                                    struct hn_space_open **open, struct hn_error *err);
/* Keeps one of the points that were found, or looks for one. HN_ENOTFOUND: there is none within most_steps. */
enum hn_status hn_space_open_find_some(struct hn_space_open *open, uint64_t most_steps, struct hn_error *err);
/* Makes the rest, once it is clear that the group stays open; it has been counted or estimated. */
enum hn_status hn_space_open_complete(struct hn_space_open *open, const struct hn_space_part *part,
                                      struct hn_error *err);
void hn_space_open_destroy(struct hn_space_open *open);

bool hn_space_open_contains(const struct hn_space_open *open, const uint16_t *choice);
/* Sets the bits of the declared indices of a parameter with which, the others being as in choice, all checks pass. */
void hn_space_open_values(const struct hn_space_open *open, const uint16_t *choice, size_t parameter, uint64_t *values);
void hn_space_open_draw(struct hn_space_open *open, struct hn_random *random, uint16_t *choice);
bool hn_space_open_first(const struct hn_space_open *open, const int *wanted, uint16_t *choice);

#endif
