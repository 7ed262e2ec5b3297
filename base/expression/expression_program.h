/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_PROGRAM_H
#define HONE_BASE_EXPRESSION_EXPRESSION_PROGRAM_H

#include "base/expression/expression_terms.h"

/* Expressions that are evaluated again and again for integers that come as they come, each within bounds, in some nanoseconds and with
 * the values that the evaluator gives. First what is wanted is said, in terms; where these can not say it, or memory is out, there is no
 * program, which hn_program_compile tells for all. Not to be run by several threads at once. */
struct hn_program {
    struct hn_terms terms;
    int valid; /* the term that is 1 where all that was demanded holds */
    bool failed;
    struct hn_instruction *instructions;
    size_t count;
    union hn_cell *cells;   /* of each term */
    int *slots;             /* the term of each slot of any integer; -1: it has none */
    uint16_t *positions;    /* of each slot that has a list: which of its values it has */
};

/* domains and their values are borrowed until it is compiled. To be finished, whatever becomes of it. */
void hn_program_init(struct hn_program *program, const struct hn_domain *domains, size_t slot_count);
void hn_program_finish(struct hn_program *program);

/* Demand, as terms: that a condition holds; that a number lies between two others; that an expression has an integer as its value, which
 * is the term's; or that integer, and 0 where it has none. -1: terms can not say. */
void hn_program_demand(struct hn_program *program, int term);
void hn_program_demand_between(struct hn_program *program, int term, int64_t low, int64_t high);
int hn_program_number(struct hn_program *program, const struct hn_expression *expression);
int hn_program_number_or_0(struct hn_program *program, const struct hn_expression *expression);

/* Whether there is a program that computes those terms, none of which may be -1; then it can be run. */
bool hn_program_compile(struct hn_program *program, const int *results, size_t count);

/* What a slot of any integer has in the next run, within its bounds. */
static inline void hn_program_set(struct hn_program *program, size_t slot, int64_t integer)
{
    if (program->slots[slot] >= 0)
        program->cells[program->slots[slot]].integer = integer;
}

/* Whether all that was demanded holds. */
bool hn_program_run(struct hn_program *program);

static inline int64_t hn_program_result(const struct hn_program *program, int term)
{
    return program->cells[term].integer;
}

#endif
