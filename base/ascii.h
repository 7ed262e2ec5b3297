/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_ASCII_H
#define HONE_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

/* Letters, digits and blanks of ASCII: what <ctype.h> and <strings.h> tell in the C locale, in every locale. A byte beyond
 * ASCII is none of them and has no other case. */
static inline bool hn_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool hn_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool hn_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline char hn_lower(char c)
{
    return hn_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline char hn_upper(char c)
{
    return hn_is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

static inline bool hn_is_letter(char c)
{
    return hn_is_upper(c) || hn_is_lower(c);
}

static inline bool hn_is_letter_or_digit(char c)
{
    return hn_is_letter(c) || hn_is_digit(c);
}

/* Of the names of C, and of configs. */
static inline bool hn_is_word_char(char c)
{
    return hn_is_letter_or_digit(c) || c == '_';
}

static inline bool hn_is_hex_digit(char c)
{
    return hn_is_digit(c) || (hn_lower(c) >= 'a' && hn_lower(c) <= 'f');
}

static inline bool hn_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether two strings, or the first `length` bytes of them, differ in nothing but the case of letters. */
bool hn_same_letters(const char *a, const char *b);
bool hn_same_letters_within(const char *a, const char *b, size_t length);

/* The first place of `part` in `text` with letters in either case; NULL where there is none. */
const char *hn_find_letters(const char *text, const char *part);

#endif
