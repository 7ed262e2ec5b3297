/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *hn_needed(void *pointer)
{
    if (pointer == NULL) {
        fputs("hone: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return pointer;
}

void *hn_need(size_t count, size_t size)
{
    return hn_needed(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *hn_need_more(void *items, size_t count, size_t size)
{
    return hn_needed(reallocarray(items, count > 0 ? count : 1, size));
}

char *hn_need_copy(const char *string)
{
    return string == NULL ? NULL : hn_needed(strdup(string));
}

void *hn_need_room(void *items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity == 0 ? 8 : 2 * *capacity;
    return hn_need_more(items, *capacity, size);
}
