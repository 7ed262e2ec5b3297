/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_c_generator.h"
#include "base/expression/expression_tree.h"

/* Words compare as their numbers; only for equality, and only where the numbers mean the same. */
static enum hn_status compare_words(const struct hn_c_generator *generator,
                                    const struct hn_node *node, enum hn_operator operation,
                                    const struct hn_c_part *a, const struct hn_c_part *b,
                                    struct hn_c_part *part)
{
    if (operation != HN_EQUAL && operation != HN_NOT_EQUAL)
        return hn_c_fail_form(generator, node, "words have no order in C");
    const struct hn_c_part *slot = a->kind == HN_PART_WORD ? a : b;
    const struct hn_c_part *other = slot == a ? b : a;
    if (other->kind == HN_PART_WORD && other->slot->words != slot->slot->words)
        return hn_c_fail_form(generator, node, "two names with different words are compared");
    size_t number = 0;
    if (other->kind == HN_PART_CONSTANT && other->value.type == HN_WORD)
        number = hn_c_part_word_number(slot->slot, other->value.word);
    if (other->kind != HN_PART_WORD && number == 0) {
        const struct hn_value never = hn_boolean(operation == HN_NOT_EQUAL);
        hn_c_part_set_constant(part, &never);
        return HN_OK;
    }
    *part = (struct hn_c_part){.kind = HN_PART_CHOICE};
    hn_text_printf(&part->code, "(%s %s ", slot->slot->name, hn_operator_text(operation));
    if (other->kind == HN_PART_WORD)
        hn_text_printf(&part->code, "%s)", other->slot->name);
    else
        hn_text_printf(&part->code, "%zu)", number);
    return HN_OK;
}

static enum hn_status compare(const struct hn_c_generator *generator, const struct hn_node *node,
                              enum hn_operator operation, const struct hn_c_part *a,
                              const struct hn_c_part *b, struct hn_c_part *part)
{
    if (a->kind == HN_PART_CONSTANT && b->kind == HN_PART_CONSTANT) {
        bool holds;
        const char *reason = hn_apply_comparison(operation, &a->value, &b->value, &holds);
        if (reason != NULL)
            return hn_c_fail_value(generator, node, reason);
        const struct hn_value value = hn_boolean(holds);
        hn_c_part_set_constant(part, &value);
        return HN_OK;
    }
    if (a->kind == HN_PART_WORD || b->kind == HN_PART_WORD)
        return compare_words(generator, node, operation, a, b, part);
    if (hn_c_part_is_word(a) || hn_c_part_is_word(b)) {
        if (operation != HN_EQUAL && operation != HN_NOT_EQUAL)
            return hn_c_fail_value(generator, node, "a word and a number have no order");
        const struct hn_value never = hn_boolean(operation == HN_NOT_EQUAL);
        hn_c_part_set_constant(part, &never);
        return HN_OK;
    }
    hn_c_part_set_infix(hn_operator_text(operation), HN_PART_CHOICE, a, b,
                        hn_c_part_is_real(a) || hn_c_part_is_real(b), part);
    return HN_OK;
}

static enum hn_status generate_membership(const struct hn_c_generator *generator,
                                          const struct hn_node *list, const struct hn_c_part *value,
                                          struct hn_c_part *part)
{
    bool negated = list->comparison == HN_NOT_IN;
    const struct hn_value nothing = hn_boolean(negated);
    hn_c_part_set_constant(part, &nothing);
    for (const struct hn_node *element = list->child; element != NULL; element = element->next) {
        struct hn_c_part other = {0};
        struct hn_c_part equal = {0};
        enum hn_status status = hn_c_generate(generator, element, false, &other);
        if (status == HN_OK)
            status =
                compare(generator, list, negated ? HN_NOT_EQUAL : HN_EQUAL, value, &other, &equal);
        if (status == HN_OK)
            hn_c_part_join(negated ? "&&" : "||", !negated, part, &equal);
        hn_c_part_finish(&equal);
        hn_c_part_finish(&other);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_c_generate_compare(const struct hn_c_generator *generator,
                                     const struct hn_node *node, struct hn_c_part *part)
{
    struct hn_c_part left = {0};
    const struct hn_value all = hn_boolean(true);
    hn_c_part_set_constant(part, &all);
    enum hn_status status = hn_c_generate(generator, node->child, false, &left);
    for (const struct hn_node *child = node->child->next; child != NULL && status == HN_OK;
         child = child->next) {
        struct hn_c_part right = {0};
        struct hn_c_part holds = {0};
        if (child->kind == HN_NODE_LIST) {
            status = generate_membership(generator, child, &left, &holds);
        } else {
            status = hn_c_generate(generator, child, false, &right);
            if (status == HN_OK)
                status = compare(generator, node, child->comparison, &left, &right, &holds);
        }
        if (status == HN_OK)
            hn_c_part_join("&&", false, part, &holds);
        hn_c_part_finish(&holds);
        hn_c_part_finish(&left);
        left = right;
        if (part->kind == HN_PART_CONSTANT && !hn_value_truth(&part->value))
            break;
    }
    hn_c_part_finish(&left);
    return status;
}
