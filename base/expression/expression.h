/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_H
#define HONE_BASE_EXPRESSION_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/value.h"

/* An expression in Python's syntax and semantics over int64, double, boolean and strings:
 *   or and not; in, not in (right side a list or tuple literal); chained < <= > >= == !=; | ^ & << >>; + -;
 *   * / // %; unary + - ~; **; a if c else b; parentheses; calls; quoted strings ('x', "x"); True, False, true, false.
 *   min max (2 or more) abs ceil_div(a, b) log2(x) is_power_of_2(n) sizeof(type): sizeof(float32) is 4, as are
 *   sizeof(float), sizeof(int), …
 * `/` is true division, // and % floor as in Python, int ** non-negative int is an integer, and/or give an operand,
 * booleans count as 0 and 1 in arithmetic, 1 == 1.0, a word equals the same string and nothing else. Integer overflow
 * is an error (HN_EVALUE), as is division by zero and arithmetic on strings.
 *
 * Life: parse once; bind once to a scope, which gives each name a slot or makes it a word; evaluate often. Evaluation
 * is safe from several threads, and allocates for more than 128 operations only. */
struct hn_expression;

/* HN_ECONFIG with what was found, what was expected and the column, as "column 7: found ')', expected a value".
 * An expression nested deeper than 200 is refused. Copies the text. */
enum hn_status hn_expression_parse(const char *text, struct hn_expression **expression, struct hn_error *err);
/* A copy on its own, bound to the same slots. HN_ENOMEM. */
enum hn_status hn_expression_copy(const struct hn_expression *expression, struct hn_expression **copy,
                                  struct hn_error *err);
void hn_expression_destroy(struct hn_expression *expression);

const char *hn_expression_text(const struct hn_expression *expression);
/* Where it was written, as "saxpy.yaml:31:9": messages of evaluation begin with it. Copies; out of memory it is not known. */
void hn_expression_set_place(struct hn_expression *expression, const char *place);

/* What names mean: names[i] is slot i of the values given to evaluate; a name in words is the string itself. */
struct hn_scope {
    const char *const *names;
    size_t name_count;
    const char *const *words;
    size_t word_count;
};

/* HN_ECONFIG: "unknown name 'TILE_WITDH'; nearest is 'TILE_WIDTH'". Binding again replaces the slots. */
enum hn_status hn_expression_bind(struct hn_expression *expression, const struct hn_scope *scope,
                                  struct hn_error *err);

/* Whether slot `slot` of the bound scope occurs. */
bool hn_expression_uses(const struct hn_expression *expression, size_t slot);
/* The highest slot used plus one; 0 for a constant. */
size_t hn_expression_slots(const struct hn_expression *expression);
/* Sets the bit of every slot that occurs. */
void hn_expression_mark_slots(const struct hn_expression *expression, uint64_t *slots);

/* values[i] is the value of slot i. HN_EVALUE with the reason; err may be NULL, which costs no formatting. */
enum hn_status hn_expression_evaluate(const struct hn_expression *expression, const struct hn_value *values,
                                      struct hn_value *result, struct hn_error *err);

/* Python's truth of a value: 0, 0.0, False and '' are false. */
bool hn_value_truth(const struct hn_value *value);

/* As hn_expression_evaluate, and then the truth of the value. */
enum hn_truth { HN_NO_VALUE = -1, HN_FALSE = 0, HN_TRUE = 1 };
enum hn_truth hn_expression_truth(const struct hn_expression *expression, const struct hn_value *values);

/* Evaluates and demands an integral result (a real with an integral value is taken); HN_EVALUE names the expression
 * and what came out. */
enum hn_status hn_expression_integer(const struct hn_expression *expression, const struct hn_value *values,
                                     int64_t *result, struct hn_error *err);
/* Evaluates and demands a number. */
enum hn_status hn_expression_number(const struct hn_expression *expression, const struct hn_value *values,
                                    double *result, struct hn_error *err);

/* The conditions that bound expressions demand, one after another: the operands of their outermost `and`, and the links of a chained
 * comparison (a < b < c is a < b, then b < c). Where each in its order either holds or ends the evaluation, the expressions do the
 * same, with the same errors. Start with all zero. */
struct hn_conjunct {
    struct hn_expression *expression; /* part of the one that was given */
    size_t source;                    /* as given for the expression */
};

struct hn_conjuncts {
    struct hn_conjunct *items;
    size_t count;
    size_t capacity;
};

/* Appends those of a bound expression, which outlives them. HN_ENOMEM. */
enum hn_status hn_conjuncts_add(struct hn_conjuncts *conjuncts, const struct hn_expression *expression, size_t source,
                                struct hn_error *err);
void hn_conjuncts_finish(struct hn_conjuncts *conjuncts);

/* Bytes of a type known to sizeof, by its name in CUDA C++ or in a config; 0 when it is unknown. */
int64_t hn_type_bytes(const char *type);

#endif
