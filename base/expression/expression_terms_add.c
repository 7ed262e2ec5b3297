/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_terms_part.h"
#include "base/expression/expression_tree.h"

enum term_type { TYPE_INTEGER, TYPE_REAL, TYPE_WORD };

/* A part of an expression. value -1: terms can not say. fails: 1 where it has no value; value is
 * anything there. */
struct term_part {
    int value;
    int fails;
    enum term_type type;
};

enum { FEW = 128 }; /* cells that need no allocation */

/* The slot with more than one value that a node depends on; count is 1 where there is none. */
struct slot {
    size_t number;
    size_t count; /* of its values */
};

/* False when there are several, or it is one of any integer. */
static bool find_slot(struct hn_terms *terms, const struct hn_node *node, struct slot *slot)
{
    *slot = (struct slot){0, 1};
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    hn_node_mark_slots(node, terms->scratch);
    for (size_t i = 0; i < terms->slot_words; i++) {
        for (uint64_t bits = terms->scratch[i]; bits != 0; bits &= bits - 1) {
            size_t found = 64 * i + (size_t)__builtin_ctzll(bits);
            if (terms->domains[found].count == 1)
                continue;
            if (slot->count > 1 || terms->domains[found].count == 0)
                return false;
            *slot = (struct slot){found, terms->domains[found].count};
        }
    }
    return true;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All words of the domains, sorted, so that a word's rank has its order. */
static bool sort_words(struct hn_terms *terms)
{
    if (terms->words != NULL)
        return true;
    size_t count = 0;
    for (size_t i = 0; i < terms->slot_count; i++)
        count += terms->domains[i].count;
    terms->words = malloc((count + 1) * sizeof *terms->words);
    if (terms->words == NULL) {
        terms->out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < terms->slot_count; i++) {
        for (size_t j = 0; j < terms->domains[i].count; j++) {
            const struct hn_value *value = &terms->domains[i].values[j];
            if (value->type == HN_WORD)
                terms->words[terms->word_count++] = value->word;
        }
    }
    qsort(terms->words, terms->word_count, sizeof *terms->words, compare_strings);
    return true;
}

/* Equal words have the same rank; -1 for one that no domain has. */
static int64_t rank_of(const struct hn_terms *terms, const char *word)
{
    size_t low = 0;
    size_t high = terms->word_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(terms->words[middle], word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < terms->word_count && strcmp(terms->words[low], word) == 0 ? (int64_t)low : -1;
}

static bool cell_of(const struct hn_terms *terms, const struct hn_value *value, bool truth,
                    enum term_type *type, union hn_cell *cell)
{
    *type = TYPE_INTEGER;
    if (truth) {
        cell->integer = hn_value_truth(value);
        return true;
    }
    switch (value->type) {
    case HN_INTEGER:
        cell->integer = value->integer;
        return true;
    case HN_BOOLEAN:
        cell->integer = value->boolean;
        return true;
    case HN_REAL:
        *type = TYPE_REAL;
        cell->real = value->real;
        return true;
    default:
        *type = TYPE_WORD;
        cell->integer = rank_of(terms, value->word);
        return cell->integer >= 0;
    }
}

/* The node's values by the evaluator; false where they have no common type, or there is none. */
static bool evaluate_all(struct hn_terms *terms, const struct hn_expression *expression,
                         const struct hn_node *node, const struct slot *slot, bool truth,
                         enum term_type *type, union hn_cell *cells, union hn_cell *fails)
{
    bool typed = false;
    for (size_t i = 0; i < slot->count; i++) {
        struct hn_value value;
        enum term_type found;
        if (slot->count > 1)
            terms->values[slot->number] = terms->domains[slot->number].values[i];
        fails[i].integer = hn_node_evaluate(expression, node, terms->values, &value) != HN_OK;
        cells[i].integer = 0;
        if (fails[i].integer)
            continue;
        if (value.type == HN_WORD && !truth && !sort_words(terms))
            return false;
        if (!cell_of(terms, &value, truth, &found, &cells[i]) || (typed && found != *type))
            return false;
        *type = found;
        typed = true;
    }
    return typed;
}

static int keep_cells(struct hn_terms *terms, const struct slot *slot, bool real,
                      const union hn_cell *cells)
{
    if (slot->count > 1)
        return hn_terms_table(terms, slot->number, real, cells);
    return real ? hn_terms_constant_real(terms, cells->real)
                : hn_terms_constant(terms, cells->integer);
}

static struct term_part tabulate_slot(struct hn_terms *terms,
                                      const struct hn_expression *expression,
                                      const struct hn_node *node, const struct slot *slot,
                                      bool truth)
{
    struct term_part part = {-1, -1, TYPE_INTEGER};
    union hn_cell few[FEW];
    bool is_few = 2 * slot->count <= FEW;
    union hn_cell *cells = is_few ? few : malloc(2 * slot->count * sizeof *cells);
    if (cells == NULL) {
        terms->out_of_memory = true;
        return part;
    }
    union hn_cell *fails = cells + slot->count;
    if (evaluate_all(terms, expression, node, slot, truth, &part.type, cells, fails)) {
        part.value = keep_cells(terms, slot, part.type == TYPE_REAL, cells);
        part.fails = keep_cells(terms, slot, false, fails);
    }
    if (!is_few)
        free(cells);
    return part;
}

/* A node that depends on one slot at most, by the evaluator, or its truth. False: it depends on
 * more. */
static bool tabulate(struct hn_terms *terms, const struct hn_expression *expression,
                     const struct hn_node *node, bool truth, struct term_part *part)
{
    struct slot slot;
    if (!find_slot(terms, node, &slot))
        return false;
    *part = tabulate_slot(terms, expression, node, &slot, truth);
    return true;
}

static const struct term_part unsaid = {-1, -1, TYPE_INTEGER};

static struct term_part part_of(struct hn_terms *terms, const struct hn_expression *expression,
                                const struct hn_node *node);
static struct term_part truth_part(struct hn_terms *terms, const struct hn_expression *expression,
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

static struct term_part truth_of(struct hn_terms *terms, struct term_part part)
{
    if (part.value < 0 || part.type == TYPE_WORD)
        return unsaid;
    const struct hn_term *term = &terms->items[part.value];
    if (part.type == TYPE_INTEGER && term->low.integer >= 0 && term->high.integer <= 1)
        return part;
    bool real = part.type == TYPE_REAL;
    int zero = real ? hn_terms_constant_real(terms, 0) : hn_terms_constant(terms, 0);
    enum hn_term_operation equal = real ? HN_TERM_REAL_EQUAL : HN_TERM_EQUAL;
    part.value = negation(terms, hn_terms_make(terms, equal, part.value, zero, -1));
    part.type = TYPE_INTEGER;
    return part;
}

/* A part as a real. */
static int to_real(struct hn_terms *terms, struct term_part part)
{
    if (part.value < 0 || part.type == TYPE_REAL)
        return part.value;
    return hn_terms_make(terms, HN_TERM_TO_REAL, part.value, -1, -1);
}

/* Whether no rounding can occur. */
static bool is_exact_real(const struct hn_terms *terms, struct term_part part)
{
    static const int64_t most = (int64_t)1 << 53;
    return part.value < 0 || part.type == TYPE_REAL ||
           (terms->items[part.value].low.integer >= -most &&
            terms->items[part.value].high.integer <= most);
}

static int compare(struct hn_terms *terms, enum hn_operator comparison, struct term_part a,
                   struct term_part b)
{
    if (comparison == HN_NOT_EQUAL)
        return negation(terms, compare(terms, HN_EQUAL, a, b));
    if (comparison == HN_GREATER || comparison == HN_GREATER_EQUAL)
        return compare(terms, comparison == HN_GREATER ? HN_LESS : HN_LESS_EQUAL, b, a);
    if ((a.type == TYPE_WORD) != (b.type == TYPE_WORD))
        return comparison == HN_EQUAL ? hn_terms_constant(terms, 0) : -1;
    static const enum hn_term_operation operations[][2] = {
        {HN_TERM_LESS, HN_TERM_REAL_LESS},
        {HN_TERM_LESS_EQUAL, HN_TERM_REAL_LESS_EQUAL},
        {HN_TERM_EQUAL, HN_TERM_REAL_EQUAL},
    };
    size_t row = comparison == HN_LESS ? 0 : comparison == HN_LESS_EQUAL ? 1 : 2;
    if (a.type != TYPE_REAL && b.type != TYPE_REAL)
        return hn_terms_make(terms, operations[row][0], a.value, b.value, -1);
    if (!is_exact_real(terms, a) || !is_exact_real(terms, b))
        return -1;
    return hn_terms_make(terms, operations[row][1], to_real(terms, a), to_real(terms, b), -1);
}

/* left is in the list, every element of which is evaluated. */
static struct term_part membership(struct hn_terms *terms, const struct hn_expression *expression,
                                   const struct hn_node *list, struct term_part left)
{
    struct term_part result = {hn_terms_constant(terms, 0), hn_terms_constant(terms, 0),
                               TYPE_INTEGER};
    for (const struct hn_node *node = list->child; node != NULL; node = node->next) {
        struct term_part element = part_of(terms, expression, node);
        if (element.value < 0)
            return unsaid;
        result.value = either(terms, result.value, compare(terms, HN_EQUAL, left, element));
        result.fails = either(terms, result.fails, element.fails);
    }
    if (list->comparison == HN_NOT_IN)
        result.value = negation(terms, result.value);
    return result;
}

static struct term_part comparison_part(struct hn_terms *terms,
                                        const struct hn_expression *expression,
                                        const struct hn_node *node)
{
    struct term_part left = part_of(terms, expression, node->child);
    struct term_part result = {hn_terms_constant(terms, 1), left.fails, TYPE_INTEGER};
    for (const struct hn_node *next = node->child->next; next != NULL; next = next->next) {
        if (left.value < 0)
            return unsaid;
        int reached = result.value;
        if (next->kind == HN_NODE_LIST) {
            struct term_part link = membership(terms, expression, next, left);
            result.value = both(terms, result.value, link.value);
            result.fails = either(terms, result.fails, both(terms, reached, link.fails));
            continue;
        }
        struct term_part right = part_of(terms, expression, next);
        if (right.value < 0)
            return unsaid;
        result.value = both(terms, result.value, compare(terms, next->comparison, left, right));
        result.fails = either(terms, result.fails, both(terms, reached, right.fails));
        left = right;
    }
    return result;
}

static struct term_part logical_part(struct hn_terms *terms, const struct hn_expression *expression,
                                     const struct hn_node *node, bool truth)
{
    struct term_part a = truth ? truth_part(terms, expression, node->child)
                               : part_of(terms, expression, node->child);
    struct term_part b = truth ? truth_part(terms, expression, node->child->next)
                               : part_of(terms, expression, node->child->next);
    struct term_part first = truth_of(terms, a);
    if (first.value < 0 || b.value < 0 || a.type != b.type)
        return unsaid;
    bool is_and = node->kind == HN_NODE_AND;
    int goes_on = is_and ? first.value : negation(terms, first.value);
    struct term_part result = {-1, either(terms, a.fails, both(terms, goes_on, b.fails)), a.type};
    if (truth)
        result.value = is_and ? both(terms, a.value, b.value) : either(terms, a.value, b.value);
    else
        result.value = hn_terms_make(terms, HN_TERM_SELECT, goes_on, b.value, a.value);
    return result;
}

static struct term_part conditional_part(struct hn_terms *terms,
                                         const struct hn_expression *expression,
                                         const struct hn_node *node, bool truth)
{
    struct term_part condition = truth_part(terms, expression, node->child);
    const struct hn_node *nodes[2] = {node->child->next, node->child->next->next};
    struct term_part parts[2];
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
    return (struct term_part){value, either(terms, condition.fails, fails), parts[0].type};
}

/* min and max of a and b. */
static int extreme(struct hn_terms *terms, enum hn_function function, struct term_part a,
                   struct term_part b)
{
    if (a.type != b.type || a.type == TYPE_WORD)
        return -1;
    if (a.type == TYPE_REAL)
        return hn_terms_make(terms,
                             function == HN_MIN ? HN_TERM_REAL_MINIMUM : HN_TERM_REAL_MAXIMUM,
                             a.value, b.value, -1);
    return hn_terms_make(terms, function == HN_MIN ? HN_TERM_MINIMUM : HN_TERM_MAXIMUM, a.value,
                         b.value, -1);
}

static struct term_part divide(struct hn_terms *terms, enum hn_term_operation operation, bool real,
                               struct term_part a, struct term_part b)
{
    int zero = real ? hn_terms_constant_real(terms, 0) : hn_terms_constant(terms, 0);
    int is_zero =
        hn_terms_make(terms, real ? HN_TERM_REAL_EQUAL : HN_TERM_EQUAL, b.value, zero, -1);
    return (struct term_part){hn_terms_make(terms, operation, a.value, b.value, -1),
                              either(terms, either(terms, a.fails, b.fails), is_zero),
                              operation >= HN_TERM_REAL_ADD ? TYPE_REAL : TYPE_INTEGER};
}

static struct term_part call_part(struct hn_terms *terms, const struct hn_expression *expression,
                                  const struct hn_node *node)
{
    struct term_part result = part_of(terms, expression, node->child);
    for (const struct hn_node *next = node->child->next; next != NULL; next = next->next) {
        struct term_part part = part_of(terms, expression, next);
        if (result.value < 0 || part.value < 0)
            return unsaid;
        if (node->function == HN_CEIL_DIV)
            return result.type != TYPE_INTEGER || part.type != TYPE_INTEGER
                       ? unsaid
                       : divide(terms, HN_TERM_CEIL_DIVIDE, false, result, part);
        result.value = extreme(terms, node->function, result, part);
        result.fails = either(terms, result.fails, part.fails);
    }
    if (node->function == HN_MIN || node->function == HN_MAX)
        return result;
    bool is_absolute = node->function == HN_ABS;
    if (result.value < 0 || (!is_absolute && node->function != HN_IS_POWER_OF_2) ||
        result.type == TYPE_WORD || (!is_absolute && result.type != TYPE_INTEGER))
        return unsaid;
    enum hn_term_operation operation = !is_absolute               ? HN_TERM_IS_POWER_OF_2
                                       : result.type == TYPE_REAL ? HN_TERM_REAL_ABSOLUTE
                                                                  : HN_TERM_ABSOLUTE;
    result.value = hn_terms_make(terms, operation, result.value, -1, -1);
    return result;
}

static struct term_part unary_part(struct hn_terms *terms, const struct hn_expression *expression,
                                   const struct hn_node *node)
{
    if (node->operation == HN_NOT) {
        struct term_part part = truth_part(terms, expression, node->child);
        part.value = negation(terms, part.value);
        return part;
    }
    struct term_part part = part_of(terms, expression, node->child);
    if (part.value < 0 || part.type == TYPE_WORD ||
        (part.type == TYPE_REAL && node->operation == HN_INVERT))
        return unsaid;
    if (node->operation == HN_POSITIVE)
        return part;
    enum hn_term_operation operation = node->operation == HN_INVERT ? HN_TERM_INVERT
                                       : part.type == TYPE_REAL     ? HN_TERM_REAL_NEGATE
                                                                    : HN_TERM_NEGATE;
    part.value = hn_terms_make(terms, operation, part.value, -1, -1);
    return part;
}

static struct term_part binary_part(struct hn_terms *terms, const struct hn_expression *expression,
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
    struct term_part a = part_of(terms, expression, node->child);
    struct term_part b = part_of(terms, expression, node->child->next);
    if (a.value < 0 || b.value < 0 || a.type == TYPE_WORD || b.type == TYPE_WORD)
        return unsaid;
    bool real = a.type == TYPE_REAL || b.type == TYPE_REAL;
    enum hn_term_operation operation = operations[node->operation][real];
    if (operation == HN_TERM_CONSTANT)
        return unsaid;
    if (real) {
        a.value = to_real(terms, a);
        b.value = to_real(terms, b);
    }
    bool divides = node->operation == HN_DIVIDE || node->operation == HN_FLOOR_DIVIDE ||
                   node->operation == HN_MODULO;
    struct term_part result = {-1, either(terms, a.fails, b.fails),
                               real ? TYPE_REAL : TYPE_INTEGER};
    if (divides)
        result = divide(terms, operation, real, a, b);
    else
        result.value = hn_terms_make(terms, operation, a.value, b.value, -1);
    return result;
}

static struct term_part part_of(struct hn_terms *terms, const struct hn_expression *expression,
                                const struct hn_node *node)
{
    struct term_part part;
    if (tabulate(terms, expression, node, false, &part))
        return part;
    switch (node->kind) {
    case HN_NODE_NAME:
        return (struct term_part){hn_terms_slot(terms, (size_t)node->slot),
                                  hn_terms_constant(terms, 0), TYPE_INTEGER};
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

static struct term_part truth_part(struct hn_terms *terms, const struct hn_expression *expression,
                                   const struct hn_node *node)
{
    struct term_part part;
    if (tabulate(terms, expression, node, true, &part))
        return part;
    if (node->kind == HN_NODE_AND || node->kind == HN_NODE_OR)
        return logical_part(terms, expression, node, true);
    if (node->kind == HN_NODE_CONDITIONAL)
        return conditional_part(terms, expression, node, true);
    return truth_of(terms, part_of(terms, expression, node));
}

static struct hn_condition add(struct hn_terms *terms, const struct hn_expression *expression,
                               const struct hn_node *node)
{
    struct term_part part = truth_part(terms, expression, node);
    if (part.value < 0 || part.fails < 0)
        return (struct hn_condition){-1, -1};
    int holds = both(terms, part.value, negation(terms, part.fails));
    return (struct hn_condition){holds, holds < 0 ? -1 : part.fails};
}

struct hn_condition hn_terms_add(struct hn_terms *terms, const struct hn_conjunct *conjunct)
{
    return add(terms, conjunct->expression, conjunct->node);
}

struct hn_condition hn_terms_add_condition(struct hn_terms *terms,
                                           const struct hn_expression *expression)
{
    return add(terms, expression, expression->root);
}

struct hn_number hn_terms_add_number(struct hn_terms *terms, const struct hn_expression *expression)
{
    struct term_part part = part_of(terms, expression, expression->root);
    bool known = part.value >= 0 && part.fails >= 0 && part.type == TYPE_INTEGER;
    return known ? (struct hn_number){part.value, part.fails} : (struct hn_number){-1, -1};
}
