/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_terms_part.h"
#include "base/expression/expression_tree.h"

static const struct hn_term_part unsaid = {-1, -1, HN_TYPE_INTEGER};

static struct hn_term_part part_of(struct hn_terms *terms, const struct hn_expression *expression,
                                   const struct hn_node *node);
static struct hn_term_part truth_part(struct hn_terms *terms,
                                      const struct hn_expression *expression,
                                      const struct hn_node *node);

static int both(struct hn_terms *terms, int a, int b)
{
    return hn_terms_make(terms, HN_TERM_AND, a, b, -1);
}

static int either(struct hn_terms *terms, int a, int b)
{
    return hn_terms_make(terms, HN_TERM_OR, a, b, -1);
}

static int negation(struct hn_terms *terms, int a)
{
    return hn_terms_make(terms, HN_TERM_NOT, a, -1, -1);
}

static struct hn_term_part truth_of(struct hn_terms *terms, struct hn_term_part part)
{
    if (part.value < 0 || part.type == HN_TYPE_WORD)
        return unsaid;
    const struct hn_term *term = &terms->items[part.value];
    if (part.type == HN_TYPE_INTEGER && term->low.integer >= 0 && term->high.integer <= 1)
        return part;
    bool real = hn_type_is_real(part.type);
    int zero = real ? hn_terms_constant_real(terms, 0) : hn_terms_constant(terms, 0);
    enum hn_term_operation equal = real ? HN_TERM_REAL_EQUAL : HN_TERM_EQUAL;
    part.value = negation(terms, hn_terms_make(terms, equal, part.value, zero, -1));
    part.type = HN_TYPE_INTEGER;
    return part;
}

/* An integer as a real; exact: only where no rounding can occur. */
static int to_real(struct hn_terms *terms, struct hn_term_part part, bool exact)
{
    if (part.value < 0 || hn_type_is_real(part.type))
        return part.value;
    const struct hn_term *term = &terms->items[part.value];
    if (exact && (term->low.integer < -HN_EXACT_INTEGER || term->high.integer > HN_EXACT_INTEGER))
        return -1;
    return hn_terms_make(terms, HN_TERM_TO_REAL, part.value, -1, -1);
}

static int compare(struct hn_terms *terms, enum hn_operator comparison, struct hn_term_part a,
                   struct hn_term_part b)
{
    if (comparison == HN_NOT_EQUAL)
        return negation(terms, compare(terms, HN_EQUAL, a, b));
    if (comparison == HN_GREATER || comparison == HN_GREATER_EQUAL)
        return compare(terms, comparison == HN_GREATER ? HN_LESS : HN_LESS_EQUAL, b, a);
    if ((a.type == HN_TYPE_WORD) != (b.type == HN_TYPE_WORD))
        return comparison == HN_EQUAL ? hn_terms_constant(terms, 0) : -1;
    static const enum hn_term_operation operations[][2] = {
        {HN_TERM_LESS, HN_TERM_REAL_LESS},
        {HN_TERM_LESS_EQUAL, HN_TERM_REAL_LESS_EQUAL},
        {HN_TERM_EQUAL, HN_TERM_REAL_EQUAL},
    };
    size_t row = comparison == HN_LESS ? 0 : comparison == HN_LESS_EQUAL ? 1 : 2;
    if (!hn_type_is_real(a.type) && !hn_type_is_real(b.type))
        return hn_terms_make(terms, operations[row][0], a.value, b.value, -1);
    return hn_terms_make(terms, operations[row][1], to_real(terms, a, true),
                         to_real(terms, b, true), -1);
}

/* left is in the list, every element of which is evaluated. */
static struct hn_term_part membership(struct hn_terms *terms,
                                      const struct hn_expression *expression,
                                      const struct hn_node *list, struct hn_term_part left)
{
    struct hn_term_part result = {hn_terms_constant(terms, 0), hn_terms_constant(terms, 0),
                                  HN_TYPE_INTEGER};
    for (const struct hn_node *node = list->child; node != NULL; node = node->next) {
        struct hn_term_part element = part_of(terms, expression, node);
        if (element.value < 0)
            return unsaid;
        result.value = either(terms, result.value, compare(terms, HN_EQUAL, left, element));
        result.fails = either(terms, result.fails, element.fails);
    }
    if (list->comparison == HN_NOT_IN)
        result.value = negation(terms, result.value);
    return result;
}

static struct hn_term_part comparison_part(struct hn_terms *terms,
                                           const struct hn_expression *expression,
                                           const struct hn_node *node)
{
    struct hn_term_part left = part_of(terms, expression, node->child);
    struct hn_term_part result = {hn_terms_constant(terms, 1), left.fails, HN_TYPE_INTEGER};
    for (const struct hn_node *next = node->child->next; next != NULL; next = next->next) {
        if (left.value < 0)
            return unsaid;
        int reached = result.value;
        if (next->kind == HN_NODE_LIST) {
            struct hn_term_part link = membership(terms, expression, next, left);
            result.value = both(terms, result.value, link.value);
            result.fails = either(terms, result.fails, both(terms, reached, link.fails));
            continue;
        }
        struct hn_term_part right = part_of(terms, expression, next);
        if (right.value < 0)
            return unsaid;
        result.value = both(terms, result.value, compare(terms, next->comparison, left, right));
        result.fails = either(terms, result.fails, both(terms, reached, right.fails));
        left = right;
    }
    return result;
}

static struct hn_term_part logical_part(struct hn_terms *terms,
                                        const struct hn_expression *expression,
                                        const struct hn_node *node, bool truth)
{
    struct hn_term_part a = truth ? truth_part(terms, expression, node->child)
                                  : part_of(terms, expression, node->child);
    struct hn_term_part b = truth ? truth_part(terms, expression, node->child->next)
                                  : part_of(terms, expression, node->child->next);
    struct hn_term_part first = truth_of(terms, a);
    if (first.value < 0 || b.value < 0 || a.type != b.type)
        return unsaid;
    bool is_and = node->kind == HN_NODE_AND;
    int goes_on = is_and ? first.value : negation(terms, first.value);
    struct hn_term_part result = {-1, either(terms, a.fails, both(terms, goes_on, b.fails)),
                                  a.type};
    if (truth)
        result.value = is_and ? both(terms, a.value, b.value) : either(terms, a.value, b.value);
    else
        result.value = hn_terms_make(terms, HN_TERM_SELECT, goes_on, b.value, a.value);
    return result;
}

static struct hn_term_part conditional_part(struct hn_terms *terms,
                                            const struct hn_expression *expression,
                                            const struct hn_node *node, bool truth)
{
    struct hn_term_part condition = truth_part(terms, expression, node->child);
    const struct hn_node *nodes[2] = {node->child->next, node->child->next->next};
    struct hn_term_part parts[2];
    for (size_t i = 0; i < 2; i++)
        parts[i] =
            truth ? truth_part(terms, expression, nodes[i]) : part_of(terms, expression, nodes[i]);
    if (condition.value < 0 || parts[0].value < 0 || parts[1].value < 0 ||
        parts[0].type != parts[1].type)
        return unsaid;
    int value =
        hn_terms_make(terms, HN_TERM_SELECT, condition.value, parts[0].value, parts[1].value);
    int fails =
        hn_terms_make(terms, HN_TERM_SELECT, condition.value, parts[0].fails, parts[1].fails);
    return (struct hn_term_part){value, either(terms, condition.fails, fails), parts[0].type};
}

/* min and max of a and b. */
static int extreme(struct hn_terms *terms, enum hn_function function, struct hn_term_part a,
                   struct hn_term_part b)
{
    if (a.type != b.type || a.type == HN_TYPE_WORD)
        return -1;
    if (hn_type_is_real(a.type))
        return hn_terms_make(terms,
                             function == HN_MIN ? HN_TERM_REAL_MINIMUM : HN_TERM_REAL_MAXIMUM,
                             a.value, b.value, -1);
    return hn_terms_make(terms, function == HN_MIN ? HN_TERM_MINIMUM : HN_TERM_MAXIMUM, a.value,
                         b.value, -1);
}

static struct hn_term_part divide(struct hn_terms *terms, enum hn_term_operation operation,
                                  bool real, struct hn_term_part a, struct hn_term_part b)
{
    int zero = real ? hn_terms_constant_real(terms, 0) : hn_terms_constant(terms, 0);
    int is_zero =
        hn_terms_make(terms, real ? HN_TERM_REAL_EQUAL : HN_TERM_EQUAL, b.value, zero, -1);
    return (struct hn_term_part){hn_terms_make(terms, operation, a.value, b.value, -1),
                                 either(terms, either(terms, a.fails, b.fails), is_zero),
                                 operation >= HN_TERM_REAL_ADD ? HN_TYPE_REAL : HN_TYPE_INTEGER};
}

static bool is_within(const struct hn_terms *terms, int term, double most)
{
    const struct hn_term *item = &terms->items[term];
    return hn_term_is_finite(item) && item->low.real >= -most && item->high.real <= most;
}

/* Whether computing with reals gives what the evaluator does where both operands are integers:
 * wherever nothing is rounded. A quotient by a large number is rounded once more than the
 * evaluator's. */
static bool stays_exact(const struct hn_terms *terms, enum hn_operator operation, int a, int b,
                        int result)
{
    static const double most_divisor = 1024;
    const double most = (double)HN_EXACT_INTEGER;
    if (operation == HN_DIVIDE)
        return is_within(terms, b, most_divisor);
    if (operation == HN_FLOOR_DIVIDE || operation == HN_MODULO)
        return is_within(terms, a, most) && is_within(terms, b, most);
    return is_within(terms, result, most);
}

static struct hn_term_part call_part(struct hn_terms *terms, const struct hn_expression *expression,
                                     const struct hn_node *node)
{
    struct hn_term_part result = part_of(terms, expression, node->child);
    for (const struct hn_node *next = node->child->next; next != NULL; next = next->next) {
        struct hn_term_part part = part_of(terms, expression, next);
        if (result.value < 0 || part.value < 0)
            return unsaid;
        if (node->function == HN_CEIL_DIV)
            return result.type != HN_TYPE_INTEGER || part.type != HN_TYPE_INTEGER
                       ? unsaid
                       : divide(terms, HN_TERM_CEIL_DIVIDE, false, result, part);
        result.value = extreme(terms, node->function, result, part);
        result.fails = either(terms, result.fails, part.fails);
    }
    if (node->function == HN_MIN || node->function == HN_MAX)
        return result;
    bool is_absolute = node->function == HN_ABS;
    if (result.value < 0 || (!is_absolute && node->function != HN_IS_POWER_OF_2) ||
        result.type == HN_TYPE_WORD || (!is_absolute && result.type != HN_TYPE_INTEGER))
        return unsaid;
    enum hn_term_operation operation = !is_absolute                   ? HN_TERM_IS_POWER_OF_2
                                       : hn_type_is_real(result.type) ? HN_TERM_REAL_ABSOLUTE
                                                                      : HN_TERM_ABSOLUTE;
    result.value = hn_terms_make(terms, operation, result.value, -1, -1);
    return result;
}

static struct hn_term_part unary_part(struct hn_terms *terms,
                                      const struct hn_expression *expression,
                                      const struct hn_node *node)
{
    if (node->operation == HN_NOT) {
        struct hn_term_part part = truth_part(terms, expression, node->child);
        part.value = negation(terms, part.value);
        return part;
    }
    struct hn_term_part part = part_of(terms, expression, node->child);
    if (part.value < 0 || part.type == HN_TYPE_WORD ||
        (hn_type_is_real(part.type) && node->operation == HN_INVERT))
        return unsaid;
    if (node->operation == HN_POSITIVE)
        return part;
    enum hn_term_operation operation = node->operation == HN_INVERT ? HN_TERM_INVERT
                                       : hn_type_is_real(part.type) ? HN_TERM_REAL_NEGATE
                                                                    : HN_TERM_NEGATE;
    part.value = hn_terms_make(terms, operation, part.value, -1, -1);
    return part;
}

static struct hn_term_part binary_part(struct hn_terms *terms,
                                       const struct hn_expression *expression,
                                       const struct hn_node *node)
{
    /* of integers and of reals, where there is one */
    static const enum hn_term_operation operations[][2] = {
        [HN_BIT_OR] = {HN_TERM_BIT_OR, HN_TERM_CONSTANT},
        [HN_BIT_XOR] = {HN_TERM_BIT_XOR, HN_TERM_CONSTANT},
        [HN_BIT_AND] = {HN_TERM_BIT_AND, HN_TERM_CONSTANT},
        [HN_SHIFT_LEFT] = {HN_TERM_SHIFT_LEFT, HN_TERM_CONSTANT},
        [HN_SHIFT_RIGHT] = {HN_TERM_SHIFT_RIGHT, HN_TERM_CONSTANT},
        [HN_ADD] = {HN_TERM_ADD, HN_TERM_REAL_ADD},
        [HN_SUBTRACT] = {HN_TERM_SUBTRACT, HN_TERM_REAL_SUBTRACT},
        [HN_MULTIPLY] = {HN_TERM_MULTIPLY, HN_TERM_REAL_MULTIPLY},
        [HN_DIVIDE] = {HN_TERM_TRUE_DIVIDE, HN_TERM_REAL_DIVIDE},
        [HN_FLOOR_DIVIDE] = {HN_TERM_FLOOR_DIVIDE, HN_TERM_REAL_FLOOR_DIVIDE},
        [HN_MODULO] = {HN_TERM_MODULO, HN_TERM_REAL_MODULO},
        [HN_POWER] = {HN_TERM_POWER, HN_TERM_CONSTANT},
    };
    struct hn_term_part a = part_of(terms, expression, node->child);
    struct hn_term_part b = part_of(terms, expression, node->child->next);
    if (a.value < 0 || b.value < 0 || a.type == HN_TYPE_WORD || b.type == HN_TYPE_WORD)
        return unsaid;
    bool real = hn_type_is_real(a.type) || hn_type_is_real(b.type);
    bool mixed = real && a.type != HN_TYPE_REAL && b.type != HN_TYPE_REAL;
    enum hn_term_operation operation = operations[node->operation][real];
    if (operation == HN_TERM_CONSTANT)
        return unsaid;
    if (real) {
        a.value = to_real(terms, a, mixed);
        b.value = to_real(terms, b, mixed);
    }
    bool divides = node->operation == HN_DIVIDE || node->operation == HN_FLOOR_DIVIDE ||
                   node->operation == HN_MODULO;
    struct hn_term_part result = {-1, either(terms, a.fails, b.fails),
                                  real ? HN_TYPE_REAL : HN_TYPE_INTEGER};
    if (divides)
        result = divide(terms, operation, real, a, b);
    else
        result.value = hn_terms_make(terms, operation, a.value, b.value, -1);
    if (!mixed)
        return result;
    if (result.value < 0 || !stays_exact(terms, node->operation, a.value, b.value, result.value))
        return unsaid;
    result.type = node->operation == HN_DIVIDE ? HN_TYPE_REAL : HN_TYPE_MIXED;
    return result;
}

static struct hn_term_part part_of(struct hn_terms *terms, const struct hn_expression *expression,
                                   const struct hn_node *node)
{
    struct hn_term_part part;
    if (hn_terms_tabulate(terms, expression, node, false, &part))
        return part;
    switch (node->kind) {
    case HN_NODE_UNARY:
        return unary_part(terms, expression, node);
    case HN_NODE_BINARY:
        return binary_part(terms, expression, node);
    case HN_NODE_AND:
    case HN_NODE_OR:
        return logical_part(terms, expression, node, false);
    case HN_NODE_COMPARE:
        return comparison_part(terms, expression, node);
    case HN_NODE_CONDITIONAL:
        return conditional_part(terms, expression, node, false);
    case HN_NODE_CALL:
        return call_part(terms, expression, node);
    default:
        return unsaid;
    }
}

static struct hn_term_part truth_part(struct hn_terms *terms,
                                      const struct hn_expression *expression,
                                      const struct hn_node *node)
{
    struct hn_term_part part;
    if (hn_terms_tabulate(terms, expression, node, true, &part))
        return part;
    if (node->kind == HN_NODE_AND || node->kind == HN_NODE_OR)
        return logical_part(terms, expression, node, true);
    if (node->kind == HN_NODE_CONDITIONAL)
        return conditional_part(terms, expression, node, true);
    return truth_of(terms, part_of(terms, expression, node));
}

struct hn_condition hn_terms_add(struct hn_terms *terms, const struct hn_conjunct *conjunct)
{
    struct hn_term_part part = truth_part(terms, conjunct->expression, conjunct->node);
    if (part.value < 0 || part.fails < 0)
        return (struct hn_condition){-1, -1};
    int holds = both(terms, part.value, negation(terms, part.fails));
    return (struct hn_condition){holds, holds < 0 ? -1 : part.fails};
}
