/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_TERMS_H
#define HONE_BASE_EXPRESSION_EXPRESSION_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/expression/expression.h"
#include "base/expression/expression_cells.h"
#include "base/memory.h"

/* Conditions over slots of which each has a known list of values, or is a whole number within bounds, taken apart into typed terms that are evaluated in
 * about a nanosecond each, with the value that the evaluator gives. A term is an int64 (booleans are 0 and 1), or a
 * double. Equal terms are one term, what depends on one slot only is a table, what is known is a constant, and no term
 * can overflow: its bounds are known. Where an operation has no value (division by zero) its term is 0, and another
 * term says so. Terms are numbered from 0, operands before what they are used in. */

/* The values that a slot may have. One with a single value is a constant. count 0: any integer from values[0] to values[1], which
 * whoever runs instructions puts into the cell of hn_terms_slot; hn_terms_possible and its like want lists. */
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
/* The value of a slot of any integer. */
int hn_terms_slot(struct hn_terms *terms, size_t slot);

/* The operation as a term, simplified; -1 where an operand is, where it might overflow, and when memory is out. */
int hn_terms_make(struct hn_terms *terms, enum hn_term_operation operation, int a, int b, int c);
int hn_terms_constant(struct hn_terms *terms, int64_t integer);
int hn_terms_constant_real(struct hn_terms *terms, double real);
static inline bool hn_terms_is(const struct hn_terms *terms, int term, int64_t integer)
{
    return term >= 0 && terms->items[term].operation == HN_TERM_CONSTANT && !terms->items[term].real &&
           terms->items[term].low.integer == integer;
}

/* What is known of a 0-or-1 term while only the slots of `bound` have values: a term over these that is 1 wherever the
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

#endif
