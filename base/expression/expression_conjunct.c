/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_conjunct.h"

#include <stdlib.h>

#include "base/expression/expression_tree.h"

/* A comparison of two operands: copies, because an operand's successor is part of it. */
struct link {
    struct hn_node comparison;
    struct hn_node left;
    struct hn_node right;
};

void hn_conjuncts_finish(struct hn_conjuncts *conjuncts)
{
    for (size_t i = 0; i < conjuncts->link_count; i++)
        free(conjuncts->links[i]);
    free(conjuncts->links);
    free(conjuncts->items);
    *conjuncts = (struct hn_conjuncts){0};
}

static enum hn_status append(struct hn_conjuncts *conjuncts, const struct hn_conjunct *conjunct,
                             struct hn_error *err)
{
    if (conjuncts->count == conjuncts->capacity) {
        size_t capacity = conjuncts->capacity == 0 ? 32 : 2 * conjuncts->capacity;
        struct hn_conjunct *items = realloc(conjuncts->items, capacity * sizeof *items);
        if (items == NULL)
            return hn_fail_memory(err);
        conjuncts->items = items;
        conjuncts->capacity = capacity;
    }
    conjuncts->items[conjuncts->count++] = *conjunct;
    return HN_OK;
}

static struct hn_node *add_link(struct hn_conjuncts *conjuncts, const struct hn_node *chain,
                                const struct hn_node *left)
{
    struct hn_node **links =
        realloc(conjuncts->links, (conjuncts->link_count + 1) * sizeof(struct hn_node *));
    struct link *link = malloc(sizeof *link);
    if (links != NULL)
        conjuncts->links = links;
    if (links == NULL || link == NULL) {
        free(link);
        return NULL;
    }
    *link = (struct link){.comparison = *chain, .left = *left, .right = *left->next};
    link->comparison.child = &link->left;
    link->comparison.child_count = 2;
    link->left.next = &link->right;
    link->right.next = NULL;
    links[conjuncts->link_count++] = &link->comparison;
    return &link->comparison;
}

static enum hn_status split(struct hn_conjuncts *conjuncts, struct hn_conjunct *conjunct,
                            struct hn_error *err)
{
    const struct hn_node *node = conjunct->node;
    enum hn_status status = HN_OK;
    if (node->kind == HN_NODE_AND) {
        for (const struct hn_node *child = node->child; child != NULL && status == HN_OK;
             child = child->next) {
            conjunct->node = child;
            status = split(conjuncts, conjunct, err);
        }
        return status;
    }
    if (node->kind != HN_NODE_COMPARE || node->child_count == 2)
        return append(conjuncts, conjunct, err);
    for (const struct hn_node *left = node->child; left->next != NULL && status == HN_OK;
         left = left->next) {
        conjunct->node = add_link(conjuncts, node, left);
        status = conjunct->node == NULL ? hn_fail_memory(err) : append(conjuncts, conjunct, err);
    }
    return status;
}

enum hn_status hn_conjuncts_add(struct hn_conjuncts *conjuncts,
                                const struct hn_expression *expression, size_t source,
                                struct hn_error *err)
{
    struct hn_conjunct conjunct = {expression, expression->root, source};
    return split(conjuncts, &conjunct, err);
}

void hn_node_mark_slots(const struct hn_node *node, uint64_t *slots)
{
    if (node->kind == HN_NODE_NAME && node->slot >= 0)
        slots[node->slot / 64] |= (uint64_t)1 << (node->slot % 64);
    for (const struct hn_node *child = node->child; child != NULL; child = child->next)
        hn_node_mark_slots(child, slots);
}

void hn_conjunct_mark_slots(const struct hn_conjunct *conjunct, uint64_t *slots)
{
    hn_node_mark_slots(conjunct->node, slots);
}

enum hn_truth hn_conjunct_evaluate(const struct hn_conjunct *conjunct,
                                   const struct hn_value *values)
{
    struct hn_value result;
    if (hn_node_evaluate(conjunct->expression, conjunct->node, values, &result) != HN_OK)
        return HN_NO_VALUE;
    return hn_value_truth(&result) ? HN_TRUE : HN_FALSE;
}
