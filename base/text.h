/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_TEXT_H
#define HONE_BASE_TEXT_H

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing string. Appending never fails on the spot: a failed allocation sets `failed` and later appends do
 * nothing, so a builder checks once at its end. data is NULL until something was appended. Start with all zero. */
struct hn_text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
};

void hn_text_finish(struct hn_text *text);
void hn_text_append(struct hn_text *text, const char *string);
void hn_text_append_bytes(struct hn_text *text, const void *bytes, size_t size);
/* As a word of a shell's command line: in quotes where that needs any. */
void hn_text_append_word(struct hn_text *text, const char *word);
void hn_text_printf(struct hn_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hn_text_vprintf(struct hn_text *text, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Hands the string over to the caller (free it), "" when nothing was appended; NULL when an append failed. */
char *hn_text_take(struct hn_text *text);

/* For lists X(identifier, name, …): the members of their enums, and of tables of their names. */
#define HN_IDENTIFIER(identifier, ...) identifier,
#define HN_NAMED(identifier, name) [identifier] = name,
/* The same of lists X(identifier, name, more), and of tables of what is more there. */
#define HN_NAMED_OF_3(identifier, name, more) [identifier] = name,
#define HN_MORE_OF_3(identifier, name, more) [identifier] = more,

/* The ending of a noun of which there are so many. */
static inline const char *hn_plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
}

/* The word nearest to `word` by Levenshtein distance with swapped neighbours as one edit, or NULL when none is near
 * enough to be what was meant (distance at most a third of the length, 1 of two letters; case differences count half, and
 * a word that differs in nothing else is always near). */
const char *hn_text_nearest(const char *word, const char *const *words, size_t count);
/* Appends "; nearest is 'TILE'", or where none is "; there are TILE, PAD": all that there is. */
void hn_text_append_known(struct hn_text *text, const char *word, const char *const *words, size_t count);

/* The first byte that is no part of well-formed UTF-8, or NULL. JSON, and so caches and messages, hold nothing else. */
const char *hn_text_find_not_utf8(const char *string);

/* The letters, digits and '_' that the text begins with. */
size_t hn_word_length(const char *text);
/* Where these bytes stand in the text as a word of C, no part of a longer one; NULL. */
const char *hn_text_find_word(const char *text, const char *word, size_t length);

/* Takes the next line off a text, without its end; false where there is none. */
bool hn_text_line(const char **text, const char **line, size_t *length);

/* Its place in a list; count where it is not there. */
size_t hn_text_place(const char *text, const char *const *list, size_t count);
static inline bool hn_text_is_among(const char *text, const char *const *list, size_t count)
{
    return hn_text_place(text, list, count) < count;
}
/* strcmp of two char *, as qsort wants it. */
int hn_compare_strings(const void *a, const void *b);
/* Whether there is something, and behind it one of some ends; NULL is behind the last of these. */
bool hn_ends_in(const char *text, const char *const *ends);

/* [A-Za-z_][A-Za-z0-9_]*, of at most HN_WORD_MOST bytes. */
enum { HN_WORD_MOST = 255 };
bool hn_text_is_word(const char *string);

/* Letters, digits and blanks of ASCII: what <ctype.h> and <strings.h> tell in the C locale, in every locale. A byte beyond
 * ASCII is none of them and has no other case. */
static inline bool hn_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char hn_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline char hn_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static inline bool hn_is_letter(char c)
{
    return hn_lower(c) >= 'a' && hn_lower(c) <= 'z';
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

static inline bool hn_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether two strings differ in nothing but the case of letters in their first `length` bytes (SIZE_MAX: all). */
bool hn_same_letters(const char *a, const char *b, size_t length);

/* The first place of `part` in `text` with letters in either case; NULL where there is none. */
const char *hn_find_letters(const char *text, const char *part);

/* Numbers are those of the C locale, whatever locale the process has. The command never sets one; an application may, so
 * that libhone enters the C locale wherever numbers are read or written, by itself or by jansson, and leaves it again. The
 * locale is the calling thread's: other threads notice nothing. */
struct hn_c_locale {
    locale_t before;
};

void hn_c_locale_enter(struct hn_c_locale *scope);
void hn_c_locale_leave(struct hn_c_locale *scope);

/* strtod of the C locale. */
double hn_c_strtod(const char *text, char **end);

#endif
