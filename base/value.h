/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_VALUE_H
#define HONE_BASE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum hn_value_type { HN_INTEGER, HN_REAL, HN_BOOLEAN, HN_WORD };

/* A value of a parameter or problem. `word` is borrowed: whoever made the value keeps it alive. */
struct hn_value {
    enum hn_value_type type;
    union {
        int64_t integer;
        double real;
        bool boolean;
        const char *word;
    };
};

struct hn_value hn_integer(int64_t integer);
struct hn_value hn_real(double real);
struct hn_value hn_boolean(bool boolean);
struct hn_value hn_word(const char *word);

/* Same type and same value (reals: same bits or both equal; no coercion). */
bool hn_value_equal(const struct hn_value *a, const struct hn_value *b);

/* Booleans before numbers before words; numbers by value, an integer before an equal real; words by strcmp. Of two
 * struct hn_value, as qsort wants it. */
int hn_value_compare(const void *first, const void *second);

/* -1, 0 or 1: an integer against a real that is not NaN, exactly (no rounding). */
int hn_compare_integer_real(int64_t integer, double real);

/* Integer, real or boolean as a double; words are 0 (check the type first). */
double hn_value_number(const struct hn_value *value);

/* The one text of a value: integers in decimal; reals in the shortest form that reads back to the same double,
 * always with a '.' or an exponent, or ".inf", "-.inf", ".nan"; true and false; words as they are. */
void hn_value_append(struct hn_text *text, const struct hn_value *value);
/* "a, b, c": the first of them, and of more how many there are. */
void hn_values_append(struct hn_text *text, const struct hn_value *values, size_t count);

/* Reads that text by the YAML 1.2 core schema (decimal, 0x and 0o integers, finite reals, true/True/TRUE, …); what is
 * nothing of these must be a word. HN_ECONFIG: not a value (neither is .inf, which no constant of a program can be), or
 * an integer beyond int64. A word is borrowed from `string`. */
enum hn_status hn_value_parse(const char *string, struct hn_value *value, struct hn_error *err);

#endif
