/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_INTERNAL_H
#define HONE_BASE_EXPRESSION_EXPRESSION_INTERNAL_H

#include "base/expression/expression.h"

/* A parsed expression is a list of operations in the order in which Python evaluates them, operands before what they are used in; the last
 * one gives the value. For expression*.c. Nobody else includes this. */

enum { HN_SLOT_UNBOUND = -1, HN_SLOT_WORD = -2 };

struct hn_operation {
    enum hn_operator code;
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

struct hn_term;

/* How an operation is written, written in C, and bounded where it is a term. */
struct hn_operation_form {
    const char *text;
    int operands;
    int level;        /* of a binary operator: the loosest have 1; 0: it is none */
    const char *in_c; /* an operator, or a helper, whose name for reals ends in _real */
    /* The bounds of a term of integers, and of reals, from those of its operands, into term->low and high; NULL: there is no such term.
     * False: it might overflow, or has no value for some operands within their bounds (a shift by a negative number). Division by
     * zero gives 0. */
    bool (*bound[2])(struct hn_term *term, const struct hn_term *a, const struct hn_term *b);
    int slope[2];  /* it rises (1) or falls (-1) with an operand, all else equal; 0: neither is known */
    bool positive; /* only where no operand is negative, and the one that it falls with is positive */
};
extern const struct hn_operation_form hn_operation_forms[HN_OP_COUNT];

/* HN_OP_POSITIVE and all that follow, on values; b NULL: of one operand. NULL, or the reason why there is no result ("division by
 * zero"). */
const char *hn_apply(enum hn_operator code, const struct hn_value *a, const struct hn_value *b, struct hn_value *result);
/* Whether only the truth of an operand is wanted, where that is so of the operation itself, or not. */
static inline bool hn_wants_truth(enum hn_operator code, int operand, bool of_itself)
{
    bool same = code == HN_OP_AND || code == HN_OP_OR || (code == HN_OP_SELECT && operand > 0);
    return same ? of_itself : code == HN_OP_NOT || code == HN_OP_SELECT;
}

/* An expression of its own of the operations that `root` needs; it borrows the texts. NULL: out of memory. */
struct hn_expression *hn_expression_part(const struct hn_expression *whole, int root);

/* helpers.h.in: functions in C, each ended by a line with nothing but its brace. */
extern const char hn_expression_helpers[];

#endif
