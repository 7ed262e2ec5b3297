/* SPDX-License-Identifier: MIT */
#include "base/ascii.h"

#include <stdint.h>
#include <string.h>

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
