/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_INTERNAL_H
#define HONE_BASE_EXPRESSION_EXPRESSION_INTERNAL_H

#include "base/expression/expression.h"

/* A parsed expression is a list of operations in the order in which Python evaluates them, operands before what they are used in; the last
 * one gives the value. For expression*.c. Nobody else includes this. */

enum hn_code {
    HN_OP_CONSTANT, /* a number, boolean or string literal */
    HN_OP_NAME,     /* constant is the name as a word; slot says what it is bound to */
    /* Goes on at operation operand[1] where operand[0] is false, or true: what lies between is not evaluated. */
    HN_OP_SKIP_UNLESS,
    HN_OP_SKIP_IF,
    HN_OP_AND,    /* the first operand where that is false, else the second one, which is skipped where it is not needed */
    HN_OP_OR,
    HN_OP_SELECT, /* the second operand where the first one is true, else the third */
    HN_OP_CHAIN,  /* `and` of the links of a chained comparison */
    HN_OP_ANY,    /* of two booleans, both of which are evaluated: `in` compares with each element */
    HN_OP_ALL,    /* `not in` */
    HN_OP_NEVER,  /* false whatever the operand is: `in` an empty list */
    HN_OP_ALWAYS,
    HN_OP_POSITIVE,
    HN_OP_NEGATIVE,
    HN_OP_INVERT,
    HN_OP_NOT,
    HN_OP_BIT_OR,
    HN_OP_BIT_XOR,
    HN_OP_BIT_AND,
    HN_OP_SHIFT_LEFT,
    HN_OP_SHIFT_RIGHT,
    HN_OP_ADD,
    HN_OP_SUBTRACT,
    HN_OP_MULTIPLY,
    HN_OP_DIVIDE,       /* true division: always a real */
    HN_OP_FLOOR_DIVIDE, /* rounds down */
    HN_OP_MODULO,       /* has the sign of the divisor */
    HN_OP_POWER,
    HN_OP_LESS,
    HN_OP_LESS_EQUAL,
    HN_OP_GREATER,
    HN_OP_GREATER_EQUAL,
    HN_OP_EQUAL,
    HN_OP_NOT_EQUAL,
    HN_OP_MIN, /* of two: more are folded from the left */
    HN_OP_MAX,
    HN_OP_ABS,
    HN_OP_CEIL_DIV,
    HN_OP_LOG2,
    HN_OP_IS_POWER_OF_2,
    HN_OP_SIZEOF, /* of a word: the name of a type */
    HN_OP_COUNT,
};

enum { HN_SLOT_UNBOUND = -1, HN_SLOT_WORD = -2 };

struct hn_operation {
    enum hn_code code;
    int operand[3]; /* places in the list */
    int slot;       /* of a name: its slot, or HN_SLOT_UNBOUND or HN_SLOT_WORD */
    unsigned column; /* of the operator or the word, from 1 */
    unsigned height; /* of operators in a row */
    struct hn_value constant;
};

struct hn_expression {
    char *text;
    char *place;   /* where it was written; NULL: not known */
    char *strings; /* holds the names and string literals of the operations */
    struct hn_operation *list;
    int count;
    bool borrows; /* text and strings are those of the expression that it is a part of */
};

/* How an operation is written, computed with terms, and written in C. */
struct hn_operation_form {
    const char *text;
    int operands;                   /* that its value is made of */
    int level;                      /* of a binary operator: the loosest have 1; 0: it is none */
    int term[2];                    /* enum hn_term_operation, of integers and of reals; 0: there is none */
    const char *in_c;               /* an operator, or a helper, whose name for reals ends in _real */
};
extern const struct hn_operation_form hn_operation_forms[HN_OP_COUNT];

/* HN_OP_POSITIVE and all that follow, on values; b NULL: of one operand. NULL, or the reason why there is no result ("division by
 * zero"). */
const char *hn_apply(enum hn_code code, const struct hn_value *a, const struct hn_value *b, struct hn_value *result);

/* An expression of its own of the operations that `root` needs; it borrows the texts. NULL: out of memory. */
struct hn_expression *hn_expression_part(const struct hn_expression *whole, int root);

#endif
