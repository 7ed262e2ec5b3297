/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_H
#define HONE_BASE_EXPRESSION_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/schema.h"
#include "base/text.h"
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

/* The meaning of names: names[i] is slot i of the values given to evaluate; a name in words is the string itself, and so is
 * every other one where word_count is HN_ANY_WORD, and words NULL. */
#define HN_ANY_WORD SIZE_MAX
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

/* values[i] is the value of slot i. HN_EVALUE with the reason; err may be NULL, which costs no formatting. */
enum hn_status hn_expression_evaluate(const struct hn_expression *expression, const struct hn_value *values,
                                      struct hn_value *result, struct hn_error *err);

/* Python's truth of a value: 0, 0.0, False and '' are false. */
bool hn_value_truth(const struct hn_value *value);

/* As hn_expression_evaluate, and then the truth of the value. */
enum hn_truth { HN_NO_VALUE = -1, HN_FALSE = 0, HN_TRUE = 1 };
enum hn_truth hn_expression_truth(const struct hn_expression *expression, const struct hn_value *values);

/* These are sticky (base/error.h), and err may be NULL. Whether a condition holds, which it does where there is none (NULL), and
 * does not where it has no value, or err has failed. HN_EVALUE. */
bool hn_expression_holds(const struct hn_expression *condition, const struct hn_value *values, struct hn_error *err);

/* Evaluates and demands an integral result (a real with an integral value is taken); HN_EVALUE names the expression
 * and what came out. Without an expression *result stays as it is. Returns whether all is well so far. */
bool hn_expression_integer(const struct hn_expression *expression, const struct hn_value *values, int64_t *result,
                           struct hn_error *err);
/* The same of a number. */
bool hn_expression_number(const struct hn_expression *expression, const struct hn_value *values, double *result,
                          struct hn_error *err);

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
};

/* Appends those of a bound expression, which outlives them. False: memory is out. */
bool hn_conjuncts_add(struct hn_conjuncts *conjuncts, const struct hn_expression *expression, size_t source);
void hn_conjuncts_finish(struct hn_conjuncts *conjuncts);

/* Types are elements, or vectors of 2, 3, 4, 8 or 16 of them: "float32x4". */
#define HN_TYPE_SIZE 16
/* Gives the name in configs of a type of C or CUDA: "int32" of "int", "float32x4" of "float4". False where it is none that is known. */
bool hn_type_of_c(const char *name, char type[HN_TYPE_SIZE]);
/* Bytes of a type known to sizeof, by its name in CUDA C++ or in a config; 0 when it is unknown. */
int64_t hn_type_bytes(const char *type);

/* Expressions as strings of a JSON document, and as members of structs (base/schema.h). */

/* struct hn_expression *; NULL is left out. */
extern const struct hn_field_own hn_expression_field;
/* struct hn_expression *[3]: a list of 1 to 3; left out where the first is NULL. */
extern const struct hn_field_own hn_dimensions_field;
/* struct hn_expression *, as the elements of a list. */
extern const struct hn_structure hn_expression_list;

/* Calls `visit` for each expression among the members of a struct. */
void hn_expressions_walk(const struct hn_structure *structure, void *owner,
                         void (*visit)(void *context, struct hn_expression *expression, const struct hn_field *field),
                         void *context);

/* The operations of an expression, which are those of its terms, too (expression_terms.h). */
enum hn_operator {
    HN_OP_CONSTANT, /* a number, boolean or string literal */
    HN_OP_TABLE,    /* of terms alone: table[the position of the slot's value] */
    HN_OP_NAME,     /* constant is the name as a word; slot says what it is bound to. As a term: the value in the slot's cell */
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

/* Bound expressions as C (C99 and later, C++, CUDA C++), over int64_t and double, with the value
 * that the evaluator gives. Where the evaluator has no value (division by zero, overflow) the C is
 * still defined and gives 0 or wraps; a remainder gives -1, so that nothing is a multiple of 0. */

/* A slot in C: a known value, which is folded, or a C expression. */
struct hn_c_slot {
    const struct hn_value *constant; /* not NULL: the value; the rest does not count */
    const char *name;                /* a C expression without side effects */
    bool real;                       /* of type double; else int64_t */
    const char *const *words; /* for a slot that holds words: the number of words[i] is i + 1 */
    size_t word_count;
};

enum hn_c_form {
    HN_C_INTEGER,   /* an int64_t: a double with an integral value is converted */
    HN_C_NUMBER,    /* an int64_t or a double, which *real tells */
    HN_C_CONDITION, /* its truth: "1" or "0" where constant parts decide it */
};

/* Appends the expression as a C expression. Helpers are called as <prefix>_floor_div and so on. HN_ECONFIG for what C cannot
 * say: a word as a number, words of different lists compared. HN_EVALUE when a constant part has no value. */
enum hn_status hn_expression_append_c(const struct hn_expression *expression, const struct hn_c_slot *slots,
                                      const char *prefix, enum hn_c_form form, bool *real, struct hn_text *text,
                                      struct hn_error *err);

/* Appends the definitions (static inline) of the helpers that `code` calls, those that they call
 * included, and whether they need math.h. One more is <prefix>_whole(double): -1 where it is not. */
void hn_expression_append_c_helpers(const char *code, const char *prefix, struct hn_text *text,
                                    bool *needs_math);

#endif
