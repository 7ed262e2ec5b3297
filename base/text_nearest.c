/* SPDX-License-Identifier: MIT */
#include "base/ascii.h"
#include "base/text.h"

#include <string.h>

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
