/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_C_PART_H
#define HONE_BASE_EXPRESSION_EXPRESSION_C_PART_H

#include "base/expression/expression_c.h"

/* Pieces of an expression in C, for the generator. The setters write a part that holds nothing
 * yet. */

enum hn_c_part_kind {
    HN_PART_CONSTANT, /* value */
    HN_PART_CHOICE,   /* code gives an int that is 0 or 1 */
    HN_PART_INTEGER,  /* code gives an int64_t, or an int where narrow */
    HN_PART_REAL,     /* code gives a double */
    HN_PART_WORD,     /* code gives the number of one of the slot's words */
};

/* A piece of the expression in C. Owns code. */
struct hn_c_part {
    enum hn_c_part_kind kind;
    bool narrow;
    struct hn_value value;
    const struct hn_c_slot *slot;
    struct hn_text code;
};

void hn_c_part_finish(struct hn_c_part *part);
/* Takes the place of whatever the part held. */
void hn_c_part_set_constant(struct hn_c_part *part, const struct hn_value *value);
bool hn_c_part_is_word(const struct hn_c_part *part);
bool hn_c_part_is_real(const struct hn_c_part *part);
/* An integer constant below zero. */
bool hn_c_part_is_negative(const struct hn_c_part *part);

/* The part as a number; as a double where `real`. widen: what C has as an int becomes an int64_t,
 * because int arithmetic overflows sooner. */
void hn_c_part_append_number(struct hn_text *text, const struct hn_c_part *part, bool real,
                             bool widen);
/* The truth of the part, as a C condition. */
void hn_c_part_append_condition(struct hn_text *text, const struct hn_c_part *part);

/* "prefix_name(a, b)"; b NULL: of one argument. */
void hn_c_part_set_call(const char *prefix, const char *name, enum hn_c_part_kind kind,
                        const struct hn_c_part *a, const struct hn_c_part *b, bool real,
                        struct hn_c_part *part);
/* "(a operation b)" */
void hn_c_part_set_infix(const char *operation, enum hn_c_part_kind kind, const struct hn_c_part *a,
                         const struct hn_c_part *b, bool real, struct hn_c_part *part);
/* The same for the truth of a and b: && or ||. */
void hn_c_part_set_both(const char *operation, const struct hn_c_part *a, const struct hn_c_part *b,
                        struct hn_c_part *part);
/* Joins a condition to those so far (at first a constant), dropping constants; a constant of the
 * truth `decides` is the result. May empty next. */
void hn_c_part_join(const char *operation, bool decides, struct hn_c_part *so_far,
                    struct hn_c_part *next);

/* The number of a word of the slot, from 1; 0 when it has no such word. */
size_t hn_c_part_word_number(const struct hn_c_slot *slot, const char *word);

#endif
