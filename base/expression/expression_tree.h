/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_TREE_H
#define HONE_BASE_EXPRESSION_EXPRESSION_TREE_H

#include <stdint.h>

#include "base/expression/expression.h"

/* The tree of a parsed expression, for expression*.c. Nobody else includes this. */

enum hn_node_kind {
    HN_NODE_CONSTANT,    /* constant: number, boolean or string literal */
    HN_NODE_NAME,        /* name; after binding slot >= 0, or slot is HN_SLOT_WORD and constant holds the word */
    HN_NODE_UNARY,       /* operation (POSITIVE, NEGATIVE, INVERT, NOT) over one child */
    HN_NODE_BINARY,      /* operation (BIT_OR ... POWER) over two children */
    HN_NODE_AND,         /* two children; gives the left operand when it is false, else the right one */
    HN_NODE_OR,          /* two children; gives the left operand when it is true, else the right one */
    HN_NODE_COMPARE,     /* two or more children; each but the first has its `comparison` with the one before it */
    HN_NODE_LIST,        /* only as a child of COMPARE with comparison IN or NOT_IN; children are the elements */
    HN_NODE_CONDITIONAL, /* children: condition, value when true, value when false */
    HN_NODE_CALL,        /* function over its arguments; their number has been checked */
};

enum hn_operator {
    HN_OPERATOR_NONE,
    HN_POSITIVE,
    HN_NEGATIVE,
    HN_INVERT,
    HN_NOT,
    HN_BIT_OR,
    HN_BIT_XOR,
    HN_BIT_AND,
    HN_SHIFT_LEFT,
    HN_SHIFT_RIGHT,
    HN_ADD,
    HN_SUBTRACT,
    HN_MULTIPLY,
    HN_DIVIDE,       /* true division: always a real */
    HN_FLOOR_DIVIDE, /* rounds down */
    HN_MODULO,       /* has the sign of the divisor */
    HN_POWER,
    HN_LESS,
    HN_LESS_EQUAL,
    HN_GREATER,
    HN_GREATER_EQUAL,
    HN_EQUAL,
    HN_NOT_EQUAL,
    HN_IN,
    HN_NOT_IN,
};

enum hn_function {
    HN_FUNCTION_NONE,
    HN_MIN,
    HN_MAX,
    HN_ABS,
    HN_CEIL_DIV,
    HN_LOG2,
    HN_IS_POWER_OF_2,
    HN_SIZEOF, /* of a word: the name of a type */
};

enum { HN_SLOT_UNBOUND = -1, HN_SLOT_WORD = -2 };

struct hn_node {
    enum hn_node_kind kind;
    enum hn_operator operation;
    enum hn_operator comparison;
    enum hn_function function;
    int slot;
    unsigned height; /* 1 for a leaf */
    size_t column;   /* of the operator or the word, from 1 */
    const char *name;
    struct hn_value constant;
    struct hn_node *child; /* the first one */
    struct hn_node *next;  /* the next child of the same parent */
    size_t child_count;
};

struct hn_expression {
    char *text;
    char *place; /* where it was written; NULL: not known */
    char *strings; /* holds the names and string literals of the nodes */
    size_t string_size;
    struct hn_node *nodes;
    size_t node_count;
    struct hn_node *root;
};

/* As it is written: "+", "not in". */
const char *hn_operator_text(enum hn_operator operation);
const char *hn_function_name(enum hn_function function);

/* The value of a part of a bound expression; HN_EVALUE, without a message. */
enum hn_status hn_node_evaluate(const struct hn_expression *expression, const struct hn_node *node,
                                const struct hn_value *values, struct hn_value *result);
/* Sets the bit of every slot that occurs below node. */
void hn_node_mark_slots(const struct hn_node *node, uint64_t *slots);

/* One operation on values. NULL, or the reason why there is no result ("division by zero"). */
const char *hn_apply_unary(enum hn_operator operation, const struct hn_value *a, struct hn_value *result);
const char *hn_apply_binary(enum hn_operator operation, const struct hn_value *a, const struct hn_value *b,
                            struct hn_value *result);
const char *hn_apply_comparison(enum hn_operator operation, const struct hn_value *a, const struct hn_value *b,
                                bool *result);
/* min and max as a fold: *best is the first argument, then the better one of it and next. */
const char *hn_apply_extreme(enum hn_function function, const struct hn_value *next, struct hn_value *best);
/* Every other function; b is NULL for those of one argument. */
const char *hn_apply_function(enum hn_function function, const struct hn_value *a, const struct hn_value *b,
                              struct hn_value *result);

#endif
