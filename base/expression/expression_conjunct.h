/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_CONJUNCT_H
#define HONE_BASE_EXPRESSION_EXPRESSION_CONJUNCT_H

#include <stdint.h>

#include "base/expression/expression.h"

/* What bound expressions demand, one condition after another: the operands of their outermost `and`, and the links of a
 * chained comparison (a < b < c is a < b, then b < c). Where each in its order either holds or ends the evaluation, the
 * expressions do the same, with the same errors. */
struct hn_node;

struct hn_conjunct {
    const struct hn_expression *expression; /* borrowed */
    const struct hn_node *node;
    size_t source; /* as given for the expression */
};

struct hn_conjuncts {
    struct hn_conjunct *items;
    size_t count;
    size_t capacity;
    struct hn_node **links; /* owned: comparisons that stand in no tree */
    size_t link_count;
};

void hn_conjuncts_finish(struct hn_conjuncts *conjuncts);
/* Appends those of a bound expression, which outlives them. HN_ENOMEM. */
enum hn_status hn_conjuncts_add(struct hn_conjuncts *conjuncts, const struct hn_expression *expression, size_t source,
                                struct hn_error *err);

/* Sets the bit of every slot that occurs. */
void hn_conjunct_mark_slots(const struct hn_conjunct *conjunct, uint64_t *slots);

/* As hn_expression_evaluate, and then the truth of the value. */
enum hn_truth { HN_NO_VALUE = -1, HN_FALSE = 0, HN_TRUE = 1 };
enum hn_truth hn_conjunct_evaluate(const struct hn_conjunct *conjunct, const struct hn_value *values);

#endif
