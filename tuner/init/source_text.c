/* SPDX-License-Identifier: MIT */
#include "tuner/init/source_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static const size_t size_limit = 4u << 20;

/* A line that goes on in the next one is one line. */
static void join_lines(char *text)
{
    for (char *at = strchr(text, '\\'); at != NULL; at = strchr(at + 1, '\\')) {
        if (at[1] == '\n') {
            at[0] = at[1] = ' ';
        } else if (at[1] == '\r' && at[2] == '\n') {
            at[0] = at[1] = at[2] = ' ';
        }
    }
}

static void blank(char *text, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (text[i] != '\n')
            text[i] = ' ';
}

/* Behind the comment that begins here; begin where there is none. */
static size_t skip_comment(const char *text, size_t begin)
{
    const char *end = NULL;
    if (text[begin] != '/' || (text[begin + 1] != '/' && text[begin + 1] != '*'))
        return begin;
    bool line = text[begin + 1] == '/';
    end = strstr(text + begin + 2, line ? "\n" : "*/");
    if (end == NULL)
        return strlen(text);
    return (size_t)(end - text) + (line ? 0 : 2);
}

/* Behind the raw string whose quote is here: R"tag( ... )tag". */
static size_t skip_raw_string(const char *text, size_t quote)
{
    char closing[24];
    const char *open = strchr(text + quote, '(');
    size_t tag = open != NULL ? (size_t)(open - text) - quote - 1 : sizeof closing;
    if (tag > 16)
        return quote + 1;
    closing[0] = ')';
    memcpy(closing + 1, text + quote + 1, tag);
    closing[tag + 1] = '"';
    closing[tag + 2] = '\0';
    const char *end = strstr(open, closing);
    return end != NULL ? (size_t)(end - text) + tag + 2 : strlen(text);
}

/* Behind the string or character whose quote is here; both end with their line at the latest. */
static size_t skip_literal(const char *text, size_t quote)
{
    size_t i = quote + 1;
    if (text[quote] == '"' && quote > 0 && text[quote - 1] == 'R' &&
        (quote == 1 || !hn_is_word_char(text[quote - 2])))
        return skip_raw_string(text, quote);
    while (text[i] != '\0' && text[i] != '\n' && text[i] != text[quote])
        i += text[i] == '\\' && text[i + 1] != '\0' ? 2 : 1;
    return text[i] == text[quote] ? i + 1 : i;
}

/* 1'000'000 */
static bool is_separator(const char *text, size_t i)
{
    return text[i] == '\'' && i > 0 && hn_is_hex_digit(text[i - 1]) && hn_is_hex_digit(text[i + 1]);
}

/* Comments become blanks in both; the contents of literals in code alone. */
static void blank_comments(struct hn_source_text *source)
{
    for (size_t i = 0; i < source->length;) {
        size_t end = skip_comment(source->text, i);
        if (end > i) {
            blank(source->code, i, end);
            blank(source->directives, i, end);
            i = end;
        } else if ((source->text[i] == '"' || source->text[i] == '\'') &&
                   !is_separator(source->text, i)) {
            end = skip_literal(source->text, i);
            bool closed = end > i + 1 && source->text[end - 1] == source->text[i];
            blank(source->code, i + 1, closed ? end - 1 : end);
            i = end;
        } else {
            i++;
        }
    }
}

static void part_directives(struct hn_source_text *source)
{
    for (size_t begin = 0; begin < source->length;) {
        const char *newline = strchr(source->code + begin, '\n');
        size_t end = newline != NULL ? (size_t)(newline - source->code) : source->length;
        size_t first = begin + strspn(source->directives + begin, " \t\r");
        bool directive = first < end && source->directives[first] == '#';
        blank(directive ? source->code : source->directives, begin, end);
        begin = end + 1;
    }
}

enum hn_status hn_source_text_make(const char *path, char *text, struct hn_source_text *source,
                                   struct hn_error *err)
{
    *source = (struct hn_source_text){.path = strdup(path), .text = text, .length = strlen(text)};
    join_lines(text);
    source->code = strdup(text);
    source->directives = strdup(text);
    if (source->path == NULL || source->code == NULL || source->directives == NULL) {
        hn_source_text_finish(source);
        return hn_fail_memory(err);
    }
    blank_comments(source);
    part_directives(source);
    return HN_OK;
}

enum hn_status hn_source_text_load(const char *path, struct hn_source_text *source,
                                   struct hn_error *err)
{
    char *text;
    size_t size;
    *source = (struct hn_source_text){.path = NULL};
    enum hn_status status = hn_file_read(path, size_limit, &text, &size, err);
    if (status != HN_OK)
        return status;
    if (strlen(text) != size) {
        free(text);
        return hn_fail(err, HN_EFORMAT, "%s: found a NUL byte; expected a CUDA source", path);
    }
    return hn_source_text_make(path, text, source, err);
}

void hn_source_text_finish(struct hn_source_text *source)
{
    free(source->path);
    free(source->text);
    free(source->code);
    free(source->directives);
    *source = (struct hn_source_text){.path = NULL};
}

size_t hn_find_identifier(const char *text, size_t from, size_t end, const char *identifier)
{
    size_t length = strlen(identifier);
    for (size_t i = from; i + length <= end; i++) {
        const char *first = memchr(text + i, identifier[0], end - i);
        if (first == NULL)
            break;
        i = (size_t)(first - text);
        if (i + length > end || strncmp(text + i, identifier, length) != 0 ||
            hn_is_word_char(text[i + length]) || (i > 0 && hn_is_word_char(text[i - 1])))
            continue;
        return i;
    }
    return SIZE_MAX;
}

bool hn_source_has(const struct hn_source_text *source, const char *identifier)
{
    return hn_find_identifier(source->code, 0, source->length, identifier) != SIZE_MAX ||
           hn_find_identifier(source->directives, 0, source->length, identifier) != SIZE_MAX;
}

size_t hn_closing_bracket(const char *text, size_t open, size_t end)
{
    static const char opening[] = "([{<";
    static const char closing[] = ")]}>";
    bool angle = text[open] == '<';
    size_t depth = 0;
    for (size_t i = open; i < end; i++) {
        const char *o = text[i] != '\0' ? strchr(opening, text[i]) : NULL;
        const char *c = text[i] != '\0' ? strchr(closing, text[i]) : NULL;
        if (o != NULL && (angle || *o != '<'))
            depth++;
        else if (c != NULL && (angle || *c != '>') && --depth == 0)
            return i;
    }
    return SIZE_MAX;
}
