/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_c.h"

#include <math.h>

#include "base/expression/expression_c_generator.h"
#include "base/expression/expression_tree.h"

/* Of C for one expression. */
enum { CODE_BYTES = 65536 };

enum hn_status hn_c_fail_value(const struct hn_c_generator *generator, const struct hn_node *node,
                               const char *reason)
{
    return hn_fail(generator->err, HN_EVALUE, "'%s', column %zu: %s", generator->expression->text,
                   node->column, reason);
}

enum hn_status hn_c_fail_form(const struct hn_c_generator *generator, const struct hn_node *node,
                              const char *reason)
{
    return hn_fail(generator->err, HN_ECONFIG, "'%s', column %zu: can not be written as C: %s",
                   generator->expression->text, node->column, reason);
}

static enum hn_status generate_name(const struct hn_c_generator *generator,
                                    const struct hn_node *node, struct hn_c_part *part)
{
    if (node->slot == HN_SLOT_UNBOUND)
        return hn_c_fail_value(generator, node, "the name is not bound");
    if (node->slot == HN_SLOT_WORD) {
        hn_c_part_set_constant(part, &node->constant);
        return HN_OK;
    }
    const struct hn_c_slot *slot = &generator->slots[node->slot];
    if (slot->constant != NULL) {
        hn_c_part_set_constant(part, slot->constant);
        return HN_OK;
    }
    part->kind = slot->words != NULL ? HN_PART_WORD : slot->real ? HN_PART_REAL : HN_PART_INTEGER;
    part->slot = slot;
    hn_text_append(&part->code, slot->name);
    return HN_OK;
}

static enum hn_status generate_unary(const struct hn_c_generator *generator,
                                     const struct hn_node *node, struct hn_c_part *part)
{
    struct hn_c_part a = {0};
    enum hn_status status = hn_c_generate(generator, node->child, node->operation == HN_NOT, &a);
    if (status != HN_OK)
        goto done;
    if (a.kind == HN_PART_CONSTANT) {
        struct hn_value value;
        const char *reason = hn_apply_unary(node->operation, &a.value, &value);
        if (reason != NULL)
            status = hn_c_fail_value(generator, node, reason);
        else
            hn_c_part_set_constant(part, &value);
        goto done;
    }
    if (node->operation == HN_NOT) {
        part->kind = HN_PART_CHOICE;
        hn_text_append(&part->code, "(!");
        hn_c_part_append_condition(&part->code, &a);
        hn_text_append(&part->code, ")");
        goto done;
    }
    if (hn_c_part_is_word(&a) || (hn_c_part_is_real(&a) && node->operation == HN_INVERT)) {
        status = hn_c_fail_form(generator, node, "a word or real where a number is needed");
        goto done;
    }
    part->kind = hn_c_part_is_real(&a) ? HN_PART_REAL : HN_PART_INTEGER;
    hn_text_printf(&part->code, "(%s",
                   node->operation == HN_POSITIVE   ? "+"
                   : node->operation == HN_NEGATIVE ? "-"
                                                    : "~");
    hn_c_part_append_number(&part->code, &a, false, true);
    hn_text_append(&part->code, ")");
done:
    hn_c_part_finish(&a);
    return status;
}

/* How a binary operator is written: infix, or a call of a helper. NULL: there is none for these
 * types. */
static const struct {
    const char *infix;
    const char *integer_call;
    const char *real_call;
    bool on_reals;
} binaries[] = {
    [HN_BIT_OR] = {"|", NULL, NULL, false},
    [HN_BIT_XOR] = {"^", NULL, NULL, false},
    [HN_BIT_AND] = {"&", NULL, NULL, false},
    [HN_SHIFT_LEFT] = {NULL, "shift_left", NULL, false},
    [HN_SHIFT_RIGHT] = {NULL, "shift_right", NULL, false},
    [HN_ADD] = {"+", NULL, NULL, true},
    [HN_SUBTRACT] = {"-", NULL, NULL, true},
    [HN_MULTIPLY] = {"*", NULL, NULL, true},
    [HN_DIVIDE] = {"/", NULL, NULL, true},
    [HN_FLOOR_DIVIDE] = {NULL, "floor_div", "floor_div_real", true},
    [HN_MODULO] = {NULL, "modulo", "modulo_real", true},
    [HN_POWER] = {NULL, "power", "power_real", true},
};

static enum hn_status combine(const struct hn_c_generator *generator, const struct hn_node *node,
                              const struct hn_c_part *a, const struct hn_c_part *b,
                              struct hn_c_part *part)
{
    enum hn_operator operation = node->operation;
    if (a->kind == HN_PART_CONSTANT && b->kind == HN_PART_CONSTANT) {
        struct hn_value value;
        const char *reason = hn_apply_binary(operation, &a->value, &b->value, &value);
        if (reason != NULL)
            return hn_c_fail_value(generator, node, reason);
        hn_c_part_set_constant(part, &value);
        return HN_OK;
    }
    bool real = hn_c_part_is_real(a) || hn_c_part_is_real(b) || operation == HN_DIVIDE;
    if (operation == HN_POWER && hn_c_part_is_negative(b))
        real = true;
    if (hn_c_part_is_word(a) || hn_c_part_is_word(b) || (real && !binaries[operation].on_reals))
        return hn_c_fail_form(generator, node, "a word or real where a number is needed");
    enum hn_c_part_kind kind = real ? HN_PART_REAL : HN_PART_INTEGER;
    if (binaries[operation].infix != NULL)
        hn_c_part_set_infix(binaries[operation].infix, kind, a, b, real, part);
    else
        hn_c_part_set_call(generator->prefix,
                           real ? binaries[operation].real_call : binaries[operation].integer_call,
                           kind, a, b, real, part);
    return HN_OK;
}

static enum hn_status generate_binary(const struct hn_c_generator *generator,
                                      const struct hn_node *node, struct hn_c_part *part)
{
    struct hn_c_part a = {0};
    struct hn_c_part b = {0};
    enum hn_status status = hn_c_generate(generator, node->child, false, &a);
    if (status == HN_OK)
        status = hn_c_generate(generator, node->child->next, false, &b);
    if (status == HN_OK)
        status = combine(generator, node, &a, &b, part);
    hn_c_part_finish(&a);
    hn_c_part_finish(&b);
    return status;
}

/* "(condition ? a : b)", of the wider of both types. */
static enum hn_status set_conditional(const struct hn_c_generator *generator,
                                      const struct hn_node *node, const struct hn_c_part *condition,
                                      const struct hn_c_part *a, const struct hn_c_part *b,
                                      struct hn_c_part *part)
{
    if (hn_c_part_is_word(a) || hn_c_part_is_word(b))
        return hn_c_fail_form(generator, node, "a word is not a number");
    bool real = hn_c_part_is_real(a) || hn_c_part_is_real(b);
    *part = (struct hn_c_part){.kind = real ? HN_PART_REAL : HN_PART_INTEGER};
    hn_text_append(&part->code, "(");
    hn_c_part_append_condition(&part->code, condition);
    hn_text_append(&part->code, " ? ");
    hn_c_part_append_number(&part->code, a, real, true);
    hn_text_append(&part->code, " : ");
    hn_c_part_append_number(&part->code, b, real, true);
    hn_text_append(&part->code, ")");
    part->narrow = a->kind == HN_PART_CONSTANT && b->kind == HN_PART_CONSTANT;
    return HN_OK;
}

static enum hn_status generate_logical(const struct hn_c_generator *generator,
                                       const struct hn_node *node, bool as_condition,
                                       struct hn_c_part *part)
{
    bool is_or = node->kind == HN_NODE_OR;
    struct hn_c_part a = {0};
    struct hn_c_part b = {0};
    enum hn_status status = hn_c_generate(generator, node->child, as_condition, &a);
    if (status == HN_OK && a.kind == HN_PART_CONSTANT) {
        if (hn_value_truth(&a.value) == is_or)
            hn_c_part_set_constant(part, &a.value);
        else
            status = hn_c_generate(generator, node->child->next, as_condition, part);
        goto done;
    }
    if (status == HN_OK)
        status = hn_c_generate(generator, node->child->next, as_condition, &b);
    if (status != HN_OK)
        goto done;
    if (as_condition) {
        *part = a;
        a.code = (struct hn_text){0};
        hn_c_part_join(is_or ? "||" : "&&", is_or, part, &b);
    } else if (a.kind == HN_PART_CHOICE && b.kind == HN_PART_CHOICE)
        hn_c_part_set_both(is_or ? "||" : "&&", &a, &b, part);
    else
        status = is_or ? set_conditional(generator, node, &a, &a, &b, part)
                       : set_conditional(generator, node, &a, &b, &a, part);
done:
    hn_c_part_finish(&a);
    hn_c_part_finish(&b);
    return status;
}

static enum hn_status generate_conditional(const struct hn_c_generator *generator,
                                           const struct hn_node *node, bool as_condition,
                                           struct hn_c_part *part)
{
    const struct hn_node *yes = node->child->next;
    struct hn_c_part condition = {0};
    struct hn_c_part a = {0};
    struct hn_c_part b = {0};
    enum hn_status status = hn_c_generate(generator, node->child, true, &condition);
    if (status == HN_OK && condition.kind == HN_PART_CONSTANT) {
        status = hn_c_generate(generator, hn_value_truth(&condition.value) ? yes : yes->next,
                               as_condition, part);
        goto done;
    }
    if (status == HN_OK)
        status = hn_c_generate(generator, yes, false, &a);
    if (status == HN_OK)
        status = hn_c_generate(generator, yes->next, false, &b);
    if (status == HN_OK)
        status = set_conditional(generator, node, &condition, &a, &b, part);
done:
    hn_c_part_finish(&condition);
    hn_c_part_finish(&a);
    hn_c_part_finish(&b);
    return status;
}

/* min and max of two; more are folded from the left. */
static enum hn_status extreme(const struct hn_c_generator *generator, const struct hn_node *node,
                              const struct hn_c_part *next, struct hn_c_part *best)
{
    if (next->kind == HN_PART_CONSTANT && best->kind == HN_PART_CONSTANT) {
        const char *reason = hn_apply_extreme(node->function, &next->value, &best->value);
        return reason == NULL ? HN_OK : hn_c_fail_value(generator, node, reason);
    }
    if (hn_c_part_is_word(next) || hn_c_part_is_word(best))
        return hn_c_fail_form(generator, node, "words have no order in C");
    bool real = hn_c_part_is_real(next) || hn_c_part_is_real(best);
    struct hn_c_part part;
    hn_c_part_set_call(generator->prefix,
                       node->function == HN_MIN ? (real ? "min_real" : "min")
                                                : (real ? "max_real" : "max"),
                       real ? HN_PART_REAL : HN_PART_INTEGER, best, next, real, &part);
    hn_c_part_finish(best);
    *best = part;
    return HN_OK;
}

static enum hn_status generate_extreme(const struct hn_c_generator *generator,
                                       const struct hn_node *node, struct hn_c_part *part)
{
    enum hn_status status = hn_c_generate(generator, node->child, false, part);
    for (const struct hn_node *child = node->child->next; child != NULL && status == HN_OK;
         child = child->next) {
        struct hn_c_part next = {0};
        status = hn_c_generate(generator, child, false, &next);
        if (status == HN_OK)
            status = extreme(generator, node, &next, part);
        hn_c_part_finish(&next);
    }
    return status;
}

static enum hn_status call(const struct hn_c_generator *generator, const struct hn_node *node,
                           const struct hn_c_part *a, const struct hn_c_part *b,
                           struct hn_c_part *part)
{
    if (hn_c_part_is_word(a) || (b != NULL && hn_c_part_is_word(b)))
        return hn_c_fail_form(generator, node, "a word where a number is needed");
    bool real = hn_c_part_is_real(a) || (b != NULL && hn_c_part_is_real(b));
    enum hn_c_part_kind kind = real ? HN_PART_REAL : HN_PART_INTEGER;
    switch (node->function) {
    case HN_ABS:
        hn_c_part_set_call(generator->prefix, real ? "abs_real" : "abs", kind, a, NULL, real, part);
        return HN_OK;
    case HN_CEIL_DIV:
        hn_c_part_set_call(generator->prefix, real ? "ceil_div_real" : "ceil_div", kind, a, b, real,
                           part);
        return HN_OK;
    case HN_LOG2:
        hn_c_part_set_call(generator->prefix, "log2", HN_PART_REAL, a, NULL, true, part);
        return HN_OK;
    case HN_IS_POWER_OF_2:
        hn_c_part_set_call(generator->prefix, real ? "is_power_of_2_real" : "is_power_of_2",
                           HN_PART_CHOICE, a, NULL, real, part);
        return HN_OK;
    default:
        return hn_c_fail_form(generator, node, "sizeof needs the name of a type");
    }
}

static enum hn_status generate_call(const struct hn_c_generator *generator,
                                    const struct hn_node *node, struct hn_c_part *part)
{
    if (node->function == HN_MIN || node->function == HN_MAX)
        return generate_extreme(generator, node, part);
    struct hn_c_part a = {0};
    struct hn_c_part b = {0};
    const struct hn_node *second = node->child->next;
    enum hn_status status = hn_c_generate(generator, node->child, false, &a);
    if (status == HN_OK && second != NULL)
        status = hn_c_generate(generator, second, false, &b);
    if (status != HN_OK)
        goto done;
    if (a.kind == HN_PART_CONSTANT && (second == NULL || b.kind == HN_PART_CONSTANT)) {
        struct hn_value value;
        const char *reason =
            hn_apply_function(node->function, &a.value, second == NULL ? NULL : &b.value, &value);
        if (reason != NULL)
            status = hn_c_fail_value(generator, node, reason);
        else
            hn_c_part_set_constant(part, &value);
        goto done;
    }
    status = call(generator, node, &a, second == NULL ? NULL : &b, part);
done:
    hn_c_part_finish(&a);
    hn_c_part_finish(&b);
    return status;
}

static enum hn_status generate_node(const struct hn_c_generator *generator,
                                    const struct hn_node *node, bool as_condition,
                                    struct hn_c_part *part)
{
    switch (node->kind) {
    case HN_NODE_CONSTANT:
        hn_c_part_set_constant(part, &node->constant);
        return HN_OK;
    case HN_NODE_NAME:
        return generate_name(generator, node, part);
    case HN_NODE_UNARY:
        return generate_unary(generator, node, part);
    case HN_NODE_BINARY:
        return generate_binary(generator, node, part);
    case HN_NODE_AND:
    case HN_NODE_OR:
        return generate_logical(generator, node, as_condition, part);
    case HN_NODE_COMPARE:
        return hn_c_generate_compare(generator, node, part);
    case HN_NODE_CONDITIONAL:
        return generate_conditional(generator, node, as_condition, part);
    case HN_NODE_CALL:
        return generate_call(generator, node, part);
    case HN_NODE_LIST:
        break;
    }
    return hn_c_fail_form(generator, node, "a list has no value");
}

/* An operand that the C needs twice is written twice: nested, that doubles with every level. */
enum hn_status hn_c_generate(const struct hn_c_generator *generator, const struct hn_node *node,
                             bool as_condition, struct hn_c_part *part)
{
    enum hn_status status = generate_node(generator, node, as_condition, part);
    if (status == HN_OK && part->code.length > CODE_BYTES)
        return hn_c_fail_form(generator, node, "too long; nest less");
    return status;
}

static bool is_integral(double real)
{
    return real == floor(real) && fabs(real) < 0x1p63;
}

static enum hn_status append_result(const struct hn_c_generator *generator,
                                    const struct hn_c_part *part, bool *real, struct hn_text *text)
{
    if (real != NULL)
        *real = hn_c_part_is_real(part);
    if (real == NULL && part->kind == HN_PART_REAL) {
        hn_text_printf(text, "%s_integer(", generator->prefix);
        hn_c_part_append_number(text, part, true, false);
        hn_text_append(text, ")");
    } else if (real == NULL && hn_c_part_is_real(part)) {
        if (!is_integral(part->value.real))
            return hn_c_fail_value(generator, generator->expression->root, "not an integer");
        const struct hn_c_part whole = {.value = hn_integer((int64_t)part->value.real)};
        hn_c_part_append_number(text, &whole, false, false);
    } else {
        hn_c_part_append_number(text, part, hn_c_part_is_real(part), false);
    }
    return HN_OK;
}

enum hn_status hn_expression_append_c(const struct hn_expression *expression,
                                      const struct hn_c_slot *slots, const char *prefix, bool *real,
                                      struct hn_text *text, struct hn_error *err)
{
    const struct hn_c_generator generator = {expression, slots, prefix, err};
    struct hn_c_part part = {0};
    enum hn_status status = hn_c_generate(&generator, expression->root, false, &part);
    if (status == HN_OK && hn_c_part_is_word(&part))
        status = hn_c_fail_form(&generator, expression->root, "a word is not a number");
    if (status == HN_OK)
        status = append_result(&generator, &part, real, text);
    hn_c_part_finish(&part);
    return status;
}

enum hn_status hn_expression_append_c_condition(const struct hn_expression *expression,
                                                const struct hn_c_slot *slots, const char *prefix,
                                                struct hn_text *text, struct hn_error *err)
{
    const struct hn_c_generator generator = {expression, slots, prefix, err};
    struct hn_c_part part = {0};
    enum hn_status status = hn_c_generate(&generator, expression->root, true, &part);
    if (status == HN_OK)
        hn_c_part_append_condition(text, &part);
    hn_c_part_finish(&part);
    return status;
}
