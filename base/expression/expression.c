/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const operator_texts[] = {
    [HN_OPERATOR_NONE] = "", [HN_POSITIVE] = "+",   [HN_NEGATIVE] = "-",
    [HN_INVERT] = "~",       [HN_NOT] = "not",      [HN_BIT_OR] = "|",
    [HN_BIT_XOR] = "^",      [HN_BIT_AND] = "&",    [HN_SHIFT_LEFT] = "<<",
    [HN_SHIFT_RIGHT] = ">>", [HN_ADD] = "+",        [HN_SUBTRACT] = "-",
    [HN_MULTIPLY] = "*",     [HN_DIVIDE] = "/",     [HN_FLOOR_DIVIDE] = "//",
    [HN_MODULO] = "%",       [HN_POWER] = "**",     [HN_LESS] = "<",
    [HN_LESS_EQUAL] = "<=",  [HN_GREATER] = ">",    [HN_GREATER_EQUAL] = ">=",
    [HN_EQUAL] = "==",       [HN_NOT_EQUAL] = "!=", [HN_IN] = "in",
    [HN_NOT_IN] = "not in",
};

static const char *const function_names[] = {
    [HN_FUNCTION_NONE] = "",
    [HN_MIN] = "min",
    [HN_MAX] = "max",
    [HN_ABS] = "abs",
    [HN_CEIL_DIV] = "ceil_div",
    [HN_LOG2] = "log2",
    [HN_IS_POWER_OF_2] = "is_power_of_2",
    [HN_SIZEOF] = "sizeof",
};

const char *hn_operator_text(enum hn_operator operation)
{
    return operator_texts[operation];
}

const char *hn_function_name(enum hn_function function)
{
    return function_names[function];
}

void hn_expression_destroy(struct hn_expression *expression)
{
    if (expression == NULL)
        return;
    free(expression->nodes);
    free(expression->strings);
    free(expression->text);
    free(expression->place);
    free(expression);
}

/* The same place in the copy. */
static struct hn_node *copied_node(const struct hn_expression *from, struct hn_expression *copy,
                                   const struct hn_node *node)
{
    return node == NULL ? NULL : copy->nodes + (node - from->nodes);
}

static const char *copied_string(const struct hn_expression *from, const struct hn_expression *copy,
                                 const char *string)
{
    return string == NULL ? NULL : copy->strings + (string - from->strings);
}

enum hn_status hn_expression_copy(const struct hn_expression *expression,
                                  struct hn_expression **copy, struct hn_error *err)
{
    struct hn_expression *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_fail_memory(err);
    *made = *expression;
    made->text = strdup(expression->text);
    made->place = expression->place != NULL ? strdup(expression->place) : NULL;
    made->strings = malloc(expression->string_size);
    made->nodes = malloc((expression->node_count + 1) * sizeof *made->nodes);
    if (made->text == NULL || made->strings == NULL || made->nodes == NULL) {
        hn_expression_destroy(made);
        return hn_fail_memory(err);
    }
    memcpy(made->strings, expression->strings, expression->string_size);
    memcpy(made->nodes, expression->nodes, expression->node_count * sizeof *made->nodes);
    made->root = copied_node(expression, made, expression->root);
    for (size_t i = 0; i < made->node_count; i++) {
        struct hn_node *node = &made->nodes[i];
        node->child = copied_node(expression, made, node->child);
        node->next = copied_node(expression, made, node->next);
        node->name = copied_string(expression, made, node->name);
        if (node->constant.type == HN_WORD)
            node->constant.word = copied_string(expression, made, node->constant.word);
    }
    *copy = made;
    return HN_OK;
}

const char *hn_expression_text(const struct hn_expression *expression)
{
    return expression->text;
}

void hn_expression_set_place(struct hn_expression *expression, const char *place)
{
    free(expression->place);
    expression->place = strdup(place);
}

static bool find_word(const char *const *words, size_t count, const char *word, size_t *index)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

static void append_known(struct hn_text *text, const struct hn_scope *scope)
{
    enum { SHOWN = 12 };
    for (size_t i = 0; i < scope->name_count && i < SHOWN; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "; known are " : ", ", scope->names[i]);
    if (scope->name_count > SHOWN)
        hn_text_append(text, ", ...");
    if (scope->name_count == 0)
        hn_text_append(text, "; no names are known here");
}

static enum hn_status fail_unknown(const char *name, const struct hn_scope *scope,
                                   struct hn_error *err)
{
    const char *near[2] = {
        hn_text_nearest(name, scope->names, scope->name_count),
        hn_text_nearest(name, scope->words, scope->word_count),
    };
    const char *nearest = near[0] == NULL ? near[1] : near[0];
    if (near[0] != NULL && near[1] != NULL)
        nearest = hn_text_nearest(name, near, 2);
    if (nearest != NULL)
        return hn_fail(err, HN_ECONFIG, "unknown name '%s'; nearest is '%s'", name, nearest);

    struct hn_text known;
    hn_text_init(&known);
    append_known(&known, scope);
    hn_fail(err, HN_ECONFIG, "unknown name '%s'%s", name, known.failed ? "" : known.data);
    hn_text_finish(&known);
    return HN_ECONFIG;
}

/* sizeof(float32): a type is no name of the configuration, but stands for itself here. */
static bool is_type_argument(const struct hn_expression *expression, const struct hn_node *name)
{
    if (hn_type_bytes(name->name) == 0)
        return false;
    for (size_t i = 0; i < expression->node_count; i++) {
        const struct hn_node *node = &expression->nodes[i];
        if (node->kind == HN_NODE_CALL && node->function == HN_SIZEOF && node->child == name)
            return true;
    }
    return false;
}

enum hn_status hn_expression_bind(struct hn_expression *expression, const struct hn_scope *scope,
                                  struct hn_error *err)
{
    for (size_t i = 0; i < expression->node_count; i++) {
        struct hn_node *node = &expression->nodes[i];
        size_t index;
        if (node->kind != HN_NODE_NAME)
            continue;
        if (find_word(scope->names, scope->name_count, node->name, &index)) {
            node->slot = (int)index;
        } else if (find_word(scope->words, scope->word_count, node->name, &index) ||
                   is_type_argument(expression, node)) {
            node->slot = HN_SLOT_WORD;
            node->constant = hn_word(node->name);
        } else {
            return fail_unknown(node->name, scope, err);
        }
    }
    return HN_OK;
}

bool hn_expression_uses(const struct hn_expression *expression, size_t slot)
{
    for (size_t i = 0; i < expression->node_count; i++) {
        const struct hn_node *node = &expression->nodes[i];
        if (node->kind == HN_NODE_NAME && node->slot >= 0 && (size_t)node->slot == slot)
            return true;
    }
    return false;
}

size_t hn_expression_slots(const struct hn_expression *expression)
{
    size_t slots = 0;
    for (size_t i = 0; i < expression->node_count; i++) {
        const struct hn_node *node = &expression->nodes[i];
        if (node->kind == HN_NODE_NAME && node->slot >= 0 && (size_t)node->slot >= slots)
            slots = (size_t)node->slot + 1;
    }
    return slots;
}
