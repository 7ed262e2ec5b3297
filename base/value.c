/* SPDX-License-Identifier: MIT */
#include "base/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hn_value hn_integer(int64_t integer)
{
    return (struct hn_value){.type = HN_INTEGER, .integer = integer};
}

struct hn_value hn_real(double real)
{
    return (struct hn_value){.type = HN_REAL, .real = real};
}

struct hn_value hn_boolean(bool boolean)
{
    return (struct hn_value){.type = HN_BOOLEAN, .boolean = boolean};
}

struct hn_value hn_word(const char *word)
{
    return (struct hn_value){.type = HN_WORD, .word = word};
}

bool hn_value_equal(const struct hn_value *a, const struct hn_value *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == HN_REAL)
        return a->real == b->real || memcmp(&a->real, &b->real, sizeof a->real) == 0;
    return a->type == HN_INTEGER   ? a->integer == b->integer
           : a->type == HN_BOOLEAN ? a->boolean == b->boolean
                                   : strcmp(a->word, b->word) == 0;
}

int hn_compare_integer_real(int64_t integer, double real)
{
    /* Casts between the two round or overflow; the whole part of a double within int64 is exact. */
    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    double whole = floor(real);
    int64_t floored = (int64_t)whole;
    if (integer != floored)
        return integer < floored ? -1 : 1;
    return real > whole ? -1 : 0;
}

static int compare_numbers(const struct hn_value *a, const struct hn_value *b)
{
    if (a->type == HN_INTEGER && b->type == HN_INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->type == HN_REAL && b->type == HN_REAL)
        return isnan(a->real) || isnan(b->real) ? !!isnan(a->real) - !!isnan(b->real)
                                                : (a->real > b->real) - (a->real < b->real);
    if (a->type == HN_REAL)
        return -compare_numbers(b, a);
    int order = isnan(b->real) ? -1 : hn_compare_integer_real(a->integer, b->real);
    return order != 0 ? order : -1;
}

static int rank(const struct hn_value *value)
{
    return value->type == HN_BOOLEAN ? 0 : value->type == HN_WORD ? 2 : 1;
}

int hn_value_compare(const void *first, const void *second)
{
    const struct hn_value *a = first, *b = second;
    int order = rank(a) - rank(b);
    if (order == 0 && a->type == HN_WORD)
        order = strcmp(a->word, b->word);
    if (order != 0 || a->type == HN_WORD)
        return (order > 0) - (order < 0);
    return a->type == HN_BOOLEAN ? (int)a->boolean - (int)b->boolean : compare_numbers(a, b);
}

double hn_value_number(const struct hn_value *value)
{
    return value->type == HN_INTEGER   ? (double)value->integer
           : value->type == HN_REAL    ? value->real
           : value->type == HN_BOOLEAN ? value->boolean
                                       : 0;
}

static void append_real(struct hn_text *text, double real)
{
    if (isnan(real) || isinf(real)) {
        hn_text_append(text, isnan(real) ? ".nan" : real > 0 ? ".inf" : "-.inf");
        return;
    }
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, real);
        if (hn_c_strtod(digits, NULL) == real)
            break;
    }
    hn_text_append(text, digits);
    if (strpbrk(digits, ".e") == NULL)
        hn_text_append(text, ".0");
}

/* printf takes ten times as long, and texts of problems are what they are found by. */
static void append_integer(struct hn_text *text, int64_t integer)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (integer < 0)
        digits[--at] = '-';
    hn_text_append_bytes(text, digits + at, sizeof digits - at);
}

void hn_value_append(struct hn_text *text, const struct hn_value *value)
{
    if (value->type == HN_INTEGER)
        append_integer(text, value->integer);
    else if (value->type == HN_REAL)
        append_real(text, value->real);
    else
        hn_text_append(text, value->type == HN_WORD ? value->word
                             : value->boolean       ? "true"
                                                    : "false");
}

void hn_values_append(struct hn_text *text, const struct hn_value *values, size_t count)
{
    enum { LISTED = 16 };
    for (size_t i = 0; i < count && i < LISTED; i++) {
        hn_text_append(text, i == 0 ? "" : ", ");
        hn_value_append(text, &values[i]);
    }
    if (count > LISTED)
        hn_text_printf(text, ", ... (%zu in all)", count);
}

/* The base of an integer's text, 0 when it is none; *digits is where its digits begin. */
static int integer_base(const char *string, const char **digits)
{
    *digits = string;
    if (string[0] == '0' && (string[1] == 'x' || string[1] == 'o')) {
        *digits = string + 2;
        const char *allowed = string[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567";
        size_t length = strspn(*digits, allowed);
        return length > 0 && (*digits)[length] == '\0' ? (string[1] == 'x' ? 16 : 8) : 0;
    }
    const char *start = string + (*string == '-' || *string == '+');
    size_t length = strspn(start, "0123456789");
    return length > 0 && start[length] == '\0' ? 10 : 0;
}

enum hn_status hn_value_parse(const char *string, struct hn_value *value, struct hn_error *err)
{
    static const char *const truths[] = {"true", "True", "TRUE", "false", "False", "FALSE"};
    const size_t truth = hn_text_place(string, truths, 6);
    const char *digits;
    char *end;
    int base = integer_base(string, &digits);
    if (base != 0) {
        errno = 0;
        long long integer = strtoll(digits, NULL, base);
        if (errno == ERANGE)
            return hn_fail(err, HN_ECONFIG, "integer %s is beyond 64 bits", string);
        *value = hn_integer(integer);
        return HN_OK;
    }
    if (truth < 6) {
        *value = hn_boolean(truth < 3);
        return HN_OK;
    }
    /* C would also take "nan", "inf" and hexadecimal digits. */
    double real = hn_c_strtod(string, &end);
    if (end != string && *end == '\0' && string[strspn(string, "0123456789.eE+-")] == '\0') {
        *value = hn_real(real);
        if (isinf(real))
            return hn_fail(err, HN_ECONFIG, "number %s is beyond a double", string);
        return HN_OK;
    }
    if (!hn_text_is_word(string))
        return hn_fail(
            err, HN_ECONFIG,
            "'%s' is not a value; expected a finite number, true, false or a word (a letter "
            "or '_', then letters, digits and '_')",
            string);
    *value = hn_word(string);
    return HN_OK;
}
