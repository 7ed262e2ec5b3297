/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_TERMS_H
#define HONE_BASE_EXPRESSION_EXPRESSION_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/expression/expression.h"
#include "base/memory.h"

/* Terms are computed with typed operations on cells that hold an int64 (booleans are 0 and
 * 1) or a double. They are total: where an operation has no value (division by zero) it gives 0. */

union hn_cell {
    int64_t integer;
    double real;
};

enum hn_term_operation {
    HN_TERM_CONSTANT, /* low */
    HN_TERM_TABLE,    /* table[the position of the slot's value] */
    HN_TERM_SLOT,     /* the slot's value, which is in its cell already */
    /* of integers */
    HN_TERM_ADD,
    HN_TERM_SUBTRACT,
    HN_TERM_MULTIPLY,
    HN_TERM_FLOOR_DIVIDE,
    HN_TERM_CEIL_DIVIDE,
    HN_TERM_MODULO,
    HN_TERM_POWER,
    HN_TERM_SHIFT_LEFT,
    HN_TERM_SHIFT_RIGHT,
    HN_TERM_BIT_AND,
    HN_TERM_BIT_OR,
    HN_TERM_BIT_XOR,
    HN_TERM_MINIMUM,
    HN_TERM_MAXIMUM,
    HN_TERM_NEGATE,
    HN_TERM_INVERT,
    HN_TERM_ABSOLUTE,
    /* of integers, 0 or 1; AND, OR and NOT take nothing else */
    HN_TERM_IS_POWER_OF_2,
    HN_TERM_LESS,
    HN_TERM_LESS_EQUAL,
    HN_TERM_EQUAL,
    HN_TERM_AND,
    HN_TERM_OR,
    HN_TERM_NOT,
    /* of reals, 0 or 1 */
    HN_TERM_REAL_LESS,
    HN_TERM_REAL_LESS_EQUAL,
    HN_TERM_REAL_EQUAL,
    /* of reals */
    HN_TERM_REAL_ADD,
    HN_TERM_REAL_SUBTRACT,
    HN_TERM_REAL_MULTIPLY,
    HN_TERM_REAL_DIVIDE,
    HN_TERM_REAL_FLOOR_DIVIDE,
    HN_TERM_REAL_MODULO,
    HN_TERM_REAL_MINIMUM,
    HN_TERM_REAL_MAXIMUM,
    HN_TERM_REAL_NEGATE,
    HN_TERM_REAL_ABSOLUTE,
    /* of integers, giving a real */
    HN_TERM_TO_REAL,
    HN_TERM_TRUE_DIVIDE,
    /* the second operand where the first one is 1, else the third */
    HN_TERM_SELECT,
    HN_TERM_COUNT,
};

/* One operation on cells, for the constants among the terms and for the tables; a table's operation is not one. */
union hn_cell hn_cell_apply(enum hn_term_operation operation, union hn_cell a, union hn_cell b, union hn_cell c);

struct hn_instruction {
    enum hn_term_operation operation;
    int result; /* cells[result] is set */
    int operand[3];
    int slot; /* of a table */
    const union hn_cell *table;
};

/* In order; positions[slot] is that of the slot's value. */
void hn_instructions_run(const struct hn_instruction *instructions, size_t count, const uint16_t *positions,
                         union hn_cell *cells);

struct hn_term {
    enum hn_term_operation operation;
    bool real;
    int slot;               /* of a table */
    int operand[3];         /* -1: none */
    union hn_cell low;      /* inclusive bounds; of a real that may be infinite or NaN both infinite */
    union hn_cell high;
    const union hn_cell *table;
    const uint64_t *slots;  /* bits of those it depends on */
};

/* How a term's operation behaves. */
struct hn_term_form {
    int operands;
    int slope[2];  /* it rises (1) or falls (-1) with an operand, all else equal; 0: neither is known */
    bool positive; /* only where no operand is negative, and the one that it falls with is positive */
    /* The bounds of the result from those of its operands, into term->low and high. False: it might overflow, or has no value for some
     * operands within their bounds (a shift by a negative number). Division by zero gives 0. */
    bool (*bound)(struct hn_term *term, const struct hn_term *a, const struct hn_term *b);
};
extern const struct hn_term_form hn_term_forms[HN_TERM_COUNT];

/* 1 or 0 where the bounds decide a comparison, else -1. */
int hn_term_decided(enum hn_term_operation operation, const struct hn_term *a, const struct hn_term *b);

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

/* Terms for the lower and the upper bound of a term, in one call of hn_terms_possible. */
struct hn_term_limits {
    unsigned round; /* 0: of none */
    int term[2];
};

struct hn_terms {
    struct hn_term *items;
    size_t count;
    size_t capacity;
    const struct hn_domain *domains; /* borrowed */
    size_t slot_count;
    size_t slot_words; /* of a set of slots */
    struct hn_value *values;
    uint64_t *scratch;
    int *index; /* finds equal terms */
    size_t index_size;
    struct hn_term_limits *limits; /* of the first limit_count terms */
    size_t limit_count;
    unsigned round; /* of calls of hn_terms_possible */
    struct hn_blocks blocks;
    const char **words; /* sorted */
    size_t word_count;
    bool out_of_memory;
};

/* values of the domains and their words are borrowed. HN_ENOMEM. */
enum hn_status hn_terms_init(struct hn_terms *terms, const struct hn_domain *domains, size_t slot_count,
                             struct hn_error *err);
void hn_terms_finish(struct hn_terms *terms);

/* holds: 1 where the condition holds; fails: 1 where it has no value. Both -1 where terms can not say (or memory is out,
 * which terms then tells): the evaluator has to. */
struct hn_condition {
    int holds;
    int fails;
};
struct hn_condition hn_terms_add_condition(struct hn_terms *terms, const struct hn_expression *condition);
/* The value of an expression that is an integer: any number where it fails, which is 1 then. */
struct hn_number {
    int value;
    int fails;
};
struct hn_number hn_terms_add_number(struct hn_terms *terms, const struct hn_expression *expression);

/* The operation as a term, simplified; -1 where an operand is, where it might overflow, and when memory is out. */
int hn_terms_make(struct hn_terms *terms, enum hn_term_operation operation, int a, int b, int c);
int hn_terms_constant(struct hn_terms *terms, int64_t integer);
int hn_terms_constant_real(struct hn_terms *terms, double real);
static inline bool hn_terms_is(const struct hn_terms *terms, int term, int64_t integer)
{
    return term >= 0 && terms->items[term].operation == HN_TERM_CONSTANT && !terms->items[term].real &&
           terms->items[term].low.integer == integer;
}

/* Tells what is known of a 0-or-1 term while only the slots of `bound` have values: a term over these that is 1 wherever the
 * term can become 1 (a necessary condition, maybe the constant 1). -1 when memory is out. */
int hn_terms_possible(struct hn_terms *terms, int term, const uint64_t *bound);

/* How a term changes with the position of one slot's value, all else equal. */
enum hn_direction { HN_CONSTANT = 0, HN_RISES = 1, HN_FALLS = 2, HN_UNKNOWN = 3 };
enum hn_direction hn_terms_direction(const struct hn_terms *terms, int term, size_t slot);

/* Replaces each term of the list (-1 stays) by an equal one in which sums and products of integers add up their operands
 * in the order of ranks[slot], so that what depends on the first slots is a term of its own. False when memory is out. */
bool hn_terms_arrange(struct hn_terms *terms, int *list, size_t count, const size_t *ranks);

struct hn_instruction hn_terms_instruction(const struct hn_terms *terms, int term);
/* Sets the cells of constants; cells has room for all terms. */
void hn_terms_set_constants(const struct hn_terms *terms, union hn_cell *cells);

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

/* Sets the integer that a slot has in the next run, within its bounds. */
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
