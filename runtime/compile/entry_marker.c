/* SPDX-License-Identifier: MIT */
#include "runtime/compile/entry_marker.h"

#include <stdio.h>
#include <string.h>

void hn_entry_marker_append(struct hn_text *text, size_t entry, const char *expression)
{
    hn_text_printf(text,
                   "\n#line %zu \"" HN_MARKER_FILE "\"\n"
                   "template <auto *kernel> __global__ void hone_entry_%zu() {} "
                   "template __global__ void hone_entry_%zu<%s>();\n",
                   entry + 1, entry, entry, expression);
}

/* A substitution of a mangled name: "S_" is number 0, "S0_" 1, ... "SZ_" 36. Its length, or 0. */
static size_t read_substitution(const char *text, unsigned long *number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = 1;
    *number = 0;
    if (*text != 'S')
        return 0;
    for (; text[length] != '_'; length++) {
        const char *digit = text[length] != '\0' ? strchr(digits, text[length]) : NULL;
        if (digit == NULL || length > 6)
            return 0;
        *number = *number * 36 + (unsigned long)(digit - digits);
    }
    *number += length > 1;
    return length + 1;
}

/* Within the marker's name the marker itself is substitution 0, and each of the kernel's is one
 * more than in a name of its own. */
static const char *behind_kernel(const char *marker, const char *kernel)
{
    while (*kernel != '\0') {
        unsigned long of_marker;
        unsigned long of_kernel;
        size_t marker_length = read_substitution(marker, &of_marker);
        size_t kernel_length = read_substitution(kernel, &of_kernel);
        bool shifted = marker_length > 0 && kernel_length > 0 && of_marker == of_kernel + 1;
        if (!shifted && *marker != *kernel)
            return NULL;
        marker += shifted ? marker_length : 1;
        kernel += shifted ? kernel_length : 1;
    }
    return marker;
}

bool hn_entry_marker_names(const char *marker, size_t entry, const char *kernel)
{
    static const char end[] = "EEEvv";
    char name[300];
    snprintf(name, sizeof name, "hone_entry_%zu", entry);
    char start[80];
    int length = snprintf(start, sizeof start, "_Z%zu%sIXadL_Z", strlen(name), name);
    size_t marker_length = strlen(marker);
    if (strncmp(marker, start, (size_t)length) != 0)
        return false;
    if (strncmp(kernel, "_Z", 2) == 0) {
        const char *rest = behind_kernel(marker + length, kernel + 2);
        return rest != NULL && strcmp(rest, end) == 0;
    }
    /* One that is extern "C" stands there with the types of its arguments. */
    snprintf(name, sizeof name, "%zu%s", strlen(kernel), kernel);
    return strncmp(marker + length, name, strlen(name)) == 0 &&
           strcmp(marker + marker_length - strlen(end), end) == 0;
}
