/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_PLAN_H
#define HONE_TUNER_SPACE_SPACE_PLAN_H

#include "tuner/space/space_problem.h"
#include "tuner/space/space_program.h"
#include "tuner/space/space_table.h"

/* How the valid points over some parameters are looked for, for space*.c only. Parameters are bound one after another,
 * one a level; a level's steps take away those of its values with which a check can not pass any more. What a step needs
 * of the levels above is computed there, when their parameter is bound. */

enum hn_step_kind {
    HN_STEP_TABULATED, /* the values that pass are kept as bits, for each combination of the few parameters above */
    HN_STEP_COMPUTED,  /* a term is computed for each value, or for a few where it rises or falls with them */
    HN_STEP_EVALUATED, /* the evaluator is asked for each value */
};

struct hn_space_step_key {
    size_t slot;
    size_t stride;
};

struct hn_space_step {
    enum hn_step_kind kind;
    const struct hn_space_check *check; /* to be evaluated, where term is -1 */
    int term;
    int edge;                    /* the term, or a <= b where that is a == b */
    enum hn_direction direction; /* of the edge with the position of the level's value */
    struct hn_space_program before; /* what does not change with it */
    struct hn_space_program after;  /* what does */
    struct hn_space_program to_edge;
    const struct hn_space_step_key *keys;
    size_t key_count;
    size_t bits_at;  /* where its bits begin, in words */
    size_t known_at; /* where it is kept which bits are known, in bytes */
};

struct hn_space_level {
    size_t parameter;
    size_t count; /* of values */
    size_t words; /* of a set of values */
    size_t mask_at; /* where its set of candidates is, in words */
    const struct hn_value *values;
    struct hn_space_step *steps;
    size_t step_count;
    struct hn_space_program exports; /* what steps below need */
    const uint64_t *parts;           /* of a key, by position */
    size_t key_word;
};

struct hn_space_plan {
    const struct hn_space_problem *problem;
    struct hn_space_level *levels;
    size_t level_count;
    size_t key_words;
    size_t mask_words;
    size_t bit_words;
    size_t known_bytes;
    bool evaluates;      /* values are needed, not only positions */
    double combinations; /* before any check */
    struct hn_blocks blocks;
};

/* A set of parameters that checks connect with each other, and with no other parameter. */
struct hn_space_part {
    const size_t *parameters; /* ascending */
    size_t parameter_count;
    const size_t *checks; /* of the problem */
    size_t check_count;
};

/* problem's terms grow; order holds all of the part's parameters. HN_ENOMEM. */
enum hn_status hn_space_plan_init(struct hn_space_plan *plan, struct hn_space_problem *problem,
                                  const struct hn_space_part *part, const size_t *order,
                                  const struct hn_space_table *table, struct hn_error *err);
void hn_space_plan_finish(struct hn_space_plan *plan);

/* An order in which few combinations have to be tried; order has room for the part's parameters. HN_ENOMEM. */
enum hn_status hn_space_order(struct hn_space_problem *problem, const struct hn_space_part *part, size_t *order,
                              struct hn_error *err);

#endif
