/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/memory.h"
#include "base/text.h"

enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER, /* value */
    TOKEN_STRING, /* start and length are those of the text between the quotes */
    TOKEN_NAME,
    TOKEN_MARK, /* a keyword, an operator or a bracket */
};

struct token {
    enum token_kind kind;
    const char *start;
    size_t length;
    size_t column; /* from 1 */
    struct hn_value value;
};

/* Longer ones before their beginnings. */
static const char *const signs[] = {
    "&&", "||", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%",
    "|",  "^",  "&",  "~",  "<",  ">",  "(",  ")",  "[",  "]",  ",", "=", "!", "?"};

/* Signs that C programmers write, and their words here. */
static const struct {
    const char *found;
    const char *expected;
} habits[] = {
    {"&&", "'and'"}, {"||", "'or'"}, {"=", "'=='"}, {"!", "'not'"}, {"?", "'a if c else b'"},
};

static const char *const keywords[] = {"and", "or", "not", "in", "if", "else"};
static const char *const truths[] = {"True", "true", "False", "false"};

static bool is_listed(const char *const *list, size_t count, const struct token *token,
                      size_t *place)
{
    for (*place = 0; *place < count; ++*place)
        if (strncmp(list[*place], token->start, token->length) == 0 &&
            list[*place][token->length] == '\0')
            return true;
    return false;
}

static void read_name(struct token *token)
{
    size_t place;
    token->kind = TOKEN_NAME;
    token->length = hn_word_length(token->start);
    if (is_listed(keywords, 6, token, &place)) {
        token->kind = TOKEN_MARK;
    } else if (is_listed(truths, 4, token, &place)) {
        token->kind = TOKEN_NUMBER;
        token->value = hn_boolean(place < 2);
    }
}

/* Everything that can belong to a number, so that "12abc" is one wrong number, not two tokens. */
static size_t number_length(const char *start)
{
    bool hexadecimal = start[0] == '0' && hn_lower(start[1]) == 'x';
    size_t length = 0;
    while (hn_is_word_char(start[length]) || start[length] == '.') {
        bool exponent = !hexadecimal && hn_lower(start[length]) == 'e';
        length++;
        if (exponent && (start[length] == '+' || start[length] == '-'))
            length++;
    }
    return length;
}

static bool is_hex_digit(char c)
{
    return hn_is_digit(c) || (hn_lower(c) >= 'a' && hn_lower(c) <= 'f');
}

/* Copies without Python's single '_' between digits; false when one stands elsewhere. */
static bool copy_digits(char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (from[i] != '_')
            *to++ = from[i];
        else if (i == 0 || !is_hex_digit(from[i - 1]) || i + 1 == length ||
                 !is_hex_digit(from[i + 1]))
            return false;
    }
    *to = '\0';
    return true;
}

static void read_number(struct token *token, struct hn_error *err)
{
    char digits[512];
    char *end = digits;
    token->kind = TOKEN_NUMBER;
    token->length = number_length(token->start);
    int shown = token->length < 60 ? (int)token->length : 60;
    bool formed = token->length < sizeof digits && copy_digits(digits, token->start, token->length);
    char mark = formed && digits[0] == '0' ? hn_lower(digits[1]) : '\0';
    int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    bool is_real = formed && base == 10 && strpbrk(digits, ".eE") != NULL;
    errno = 0;
    if (is_real) {
        token->value = hn_real(hn_c_strtod(digits, &end));
    } else if (formed) {
        const char *first = base == 10 ? digits : digits + 2;
        /* "08" is an error in Python, and octal in C: neither is what was meant. strtoll would
         * take a sign, spaces or a second 0x. */
        formed = !(base == 10 && digits[0] == '0' && digits[strspn(digits, "0")] != '\0') &&
                 *first != '\0' && first[strspn(first, "0123456789abcdefABCDEF")] == '\0';
        token->value = hn_integer(formed ? strtoll(first, &end, base) : 0);
    }
    if (is_real ? isinf(token->value.real) : formed && errno == ERANGE)
        hn_fail(err, HN_ECONFIG, "column %zu: %s %.*s is beyond %s", token->column,
                is_real ? "number" : "integer", shown, token->start,
                is_real ? "a double" : "64 bits");
    else if (!formed || *end != '\0')
        hn_fail(err, HN_ECONFIG, "column %zu: found '%.*s', expected a number", token->column,
                shown, token->start);
}

static void read_string(struct token *token, const char **end, struct hn_error *err)
{
    char quote[2] = {*token->start, '\0'};
    token->kind = TOKEN_STRING;
    token->start++;
    token->length = strcspn(token->start, quote);
    *end = token->start + token->length + 1;
    if (token->start[token->length] == '\0')
        hn_fail(err, HN_ECONFIG, "column %zu: the string that begins here has no closing %s",
                token->column, quote);
    else if (memchr(token->start, '\\', token->length) != NULL)
        hn_fail(err, HN_ECONFIG, "column %zu: found '\\' in a string, which has no escapes",
                token->column);
}

static void read_sign(struct token *token, struct hn_error *err)
{
    token->kind = TOKEN_MARK;
    for (size_t i = 0; i < sizeof signs / sizeof *signs && token->length == 0; i++)
        if (*token->start == *signs[i] && strncmp(token->start, signs[i], strlen(signs[i])) == 0)
            token->length = strlen(signs[i]);
    const char *expected = token->length > 0 ? NULL : "a value or an operator";
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        if (strncmp(token->start, habits[i].found, token->length) == 0 &&
            strlen(habits[i].found) == token->length)
            expected = habits[i].expected;
    /* the whole of a UTF-8 character */
    int length = token->length > 0 ? (int)token->length : 1;
    while (((unsigned char)token->start[length] & 0xc0) == 0x80)
        length++;
    if (expected != NULL)
        hn_fail(err, HN_ECONFIG, "column %zu: found '%.*s', expected %s", token->column, length,
                token->start, expected);
}

/* The tokens of text, each of which but the last, TOKEN_END, takes at least one character. Returns
 * how many stand before the last. */
static size_t read_tokens(const char *text, struct token *tokens, struct hn_error *err)
{
    const char *next = text;
    size_t count = 0;
    for (; !hn_failed(err); count++) {
        struct token *token = &tokens[count];
        const char *end = NULL;
        next += strspn(next, " \t\r\n");
        *token = (struct token){.start = next, .column = (size_t)(next - text) + 1};
        if (*next == '\0')
            break;
        if (hn_is_letter(*next) || *next == '_')
            read_name(token);
        else if (hn_is_digit(*next) || (*next == '.' && hn_is_digit(next[1])))
            read_number(token, err);
        else if (*next == '\'' || *next == '"')
            read_string(token, &end, err);
        else
            read_sign(token, err);
        next = end != NULL ? end : token->start + token->length;
    }
    return count;
}

/* Parentheses, unary operators and the like call the parser again; chains (a + b + c) do not. Both
 * are bounded, since terms recurse over what they are made of. */
enum { NESTING_LIMIT = 200, HEIGHT_LIMIT = 1000, LENGTH_LIMIT = 65536 };

/* Where a step has failed, the next token is the last one, so that all steps end, and none says
 * more. A step returns the place of its operation in the list. */
struct parser {
    struct hn_operation *list;
    int count;
    const struct token *token; /* the next one */
    const struct token *last;
    char *string; /* where the next string is put */
    int nesting;
    struct hn_error *err;
};

static int parse_expression(struct parser *parser);
static int parse_unary(struct parser *parser);

static bool is_mark(const struct token *token, const char *mark)
{
    return token->kind == TOKEN_MARK && *token->start == *mark &&
           strncmp(token->start, mark, token->length) == 0 && mark[token->length] == '\0';
}

static bool take_mark(struct parser *parser, const char *mark)
{
    if (!is_mark(parser->token, mark))
        return false;
    parser->token++;
    return true;
}

__attribute__((format(printf, 3, 4))) static void fail_at(struct parser *parser, size_t column,
                                                          const char *format, ...)
{
    char problem[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    if (!hn_failed(parser->err))
        hn_fail(parser->err, HN_ECONFIG, "column %zu: %s", column, problem);
    parser->token = parser->last;
}

static void fail_here(struct parser *parser, const char *problem)
{
    fail_at(parser, parser->token->column, "%s", problem);
}

static void fail_expected(struct parser *parser, const char *expected)
{
    const struct token *token = parser->token;
    if (token->kind == TOKEN_END)
        fail_at(parser, token->column, "found the end of the expression, expected %s", expected);
    else
        fail_at(parser, token->column, "found '%.*s', expected %s",
                token->length < 60 ? (int)token->length : 60, token->start, expected);
}

/* There are at most twice as many operations as tokens. */
static int emit(struct parser *parser, enum hn_operator code, const struct token *token, int a,
                int b, int c)
{
    struct hn_operation operation = {.code = code,
                                     .operand = {a, b, c},
                                     .slot = HN_SLOT_UNBOUND,
                                     .column = (unsigned)token->column,
                                     .height = 1};
    if (hn_failed(parser->err))
        return 0;
    /* an element more of a list, an argument more or a link more is no operator in a row */
    bool folds = code == HN_OP_CHAIN || code == HN_OP_ANY || code == HN_OP_ALL ||
                 code == HN_OP_MIN || code == HN_OP_MAX;
    for (int i = 0; i < hn_operation_forms[code].operands; i++) {
        unsigned height = parser->list[operation.operand[i]].height + !folds;
        operation.height = height > operation.height ? height : operation.height;
    }
    if (operation.height > HEIGHT_LIMIT)
        fail_here(parser, "more than 1000 operators in a row");
    if (hn_failed(parser->err))
        return 0;
    parser->list[parser->count] = operation;
    return parser->count++;
}

/* The place where the evaluation goes on is known when what may be skipped has been parsed: the
 * next operation then. */
static void end_skip(struct parser *parser, int skip)
{
    if (!hn_failed(parser->err))
        parser->list[skip].operand[1] = parser->count;
}

static int parse_nested(struct parser *parser, int (*parse)(struct parser *parser))
{
    if (++parser->nesting > NESTING_LIMIT)
        fail_here(parser, "nested deeper than 200");
    int value = parse(parser);
    parser->nesting--;
    return value;
}

static const char *keep_string(struct parser *parser, const struct token *token)
{
    char *string = memcpy(parser->string, token->start, token->length);
    string[token->length] = '\0';
    parser->string += token->length + 1;
    return string;
}

/* Of the token, which is passed over. */
static int emit_constant(struct parser *parser, enum hn_operator code)
{
    const struct token *token = parser->token++;
    int made = emit(parser, code, token, 0, 0, 0);
    if (!hn_failed(parser->err))
        parser->list[made].constant =
            token->kind == TOKEN_NUMBER ? token->value : hn_word(keep_string(parser, token));
    return made;
}

static void take_closing(struct parser *parser, const char *mark, const char *expected)
{
    if (take_mark(parser, mark))
        return;
    if (parser->token->kind != TOKEN_END)
        fail_expected(parser, expected);
    else
        fail_here(parser, *mark == ')' ? "missing ')'" : "missing ']'");
}

/* Whether another expression stands before the closing mark: between them are commas, and one may
 * follow the last. */
static bool goes_on(struct parser *parser, const char *closing, bool first)
{
    if (!first && !take_mark(parser, ",")) {
        take_closing(parser, closing, *closing == ')' ? "',' or ')'" : "',' or ']'");
        return false;
    }
    return !hn_failed(parser->err) && !take_mark(parser, closing);
}

static enum hn_operator find_function(struct parser *parser, const struct token *token)
{
    enum { COUNT = HN_OP_COUNT - HN_OP_MIN };
    const char *name = keep_string(parser, token);
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = hn_operation_forms[HN_OP_MIN + i].text;
    size_t place = hn_text_place(name, names, COUNT);
    if (place < COUNT)
        return (enum hn_operator)(HN_OP_MIN + place);
    struct hn_text known HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_append_known(&known, name, names, COUNT);
    fail_at(parser, token->column, "unknown function '%s'%s", name, known.failed ? "" : known.data);
    return HN_OP_COUNT;
}

static int parse_call(struct parser *parser, const struct token *token)
{
    enum hn_operator code = find_function(parser, token);
    int arguments[2] = {0, 0};
    int count = 0;
    if (code == HN_OP_COUNT)
        return 0;
    int least = hn_operation_forms[code].operands;
    bool folds = code == HN_OP_MIN || code == HN_OP_MAX; /* take more than two */
    while (goes_on(parser, ")", count == 0)) {
        int argument = parse_expression(parser);
        if (folds && count > 0)
            arguments[0] = emit(parser, code, token, arguments[0], argument, 0);
        else if (count < 2)
            arguments[count] = argument;
        count++;
    }
    if (count < least || (count > least && !folds))
        fail_at(parser, token->column, "%s takes %d%s argument%s, found %d",
                hn_operation_forms[code].text, least, folds ? " or more" : "",
                hn_plural((unsigned)least), count);
    return folds ? arguments[0] : emit(parser, code, token, arguments[0], arguments[1], 0);
}

static int parse_primary(struct parser *parser)
{
    const struct token *token = parser->token;
    if (token->kind == TOKEN_NUMBER || token->kind == TOKEN_STRING)
        return emit_constant(parser, HN_OP_CONSTANT);
    if (token->kind == TOKEN_NAME && is_mark(token + 1, "(")) {
        parser->token += 2;
        return parse_call(parser, token);
    }
    if (token->kind == TOKEN_NAME)
        return emit_constant(parser, HN_OP_NAME);
    if (take_mark(parser, "(")) {
        int value = parse_expression(parser);
        if (is_mark(parser->token, ","))
            fail_here(parser, "found ',' in parentheses; a tuple can only follow 'in'");
        take_closing(parser, ")", "an operator or ')'");
        return value;
    }
    if (is_mark(token, "["))
        fail_here(parser, "found '[', expected a value; a list can only follow 'in'");
    fail_expected(parser, "a value");
    return 0;
}

/* ** binds tighter than a sign on its left, and less tight than one on its right: -2 ** -1 is -(2
 * ** (-1)). */
static int parse_power(struct parser *parser)
{
    int left = parse_primary(parser);
    const struct token *token = parser->token;
    if (!take_mark(parser, "**"))
        return left;
    return emit(parser, HN_OP_POWER, token, left, parse_nested(parser, parse_unary), 0);
}

static int parse_unary(struct parser *parser)
{
    const struct token *token = parser->token;
    for (int code = HN_OP_POSITIVE; code <= HN_OP_INVERT; code++)
        if (take_mark(parser, hn_operation_forms[code].text))
            return emit(parser, (enum hn_operator)code, token, parse_nested(parser, parse_unary), 0,
                        0);
    return parse_power(parser);
}

/* Whether an operand is a number of the text, at that token, as it stands. */
static bool is_integer(const struct parser *parser, int operand, const struct token *token)
{
    return token->kind == TOKEN_NUMBER && token->value.type == HN_INTEGER &&
           parser->list[operand].code == HN_OP_CONSTANT;
}

/* Left-associative operators that are at least as tight as level. */
static int parse_binary(struct parser *parser, int level)
{
    int left = parse_unary(parser);
    for (int code = HN_OP_BIT_OR; code < HN_OP_POWER; code++) {
        const struct hn_operation_form *form = &hn_operation_forms[code];
        const struct token *token = parser->token;
        if (form->level < level || !take_mark(parser, form->text))
            continue;
        int right = parse_binary(parser, form->level + 1);
        if (code == HN_OP_BIT_XOR && is_integer(parser, left, token - 1) &&
            is_integer(parser, right, token + 1))
            fail_at(parser, token->column,
                    "found '^' between numbers, the exclusive or of their bits; a power is '**'");
        left = emit(parser, (enum hn_operator)code, token, left, right, 0);
        code = HN_OP_BIT_OR - 1; /* once more from the first on */
    }
    return left;
}

/* HN_OP_ANY for `in`, HN_OP_ALL for `not in`, HN_OP_COUNT where no comparison follows. */
static enum hn_operator take_comparison(struct parser *parser)
{
    for (int code = HN_OP_LESS; code <= HN_OP_NOT_EQUAL; code++)
        if (take_mark(parser, hn_operation_forms[code].text))
            return (enum hn_operator)code;
    if (take_mark(parser, "in"))
        return HN_OP_ANY;
    if (!is_mark(parser->token, "not") || !is_mark(parser->token + 1, "in"))
        return HN_OP_COUNT;
    parser->token += 2;
    return HN_OP_ALL;
}

/* Whether left is equal to an element of the list that follows, or (HN_OP_ALL) to none. */
static int parse_membership(struct parser *parser, enum hn_operator code, int left)
{
    const struct token *token = parser->token;
    bool brackets = take_mark(parser, "[");
    if (!brackets && !take_mark(parser, "(")) {
        fail_expected(parser, "a list as [1, 2] or (1, 2)");
        return 0;
    }
    int joined = -1;
    while (goes_on(parser, brackets ? "]" : ")", joined < 0)) {
        int element = parse_expression(parser);
        int link = emit(parser, code == HN_OP_ANY ? HN_OP_EQUAL : HN_OP_NOT_EQUAL, token, left,
                        element, 0);
        /* in a tuple the comma makes the difference: (1) is a number */
        if (!brackets && joined < 0 && is_mark(parser->token, ")"))
            fail_here(parser, "found one value in parentheses after 'in', expected a list as "
                              "[1, 2] or (1, 2)");
        joined = joined < 0 ? link : emit(parser, code, token, joined, link, 0);
    }
    if (joined < 0)
        return emit(parser, code == HN_OP_ANY ? HN_OP_NEVER : HN_OP_ALWAYS, token, left, 0, 0);
    return joined;
}

static int parse_comparison(struct parser *parser)
{
    int left = parse_binary(parser, 0);
    const struct token *token = parser->token;
    enum hn_operator code = take_comparison(parser);
    int chain = left;
    for (bool first = true; code != HN_OP_COUNT; first = false) {
        int skip = first ? 0 : emit(parser, HN_OP_SKIP_UNLESS, token, chain, 0, 0);
        bool listed = code == HN_OP_ANY || code == HN_OP_ALL;
        int right = listed ? parse_membership(parser, code, left) : parse_binary(parser, 0);
        int link = listed ? right : emit(parser, code, token, left, right, 0);
        if (!first)
            end_skip(parser, skip);
        chain = first ? link : emit(parser, HN_OP_CHAIN, token, chain, link, 0);
        left = right;
        code = take_comparison(parser);
        if (listed && code != HN_OP_COUNT)
            fail_here(parser, "a list cannot be compared");
    }
    return chain;
}

static int parse_not(struct parser *parser)
{
    const struct token *token = parser->token;
    if (!take_mark(parser, "not"))
        return parse_comparison(parser);
    return emit(parser, HN_OP_NOT, token, parse_nested(parser, parse_not), 0, 0);
}

static int parse_logical(struct parser *parser, enum hn_operator code,
                         int (*parse)(struct parser *parser))
{
    int left = parse(parser);
    for (;;) {
        const struct token *token = parser->token;
        if (!take_mark(parser, hn_operation_forms[code].text))
            return left;
        bool is_or = code == HN_OP_OR;
        int skip = emit(parser, is_or ? HN_OP_SKIP_IF : HN_OP_SKIP_UNLESS, token, left, 0, 0);
        int right = parse(parser);
        end_skip(parser, skip);
        left = emit(parser, code, token, left, right, 0);
    }
}

static int parse_and(struct parser *parser)
{
    return parse_logical(parser, HN_OP_AND, parse_not);
}

/* Moves operations by some places together with the places that they name. */
static void shift(struct hn_operation *list, int first, int end, int places)
{
    for (int i = first; i < end; i++) {
        bool skips = list[i].code == HN_OP_SKIP_IF || list[i].code == HN_OP_SKIP_UNLESS;
        for (int j = 0; j < (skips ? 2 : hn_operation_forms[list[i].code].operands); j++)
            list[i].operand[j] += places;
    }
}

/* `a if c else b`: a is parsed before c, and evaluated after it, so that they change places. */
static int parse_conditional(struct parser *parser)
{
    int first = parser->count;
    int value = parse_logical(parser, HN_OP_OR, parse_and);
    int second = parser->count;
    const struct token *token = parser->token;
    if (!take_mark(parser, "if"))
        return value;
    int condition = parse_logical(parser, HN_OP_OR, parse_and);
    int skip = emit(parser, HN_OP_SKIP_UNLESS, token, condition, 0, 0);
    if (!take_mark(parser, "else"))
        fail_expected(parser, "'else'");
    if (hn_failed(parser->err))
        return 0;
    struct hn_operation *list = parser->list;
    int before = second - first;
    int after = parser->count - second;
    memcpy(list + parser->count, list + first, (size_t)before * sizeof *list);
    memmove(list + first, list + second, (size_t)(after + before) * sizeof *list);
    shift(list, first, first + after, -before);
    shift(list, first + after, parser->count, after);
    condition -= before;
    skip -= before;
    value += after;

    end_skip(parser, skip);
    skip = emit(parser, HN_OP_SKIP_IF, token, condition, 0, 0);
    int other = parse_expression(parser);
    end_skip(parser, skip);
    return emit(parser, HN_OP_SELECT, token, condition, value, other);
}

static int parse_expression(struct parser *parser)
{
    return parse_nested(parser, parse_conditional);
}

enum hn_status hn_expression_parse(const char *text, struct hn_expression **expression,
                                   struct hn_error *given)
{
    struct hn_error own;
    struct hn_error *err = hn_error_begin(given, &own);
    size_t length = strlen(text);
    *expression = NULL;
    if (length > LENGTH_LIMIT)
        return hn_fail(err, HN_ECONFIG, "column %d: an expression has at most %d characters",
                       LENGTH_LIMIT, LENGTH_LIMIT);
    struct token *tokens HN_FREED = hn_allocate(length + 1, sizeof *tokens, err);
    size_t count = read_tokens(text, tokens, err);
    struct hn_expression *parsed = hn_allocate(1, sizeof *parsed, err);
    if (parsed != NULL) {
        parsed->text = hn_copy_string(text, err);
        parsed->strings = hn_allocate(length + count + 1, 1, err);
        /* half of them for operations that change places */
        parsed->list = hn_allocate(4 * count + 4, sizeof *parsed->list, err);
    }
    if (!hn_failed(err)) {
        struct parser parser = {.list = parsed->list,
                                .token = tokens,
                                .last = tokens + count,
                                .string = parsed->strings,
                                .err = err};
        parse_expression(&parser);
        if (is_mark(parser.token, ")"))
            fail_here(&parser, "found ')' without '('");
        if (parser.token->kind != TOKEN_END)
            fail_expected(&parser, "an operator or the end of the expression");
        parsed->count = parser.count;
        struct hn_operation *list =
            realloc(parsed->list, (size_t)(parser.count + 1) * sizeof *list);
        parsed->list = list != NULL ? list : parsed->list;
    }
    if (hn_failed(err))
        hn_expression_destroy(parsed);
    else
        *expression = parsed;
    return err->status;
}
