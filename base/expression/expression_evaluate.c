/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/expression/expression_tree.h"
#include "base/text.h"

struct evaluation {
    const struct hn_expression *expression;
    const struct hn_value *values;
    struct hn_error *err;
};

static enum hn_status evaluate(const struct evaluation *evaluation, const struct hn_node *node,
                               struct hn_value *result);

bool hn_value_truth(const struct hn_value *value)
{
    switch (value->type) {
    case HN_INTEGER:
        return value->integer != 0;
    case HN_REAL:
        return value->real != 0;
    case HN_BOOLEAN:
        return value->boolean;
    case HN_WORD:
        break;
    }
    return value->word[0] != '\0';
}

static void append_operand(struct hn_text *text, const struct hn_value *value)
{
    const char *quote = value->type == HN_WORD ? "'" : "";
    hn_text_append(text, quote);
    hn_value_append(text, value);
    hn_text_append(text, quote);
}

/* What was computed: "7 % 0", "-'ldg'", "log2(0)". */
static void append_operation(struct hn_text *text, const struct hn_node *node,
                             const char *operation, const struct hn_value *a,
                             const struct hn_value *b)
{
    if (node->kind == HN_NODE_CALL) {
        hn_text_printf(text, "%s(", hn_function_name(node->function));
        append_operand(text, a);
        if (b != NULL) {
            hn_text_append(text, ", ");
            append_operand(text, b);
        }
        hn_text_append(text, ")");
        return;
    }
    if (b == NULL) {
        hn_text_append(text, operation);
        append_operand(text, a);
        return;
    }
    append_operand(text, a);
    hn_text_printf(text, " %s ", operation);
    append_operand(text, b);
}

/* Where the expression was written, for a message to begin with: place and separator. */
#define PLACE(expression)                                                                          \
    (expression)->place != NULL ? (expression)->place : "", (expression)->place != NULL ? ": " : ""

/* "'A % B == 0', column 3: 7 % 0: division by zero" */
static enum hn_status fail_operation(const struct evaluation *evaluation,
                                     const struct hn_node *node, enum hn_operator operation,
                                     const struct hn_value *a, const struct hn_value *b,
                                     const char *reason)
{
    if (evaluation->err == NULL)
        return HN_EVALUE;
    struct hn_text text;
    hn_text_init(&text);
    append_operation(&text, node, hn_operator_text(operation), a, b);
    hn_fail(evaluation->err, HN_EVALUE, "%s%s'%s', column %zu: %s: %s",
            PLACE(evaluation->expression), evaluation->expression->text, node->column,
            text.failed ? "" : text.data, reason);
    hn_text_finish(&text);
    return HN_EVALUE;
}

static enum hn_status evaluate_name(const struct evaluation *evaluation, const struct hn_node *node,
                                    struct hn_value *result)
{
    if (node->slot >= 0) {
        *result = evaluation->values[node->slot];
        return HN_OK;
    }
    if (node->slot == HN_SLOT_UNBOUND)
        return hn_fail(evaluation->err, HN_EVALUE, "'%s', column %zu: '%s' is not bound",
                       evaluation->expression->text, node->column, node->name);
    *result = node->constant;
    return HN_OK;
}

static enum hn_status evaluate_unary(const struct evaluation *evaluation,
                                     const struct hn_node *node, struct hn_value *result)
{
    struct hn_value a;
    enum hn_status status = evaluate(evaluation, node->child, &a);
    if (status != HN_OK)
        return status;
    const char *reason = hn_apply_unary(node->operation, &a, result);
    if (reason != NULL)
        return fail_operation(evaluation, node, node->operation, &a, NULL, reason);
    return HN_OK;
}

static enum hn_status evaluate_binary(const struct evaluation *evaluation,
                                      const struct hn_node *node, struct hn_value *result)
{
    struct hn_value a;
    struct hn_value b;
    enum hn_status status = evaluate(evaluation, node->child, &a);
    if (status == HN_OK)
        status = evaluate(evaluation, node->child->next, &b);
    if (status != HN_OK)
        return status;
    const char *reason = hn_apply_binary(node->operation, &a, &b, result);
    if (reason != NULL)
        return fail_operation(evaluation, node, node->operation, &a, &b, reason);
    return HN_OK;
}

static enum hn_status evaluate_logical(const struct evaluation *evaluation,
                                       const struct hn_node *node, struct hn_value *result)
{
    enum hn_status status = evaluate(evaluation, node->child, result);
    if (status != HN_OK || hn_value_truth(result) == (node->kind == HN_NODE_OR))
        return status;
    return evaluate(evaluation, node->child->next, result);
}

/* All elements are evaluated, as in Python: an error in one counts though an earlier one is equal.
 */
static enum hn_status evaluate_membership(const struct evaluation *evaluation,
                                          const struct hn_node *list, const struct hn_value *value,
                                          bool *found)
{
    *found = false;
    for (const struct hn_node *element = list->child; element != NULL; element = element->next) {
        struct hn_value other;
        bool equal;
        enum hn_status status = evaluate(evaluation, element, &other);
        if (status != HN_OK)
            return status;
        hn_apply_comparison(HN_EQUAL, value, &other, &equal);
        *found = *found || equal;
    }
    return HN_OK;
}

static enum hn_status evaluate_compare(const struct evaluation *evaluation,
                                       const struct hn_node *node, struct hn_value *result)
{
    struct hn_value left;
    struct hn_value right = hn_integer(0);
    bool holds = true;
    enum hn_status status = evaluate(evaluation, node->child, &left);
    for (const struct hn_node *next = node->child->next; status == HN_OK && holds && next != NULL;
         next = next->next) {
        if (next->kind == HN_NODE_LIST) {
            status = evaluate_membership(evaluation, next, &left, &holds);
            holds = holds == (next->comparison == HN_IN);
            continue;
        }
        status = evaluate(evaluation, next, &right);
        if (status != HN_OK)
            break;
        const char *reason = hn_apply_comparison(next->comparison, &left, &right, &holds);
        if (reason != NULL)
            return fail_operation(evaluation, node, next->comparison, &left, &right, reason);
        left = right;
    }
    *result = hn_boolean(holds);
    return status;
}

static enum hn_status evaluate_conditional(const struct evaluation *evaluation,
                                           const struct hn_node *node, struct hn_value *result)
{
    struct hn_value condition;
    const struct hn_node *value = node->child->next;
    enum hn_status status = evaluate(evaluation, node->child, &condition);
    if (status != HN_OK)
        return status;
    return evaluate(evaluation, hn_value_truth(&condition) ? value : value->next, result);
}

static enum hn_status evaluate_extreme(const struct evaluation *evaluation,
                                       const struct hn_node *node, struct hn_value *best)
{
    enum hn_status status = evaluate(evaluation, node->child, best);
    for (const struct hn_node *next = node->child->next; status == HN_OK && next != NULL;
         next = next->next) {
        struct hn_value value;
        status = evaluate(evaluation, next, &value);
        if (status != HN_OK)
            break;
        const char *reason = hn_apply_extreme(node->function, &value, best);
        if (reason != NULL)
            return fail_operation(evaluation, node, HN_OPERATOR_NONE, best, &value, reason);
    }
    return status;
}

static enum hn_status evaluate_call(const struct evaluation *evaluation, const struct hn_node *node,
                                    struct hn_value *result)
{
    if (node->function == HN_MIN || node->function == HN_MAX)
        return evaluate_extreme(evaluation, node, result);
    struct hn_value a;
    struct hn_value b;
    struct hn_value *second = NULL;
    enum hn_status status = evaluate(evaluation, node->child, &a);
    if (status == HN_OK && node->child->next != NULL) {
        second = &b;
        status = evaluate(evaluation, node->child->next, second);
    }
    if (status != HN_OK)
        return status;
    const char *reason = hn_apply_function(node->function, &a, second, result);
    if (reason != NULL)
        return fail_operation(evaluation, node, HN_OPERATOR_NONE, &a, second, reason);
    return HN_OK;
}

static enum hn_status evaluate(const struct evaluation *evaluation, const struct hn_node *node,
                               struct hn_value *result)
{
    switch (node->kind) {
    case HN_NODE_CONSTANT:
        *result = node->constant;
        return HN_OK;
    case HN_NODE_NAME:
        return evaluate_name(evaluation, node, result);
    case HN_NODE_UNARY:
        return evaluate_unary(evaluation, node, result);
    case HN_NODE_BINARY:
        return evaluate_binary(evaluation, node, result);
    case HN_NODE_AND:
    case HN_NODE_OR:
        return evaluate_logical(evaluation, node, result);
    case HN_NODE_COMPARE:
        return evaluate_compare(evaluation, node, result);
    case HN_NODE_CONDITIONAL:
        return evaluate_conditional(evaluation, node, result);
    case HN_NODE_CALL:
        return evaluate_call(evaluation, node, result);
    case HN_NODE_LIST:
        break;
    }
    return hn_fail(evaluation->err, HN_EVALUE, "'%s', column %zu: a list has no value here",
                   evaluation->expression->text, node->column);
}

enum hn_status hn_expression_evaluate(const struct hn_expression *expression,
                                      const struct hn_value *values, struct hn_value *result,
                                      struct hn_error *err)
{
    struct evaluation evaluation = {.expression = expression, .values = values, .err = err};
    return evaluate(&evaluation, expression->root, result);
}

enum hn_status hn_node_evaluate(const struct hn_expression *expression, const struct hn_node *node,
                                const struct hn_value *values, struct hn_value *result)
{
    struct evaluation evaluation = {.expression = expression, .values = values};
    return evaluate(&evaluation, node, result);
}

static enum hn_status fail_result(const struct hn_expression *expression,
                                  const struct hn_value *value, const char *expected,
                                  struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    append_operand(&text, value);
    hn_fail(err, HN_EVALUE, "%s%s'%s' gives %s, expected %s", PLACE(expression), expression->text,
            text.failed ? "" : text.data, expected);
    hn_text_finish(&text);
    return HN_EVALUE;
}

enum hn_status hn_expression_integer(const struct hn_expression *expression,
                                     const struct hn_value *values, int64_t *result,
                                     struct hn_error *err)
{
    struct hn_value value;
    enum hn_status status = hn_expression_evaluate(expression, values, &value, err);
    if (status != HN_OK)
        return status;
    if (value.type == HN_INTEGER || value.type == HN_BOOLEAN) {
        *result = value.type == HN_INTEGER ? value.integer : value.boolean;
        return HN_OK;
    }
    if (value.type == HN_WORD || value.real != floor(value.real) || !(fabs(value.real) < 0x1p63))
        return fail_result(expression, &value, "an integer", err);
    *result = (int64_t)value.real;
    return HN_OK;
}

enum hn_status hn_expression_number(const struct hn_expression *expression,
                                    const struct hn_value *values, double *result,
                                    struct hn_error *err)
{
    struct hn_value value;
    enum hn_status status = hn_expression_evaluate(expression, values, &value, err);
    if (status != HN_OK)
        return status;
    if (value.type == HN_WORD)
        return fail_result(expression, &value, "a number", err);
    *result = hn_value_number(&value);
    return HN_OK;
}
