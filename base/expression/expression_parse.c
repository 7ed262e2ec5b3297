/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_lexer.h"
#include "base/expression/expression_tree.h"

/* Parentheses, unary operators and the like call the parser again; chains (a + b + c) grow the tree
 * without that. Both are bounded, since evaluation recurses over the tree. */
enum { NESTING_LIMIT = 200, HEIGHT_LIMIT = 1000, LENGTH_LIMIT = 65536 };

/* A failed step returns NULL with err set; failed is its status. */
struct parser {
    struct hn_expression *expression;
    const struct hn_token *token; /* the next one */
    char *string;                 /* where the next string is put */
    unsigned nesting;
    enum hn_status failed;
    struct hn_error *err;
};

static struct hn_node *parse_expression(struct parser *parser);
static struct hn_node *parse_unary(struct parser *parser);

static bool is_mark(const struct hn_token *token, const char *mark)
{
    return token->kind == HN_TOKEN_MARK && strlen(mark) == token->length &&
           strncmp(token->start, mark, token->length) == 0;
}

static bool take_mark(struct parser *parser, const char *mark)
{
    if (!is_mark(parser->token, mark))
        return false;
    parser->token++;
    return true;
}

static struct hn_node *fail_expected(struct parser *parser, const char *expected)
{
    const struct hn_token *token = parser->token;
    if (token->kind == HN_TOKEN_END)
        parser->failed = hn_fail(parser->err, HN_ECONFIG,
                                 "column %zu: found the end of the expression, expected %s",
                                 token->column, expected);
    else
        parser->failed =
            hn_fail(parser->err, HN_ECONFIG, "column %zu: found '%.*s', expected %s", token->column,
                    token->length < 60 ? (int)token->length : 60, token->start, expected);
    return NULL;
}

static struct hn_node *fail_here(struct parser *parser, const char *problem)
{
    parser->failed =
        hn_fail(parser->err, HN_ECONFIG, "column %zu: %s", parser->token->column, problem);
    return NULL;
}

/* There are at most as many nodes as tokens. */
static struct hn_node *new_node(struct parser *parser, enum hn_node_kind kind,
                                const struct hn_token *token)
{
    struct hn_node *node = &parser->expression->nodes[parser->expression->node_count++];
    *node = (struct hn_node){
        .kind = kind, .column = token->column, .height = 1, .slot = HN_SLOT_UNBOUND};
    return node;
}

/* False when child is NULL, or when the tree gets too high. */
static bool add_child(struct parser *parser, struct hn_node *node, struct hn_node *child)
{
    if (child == NULL)
        return false;
    struct hn_node **end = &node->child;
    while (*end != NULL)
        end = &(*end)->next;
    *end = child;
    node->child_count++;
    if (child->height >= node->height)
        node->height = child->height + 1;
    if (node->height > HEIGHT_LIMIT) {
        fail_here(parser, "more than 1000 operators in a row");
        return false;
    }
    return true;
}

static bool enter(struct parser *parser)
{
    if (++parser->nesting <= NESTING_LIMIT)
        return true;
    fail_here(parser, "nested deeper than 200");
    return false;
}

static struct hn_node *leave(struct parser *parser, struct hn_node *node)
{
    parser->nesting--;
    return node;
}

static const char *keep_string(struct parser *parser, const struct hn_token *token)
{
    char *string = parser->string;
    memcpy(string, token->start, token->length);
    string[token->length] = '\0';
    parser->string += token->length + 1;
    return string;
}

static bool take_closing(struct parser *parser, const char *mark, const char *expected)
{
    if (take_mark(parser, mark))
        return true;
    if (parser->token->kind != HN_TOKEN_END) {
        fail_expected(parser, expected);
        return false;
    }
    fail_here(parser, *mark == ')' ? "missing ')'" : "missing ']'");
    return false;
}

/* Expressions up to the closing mark; a comma may follow the last one. */
static bool parse_elements(struct parser *parser, struct hn_node *node, const char *closing)
{
    const char *expected = *closing == ')' ? "',' or ')'" : "',' or ']'";
    while (!take_mark(parser, closing)) {
        if (!add_child(parser, node, parse_expression(parser)))
            return false;
        if (take_mark(parser, ","))
            continue;
        return take_closing(parser, closing, expected);
    }
    return true;
}

static const struct {
    enum hn_function function;
    size_t least;
    size_t most;
    const char *arguments;
} functions[] = {
    {HN_MIN, 2, SIZE_MAX, "2 or more arguments"},
    {HN_MAX, 2, SIZE_MAX, "2 or more arguments"},
    {HN_ABS, 1, 1, "1 argument"},
    {HN_CEIL_DIV, 2, 2, "2 arguments"},
    {HN_LOG2, 1, 1, "1 argument"},
    {HN_IS_POWER_OF_2, 1, 1, "1 argument"},
    {HN_SIZEOF, 1, 1, "1 argument"},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

static struct hn_node *fail_function(struct parser *parser, const struct hn_token *token,
                                     const char *name)
{
    const char *names[FUNCTION_COUNT];
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        names[i] = hn_function_name(functions[i].function);
    const char *nearest = hn_text_nearest(name, names, FUNCTION_COUNT);
    if (nearest != NULL)
        parser->failed =
            hn_fail(parser->err, HN_ECONFIG, "column %zu: unknown function '%s'; nearest is '%s'",
                    token->column, name, nearest);
    else
        parser->failed = hn_fail(parser->err, HN_ECONFIG,
                                 "column %zu: unknown function '%s'; known are min, max, abs, "
                                 "ceil_div, log2, is_power_of_2, sizeof",
                                 token->column, name);
    return NULL;
}

static struct hn_node *parse_call(struct parser *parser, const struct hn_token *token)
{
    const char *name = keep_string(parser, token);
    size_t i = 0;
    while (i < FUNCTION_COUNT && strcmp(hn_function_name(functions[i].function), name) != 0)
        i++;
    if (i == FUNCTION_COUNT)
        return fail_function(parser, token, name);

    struct hn_node *node = new_node(parser, HN_NODE_CALL, token);
    node->function = functions[i].function;
    node->name = name;
    if (!parse_elements(parser, node, ")"))
        return NULL;
    if (node->child_count < functions[i].least || node->child_count > functions[i].most) {
        parser->failed = hn_fail(parser->err, HN_ECONFIG, "column %zu: %s takes %s, found %zu",
                                 token->column, name, functions[i].arguments, node->child_count);
        return NULL;
    }
    return node;
}

static struct hn_node *parse_parentheses(struct parser *parser)
{
    struct hn_node *node = parse_expression(parser);
    if (node == NULL)
        return NULL;
    if (is_mark(parser->token, ","))
        return fail_here(parser, "found ',' in parentheses; a tuple can only follow 'in'");
    return take_closing(parser, ")", "an operator or ')'") ? node : NULL;
}

static struct hn_node *parse_primary(struct parser *parser)
{
    const struct hn_token *token = parser->token;
    struct hn_node *node;
    switch (token->kind) {
    case HN_TOKEN_NUMBER:
        parser->token++;
        node = new_node(parser, HN_NODE_CONSTANT, token);
        node->constant = token->value;
        return node;
    case HN_TOKEN_STRING:
        parser->token++;
        node = new_node(parser, HN_NODE_CONSTANT, token);
        node->constant = hn_word(keep_string(parser, token));
        return node;
    case HN_TOKEN_NAME:
        parser->token++;
        if (take_mark(parser, "("))
            return parse_call(parser, token);
        node = new_node(parser, HN_NODE_NAME, token);
        node->name = keep_string(parser, token);
        return node;
    case HN_TOKEN_MARK:
        if (take_mark(parser, "("))
            return parse_parentheses(parser);
        if (is_mark(token, "["))
            return fail_here(parser, "found '[', expected a value; a list can only follow 'in'");
        break;
    case HN_TOKEN_END:
        break;
    }
    return fail_expected(parser, "a value");
}

static struct hn_node *new_binary(struct parser *parser, const struct hn_token *token,
                                  enum hn_operator operation, struct hn_node *left,
                                  struct hn_node *right)
{
    if (right == NULL)
        return NULL;
    struct hn_node *node = new_node(parser, HN_NODE_BINARY, token);
    node->operation = operation;
    bool added = add_child(parser, node, left) && add_child(parser, node, right);
    return added ? node : NULL;
}

/* ** binds tighter than a sign on its left, and less tight than one on its right: -2 ** -1 is -(2
 * ** (-1)). */
static struct hn_node *parse_power(struct parser *parser)
{
    struct hn_node *left = parse_primary(parser);
    const struct hn_token *token = parser->token;
    if (left == NULL || !take_mark(parser, "**"))
        return left;
    if (!enter(parser))
        return NULL;
    return leave(parser, new_binary(parser, token, HN_POWER, left, parse_unary(parser)));
}

static struct hn_node *new_unary(struct parser *parser, const struct hn_token *token,
                                 enum hn_operator operation, struct hn_node *operand)
{
    if (operand == NULL)
        return NULL;
    struct hn_node *node = new_node(parser, HN_NODE_UNARY, token);
    node->operation = operation;
    return add_child(parser, node, operand) ? node : NULL;
}

static struct hn_node *parse_unary(struct parser *parser)
{
    static const enum hn_operator operators[] = {HN_POSITIVE, HN_NEGATIVE, HN_INVERT};
    const struct hn_token *token = parser->token;
    for (size_t i = 0; i < 3; i++) {
        if (!take_mark(parser, hn_operator_text(operators[i])))
            continue;
        if (!enter(parser))
            return NULL;
        return leave(parser, new_unary(parser, token, operators[i], parse_unary(parser)));
    }
    return parse_power(parser);
}

/* Left-associative operators, the loosest first. */
static const struct {
    enum hn_operator operation;
    unsigned level;
} binary_operators[] = {
    {HN_BIT_OR, 0},      {HN_BIT_XOR, 1},      {HN_BIT_AND, 2},  {HN_SHIFT_LEFT, 3},
    {HN_SHIFT_RIGHT, 3}, {HN_ADD, 4},          {HN_SUBTRACT, 4}, {HN_MULTIPLY, 5},
    {HN_DIVIDE, 5},      {HN_FLOOR_DIVIDE, 5}, {HN_MODULO, 5},
};
enum { BINARY_COUNT = sizeof binary_operators / sizeof binary_operators[0] };

/* The operator at the next token, at least as tight as level. */
static bool find_binary(const struct parser *parser, unsigned level, size_t *found)
{
    for (size_t i = 0; i < BINARY_COUNT; i++) {
        if (binary_operators[i].level >= level &&
            is_mark(parser->token, hn_operator_text(binary_operators[i].operation))) {
            *found = i;
            return true;
        }
    }
    return false;
}

static struct hn_node *parse_binary(struct parser *parser, unsigned level)
{
    struct hn_node *left = parse_unary(parser);
    size_t i;
    while (left != NULL && find_binary(parser, level, &i)) {
        const struct hn_token *token = parser->token++;
        struct hn_node *right = parse_binary(parser, binary_operators[i].level + 1);
        left = new_binary(parser, token, binary_operators[i].operation, left, right);
    }
    return left;
}

static enum hn_operator take_comparison(struct parser *parser)
{
    static const enum hn_operator operators[] = {
        HN_LESS, HN_LESS_EQUAL, HN_GREATER, HN_GREATER_EQUAL, HN_EQUAL, HN_NOT_EQUAL, HN_IN};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (take_mark(parser, hn_operator_text(operators[i])))
            return operators[i];
    }
    if (is_mark(parser->token, "not") && is_mark(parser->token + 1, "in")) {
        parser->token += 2;
        return HN_NOT_IN;
    }
    return HN_OPERATOR_NONE;
}

/* In a tuple the comma makes the difference: (1) is a number. */
static struct hn_node *parse_tuple(struct parser *parser, struct hn_node *list)
{
    if (take_mark(parser, ")"))
        return list;
    if (!add_child(parser, list, parse_expression(parser)))
        return NULL;
    if (is_mark(parser->token, ")"))
        return fail_here(parser, "found one value in parentheses after 'in', expected a list as "
                                 "[1, 2] or (1, 2)");
    if (!take_mark(parser, ","))
        return take_closing(parser, ")", "',' or ')'") ? list : NULL;
    return parse_elements(parser, list, ")") ? list : NULL;
}

static struct hn_node *parse_list(struct parser *parser)
{
    const struct hn_token *token = parser->token;
    bool brackets = take_mark(parser, "[");
    if (!brackets && !take_mark(parser, "("))
        return fail_expected(parser, "a list as [1, 2] or (1, 2)");
    struct hn_node *list = new_node(parser, HN_NODE_LIST, token);
    if (!brackets)
        return parse_tuple(parser, list);
    return parse_elements(parser, list, "]") ? list : NULL;
}

static struct hn_node *parse_comparison(struct parser *parser)
{
    struct hn_node *first = parse_binary(parser, 0);
    const struct hn_token *token = parser->token;
    enum hn_operator comparison = first == NULL ? HN_OPERATOR_NONE : take_comparison(parser);
    if (comparison == HN_OPERATOR_NONE)
        return first;
    struct hn_node *node = new_node(parser, HN_NODE_COMPARE, token);
    if (!add_child(parser, node, first))
        return NULL;
    bool after_list = false;
    while (comparison != HN_OPERATOR_NONE) {
        if (after_list)
            return fail_here(parser, "a list can not be compared");
        after_list = comparison == HN_IN || comparison == HN_NOT_IN;
        struct hn_node *operand = after_list ? parse_list(parser) : parse_binary(parser, 0);
        if (!add_child(parser, node, operand))
            return NULL;
        operand->comparison = comparison;
        comparison = take_comparison(parser);
    }
    return node;
}

static struct hn_node *parse_not(struct parser *parser)
{
    const struct hn_token *token = parser->token;
    if (!take_mark(parser, "not"))
        return parse_comparison(parser);
    if (!enter(parser))
        return NULL;
    return leave(parser, new_unary(parser, token, HN_NOT, parse_not(parser)));
}

static struct hn_node *parse_logical(struct parser *parser, enum hn_node_kind kind)
{
    bool is_or = kind == HN_NODE_OR;
    struct hn_node *left = is_or ? parse_logical(parser, HN_NODE_AND) : parse_not(parser);
    for (;;) {
        const struct hn_token *token = parser->token;
        if (left == NULL || !take_mark(parser, is_or ? "or" : "and"))
            return left;
        struct hn_node *right = is_or ? parse_logical(parser, HN_NODE_AND) : parse_not(parser);
        if (right == NULL)
            return NULL;
        struct hn_node *node = new_node(parser, kind, token);
        if (!add_child(parser, node, left) || !add_child(parser, node, right))
            return NULL;
        left = node;
    }
}

static struct hn_node *parse_conditional(struct parser *parser)
{
    struct hn_node *value = parse_logical(parser, HN_NODE_OR);
    const struct hn_token *token = parser->token;
    if (value == NULL || !take_mark(parser, "if"))
        return value;
    struct hn_node *node = new_node(parser, HN_NODE_CONDITIONAL, token);
    if (!add_child(parser, node, parse_logical(parser, HN_NODE_OR)) ||
        !add_child(parser, node, value))
        return NULL;
    if (!take_mark(parser, "else"))
        return fail_expected(parser, "'else'");
    return add_child(parser, node, parse_expression(parser)) ? node : NULL;
}

static struct hn_node *parse_expression(struct parser *parser)
{
    if (!enter(parser))
        return NULL;
    return leave(parser, parse_conditional(parser));
}

static struct hn_node *parse_whole(struct parser *parser)
{
    struct hn_node *root = parse_expression(parser);
    if (root == NULL || parser->token->kind == HN_TOKEN_END)
        return root;
    if (is_mark(parser->token, ")"))
        return fail_here(parser, "found ')' without '('");
    return fail_expected(parser, "an operator or the end of the expression");
}

static enum hn_status parse_tokens(struct hn_expression *expression, const struct hn_token *tokens,
                                   size_t count, struct hn_error *err)
{
    size_t length = strlen(expression->text);
    expression->nodes = calloc(count + 1, sizeof *expression->nodes);
    expression->string_size = length + count + 1;
    expression->strings = malloc(expression->string_size);
    if (expression->nodes == NULL || expression->strings == NULL)
        return hn_fail_memory(err);
    struct parser parser = {
        .expression = expression, .token = tokens, .string = expression->strings, .err = err};
    expression->root = parse_whole(&parser);
    return expression->root == NULL ? parser.failed : HN_OK;
}

enum hn_status hn_expression_parse(const char *text, struct hn_expression **expression,
                                   struct hn_error *err)
{
    *expression = NULL;
    if (strlen(text) > LENGTH_LIMIT)
        return hn_fail(err, HN_ECONFIG, "column %d: an expression has at most %d characters",
                       LENGTH_LIMIT, LENGTH_LIMIT);
    struct hn_token *tokens;
    size_t count;
    enum hn_status status = hn_expression_tokens(text, &tokens, &count, err);
    if (status != HN_OK)
        return status;

    struct hn_expression *parsed = calloc(1, sizeof *parsed);
    if (parsed != NULL)
        parsed->text = strdup(text);
    if (parsed == NULL || parsed->text == NULL)
        status = hn_fail_memory(err);
    else
        status = parse_tokens(parsed, tokens, count, err);
    free(tokens);
    if (status != HN_OK) {
        hn_expression_destroy(parsed);
        return status;
    }
    *expression = parsed;
    return HN_OK;
}
