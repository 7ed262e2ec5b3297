/* SPDX-License-Identifier: MIT */
#include "runtime/compile/condition.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

enum { TOKENS_MOST = 512, DEPTH_MOST = 24 };

/* A condition with the values of its macros put in. */
struct token {
    const char *sign; /* an operator, of the table below, or a parenthesis; NULL: a number */
    int64_t number;
};

struct reader {
    const struct hn_macro_table *macros;
    struct token tokens[TOKENS_MOST + 1]; /* the last has the sign "" */
    size_t count;
    size_t next;
    bool unsure;
};

/* Longer signs before those that they begin with. */
static const struct {
    const char *sign;
    int rank; /* what binds closer has a higher one; 0: it joins no two numbers */
} signs[] = {
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8},
    {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},  {">", 7},  {"+", 9},  {"-", 9},  {"*", 10},
    {"/", 10}, {"%", 10}, {"!", 0},  {"~", 0},  {"(", 0},  {")", 0},
};
enum { SIGN_COUNT = sizeof signs / sizeof *signs };

static void push(struct reader *reader, struct token token)
{
    if (reader->count == TOKENS_MOST)
        reader->unsure = true;
    else
        reader->tokens[reader->count++] = token;
}

/* Decimal, octal or hexadecimal, of a type with a sign. */
static const char *read_number(struct reader *reader, const char *at, const char *end)
{
    char digits[32] = "";
    size_t length = 0;
    while (at < end && (hn_is_word_char(*at) || *at == '.' || *at == '\'')) {
        if (length + 1 < sizeof digits)
            digits[length] = *at;
        length++;
        at++;
    }
    char *rest;
    errno = 0;
    int64_t number = strtoll(digits, &rest, 0);
    size_t longs = strspn(rest, "lL");
    bool binary = digits[0] == '0' && hn_lower(digits[1]) == 'b';
    reader->unsure |=
        length >= sizeof digits || errno != 0 || binary || longs > 2 || rest[longs] != '\0';
    push(reader, (struct token){NULL, number});
    return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && hn_is_space(*at))
        at++;
    return at;
}

static size_t word_within(const char *at, const char *end)
{
    size_t length = 0;
    while (at + length < end && hn_is_word_char(at[length]))
        length++;
    return length;
}

/* `defined NAME`, `defined(NAME)`; at: behind the word. */
static const char *read_defined(struct reader *reader, const char *at, const char *end)
{
    at = skip_blanks(at, end);
    bool encloses = at < end && *at == '(';
    at = skip_blanks(at + encloses, end);
    size_t length = word_within(at, end);
    const struct hn_table_macro *macro = hn_macro_table_find(reader->macros, at, length);
    if (macro == NULL || macro->state == HN_MACRO_UNSURE)
        reader->unsure = true;
    else
        push(reader, (struct token){NULL, macro->state == HN_MACRO_DEFINED});
    at = skip_blanks(at + length, end);
    if (encloses && (at == end || *at++ != ')'))
        reader->unsure = true;
    return at;
}

static void read_tokens(struct reader *reader, const char *at, const char *end, int depth);

static const char *read_word(struct reader *reader, const char *at, const char *end, int depth)
{
    size_t length = word_within(at, end);
    bool asks = length == strlen("defined") && memcmp(at, "defined", length) == 0;
    if (asks && depth == 0)
        return read_defined(reader, at + length, end);
    const struct hn_table_macro *macro = hn_macro_table_find(reader->macros, at, length);
    if (asks || depth == DEPTH_MOST || macro == NULL || macro->state != HN_MACRO_DEFINED)
        reader->unsure = true;
    else
        read_tokens(reader, macro->value, macro->value + macro->value_length, depth + 1);
    return at + length;
}

static const char *read_sign(struct reader *reader, const char *at, const char *end)
{
    for (size_t i = 0; i < SIGN_COUNT; i++) {
        size_t length = strlen(signs[i].sign);
        if ((size_t)(end - at) < length || memcmp(at, signs[i].sign, length) != 0)
            continue;
        push(reader, (struct token){signs[i].sign, 0});
        return at + length;
    }
    reader->unsure = true;
    return end;
}

static void read_tokens(struct reader *reader, const char *at, const char *end, int depth)
{
    for (at = skip_blanks(at, end); at < end && !reader->unsure; at = skip_blanks(at, end)) {
        if (hn_is_digit(*at))
            at = read_number(reader, at, end);
        else if (hn_is_word_char(*at))
            at = read_word(reader, at, end, depth);
        else
            at = read_sign(reader, at, end);
    }
}

static bool take(struct reader *reader, const char *sign)
{
    const struct token *token = &reader->tokens[reader->next];
    bool is = token->sign != NULL && strcmp(token->sign, sign) == 0;
    reader->next += is;
    return is;
}

static int rank_of(const struct token *token)
{
    for (size_t i = 0; token->sign != NULL && i < SIGN_COUNT; i++)
        if (strcmp(signs[i].sign, token->sign) == 0)
            return signs[i].rank;
    return 0;
}

/* a / b, a % b, a << b, a >> b where C says what they are. */
static int64_t divide_or_shift(struct reader *reader, char sign, int64_t a, int64_t b)
{
    bool shifts = sign == '<' || sign == '>';
    if (shifts ? a < 0 || b < 0 || b > 62 || (sign == '<' && a > INT64_MAX >> b)
               : b == 0 || (a == INT64_MIN && b == -1)) {
        reader->unsure = true;
        return 0;
    }
    if (shifts)
        return sign == '<' ? a << b : a >> b;
    return sign == '/' ? a / b : a % b;
}

static int64_t join(struct reader *reader, const char *sign, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool repeats = sign[0] == sign[1]; /* && || == << >> */
    bool equals = sign[1] == '=';
    switch (sign[0]) {
    case '|':
        return repeats ? a != 0 || b != 0 : a | b;
    case '&':
        return repeats ? a != 0 && b != 0 : a & b;
    case '^':
        return a ^ b;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        return repeats ? divide_or_shift(reader, '<', a, b) : equals ? a <= b : a < b;
    case '>':
        return repeats ? divide_or_shift(reader, '>', a, b) : equals ? a >= b : a > b;
    case '+':
        reader->unsure |= __builtin_add_overflow(a, b, &result);
        return result;
    case '-':
        reader->unsure |= __builtin_sub_overflow(a, b, &result);
        return result;
    case '*':
        reader->unsure |= __builtin_mul_overflow(a, b, &result);
        return result;
    default:
        return divide_or_shift(reader, sign[0], a, b);
    }
}

static int64_t evaluate(struct reader *reader, int least, int depth);

static int64_t evaluate_one(struct reader *reader, int depth)
{
    const struct token *token = &reader->tokens[reader->next];
    if (depth > 4 * DEPTH_MOST || reader->unsure) {
        reader->unsure = true;
        return 0;
    }
    if (token->sign == NULL) {
        reader->next++;
        return token->number;
    }
    if (take(reader, "!"))
        return evaluate_one(reader, depth + 1) == 0;
    if (take(reader, "~"))
        return ~evaluate_one(reader, depth + 1);
    if (take(reader, "+"))
        return evaluate_one(reader, depth + 1);
    if (take(reader, "-"))
        return join(reader, "-", 0, evaluate_one(reader, depth + 1));
    bool encloses = take(reader, "(");
    int64_t value = encloses ? evaluate(reader, 1, depth + 1) : 0;
    reader->unsure |= !encloses || !take(reader, ")");
    return value;
}

/* All that is joined by operators of at least that rank. */
static int64_t evaluate(struct reader *reader, int least, int depth)
{
    int64_t value = evaluate_one(reader, depth);
    while (!reader->unsure) {
        const struct token *token = &reader->tokens[reader->next];
        int rank = rank_of(token);
        if (rank == 0 || rank < least)
            break;
        reader->next++;
        value = join(reader, token->sign, value, evaluate(reader, rank + 1, depth + 1));
    }
    return value;
}

enum hn_truth hn_condition_decide(const struct hn_macro_table *macros, const char *text,
                                  size_t length)
{
    struct reader reader = {.macros = macros};
    read_tokens(&reader, text, text + length, 0);
    reader.tokens[reader.count] = (struct token){"", 0};
    int64_t value = evaluate(&reader, 1, 0);
    if (reader.unsure || reader.next != reader.count)
        return HN_UNSURE;
    return value != 0 ? HN_TRUE : HN_FALSE;
}
