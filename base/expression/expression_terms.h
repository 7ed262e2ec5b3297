/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_TERMS_H
#define HONE_BASE_EXPRESSION_EXPRESSION_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/expression/expression.h"
#include "base/memory.h"

/* Terms are computed with typed operations on cells that hold an int64 (booleans are 0 and 1) or a double. They are total: where an
 * operation has no value (division by zero) it gives 0. Their operations are codes, of reals HN_OF_REALS more; AND, OR and NOT take
 * nothing but 0 and 1, and POSITIVE makes a real of an integer. */
enum { HN_OF_REALS = 64 };

union hn_cell {
    int64_t integer;
    double real;
};

struct hn_instruction {
    int operation;
    int result; /* cells[result] is set */
    int operand[3];
    int slot; /* of a table */
    const union hn_cell *table;
};

/* In order; positions[slot] is that of the slot's value. */
void hn_instructions_run(const struct hn_instruction *instructions, size_t count, const uint16_t *positions,
                         union hn_cell *cells);

struct hn_term {
    /* by these and the table's cells it is known */
    int operation;
    int real;
    int slot;               /* of a table */
    int operand[3];         /* -1: none */
    union hn_cell low;      /* inclusive bounds; of a real that may be infinite or NaN both infinite */
    union hn_cell high;
    const union hn_cell *table;
    const uint64_t *slots;  /* bits of those it depends on */
    int limits[2];          /* terms for its lower and upper bound, in the last call of hn_terms_possible that asked; -1: none yet */
    unsigned round;         /* the number of that call */
    bool wanted;            /* by the part of a program that is compiled next */
};

/* Of a term that is a real. */
static inline bool hn_term_is_finite(const struct hn_term *term)
{
    return __builtin_isfinite(term->low.real) && __builtin_isfinite(term->high.real);
}

/* Conditions over slots of which each has a known list of values, or is a whole number within bounds, taken apart into typed terms that are evaluated in
 * about a nanosecond each, with the value that the evaluator gives. A term is an int64 (booleans are 0 and 1), or a
 * double. Equal terms are one term, what depends on one slot only is a table, what is known is a constant, and no term
 * can overflow: its bounds are known. Where an operation has no value (division by zero) its term is 0, and another
 * term says so. Terms are numbered from 0, operands before what they are used in. */

/* The values that a slot may have. One with a single value is a constant. count 0: any integer from values[0] to values[1], which
 * whoever runs instructions puts into the slot's cell; hn_terms_possible and its like want lists. */
struct hn_domain {
    const struct hn_value *values;
    size_t count;
};

struct hn_terms {
    struct hn_term *items;
    size_t count;
    const struct hn_domain *domains; /* borrowed */
    size_t slot_count;
    size_t slot_words; /* of a set of slots */
    struct hn_value *values;
    uint64_t *scratch;
    int *index; /* finds equal terms */
    size_t index_size; /* twice what items has room for */
    const uint64_t *bound; /* the slots of hn_terms_possible */
    unsigned round;        /* of calls of it */
    struct hn_blocks blocks;
    const char **words; /* a word in a cell is its place there */
    size_t word_count;
    bool out_of_memory;
};

/* domains and their values are borrowed: one that has one value may have another one for what is added later. False: memory is out. */
bool hn_terms_init(struct hn_terms *terms, const struct hn_domain *domains, size_t slot_count);
void hn_terms_finish(struct hn_terms *terms);

/* Of an expression; fails is 1 where it has no value. Both are -1 where terms cannot say (or memory is out, which terms then
 * tells): the evaluator has to. */
struct hn_said {
    int value;
    int fails;
};
/* The value of a condition is 1 where it holds, of anything else an integer: any number where it fails. */
struct hn_said hn_terms_add(struct hn_terms *terms, const struct hn_expression *expression, bool is_condition);

/* The operation as a term, simplified; -1 where an operand is, where it might overflow, and when memory is out. */
int hn_terms_make(struct hn_terms *terms, int operation, int a, int b, int c);
int hn_terms_constant(struct hn_terms *terms, int64_t integer);
/* Whether a term is that number, as an integer or a real. */
static inline bool hn_terms_is(const struct hn_terms *terms, int term, int number)
{
    const struct hn_term *item = &terms->items[term < 0 ? 0 : term];
    return term >= 0 && item->operation == HN_OP_CONSTANT &&
           (item->real ? item->low.real == number : item->low.integer == number);
}

/* Tells what is known of a 0-or-1 term while only the slots of `bound` have values: a term over these that is 1 wherever the
 * term can become 1 (a necessary condition, maybe the constant 1). -1 when memory is out. */
int hn_terms_possible(struct hn_terms *terms, int term, const uint64_t *bound);

/* How a term changes with the position of one slot's value, all else equal. */
enum hn_direction { HN_CONSTANT = 0, HN_RISES = 1, HN_FALLS = 2, HN_UNKNOWN = 3 };
enum hn_direction hn_terms_direction(const struct hn_terms *terms, int term, size_t slot);

struct hn_instruction hn_terms_instruction(const struct hn_terms *terms, int term);
/* Sets the cells of constants; cells has room for all terms. */
void hn_terms_set_constants(const struct hn_terms *terms, union hn_cell *cells);

/* Expressions that are evaluated again and again for integers that come as they come, each within bounds, in some nanoseconds and with
 * the values that the evaluator gives. First what is wanted is said, in terms; where these cannot say it, or memory is out, there is no
 * program, which hn_program_compile tells for all. It is run in parts. Not to be run by several threads at once. */
struct hn_program {
    struct hn_terms terms;
    int valid; /* the term that is 1 where all that was demanded holds */
    bool failed;
    union hn_cell *cells;   /* of each term */
    int *slots;             /* the term of each slot of any integer; -1: it has none */
    uint16_t *positions;    /* of each slot that has a list: which of its values it has */
};

/* domains are borrowed as those of terms. To be finished, whatever becomes of it. */
void hn_program_init(struct hn_program *program, const struct hn_domain *domains, size_t slot_count);
void hn_program_finish(struct hn_program *program);

/* Demand, as terms: that a condition holds; that an expression has an integer as its value, which
 * is the term's; or that integer, and 0 where it has none; or a number as a real, the same way. -1: terms cannot say. */
void hn_program_demand(struct hn_program *program, int term);
int hn_program_number(struct hn_program *program, const struct hn_expression *expression, bool or_0);
int hn_program_real(struct hn_program *program, const struct hn_expression *expression);

/* What computes some terms, in the program's memory. */
struct hn_program_part {
    struct hn_instruction *instructions;
    size_t count;
};
/* The term, which the part that is compiled next computes. */
int hn_program_want(struct hn_program *program, int term);
/* Whether there is a program that computes what is wanted, of which nothing may be -1, and whether all that was demanded holds; then
 * the part can be run. More may be said after it, for other parts. */
bool hn_program_compile(struct hn_program *program, struct hn_program_part *part);

/* Sets the integer that a slot has from now on, within its bounds, or the place of its value in its list. */
static inline void hn_program_set(struct hn_program *program, size_t slot, int64_t integer)
{
    if (program->slots[slot] >= 0)
        program->cells[program->slots[slot]].integer = integer;
    else
        program->positions[slot] = (uint16_t)integer;
}

/* Whether all that was demanded holds. */
bool hn_program_run(struct hn_program *program, const struct hn_program_part *part);

static inline int64_t hn_program_result(const struct hn_program *program, int term)
{
    return program->cells[term].integer;
}

/* Appends a term as C statements, the last of which sets `result`, to an int where that is no real: whether all that was demanded holds
 * is the term `valid`. Slots have their names, and helpers are called as hn_expression_append_c does. False: it is made of tables, may
 * divide by zero, or is too long. */
bool hn_program_append_c(const struct hn_program *program, int term, const struct hn_c_slot *slots, const char *prefix,
                         const char *result, struct hn_text *text);

#endif
