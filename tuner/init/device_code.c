/* SPDX-License-Identifier: MIT */
#include "tuner/init/device_code.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Back over blanks and the words that may stand between a function's ')' and its '{'. */
static size_t skip_back(const char *code, size_t at)
{
    static const char *const words[] = {"const", "noexcept", "override", "final"};
    for (bool moved = true; moved;) {
        moved = false;
        while (at > 0 && hn_is_space(code[at - 1]))
            at--;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            size_t length = strlen(words[i]);
            if (at <= length || strncmp(code + at - length, words[i], length) != 0 ||
                hn_is_word_char(code[at - length - 1]))
                continue;
            at -= length;
            moved = true;
        }
    }
    return at;
}

/* Whether a body begins at the brace, of a function that the device has no part in. */
static bool is_host_function(const char *code, size_t brace)
{
    size_t end = skip_back(code, brace);
    size_t begin = end;
    if (end == 0 || code[end - 1] != ')')
        return false;
    while (begin > 0 && strchr(";{}", code[begin - 1]) == NULL)
        begin--;
    return hn_find_identifier(code, begin, end, "__global__") == SIZE_MAX &&
           hn_find_identifier(code, begin, end, "__device__") == SIZE_MAX;
}

static bool is_function(const char *code, size_t brace)
{
    size_t end = skip_back(code, brace);
    return end > 0 && code[end - 1] == ')';
}

char *hn_device_code(const struct hn_source_text *source, bool *host)
{
    char *code = strdup(source->code);
    *host = false;
    for (size_t i = 0; code != NULL && i < source->length; i++) {
        if (code[i] != '{' || !is_function(code, i))
            continue;
        size_t close = hn_closing_bracket(code, i, source->length);
        bool of_host = is_host_function(code, i);
        if (close == SIZE_MAX)
            close = source->length;
        for (size_t k = i + 1; of_host && k < close; k++)
            if (code[k] != '\n')
                code[k] = ' ';
        *host = *host || of_host;
        i = close;
    }
    return code;
}
