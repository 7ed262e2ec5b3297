/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_H
#define HONE_TUNER_SPACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bindings.h"
#include "base/expression/expression.h"
#include "base/hash.h"

/* The valid points of a search space: one value index per parameter, in declared order. Built once, then read-only and
 * safe from several threads. Parameters that no constraint connects are kept apart; of each group of connected ones every
 * combination takes the bits of its indices, rounded up to bytes. Groups that alternate in declared order take that for
 * their product once points are numbered. */
struct hn_space;

/* A point is an array of hn_space_parameter_count() entries: point[i] is the index of parameter i's value. Owned by
 * whoever holds it. */

struct hn_space *hn_space_create(void);
void hn_space_destroy(struct hn_space *space);

/* Copies name and values (words too): at least one and at most 65,535, none of them twice, and no other parameter has the name. */
void hn_space_add_parameter(struct hn_space *space, const char *name, const struct hn_value *values,
                            size_t value_count);
/* A name that constraints can use and that has one value: a problem value. Behind all parameters. Copies. */
void hn_space_add_constant(struct hn_space *space, const char *name, const struct hn_value *value);
/* A word that constraints can use although no parameter or constant here has it. Copies. */
void hn_space_add_word(struct hn_space *space, const char *word);
/* A constraint, which is copied; its binding does not matter. `where` ("matmul.yaml:24:5", may be NULL) starts its messages. */
void hn_space_add_expression(struct hn_space *space, const struct hn_expression *expression, const char *where);

/* The cost that a point is expected to have, from an expression over parameters and constants, which are all there; it is copied, and its binding
 * does not matter. It says nothing of which points are valid. HN_ECONFIG: an unknown name. */
enum hn_status hn_space_set_estimate(struct hn_space *space, const struct hn_expression *expression,
                                     struct hn_error *err);
bool hn_space_has_estimate(const struct hn_space *space);
/* The logarithm of it; NAN where it has no value above 0. */
double hn_space_estimate(const struct hn_space *space, const uint16_t *choice);

/* Finds the valid points, on all cores where that takes long. An error in a constraint (division by zero) counts only where
 * all constraints written before it hold: HN_ECONFIG with where, the constraint and the point; also when too many values
 * were tried without getting to a point. HN_ENOTFOUND when no point is valid: names the constraint that rejects most. */
enum hn_status hn_space_build(struct hn_space *space, struct hn_error *err);

/* The same in a thread of its own where it takes long, for who has something to do meanwhile, draws points and needs no
 * numbers of them: more than about 10 million are not numbered, nor counted to the last one, which takes a tenth of a
 * second instead of some. Before hn_space_wait() has returned, only parameters and their values, hn_space_contains,
 * hn_space_choice and hn_space_bindings may be asked for, and hn_space_first for a whole point that is valid: the
 * constraints are evaluated then. Fails where names of constraints are unknown, or as far as that is known by then. */
enum hn_status hn_space_begin(struct hn_space *space, struct hn_error *err);
/* Whether hn_space_wait() would return at once. */
bool hn_space_is_built(const struct hn_space *space);
/* Says what hn_space_build would have said; HN_OK where nothing was begun. Not from two threads at once. */
enum hn_status hn_space_wait(struct hn_space *space, struct hn_error *err);

/* Instead of hn_space_build: the valid points are these `count` ones (a recording's), one after another in choices;
 * constraints are not looked at. Copies. HN_ECONFIG when a point is given twice or there is none. */
enum hn_status hn_space_build_from(struct hn_space *space, const uint16_t *choices, uint64_t count,
                                   struct hn_error *err);

size_t hn_space_parameter_count(const struct hn_space *space);
struct hn_space_parameter {
    const char *name;
    struct hn_value *values; /* words are the space's */
    size_t count;
};
const struct hn_space_parameter *hn_space_parameter(const struct hn_space *space, size_t parameter);
/* Whether the values of a parameter are numbers. */
bool hn_space_is_numeric(const struct hn_space *space, size_t parameter);

/* Whether the valid points are numbered: not where there are more than 100 million, or more than 2 GiB of them. Then size is UINT64_MAX, and point is
 * not to be called; all else works, by asking the constraints. */
bool hn_space_enumerated(const struct hn_space *space);
uint64_t hn_space_size(const struct hn_space *space);      /* valid points */
double hn_space_cartesian(const struct hn_space *space);   /* before the constraints */
/* Valid points, numbered or not; *exact (may be NULL): no estimate, but for rounding beyond 2^53. */
double hn_space_valid(const struct hn_space *space, bool *exact);
/* The same as a text, written to `text`: "349853", or "about 3.1e+14". Returns it. */
enum { HN_SPACE_COUNT_TEXT = 40 };
const char *hn_space_count_text(const struct hn_space *space, char text[HN_SPACE_COUNT_TEXT]);
/* Point `index`; they are numbered as their indices are ordered, the first parameter's before all. */
void hn_space_point(const struct hn_space *space, uint64_t index, uint16_t *choice);
/* The first valid point, in declared order, that has the value wanted[i] for each parameter i (-1: any). False when
 * there is none, or, where points are not numbered, none is found within seconds. wanted may be NULL. */
bool hn_space_first(const struct hn_space *space, const int *wanted, uint16_t *choice);

bool hn_space_contains(const struct hn_space *space, const uint16_t *choice);
/* A valid point, all equally likely: also where they are not numbered but hn_space_valid is exact. Where that is an
 * estimate, the point is one of 32 from random descents through the parameters, taken by the number of choices that each
 * descent had (importance resampling): points are about equally likely, less so the more the descents differ. */
void hn_space_sample(const struct hn_space *space, struct hn_random *random, uint16_t *choice);

/* Valid points that differ from `choice` (valid itself or not) in one parameter: at its next valid value in either
 * direction (adjacent), or at any (Hamming). By parameter, then by value. neighbours has room for
 * hn_space_neighbour_limit() points; returns how many there are. */
enum hn_neighbourhood { HN_ADJACENT, HN_HAMMING };
size_t hn_space_neighbour_limit(const struct hn_space *space);
size_t hn_space_neighbours(const struct hn_space *space, const uint16_t *choice, enum hn_neighbourhood kind,
                           uint16_t *neighbours);

/* Point to bindings, which it starts afresh, and back: HN_ECONFIG when a parameter is missing, unknown or has another value; it
 * does not ask for validity. */
void hn_space_bindings(const struct hn_space *space, const uint16_t *choice, struct hn_bindings *point);
enum hn_status hn_space_choice(const struct hn_space *space, const struct hn_bindings *point, uint16_t *choice,
                               struct hn_error *err);
/* Whether the point is a valid one, whose choice is given then. */
bool hn_space_has(const struct hn_space *space, const struct hn_bindings *point, uint16_t *choice);

#endif
