/* SPDX-License-Identifier: MIT */
#include "runtime/compile/plain_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* Lines that go on behind a backslash are one. */
static void join_lines(char *text, bool *certain)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        size_t blanks = *at == '\\' ? strspn(at + 1, " \t\v\f\r") : 0;
        bool joins = *at == '\\' && at[1 + blanks] == '\n';
        /* "\r\n" is how some files end their lines. */
        if (joins && blanks > 0 && !(blanks == 1 && at[1] == '\r'))
            *certain = false;
        if (joins)
            at += 1 + blanks;
        else
            *to++ = *at;
    }
    *to = '\0';
}

/* What the same sign may or may not be. */
static bool has_other_signs(const char *text)
{
    for (const char *at = text; (at = strstr(at, "?\?")) != NULL; at++)
        if (at[2] != '\0' && strchr("=/'()!<>-", at[2]) != NULL)
            return true;
    return strstr(text, "%:") != NULL || strstr(text, "<:") != NULL || strstr(text, "R\"") != NULL;
}

/* Behind a string or character that begins here; where it is not closed, behind the line's end. */
static const char *skip_literal(const char *at, bool *certain)
{
    const char quote = *at;
    const char *begin = at++;
    while (*at != quote && *at != '\n' && *at != '\0')
        at += at[0] == '\\' && at[1] != '\0' && at[1] != '\n' ? 2 : 1;
    if (*at == quote)
        return at + 1;
    for (const char *c = begin; c < at; c++)
        if (c[0] == '/' && (c[1] == '/' || c[1] == '*'))
            *certain = false;
    return at;
}

/* 1'000.5e+3 */
static const char *skip_number(const char *at)
{
    while (hn_is_word_char(*at) || *at == '.' || (*at == '\'' && hn_is_word_char(at[1])))
        at++;
    return at;
}

static const char *skip_comment(const char *at, bool *certain)
{
    if (at[1] == '/')
        return at + strcspn(at, "\n");
    const char *end = strstr(at + 2, "*/");
    if (end != NULL)
        return end + 2;
    *certain = false;
    return at + strlen(at);
}

static const char *skip_token(const char *at, bool *certain)
{
    if (*at == '"' || *at == '\'')
        return skip_literal(at, certain);
    if (hn_is_digit(*at))
        return skip_number(at);
    if (!hn_is_word_char(*at))
        return at + 1;
    while (hn_is_word_char(*at))
        at++;
    return at;
}

/* It becomes shorter, or stays as long. */
static void blank_comments(char *text, bool *certain)
{
    char *to = text;
    const char *at = text;
    while (*at != '\0') {
        bool is_comment = at[0] == '/' && (at[1] == '/' || at[1] == '*');
        const char *end = is_comment ? skip_comment(at, certain) : skip_token(at, certain);
        size_t length = is_comment ? 1 : (size_t)(end - at);
        if (is_comment)
            *to = ' ';
        else
            memmove(to, at, length);
        to += length;
        at = end;
    }
    *to = '\0';
}

char *hn_plain_text(const char *text, bool *certain)
{
    char *plain = strdup(text);
    if (plain == NULL)
        return NULL;
    *certain = !has_other_signs(plain);
    join_lines(plain, certain);
    *certain = *certain && !has_other_signs(plain);
    blank_comments(plain, certain);
    return plain;
}
