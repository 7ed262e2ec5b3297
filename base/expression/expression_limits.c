/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_terms.h"

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

/* Whether the signs of a term's operands are such that it rises and falls as its form says. */
static bool has_signs(const struct hn_terms *terms, const struct hn_term *item)
{
    const struct hn_term_form *form = &hn_term_forms[item->operation];
    for (int i = 0; i < 2 && form->positive; i++) {
        const struct hn_term *operand = &terms->items[item->operand[i]];
        bool positive = form->slope[i] < 0;
        if (operand->real ? !(positive ? operand->low.real > 0 : operand->low.real >= 0)
                          : operand->low.integer < positive)
            return false;
    }
    return true;
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

static int limit_equality(struct bounds *bounds, const struct hn_term *item, enum side side)
{
    int a = item->operand[0];
    int b = item->operand[1];
    bool real = item->operation == HN_TERM_REAL_EQUAL;
    enum hn_term_operation less_equal = real ? HN_TERM_REAL_LESS_EQUAL : HN_TERM_LESS_EQUAL;
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
    struct hn_terms *terms = bounds->terms;
    const struct hn_term item = terms->items[term];
    const int *slope = hn_term_forms[item.operation].slope;
    enum side other = side == LOW ? HIGH : LOW;
    if (is_bound(bounds, term))
        return term;
    if (item.operation == HN_TERM_TABLE || !has_bounds(terms, &item))
        return constant_limit(bounds, term, side);
    if (item.operation == HN_TERM_EQUAL || item.operation == HN_TERM_REAL_EQUAL)
        return limit_equality(bounds, &item, side);
    if (item.operation == HN_TERM_SELECT) {
        int b = limit(bounds, item.operand[1], side);
        int c = limit(bounds, item.operand[2], side);
        if (is_bound(bounds, item.operand[0]))
            return hn_terms_make(terms, HN_TERM_SELECT, item.operand[0], b, c);
        return item.real ? constant_limit(bounds, term, side)
                         : make(bounds, side == LOW ? HN_TERM_MINIMUM : HN_TERM_MAXIMUM, b, c);
    }
    if (slope[0] == 0 || !has_signs(terms, &item))
        return constant_limit(bounds, term, side);
    int a = limit(bounds, item.operand[0], slope[0] > 0 ? side : other);
    int b = item.operand[1] < 0 ? -1 : limit(bounds, item.operand[1], slope[1] > 0 ? side : other);
    return make(bounds, item.operation, a, b);
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
    enum hn_direction directions[3] = {HN_CONSTANT, HN_CONSTANT, HN_CONSTANT};
    for (int i = 0; i < 3 && item->operand[i] >= 0; i++)
        directions[i] = find_direction(terms, item->operand[i], slot, left);
    if (item->operation == HN_TERM_SELECT)
        return directions[0] == HN_CONSTANT ? (enum hn_direction)(directions[1] | directions[2])
                                            : HN_UNKNOWN;
    /* not of reals, which may be NaN */
    const int *slope = hn_term_forms[item->operation].slope;
    if (item->operation >= HN_TERM_REAL_LESS || slope[0] == 0 || !has_signs(terms, item))
        return HN_UNKNOWN;
    unsigned direction = HN_CONSTANT;
    for (int i = 0; i < 2; i++)
        direction |= slope[i] < 0 ? reverse(directions[i]) : directions[i];
    return (enum hn_direction)direction;
}

enum hn_direction hn_terms_direction(const struct hn_terms *terms, int term, size_t slot)
{
    unsigned left = 1000;
    return find_direction(terms, term, slot, &left);
}

struct arranging {
    struct hn_terms *terms;
    const size_t *ranks;
    int *arranged; /* by term; -1 not yet */
};

struct operand {
    int term;
    size_t rank; /* of the last slot that it depends on, plus one; 0: a constant */
    size_t place;
};

static int arrange(struct arranging *arranging, int term);

static size_t rank_of(const struct arranging *arranging, int term)
{
    const uint64_t *slots = arranging->terms->items[term].slots;
    size_t last = 0;
    for (size_t i = 0; i < arranging->terms->slot_words; i++) {
        for (uint64_t bits = slots[i]; bits != 0; bits &= bits - 1) {
            size_t rank = arranging->ranks[64 * i + (size_t)__builtin_ctzll(bits)] + 1;
            last = rank > last ? rank : last;
        }
    }
    return last;
}

static size_t count_operands(const struct hn_terms *terms, enum hn_term_operation operation,
                             int term)
{
    const struct hn_term *item = &terms->items[term];
    if (item->operation != operation)
        return 1;
    return count_operands(terms, operation, item->operand[0]) +
           count_operands(terms, operation, item->operand[1]);
}

static struct operand *list_operands(const struct hn_terms *terms, enum hn_term_operation operation,
                                     int term, struct operand *to)
{
    const struct hn_term *item = &terms->items[term];
    if (item->operation != operation) {
        to->term = term;
        return to + 1;
    }
    to = list_operands(terms, operation, item->operand[0], to);
    return list_operands(terms, operation, item->operand[1], to);
}

static int compare_operands(const void *a, const void *b)
{
    const struct operand *x = a;
    const struct operand *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* The sum or product of all operands, in the order of their slots. -1: that might overflow on the
 * way, is too long, or memory is out. */
static int arrange_chain(struct arranging *arranging, int term)
{
    enum { MOST_OPERANDS = 1000 };
    struct hn_terms *terms = arranging->terms;
    enum hn_term_operation operation = terms->items[term].operation;
    size_t count = count_operands(terms, operation, term);
    struct operand *operands = count > MOST_OPERANDS ? NULL : calloc(count, sizeof *operands);
    if (operands == NULL)
        return -1;
    list_operands(terms, operation, term, operands);
    int chain = 0;
    for (size_t i = 0; i < count && chain >= 0; i++) {
        operands[i].term = chain = arrange(arranging, operands[i].term);
        operands[i].rank = chain < 0 ? 0 : rank_of(arranging, chain);
        operands[i].place = i;
    }
    qsort(operands, count, sizeof *operands, compare_operands);
    for (size_t i = 0; i < count && chain >= 0; i++)
        chain = i == 0 ? operands[i].term
                       : hn_terms_make(terms, operation, chain, operands[i].term, -1);
    free(operands);
    return chain;
}

static int arrange_operands(struct arranging *arranging, int term)
{
    const struct hn_term item = arranging->terms->items[term];
    int operands[3] = {-1, -1, -1};
    for (size_t i = 0; i < 3 && item.operand[i] >= 0; i++) {
        operands[i] = arrange(arranging, item.operand[i]);
        if (operands[i] < 0)
            return -1;
    }
    return hn_terms_make(arranging->terms, item.operation, operands[0], operands[1], operands[2]);
}

static int arrange(struct arranging *arranging, int term)
{
    enum hn_term_operation operation = arranging->terms->items[term].operation;
    if (operation == HN_TERM_CONSTANT || operation == HN_TERM_TABLE)
        return term;
    if (arranging->arranged[term] < 0) {
        int arranged = -1;
        if (operation == HN_TERM_ADD || operation == HN_TERM_MULTIPLY)
            arranged = arrange_chain(arranging, term);
        if (arranged < 0)
            arranged = arrange_operands(arranging, term);
        arranging->arranged[term] = arranged < 0 ? term : arranged;
    }
    return arranging->arranged[term];
}

bool hn_terms_arrange(struct hn_terms *terms, int *list, size_t count, const size_t *ranks)
{
    size_t known = terms->count;
    struct arranging arranging = {terms, ranks, malloc((known + 1) * sizeof(int))};
    if (arranging.arranged == NULL)
        return false;
    for (size_t i = 0; i < known; i++)
        arranging.arranged[i] = -1;
    for (size_t i = 0; i < count; i++)
        list[i] = list[i] < 0 ? -1 : arrange(&arranging, list[i]);
    free(arranging.arranged);
    return !terms->out_of_memory;
}
