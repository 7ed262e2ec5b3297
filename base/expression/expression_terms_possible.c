/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_terms_part.h"

/* Bounds of terms, as terms over the slots that have values. Those of a 0-or-1 term say whether it
 * is certain (the lower one) and whether it is possible (the upper one). */
struct bounds {
    struct hn_terms *terms;
    const uint64_t *bound;
};

enum side { LOW, HIGH };

static int limit(struct bounds *bounds, int term, enum side side);

static bool is_bound(const struct bounds *bounds, int term)
{
    const uint64_t *slots = bounds->terms->items[term].slots;
    for (size_t i = 0; i < bounds->terms->slot_words; i++) {
        if ((slots[i] & ~bounds->bound[i]) != 0)
            return false;
    }
    return true;
}

static int constant_limit(struct bounds *bounds, int term, enum side side)
{
    const struct hn_term *item = &bounds->terms->items[term];
    union hn_cell cell = side == LOW ? item->low : item->high;
    return item->real ? hn_terms_constant_real(bounds->terms, cell.real)
                      : hn_terms_constant(bounds->terms, cell.integer);
}

static int make(struct bounds *bounds, enum hn_term_operation operation, int a, int b)
{
    return hn_terms_make(bounds->terms, operation, a, b, -1);
}

static bool is_negative(const struct bounds *bounds, int term)
{
    const struct hn_term *item = &bounds->terms->items[term];
    return item->real ? !(item->low.real >= 0) : item->low.integer < 0;
}

static bool is_positive(const struct bounds *bounds, int term)
{
    const struct hn_term *item = &bounds->terms->items[term];
    return item->real ? item->low.real > 0 : item->low.integer > 0;
}

/* The operands' limits that give the limit of an operation that rises with both, where a sign is
 * not in the way. -2: there is no such rule. */
static int limit_arithmetic(struct bounds *bounds, const struct hn_term *item, enum side side)
{
    int a = item->operand[0];
    int b = item->operand[1];
    enum side other = side == LOW ? HIGH : LOW;
    switch (item->operation) {
    case HN_TERM_ADD:
    case HN_TERM_REAL_ADD:
    case HN_TERM_MINIMUM:
    case HN_TERM_MAXIMUM:
    case HN_TERM_REAL_MINIMUM:
    case HN_TERM_REAL_MAXIMUM:
    case HN_TERM_AND:
    case HN_TERM_OR:
        return make(bounds, item->operation, limit(bounds, a, side), limit(bounds, b, side));
    case HN_TERM_SUBTRACT:
    case HN_TERM_REAL_SUBTRACT:
        return make(bounds, item->operation, limit(bounds, a, side), limit(bounds, b, other));
    case HN_TERM_NEGATE:
    case HN_TERM_REAL_NEGATE:
    case HN_TERM_NOT:
        return make(bounds, item->operation, limit(bounds, a, other), -1);
    case HN_TERM_TO_REAL:
        return make(bounds, item->operation, limit(bounds, a, side), -1);
    case HN_TERM_MULTIPLY:
    case HN_TERM_REAL_MULTIPLY:
    case HN_TERM_SHIFT_LEFT:
        if (is_negative(bounds, a) || is_negative(bounds, b))
            return -2;
        return make(bounds, item->operation, limit(bounds, a, side), limit(bounds, b, side));
    case HN_TERM_FLOOR_DIVIDE:
    case HN_TERM_CEIL_DIVIDE:
    case HN_TERM_TRUE_DIVIDE:
    case HN_TERM_REAL_DIVIDE:
        if (is_negative(bounds, a) || !is_positive(bounds, b))
            return -2;
        return make(bounds, item->operation, limit(bounds, a, side), limit(bounds, b, other));
    default:
        return -2;
    }
}

/* a divides b only if each known factor of a does: a * b == c needs c % a == 0. Both are integers.
 */
static int divides(struct bounds *bounds, int divisor, int number)
{
    struct hn_terms *terms = bounds->terms;
    int one = hn_terms_constant(terms, 1);
    if (!is_bound(bounds, number))
        return one;
    if (is_bound(bounds, divisor)) {
        int zero = hn_terms_constant(terms, 0);
        int is_zero = make(bounds, HN_TERM_EQUAL, divisor, zero);
        int rest = make(bounds, HN_TERM_MODULO, number, divisor);
        return make(bounds, HN_TERM_OR, is_zero, make(bounds, HN_TERM_EQUAL, rest, zero));
    }
    const struct hn_term *item = &terms->items[divisor];
    if (item->operation != HN_TERM_MULTIPLY)
        return one;
    int a = item->operand[0];
    int b = item->operand[1];
    return make(bounds, HN_TERM_AND, divides(bounds, a, number), divides(bounds, b, number));
}

/* What has to hold of divisors before a and b can be equal. */
static int needed_divisors(struct bounds *bounds, int a, int b)
{
    struct hn_terms *terms = bounds->terms;
    int needed = hn_terms_constant(terms, 1);
    for (size_t i = 0; i < 2; i++) {
        enum hn_term_operation operation = terms->items[a].operation;
        if (operation == HN_TERM_MULTIPLY)
            needed = make(bounds, HN_TERM_AND, needed, divides(bounds, a, b));
        if (operation == HN_TERM_MODULO && hn_terms_is(terms, b, 0)) {
            int number = terms->items[a].operand[0];
            int divisor = terms->items[a].operand[1];
            needed = make(bounds, HN_TERM_AND, needed, divides(bounds, divisor, number));
        }
        int swapped = a;
        a = b;
        b = swapped;
    }
    return needed;
}

static int limit_comparison(struct bounds *bounds, const struct hn_term *item, enum side side)
{
    int a = item->operand[0];
    int b = item->operand[1];
    bool real = item->operation >= HN_TERM_REAL_LESS;
    enum side other = side == LOW ? HIGH : LOW;
    enum hn_term_operation less_equal = real ? HN_TERM_REAL_LESS_EQUAL : HN_TERM_LESS_EQUAL;
    if (item->operation != HN_TERM_EQUAL && item->operation != HN_TERM_REAL_EQUAL)
        return make(bounds, item->operation, limit(bounds, a, other), limit(bounds, b, side));
    if (side == LOW) /* certain: both have one value only */
        return make(bounds, HN_TERM_AND,
                    make(bounds, less_equal, limit(bounds, a, HIGH), limit(bounds, b, LOW)),
                    make(bounds, less_equal, limit(bounds, b, HIGH), limit(bounds, a, LOW)));
    int meet = make(bounds, HN_TERM_AND,
                    make(bounds, less_equal, limit(bounds, a, LOW), limit(bounds, b, HIGH)),
                    make(bounds, less_equal, limit(bounds, b, LOW), limit(bounds, a, HIGH)));
    return real ? meet : make(bounds, HN_TERM_AND, meet, needed_divisors(bounds, a, b));
}

/* A real that may be NaN has no bounds. */
static bool has_bounds(const struct hn_terms *terms, const struct hn_term *item)
{
    for (size_t i = 0; i < 3 && item->operand[i] >= 0; i++) {
        const struct hn_term *operand = &terms->items[item->operand[i]];
        if (operand->real && !hn_term_is_finite(operand))
            return false;
    }
    return !item->real || hn_term_is_finite(item);
}

static int find_limit(struct bounds *bounds, int term, enum side side)
{
    struct hn_term item = bounds->terms->items[term];
    int found = -2;
    if (is_bound(bounds, term))
        return term;
    if (item.operation == HN_TERM_TABLE || !has_bounds(bounds->terms, &item))
        return constant_limit(bounds, term, side);
    if (item.operation == HN_TERM_SELECT) {
        int b = limit(bounds, item.operand[1], side);
        int c = limit(bounds, item.operand[2], side);
        if (is_bound(bounds, item.operand[0]))
            return hn_terms_make(bounds->terms, HN_TERM_SELECT, item.operand[0], b, c);
        if (!item.real)
            return make(bounds, side == LOW ? HN_TERM_MINIMUM : HN_TERM_MAXIMUM, b, c);
    } else if (item.operation >= HN_TERM_LESS && item.operation <= HN_TERM_REAL_EQUAL &&
               item.operation != HN_TERM_AND && item.operation != HN_TERM_OR &&
               item.operation != HN_TERM_NOT) {
        return limit_comparison(bounds, &item, side);
    } else {
        found = limit_arithmetic(bounds, &item, side);
    }
    return found == -2 ? constant_limit(bounds, term, side) : found;
}

static int limit(struct bounds *bounds, int term, enum side side)
{
    struct hn_terms *terms = bounds->terms;
    if (term < 0)
        return term;
    struct hn_term_limits *limits = &terms->limits[term];
    if (limits->round != terms->round)
        *limits = (struct hn_term_limits){terms->round, {-1, -1}};
    if (limits->term[side] < 0) {
        int found = find_limit(bounds, term, side);
        terms->limits[term].term[side] = found;
    }
    return terms->limits[term].term[side];
}

int hn_terms_possible(struct hn_terms *terms, int term, const uint64_t *bound)
{
    if (terms->limit_count < terms->count) {
        struct hn_term_limits *limits = realloc(terms->limits, terms->capacity * sizeof *limits);
        if (limits == NULL) {
            terms->out_of_memory = true;
            return -1;
        }
        memset(limits + terms->limit_count, 0,
               (terms->capacity - terms->limit_count) * sizeof *limits);
        terms->limits = limits;
        terms->limit_count = terms->capacity;
    }
    terms->round++;
    struct bounds bounds = {terms, bound};
    return limit(&bounds, term, HIGH);
}

static enum hn_direction reverse(enum hn_direction direction)
{
    return direction == HN_RISES ? HN_FALLS : direction == HN_FALLS ? HN_RISES : direction;
}

static enum hn_direction table_direction(const struct hn_terms *terms, const struct hn_term *item)
{
    unsigned direction = HN_CONSTANT;
    for (size_t i = 1; i < terms->domains[item->slot].count; i++) {
        union hn_cell a = item->table[i - 1];
        union hn_cell b = item->table[i];
        if (item->real ? !(b.real <= a.real) : b.integer > a.integer)
            direction |= HN_RISES;
        if (item->real ? !(b.real >= a.real) : b.integer < a.integer)
            direction |= HN_FALLS;
    }
    return (enum hn_direction)direction;
}

/* Terms share operands, so that walking over all paths could take forever: `left` bounds it. */
static enum hn_direction find_direction(const struct hn_terms *terms, int term, size_t slot,
                                        unsigned *left)
{
    const struct hn_term *item = &terms->items[term];
    if ((item->slots[slot / 64] >> (slot % 64) & 1) == 0)
        return HN_CONSTANT;
    if (*left == 0)
        return HN_UNKNOWN;
    --*left;
    if (item->operation == HN_TERM_TABLE)
        return table_direction(terms, item);
    enum hn_direction a = find_direction(terms, item->operand[0], slot, left);
    enum hn_direction b =
        item->operand[1] < 0 ? HN_CONSTANT : find_direction(terms, item->operand[1], slot, left);
    const struct hn_term *left_item = &terms->items[item->operand[0]];
    const struct hn_term *right_item =
        item->operand[1] < 0 ? NULL : &terms->items[item->operand[1]];
    switch (item->operation) {
    case HN_TERM_ADD:
    case HN_TERM_MINIMUM:
    case HN_TERM_MAXIMUM:
    case HN_TERM_AND:
    case HN_TERM_OR:
        return (enum hn_direction)(a | b);
    case HN_TERM_SUBTRACT:
        return (enum hn_direction)(a | reverse(b));
    case HN_TERM_NEGATE:
    case HN_TERM_NOT:
        return reverse(a);
    case HN_TERM_LESS:
    case HN_TERM_LESS_EQUAL:
        return (enum hn_direction)(reverse(a) | b);
    case HN_TERM_MULTIPLY:
    case HN_TERM_SHIFT_LEFT:
        return left_item->low.integer < 0 || right_item->low.integer < 0
                   ? HN_UNKNOWN
                   : (enum hn_direction)(a | b);
    case HN_TERM_FLOOR_DIVIDE:
    case HN_TERM_CEIL_DIVIDE:
        return left_item->low.integer < 0 || right_item->low.integer <= 0
                   ? HN_UNKNOWN
                   : (enum hn_direction)(a | reverse(b));
    case HN_TERM_SELECT: {
        enum hn_direction c = find_direction(terms, item->operand[2], slot, left);
        return a == HN_CONSTANT ? (enum hn_direction)(b | c) : HN_UNKNOWN;
    }
    default:
        return HN_UNKNOWN;
    }
}

enum hn_direction hn_terms_direction(const struct hn_terms *terms, int term, size_t slot)
{
    unsigned left = 1000;
    return find_direction(terms, term, slot, &left);
}
