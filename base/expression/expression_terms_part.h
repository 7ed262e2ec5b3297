/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_TERMS_PART_H
#define HONE_BASE_EXPRESSION_EXPRESSION_TERMS_PART_H

#include "base/expression/expression_terms.h"

/* What the files expression_terms*.c share. */

/* The bounds of an operation's value from those of its operands, into term->low and high. False: it might overflow, or
 * has no value for some operands within their bounds (a shift by a negative number). Division by zero gives 0. */
bool hn_term_bound(struct hn_term *term, const struct hn_term *a, const struct hn_term *b, const struct hn_term *c);

/* 1 or 0 where the bounds decide a comparison, else -1. */
int hn_term_decided(enum hn_term_operation operation, const struct hn_term *a, const struct hn_term *b);

/* The term that has cells[i] at position i of the slot: a constant where they are all the same. Copies. */
int hn_terms_table(struct hn_terms *terms, size_t slot, bool real, const union hn_cell *cells);
int hn_terms_constant_real(struct hn_terms *terms, double real);

static inline bool hn_term_is_finite(const struct hn_term *term)
{
    return __builtin_isfinite(term->low.real) && __builtin_isfinite(term->high.real);
}

#endif
