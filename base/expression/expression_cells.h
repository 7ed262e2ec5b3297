/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_CELLS_H
#define HONE_BASE_EXPRESSION_EXPRESSION_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
