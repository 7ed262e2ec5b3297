/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_text_init(struct hn_text *text)
{
    *text = (struct hn_text){0};
}

void hn_text_finish(struct hn_text *text)
{
    if (text == NULL)
        return;
    free(text->data);
    hn_text_init(text);
}

/* Room for `extra` more bytes and the NUL. */
static bool reserve(struct hn_text *text, size_t extra)
{
    if (text->failed || extra > SIZE_MAX / 4 - text->length)
        goto fail;
    size_t needed = text->length + extra + 1;
    if (needed <= text->capacity)
        return true;
    size_t capacity = text->capacity < 64 ? 64 : text->capacity;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (data == NULL)
        goto fail;
    text->data = data;
    text->capacity = capacity;
    return true;

fail:
    text->failed = true;
    return false;
}

void hn_text_append_bytes(struct hn_text *text, const void *bytes, size_t size)
{
    if (!reserve(text, size))
        return;
    if (size > 0)
        memcpy(text->data + text->length, bytes, size);
    text->length += size;
    text->data[text->length] = '\0';
}

void hn_text_append_word(struct hn_text *text, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,=:/+-@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        hn_text_append(text, word);
        return;
    }
    hn_text_append(text, "'");
    for (const char *c = word; *c != '\0'; c++)
        hn_text_append_bytes(text, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
    hn_text_append(text, "'");
}

void hn_text_append(struct hn_text *text, const char *string)
{
    hn_text_append_bytes(text, string, strlen(string));
}

void hn_text_printf(struct hn_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) {
        text->failed = true;
        return;
    }
    if (!reserve(text, (size_t)size))
        return;
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)size + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)size;
}

char *hn_text_take(struct hn_text *text)
{
    hn_text_append_bytes(text, "", 0);
    char *data = text->data;
    if (text->failed) {
        free(data);
        data = NULL;
    }
    hn_text_init(text);
    return data;
}

size_t hn_word_length(const char *text)
{
    size_t length = 0;
    while (hn_is_word_char(text[length]))
        length++;
    return length;
}

bool hn_text_is_word(const char *string)
{
    size_t length = hn_word_length(string);
    return length > 0 && length <= HN_WORD_MOST && string[length] == '\0' && !hn_is_digit(*string);
}

/* Bytes that follow a first byte, and the smallest code point that needs as many; RFC 3629. */
static size_t follow(unsigned char first, uint32_t *code, uint32_t *least)
{
    static const struct {
        unsigned char mask, mark;
        uint32_t least;
    } kinds[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if ((first & kinds[i].mask) != kinds[i].mark)
            continue;
        *code = first & (unsigned char)~kinds[i].mask;
        *least = kinds[i].least;
        return i;
    }
    return SIZE_MAX;
}

const char *hn_text_find_not_utf8(const char *string)
{
    const unsigned char *at = (const unsigned char *)string;
    while (*at != '\0') {
        uint32_t code, least;
        size_t count = follow(*at, &code, &least);
        if (count == SIZE_MAX)
            return (const char *)at;
        for (size_t i = 1; i <= count; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return (const char *)at;
            code = code << 6 | (at[i] & 0x3f);
        }
        if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return (const char *)at;
        at += count + 1;
    }
    return NULL;
}

bool hn_text_line(const char **text, const char **line, size_t *length)
{
    *line = *text;
    *length = strcspn(*line, "\n");
    *text += *length + ((*line)[*length] == '\n');
    return **line != '\0';
}

size_t hn_text_place(const char *text, const char *const *list, size_t count)
{
    size_t place = 0;
    while (place < count && strcmp(list[place], text) != 0)
        place++;
    return place;
}

bool hn_text_has_word(const char *text, const char *word, size_t length)
{
    while (*text != '\0') {
        size_t here = hn_word_length(text);
        if (here == length && strncmp(text, word, length) == 0)
            return true;
        text += here > 0 ? here : 1;
    }
    return false;
}

/* Of words that are compared. */
enum { LONGEST = 127 };

/* In half edits: 2 an edit, 1 for a letter in the other case. */
static unsigned substitution(char a, char b)
{
    if (a == b)
        return 0;
    return hn_lower(a) == hn_lower(b) ? 1 : 2;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static bool swapped(const char *a, const char *b)
{
    return a[-1] == b[0] && a[0] == b[-1];
}

/* Levenshtein's distance with swapped neighbours as one edit (optimal string alignment). */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = 2 * (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i - 1) % 3];
        row[0] = 2 * (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(above[j] + 2, row[j - 1] + 2,
                           above[j - 1] + substitution(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && swapped(a + i - 1, b + j - 1) &&
                rows[(i - 2) % 3][j - 2] + 2 < row[j])
                row[j] = rows[(i - 2) % 3][j - 2] + 2;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *hn_text_nearest(const char *word, const char *const *words, size_t count)
{
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST)
        return NULL;
    unsigned limit = length < 3 ? 2 : (unsigned)(2 * (length / 3));
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(words[i]);
        if (other > LONGEST)
            continue;
        unsigned d = hn_same_letters(word, words[i]) ? 1 : distance(word, length, words[i], other);
        if (d < limit || (d == limit && nearest == NULL)) {
            nearest = words[i];
            limit = d;
        }
    }
    return nearest;
}

bool hn_same_letters_within(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (hn_lower(a[i]) != hn_lower(b[i]))
            return false;
        if (a[i] == '\0')
            return true;
    }
    return true;
}

bool hn_same_letters(const char *a, const char *b)
{
    return hn_same_letters_within(a, b, SIZE_MAX);
}

const char *hn_find_letters(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text != '\0' || length == 0; text++)
        if (hn_same_letters_within(text, part, length))
            return text;
    return NULL;
}

/* Of the C locale there is one that is never freed: neither call can fail, allocates or takes a
 * lock. */
static locale_t c_locale(void)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(locale != (locale_t)0);
    return locale;
}

void hn_c_locale_enter(struct hn_c_locale *scope)
{
    scope->own = c_locale();
    scope->before = uselocale(scope->own);
}

void hn_c_locale_leave(struct hn_c_locale *scope)
{
    uselocale(scope->before);
    freelocale(scope->own);
}

double hn_c_strtod(const char *text, char **end)
{
    locale_t locale = c_locale();
    double number = strtod_l(text, end, locale);
    freelocale(locale);
    return number;
}
