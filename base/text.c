/* SPDX-License-Identifier: MIT */
#include "base/text.h"

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
    if (!is_word_start(*string))
        return false;
    while (is_word_start(*string) || (*string >= '0' && *string <= '9'))
        string++;
    return *string == '\0';
}
