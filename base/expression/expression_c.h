/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_C_H
#define HONE_BASE_EXPRESSION_EXPRESSION_C_H

#include "base/expression/expression.h"
#include "base/text.h"

/* Bound expressions as C (C99 and later, C++, CUDA C++), over int64_t and double, with the value
 * that the evaluator gives. Where the evaluator has no value (division by zero, overflow) the C is
 * still defined and gives 0 or wraps. */

/* What slot i is in C: a known value, which is folded, or a C expression. */
struct hn_c_slot {
    const struct hn_value *constant; /* not NULL: the value; the rest does not count */
    const char *name;                /* a C expression without side effects */
    bool real;                       /* of type double; else int64_t */
    const char *const *words; /* for a slot that holds words: the number of words[i] is i + 1 */
    size_t word_count;
};

/* Appends the expression as a C expression of type int64_t (real NULL: a double with an integral
 * value is converted), or tells in *real whether it is a double. Helpers are called as
 * <prefix>_floor_div and so on. HN_ECONFIG for what C can not say: a word as a result, words of
 * different lists compared. HN_EVALUE when a constant part has no value. */
enum hn_status hn_expression_append_c(const struct hn_expression *expression,
                                      const struct hn_c_slot *slots, const char *prefix, bool *real,
                                      struct hn_text *text, struct hn_error *err);

/* Appends the truth of the expression as a C condition: "1" or "0" where constant parts decide it. */
enum hn_status hn_expression_append_c_condition(const struct hn_expression *expression,
                                                const struct hn_c_slot *slots, const char *prefix,
                                                struct hn_text *text, struct hn_error *err);

/* Appends the definitions (static inline) of the helpers that `code` calls, those that they call
 * included, and whether they need math.h. One more is <prefix>_whole(double): -1 where it is not. */
void hn_expression_append_c_helpers(const char *code, const char *prefix, struct hn_text *text,
                                    bool *needs_math);

#endif
