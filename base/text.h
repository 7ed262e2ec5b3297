/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_TEXT_H
#define HONE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A growing string. Appending never fails on the spot: a failed allocation sets `failed` and later appends do
 * nothing, so a builder checks once at its end. data is NULL until something was appended. */
struct hn_text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
};

void hn_text_init(struct hn_text *text);
void hn_text_finish(struct hn_text *text);
void hn_text_append(struct hn_text *text, const char *string);
void hn_text_append_bytes(struct hn_text *text, const void *bytes, size_t size);
/* As a word of a shell's command line: in quotes where that needs any. */
void hn_text_append_word(struct hn_text *text, const char *word);
void hn_text_printf(struct hn_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Hands the string over to the caller (free it), "" when nothing was appended; NULL when an append failed. */
char *hn_text_take(struct hn_text *text);

/* The whole file, NUL-terminated, at most `limit` bytes. HN_ERUN names the path and the reason. size may be NULL. */
enum hn_status hn_text_read_file(const char *path, size_t limit, char **data, size_t *size, struct hn_error *err);

/* Writes through a temporary file beside path and renames it, so that path never holds half of it. */
enum hn_status hn_text_write_file(const char *path, const void *data, size_t size, struct hn_error *err);

/* All of it, however many calls that takes; false with errno set. */
bool hn_text_write_all(int fd, const void *data, size_t size);

/* The ending of a noun of which there are so many. */
static inline const char *hn_plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
}

/* The word nearest to `word` by Levenshtein distance with swapped neighbours as one edit, or NULL when none is near
 * enough to be what was meant
 * (distance at most a third of the length, at least 1; case differences count half, and a word that
 * differs in nothing else is always near). */
const char *hn_text_nearest(const char *word, const char *const *words, size_t count);

/* The first byte that is no part of well-formed UTF-8, or NULL. JSON, and so caches and messages, hold nothing else. */
const char *hn_text_find_not_utf8(const char *string);

/* Whether these bytes stand in the text as a word of C, no part of a longer one. */
bool hn_text_has_word(const char *text, const char *word, size_t length);

/* [A-Za-z_][A-Za-z0-9_]*, of at most HN_WORD_MOST bytes. */
enum { HN_WORD_MOST = 255 };
bool hn_text_is_word(const char *string);

#endif
