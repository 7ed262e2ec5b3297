/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_lexer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/c_locale.h"

/* Longer ones before their beginnings. */
static const char *const marks[] = {"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+",
                                    "-",  "*",  "/",  "%",  "|",  "^",  "&",  "~",  "<",
                                    ">",  "(",  ")",  "[",  "]",  ",",  NULL};
static const char *const keywords[] = {"and", "or", "not", "in", "if", "else", NULL};

/* What C programmers write, and what it is called here. */
static const struct {
    const char *found;
    const char *expected;
} habits[] = {
    {"&&", "'and'"}, {"||", "'or'"}, {"=", "'=='"}, {"!", "'not'"}, {"?", "'a if c else b'"},
};

static bool is_name_start(char c)
{
    return hn_is_letter(c) || c == '_';
}

static bool is_name_part(char c)
{
    return is_name_start(c) || hn_is_digit(c);
}

static size_t name_length(const char *start)
{
    size_t length = 0;
    while (is_name_part(start[length]))
        length++;
    return length;
}

static bool is_listed(const char *const *list, const char *start, size_t length)
{
    for (; *list != NULL; list++) {
        if (strlen(*list) == length && strncmp(*list, start, length) == 0)
            return true;
    }
    return false;
}

static void read_name(struct hn_token *token)
{
    static const char *const yes[] = {"True", "true", NULL};
    static const char *const no[] = {"False", "false", NULL};
    token->length = name_length(token->start);
    bool is_true = is_listed(yes, token->start, token->length);
    token->kind = HN_TOKEN_NAME;
    if (is_listed(keywords, token->start, token->length)) {
        token->kind = HN_TOKEN_MARK;
    } else if (is_true || is_listed(no, token->start, token->length)) {
        token->kind = HN_TOKEN_NUMBER;
        token->value = hn_boolean(is_true);
    }
}

/* Everything that can belong to a number, so that "12abc" is one wrong number and not two tokens.
 */
static size_t number_length(const char *start)
{
    bool hexadecimal = start[0] == '0' && (start[1] == 'x' || start[1] == 'X');
    size_t length = 0;
    while (is_name_part(start[length]) || start[length] == '.') {
        bool exponent = !hexadecimal && (start[length] == 'e' || start[length] == 'E');
        length++;
        if (exponent && (start[length] == '+' || start[length] == '-'))
            length++;
    }
    return length;
}

static int number_base(const char *digits)
{
    if (digits[0] != '0' || digits[1] == '\0')
        return 10;
    switch (hn_lower(digits[1])) {
    case 'x':
        return 16;
    case 'o':
        return 8;
    case 'b':
        return 2;
    default:
        return 10;
    }
}

/* Copies without Python's single '_' between digits; false when one stands elsewhere. */
static bool copy_digits(char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (from[i] != '_') {
            *to++ = from[i];
        } else if (i == 0 || !hn_is_hex_digit(from[i - 1]) || i + 1 == length ||
                   !hn_is_hex_digit(from[i + 1])) {
            return false;
        }
    }
    *to = '\0';
    return true;
}

static bool is_zero(const char *digits)
{
    return strspn(digits, "0") == strlen(digits);
}

static enum hn_status read_number(struct hn_token *token, struct hn_error *err)
{
    char digits[512];
    char *end;
    token->kind = HN_TOKEN_NUMBER;
    token->length = number_length(token->start);
    int shown = token->length < 60 ? (int)token->length : 60;
    if (token->length >= sizeof digits || !copy_digits(digits, token->start, token->length))
        goto malformed;

    int base = number_base(digits);
    if (base == 10 && strpbrk(digits, ".eE") != NULL) {
        token->value = hn_real(hn_c_strtod(digits, &end));
        if (isinf(token->value.real))
            return hn_fail(err, HN_ECONFIG, "column %zu: number %.*s is beyond a double",
                           token->column, shown, token->start);
    } else {
        /* "08" is an error in Python, and octal in C: neither is what was meant. */
        if (base == 10 && digits[0] == '0' && !is_zero(digits))
            goto malformed;
        const char *first = base == 10 ? digits : digits + 2;
        /* strtoll would take a sign, spaces or a second 0x */
        if (*first == '\0' || first[strspn(first, "0123456789abcdefABCDEF")] != '\0')
            goto malformed;
        errno = 0;
        token->value = hn_integer(strtoll(first, &end, base));
        if (errno == ERANGE)
            return hn_fail(err, HN_ECONFIG, "column %zu: integer %.*s is beyond 64 bits",
                           token->column, shown, token->start);
    }
    if (*end == '\0')
        return HN_OK;

malformed:
    return hn_fail(err, HN_ECONFIG, "column %zu: found '%.*s', expected a number", token->column,
                   shown, token->start);
}

static enum hn_status read_string(struct hn_token *token, const char **end, struct hn_error *err)
{
    char quote[2] = {*token->start, '\0'};
    token->kind = HN_TOKEN_STRING;
    token->start++;
    token->length = strcspn(token->start, quote);
    if (token->start[token->length] == '\0')
        return hn_fail(err, HN_ECONFIG, "column %zu: the string that begins here has no closing %s",
                       token->column, quote);
    if (memchr(token->start, '\\', token->length) != NULL)
        return hn_fail(err, HN_ECONFIG, "column %zu: found '\\' in a string, which has no escapes",
                       token->column);
    *end = token->start + token->length + 1;
    return HN_OK;
}

static enum hn_status fail_mark(const struct hn_token *token, struct hn_error *err)
{
    const char *start = token->start;
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        size_t length = strlen(habits[i].found);
        if (strncmp(start, habits[i].found, length) == 0)
            return hn_fail(err, HN_ECONFIG, "column %zu: found '%s', expected %s", token->column,
                           habits[i].found, habits[i].expected);
    }
    /* the whole of a UTF-8 character */
    int length = 1;
    while (((unsigned char)start[length] & 0xc0) == 0x80)
        length++;
    return hn_fail(err, HN_ECONFIG, "column %zu: found '%.*s', expected a value or an operator",
                   token->column, length, start);
}

static enum hn_status read_mark(struct hn_token *token, struct hn_error *err)
{
    if (strncmp(token->start, "&&", 2) == 0 || strncmp(token->start, "||", 2) == 0)
        return fail_mark(token, err);
    for (size_t i = 0; marks[i] != NULL; i++) {
        size_t length = strlen(marks[i]);
        if (strncmp(token->start, marks[i], length) == 0) {
            token->kind = HN_TOKEN_MARK;
            token->length = length;
            return HN_OK;
        }
    }
    return fail_mark(token, err);
}

static enum hn_status read_token(struct hn_token *token, const char **end, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    char first = token->start[0];
    *end = NULL;
    if (is_name_start(first))
        read_name(token);
    else if (hn_is_digit(first) || (first == '.' && hn_is_digit(token->start[1])))
        status = read_number(token, err);
    else if (first == '\'' || first == '"')
        status = read_string(token, end, err);
    else
        status = read_mark(token, err);
    if (*end == NULL)
        *end = token->start + token->length;
    return status;
}

enum hn_status hn_expression_tokens(const char *text, struct hn_token **tokens, size_t *count,
                                    struct hn_error *err)
{
    /* every token but the last takes at least one character */
    struct hn_token *list = calloc(strlen(text) + 1, sizeof *list);
    if (list == NULL)
        return hn_fail_memory(err);
    size_t length = 0;
    const char *next = text;
    for (;;) {
        next += strspn(next, " \t\r\n");
        struct hn_token *token = &list[length];
        token->start = next;
        token->column = (size_t)(next - text) + 1;
        if (*next == '\0')
            break;
        enum hn_status status = read_token(token, &next, err);
        if (status != HN_OK) {
            free(list);
            return status;
        }
        length++;
    }
    *tokens = list;
    *count = length;
    return HN_OK;
}
