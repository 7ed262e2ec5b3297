/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_text_finish(struct hn_text *text)
{
    if (text == NULL)
        return;
    free(text->data);
    *text = (struct hn_text){0};
}

/* Room for `extra` more bytes and the NUL. */
static bool reserve(struct hn_text *text, size_t extra)
{
    size_t needed = text->length + extra + 1;
    size_t capacity = text->capacity < 64 ? 64 : text->capacity;
    text->failed = text->failed || extra > SIZE_MAX / 4 - text->length;
    if (text->failed || needed <= text->capacity)
        return !text->failed;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    text->failed = data == NULL;
    text->data = data != NULL ? data : text->data;
    text->capacity = data != NULL ? capacity : text->capacity;
    return data != NULL;
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

void hn_text_vprintf(struct hn_text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text->failed = text->failed || size < 0;
    if (size < 0 || !reserve(text, (size_t)size))
        return;
    vsnprintf(text->data + text->length, (size_t)size + 1, format, arguments);
    text->length += (size_t)size;
}

void hn_text_printf(struct hn_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hn_text_vprintf(text, format, arguments);
    va_end(arguments);
}

char *hn_text_take(struct hn_text *text)
{
    hn_text_append_bytes(text, "", 0);
    char *data = text->data;
    if (text->failed) {
        free(data);
        data = NULL;
    }
    *text = (struct hn_text){0};
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

/* By RFC 3629. */
const char *hn_text_find_not_utf8(const char *string)
{
    /* by how many bytes follow the first one: what marks that, and the smallest code point that
     * needs as many */
    static const struct {
        unsigned char mask, mark;
        uint32_t least;
    } kinds[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (const unsigned char *at = (const unsigned char *)string; *at != '\0';) {
        size_t count = 0;
        while (count < 4 && (*at & kinds[count].mask) != kinds[count].mark)
            count++;
        uint32_t code = count < 4 ? *at & (unsigned char)~kinds[count].mask : 0;
        bool formed = count < 4;
        for (size_t i = 1; formed && i <= count; i++) {
            formed = (at[i] & 0xc0) == 0x80;
            code = code << 6 | (at[i] & 0x3f);
        }
        if (!formed || code < kinds[count].least || code > 0x10ffff ||
            (code >= 0xd800 && code <= 0xdfff))
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

int hn_compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool hn_ends_in(const char *text, const char *const *ends)
{
    size_t length = strlen(text);
    while (*ends != NULL &&
           (length <= strlen(*ends) || strcmp(text + length - strlen(*ends), *ends) != 0))
        ends++;
    return *ends != NULL;
}

const char *hn_text_find_word(const char *text, const char *word, size_t length)
{
    while (*text != '\0') {
        size_t here = hn_word_length(text);
        if (here == length && strncmp(text, word, length) == 0)
            return text;
        text += here > 0 ? here : 1;
    }
    return NULL;
}

/* Of the C locale there is one that is never freed: it takes no memory and no lock. */
static locale_t c_locale(void)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(locale != (locale_t)0);
    return locale;
}

/* Of words that are compared. */
enum { LONGEST = 127 };

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance with swapped neighbours as one edit (optimal string alignment), in half
 * edits: 2 an edit, 1 for a letter in the other case. */
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
            bool same = hn_lower(a[i - 1]) == hn_lower(b[j - 1]);
            unsigned other = a[i - 1] == b[j - 1] ? 0 : same ? 1 : 2;
            row[j] = lesser(lesser(above[j], row[j - 1]) + 2, above[j - 1] + other);
            if (i > 1 && j > 1 && a[i - 2] == b[j - 1] && a[i - 1] == b[j - 2])
                row[j] = lesser(row[j], rows[(i - 2) % 3][j - 2] + 2);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *hn_text_nearest(const char *word, const char *const *words, size_t count)
{
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST)
        return NULL;
    unsigned limit = (unsigned)(length < 3 ? length : 2 * (length / 3));
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(words[i]);
        if (other > LONGEST)
            continue;
        unsigned d =
            hn_same_letters(word, words[i], SIZE_MAX) ? 1 : distance(word, length, words[i], other);
        if (d < limit || (d == limit && nearest == NULL)) {
            nearest = words[i];
            limit = d;
        }
    }
    return nearest;
}

void hn_text_append_known(struct hn_text *text, const char *word, const char *const *words,
                          size_t count)
{
    const char *nearest = hn_text_nearest(word, words, count);
    if (nearest != NULL)
        hn_text_printf(text, "; nearest is '%s'", nearest);
    else
        hn_text_append(text, count == 0 ? "; there are none" : "; there are ");
    for (size_t i = 0; i < count && nearest == NULL; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "" : ", ", words[i]);
}

bool hn_same_letters(const char *a, const char *b, size_t length)
{
    return strncasecmp_l(a, b, length, c_locale()) == 0;
}

const char *hn_find_letters(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text != '\0' || length == 0; text++)
        if (hn_same_letters(text, part, length))
            return text;
    return NULL;
}

void hn_c_locale_enter(struct hn_c_locale *scope)
{
    scope->before = uselocale(c_locale());
}

void hn_c_locale_leave(struct hn_c_locale *scope)
{
    uselocale(scope->before);
}

double hn_c_strtod(const char *text, char **end)
{
    return strtod_l(text, end, c_locale());
}
