/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_PARTS_H
#define HONE_TUNER_SPACE_SPACE_PARTS_H

#include "tuner/space/space_search.h"

/* A problem in parts that are independent of each other, for space*.c only. Parameters with one value are in none. */
struct hn_space_parts {
    struct hn_space_part *items; /* by their first parameter */
    size_t count;
    size_t *parameters;
    size_t *checks;
};

enum hn_status hn_space_parts_init(struct hn_space_parts *parts, const struct hn_space_problem *problem,
                                   struct hn_error *err);
void hn_space_parts_finish(struct hn_space_parts *parts);

/* A part with what is needed to look for its points. */
struct hn_space_solver {
    struct hn_space_table table; /* only the layout of keys */
    struct hn_space_plan plan;
    struct hn_space_search search;
};

enum hn_status hn_space_solver_init(struct hn_space_solver *solver, struct hn_space_problem *problem,
                                    const struct hn_space_part *part, struct hn_error *err);
void hn_space_solver_finish(struct hn_space_solver *solver);

/* Sets *fails and the point, at which the first conjuncts hold and this one has no value, if there is such a point. */
enum hn_status hn_space_find_failing(const struct hn_space_demands *demands, size_t conjunct, bool *fails,
                                     uint16_t *choice, struct hn_error *err);

/* HN_ENOTFOUND: names the constraint that rejects most. */
enum hn_status hn_space_fail_empty(const struct hn_space_demands *demands, struct hn_error *err);
/* HN_ECONFIG: what the constraint of the conjunct says at the point, where it has no value. */
enum hn_status hn_space_fail_constraint(const struct hn_space_demands *demands, size_t conjunct,
                                        const uint16_t *choice, struct hn_error *err);

#endif
