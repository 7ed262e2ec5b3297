/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/expression/expression_terms.h"

/* Bounds of terms from those of what they are made of, and what is known of terms while some slots
 * have no values. */

static void set(struct hn_term *term, int64_t low, int64_t high)
{
    term->low.integer = low;
    term->high.integer = high;
}

/* The operation whose term it is; HN_OP_POSITIVE of one that only changes the type. */
static enum hn_code code_of(enum hn_term_operation operation)
{
    int code = HN_OP_COUNT - 1;
    while (code > HN_OP_POSITIVE && hn_operation_forms[code].term[0] != (int)operation &&
           hn_operation_forms[code].term[1] != (int)operation)
        code--;
    return (enum hn_code)code;
}

/* An operation that is monotone in each operand has its bounds at the corners. Rounding
 * is monotone, too. False: one of them has no value, so that it might overflow. */
static bool bound_monotone(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    enum hn_code code = code_of(term->operation);
    for (size_t i = 0; i < 4; i++) {
        union hn_cell x = i < 2 ? a->low : a->high, cell;
        union hn_cell y = b == NULL ? x : i % 2 == 0 ? b->low : b->high;
        struct hn_value left = a->real ? hn_real(x.real) : hn_integer(x.integer), value;
        struct hn_value right = a->real ? hn_real(y.real) : hn_integer(y.integer);
        if (hn_apply(code, &left, &right, &value) != NULL)
            return false;
        if (term->real)
            cell.real = hn_value_number(&value);
        else
            cell.integer = value.integer;
        if (i == 0)
            term->low = term->high = cell;
        else if (term->real ? cell.real < term->low.real : cell.integer < term->low.integer)
            term->low = cell;
        else if (term->real ? cell.real > term->high.real : cell.integer > term->high.integer)
            term->high = cell;
    }
    return true;
}

static bool bound_quotient(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    int64_t low = a->low.integer;
    int64_t high = a->high.integer;
    if (low == INT64_MIN)
        return false;
    if (b->low.integer < 0) {
        int64_t most = -low > high ? -low : high;
        set(term, -most, most);
        return true;
    }
    struct hn_term divisor = {0};
    set(&divisor, b->low.integer == 0 ? 1 : b->low.integer,
        b->high.integer == 0 ? 1 : b->high.integer);
    bound_monotone(term, a, &divisor);
    if (b->low.integer == 0)
        set(term, term->low.integer > 0 ? 0 : term->low.integer,
            term->high.integer < 0 ? 0 : term->high.integer);
    return true;
}

static bool bound_remainder(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    int64_t low = b->low.integer < 0 ? b->low.integer + 1 : 0;
    int64_t high = b->high.integer > 0 ? b->high.integer - 1 : 0;
    if (a->low.integer >= 0 && b->low.integer >= 0 && a->high.integer < high)
        high = a->high.integer;
    set(term, low, high);
    return true;
}

/* Where it takes a square on the way, that is not beyond the result. */
static bool bound_power(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    return a->low.integer >= 0 && b->low.integer >= 0 && bound_monotone(term, a, b);
}

static bool bound_shift_left(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    return b->low.integer >= 0 && b->high.integer <= 62 && bound_monotone(term, a, b);
}

static bool bound_shift_right(struct hn_term *term, const struct hn_term *a,
                              const struct hn_term *b)
{
    if (b->low.integer < 0)
        return false;
    set(term, a->low.integer < 0 ? a->low.integer : 0, a->high.integer >= 0 ? a->high.integer : -1);
    return true;
}

static bool bound_bits(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (a->low.integer < 0 || b->low.integer < 0) {
        set(term, INT64_MIN, INT64_MAX);
        return true;
    }
    uint64_t all = (uint64_t)(a->high.integer | b->high.integer);
    for (unsigned shift = 1; shift < 64; shift *= 2)
        all |= all >> shift;
    set(term, 0, (int64_t)all);
    if (term->operation == HN_TERM_BIT_AND)
        term->high.integer = a->high.integer < b->high.integer ? a->high.integer : b->high.integer;
    return true;
}

static bool bound_absolute(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    bool bounded = bound_monotone(term, a, b);
    term->low.integer = 0;
    return bounded;
}

static bool bound_unknown(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    (void)a;
    (void)b;
    term->low.real = -INFINITY;
    term->high.real = INFINITY;
    return true;
}

static bool bound_real(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    bool known = hn_term_is_finite(a) && (b == NULL || hn_term_is_finite(b)) &&
                 (term->operation != HN_TERM_REAL_DIVIDE || b->low.real > 0);
    if (known)
        bound_monotone(term, a, b);
    return known && hn_term_is_finite(term) ? true : bound_unknown(term, a, b);
}

static bool bound_true_quotient(struct hn_term *term, const struct hn_term *a,
                                const struct hn_term *b)
{
    return b->low.integer > 0 ? bound_monotone(term, a, b) : bound_unknown(term, a, b);
}

static bool bound_truth(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    (void)a;
    (void)b;
    set(term, 0, 1);
    return true;
}

/* a and b are the two values to choose from. */
static bool bound_select(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (term->real) {
        bool known = hn_term_is_finite(a) && hn_term_is_finite(b);
        term->low.real = known ? fmin(a->low.real, b->low.real) : -INFINITY;
        term->high.real = known ? fmax(a->high.real, b->high.real) : INFINITY;
        return true;
    }
    set(term, a->low.integer < b->low.integer ? a->low.integer : b->low.integer,
        a->high.integer > b->high.integer ? a->high.integer : b->high.integer);
    return true;
}

const struct hn_term_form hn_term_forms[HN_TERM_COUNT] = {
    [HN_TERM_ADD] = {2, {1, 1}, false, bound_monotone},
    [HN_TERM_SUBTRACT] = {2, {1, -1}, false, bound_monotone},
    [HN_TERM_MULTIPLY] = {2, {1, 1}, true, bound_monotone},
    [HN_TERM_FLOOR_DIVIDE] = {2, {1, -1}, true, bound_quotient},
    [HN_TERM_CEIL_DIVIDE] = {2, {1, -1}, true, bound_quotient},
    [HN_TERM_MODULO] = {2, {0, 0}, false, bound_remainder},
    [HN_TERM_POWER] = {2, {0, 0}, false, bound_power},
    [HN_TERM_SHIFT_LEFT] = {2, {1, 1}, true, bound_shift_left},
    [HN_TERM_SHIFT_RIGHT] = {2, {0, 0}, false, bound_shift_right},
    [HN_TERM_BIT_AND] = {2, {0, 0}, false, bound_bits},
    [HN_TERM_BIT_OR] = {2, {0, 0}, false, bound_bits},
    [HN_TERM_BIT_XOR] = {2, {0, 0}, false, bound_bits},
    [HN_TERM_MINIMUM] = {2, {1, 1}, false, bound_monotone},
    [HN_TERM_MAXIMUM] = {2, {1, 1}, false, bound_monotone},
    [HN_TERM_NEGATE] = {1, {-1, 0}, false, bound_monotone},
    [HN_TERM_INVERT] = {1, {0, 0}, false, bound_monotone},
    [HN_TERM_ABSOLUTE] = {1, {0, 0}, false, bound_absolute},
    [HN_TERM_IS_POWER_OF_2] = {1, {0, 0}, false, bound_truth},
    [HN_TERM_LESS] = {2, {-1, 1}, false, bound_truth},
    [HN_TERM_LESS_EQUAL] = {2, {-1, 1}, false, bound_truth},
    [HN_TERM_EQUAL] = {2, {0, 0}, false, bound_truth},
    [HN_TERM_AND] = {2, {1, 1}, false, bound_truth},
    [HN_TERM_OR] = {2, {1, 1}, false, bound_truth},
    [HN_TERM_NOT] = {1, {-1, 0}, false, bound_truth},
    [HN_TERM_REAL_LESS] = {2, {-1, 1}, false, bound_truth},
    [HN_TERM_REAL_LESS_EQUAL] = {2, {-1, 1}, false, bound_truth},
    [HN_TERM_REAL_EQUAL] = {2, {0, 0}, false, bound_truth},
    [HN_TERM_REAL_ADD] = {2, {1, 1}, false, bound_real},
    [HN_TERM_REAL_SUBTRACT] = {2, {1, -1}, false, bound_real},
    [HN_TERM_REAL_MULTIPLY] = {2, {1, 1}, true, bound_real},
    [HN_TERM_REAL_DIVIDE] = {2, {1, -1}, true, bound_real},
    [HN_TERM_REAL_FLOOR_DIVIDE] = {2, {0, 0}, false, bound_unknown},
    [HN_TERM_REAL_MODULO] = {2, {0, 0}, false, bound_unknown},
    [HN_TERM_REAL_MINIMUM] = {2, {1, 1}, false, bound_real},
    [HN_TERM_REAL_MAXIMUM] = {2, {1, 1}, false, bound_real},
    [HN_TERM_REAL_NEGATE] = {1, {-1, 0}, false, bound_real},
    [HN_TERM_REAL_ABSOLUTE] = {1, {0, 0}, false, bound_unknown},
    [HN_TERM_TO_REAL] = {1, {1, 0}, false, bound_monotone},
    [HN_TERM_TRUE_DIVIDE] = {2, {1, -1}, true, bound_true_quotient},
    [HN_TERM_SELECT] = {3, {0, 0}, false, bound_select},
};

static int compare_cells(bool real, union hn_cell a, union hn_cell b)
{
    return real ? (a.real > b.real) - (a.real < b.real)
                : (a.integer > b.integer) - (a.integer < b.integer);
}

int hn_term_decided(enum hn_term_operation operation, const struct hn_term *a,
                    const struct hn_term *b)
{
    bool real = operation >= HN_TERM_REAL_LESS;
    if (real && !(hn_term_is_finite(a) && hn_term_is_finite(b)))
        return -1; /* nothing is known of NaN */
    int most = compare_cells(real, a->high, b->low), least = compare_cells(real, a->low, b->high);
    if (operation == HN_TERM_LESS || operation == HN_TERM_REAL_LESS)
        return most < 0 ? 1 : least >= 0 ? 0 : -1;
    if (operation == HN_TERM_LESS_EQUAL || operation == HN_TERM_REAL_LESS_EQUAL)
        return most <= 0 ? 1 : least > 0 ? 0 : -1;
    return most < 0 || least > 0 ? 0 : -1; /* whether they are equal */
}

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

/* The condition on divisors without which a and b can not be equal. */
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

/* Lists the terms that a chain of one operation joins, to `to` where that is not NULL; returns how
 * many. */
static size_t list_operands(const struct hn_terms *terms, enum hn_term_operation operation,
                            int term, struct operand *to)
{
    const struct hn_term *item = &terms->items[term];
    if (item->operation == operation) {
        size_t first = list_operands(terms, operation, item->operand[0], to);
        return first +
               list_operands(terms, operation, item->operand[1], to == NULL ? NULL : to + first);
    }
    if (to != NULL)
        to->term = term;
    return 1;
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
    size_t count = list_operands(terms, operation, term, NULL);
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
