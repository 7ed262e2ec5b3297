/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

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

static bool is_word_start(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool hn_text_is_word(const char *string)
{
    const char *end = string;
    if (!is_word_start(*string))
        return false;
    while (is_word_start(*end) || (*end >= '0' && *end <= '9'))
        end++;
    return *end == '\0' && end - string <= HN_WORD_MOST;
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

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (hn_is_letter_or_digit(text[length]) || text[length] == '_')
        length++;
    return length;
}

bool hn_text_has_word(const char *text, const char *word, size_t length)
{
    while (*text != '\0') {
        size_t here = word_length(text);
        if (here == length && strncmp(text, word, length) == 0)
            return true;
        text += here > 0 ? here : 1;
    }
    return false;
}
