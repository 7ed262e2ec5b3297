/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/expression/expression_cells.h"
#include "base/expression/expression_internal.h"

/* What terms are computed with, and within which bounds the result is. */

static union hn_cell integer_cell(int64_t integer)
{
    return (union hn_cell){.integer = integer};
}

static union hn_cell real_cell(double real)
{
    return (union hn_cell){.real = real};
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    int64_t quotient = a / b;
    return (a % b != 0) && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static int64_t ceil_divide(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    int64_t quotient = a / b;
    return (a % b != 0) && ((a < 0) == (b < 0)) ? quotient + 1 : quotient;
}

static int64_t modulo(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    int64_t remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

static int64_t power(int64_t base, int64_t exponent)
{
    int64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        if (exponent > 1)
            base *= base;
    }
    return result;
}

/* As the evaluator does it, so that both round alike. */
static union hn_cell divide_real(enum hn_code code, struct hn_value a, struct hn_value b)
{
    struct hn_value result;
    if (hn_apply(code, &a, &b, &result) != NULL)
        return real_cell(0);
    return real_cell(result.real);
}

static union hn_cell apply_real(enum hn_term_operation operation, union hn_cell a, union hn_cell b)
{
    switch (operation) {
    case HN_TERM_REAL_LESS:
        return integer_cell(a.real < b.real);
    case HN_TERM_REAL_LESS_EQUAL:
        return integer_cell(a.real <= b.real);
    case HN_TERM_REAL_EQUAL:
        return integer_cell(a.real == b.real);
    case HN_TERM_REAL_ADD:
        return real_cell(a.real + b.real);
    case HN_TERM_REAL_SUBTRACT:
        return real_cell(a.real - b.real);
    case HN_TERM_REAL_MULTIPLY:
        return real_cell(a.real * b.real);
    case HN_TERM_REAL_DIVIDE:
        return divide_real(HN_OP_DIVIDE, hn_real(a.real), hn_real(b.real));
    case HN_TERM_REAL_FLOOR_DIVIDE:
        return divide_real(HN_OP_FLOOR_DIVIDE, hn_real(a.real), hn_real(b.real));
    case HN_TERM_REAL_MODULO:
        return divide_real(HN_OP_MODULO, hn_real(a.real), hn_real(b.real));
    case HN_TERM_REAL_MINIMUM:
        return b.real < a.real ? b : a;
    case HN_TERM_REAL_MAXIMUM:
        return b.real > a.real ? b : a;
    case HN_TERM_REAL_NEGATE:
        return real_cell(-a.real);
    case HN_TERM_REAL_ABSOLUTE:
        return real_cell(fabs(a.real));
    case HN_TERM_TO_REAL:
        return real_cell((double)a.integer);
    case HN_TERM_TRUE_DIVIDE:
        return divide_real(HN_OP_DIVIDE, hn_integer(a.integer), hn_integer(b.integer));
    default:
        return integer_cell(0);
    }
}

static inline union hn_cell apply(enum hn_term_operation operation, union hn_cell a,
                                  union hn_cell b, union hn_cell c)
{
    int64_t x = a.integer;
    int64_t y = b.integer;
    switch (operation) {
    case HN_TERM_ADD:
        return integer_cell(x + y);
    case HN_TERM_SUBTRACT:
        return integer_cell(x - y);
    case HN_TERM_MULTIPLY:
        return integer_cell(x * y);
    case HN_TERM_FLOOR_DIVIDE:
        return integer_cell(floor_divide(x, y));
    case HN_TERM_CEIL_DIVIDE:
        return integer_cell(ceil_divide(x, y));
    case HN_TERM_MODULO:
        return integer_cell(modulo(x, y));
    case HN_TERM_POWER:
        return integer_cell(power(x, y));
    case HN_TERM_SHIFT_LEFT:
        return integer_cell((int64_t)((uint64_t)x << y));
    case HN_TERM_SHIFT_RIGHT:
        return integer_cell(x >> (y > 63 ? 63 : y));
    case HN_TERM_BIT_AND:
    case HN_TERM_AND:
        return integer_cell(x & y);
    case HN_TERM_BIT_OR:
    case HN_TERM_OR:
        return integer_cell(x | y);
    case HN_TERM_BIT_XOR:
        return integer_cell(x ^ y);
    case HN_TERM_MINIMUM:
        return integer_cell(x < y ? x : y);
    case HN_TERM_MAXIMUM:
        return integer_cell(x > y ? x : y);
    case HN_TERM_NEGATE:
        return integer_cell(-x);
    case HN_TERM_INVERT:
        return integer_cell(~x);
    case HN_TERM_ABSOLUTE:
        return integer_cell(x < 0 ? -x : x);
    case HN_TERM_IS_POWER_OF_2:
        return integer_cell(x > 0 && (x & (x - 1)) == 0);
    case HN_TERM_LESS:
        return integer_cell(x < y);
    case HN_TERM_LESS_EQUAL:
        return integer_cell(x <= y);
    case HN_TERM_EQUAL:
        return integer_cell(x == y);
    case HN_TERM_NOT:
        return integer_cell(!x);
    case HN_TERM_SELECT:
        return x ? b : c;
    default:
        return apply_real(operation, a, b);
    }
}

union hn_cell hn_cell_apply(enum hn_term_operation operation, union hn_cell a, union hn_cell b,
                            union hn_cell c)
{
    return apply(operation, a, b, c);
}

void hn_instructions_run(const struct hn_instruction *instructions, size_t count,
                         const uint16_t *positions, union hn_cell *cells)
{
    for (size_t i = 0; i < count; i++) {
        const struct hn_instruction *item = &instructions[i];
        if (item->operation == HN_TERM_TABLE)
            cells[item->result] = item->table[positions[item->slot]];
        else
            cells[item->result] = apply(item->operation, cells[item->operand[0]],
                                        cells[item->operand[1]], cells[item->operand[2]]);
    }
}

static void set(struct hn_term *term, int64_t low, int64_t high)
{
    term->low.integer = low;
    term->high.integer = high;
}

/* Of an operation that is monotone in each operand: the bounds are values at the corners. Rounding
 * is monotone, too. */
static bool bound_monotone(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    for (size_t i = 0; i < 4; i++) {
        union hn_cell cell = hn_cell_apply(term->operation, i < 2 ? a->low : a->high,
                                           b == NULL    ? (union hn_cell){0}
                                           : i % 2 == 0 ? b->low
                                                        : b->high,
                                           (union hn_cell){0});
        if (i == 0)
            term->low = term->high = cell;
        else if (term->real ? cell.real < term->low.real : cell.integer < term->low.integer)
            term->low = cell;
        else if (term->real ? cell.real > term->high.real : cell.integer > term->high.integer)
            term->high = cell;
    }
    return true;
}

static bool bound_sum(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    return !__builtin_add_overflow(a->low.integer, b->low.integer, &term->low.integer) &&
           !__builtin_add_overflow(a->high.integer, b->high.integer, &term->high.integer);
}

static bool bound_difference(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    return !__builtin_sub_overflow(a->low.integer, b->high.integer, &term->low.integer) &&
           !__builtin_sub_overflow(a->high.integer, b->low.integer, &term->high.integer);
}

static bool bound_product(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    int64_t corner;
    if (__builtin_mul_overflow(a->low.integer, b->low.integer, &corner) ||
        __builtin_mul_overflow(a->low.integer, b->high.integer, &corner) ||
        __builtin_mul_overflow(a->high.integer, b->low.integer, &corner) ||
        __builtin_mul_overflow(a->high.integer, b->high.integer, &corner))
        return false;
    return bound_monotone(term, a, b);
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

static bool bound_power(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (a->low.integer < 0 || b->low.integer < 0)
        return false;
    struct hn_value base = hn_integer(a->high.integer);
    struct hn_value exponent = hn_integer(b->high.integer);
    struct hn_value most;
    if (hn_apply(HN_OP_POWER, &base, &exponent, &most) != NULL)
        return false;
    /* 0 ** 0 is 1; no square that power() takes on the way is beyond the result */
    set(term, 0, most.integer > 1 ? most.integer : 1);
    return true;
}

static bool bound_shift_left(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (b->low.integer < 0 || b->high.integer > 62)
        return false;
    struct hn_term product = {.operation = HN_TERM_MULTIPLY};
    struct hn_term factor = {0};
    set(&factor, (int64_t)1 << b->low.integer, (int64_t)1 << b->high.integer);
    if (!bound_product(&product, a, &factor))
        return false;
    set(term, product.low.integer, product.high.integer);
    return true;
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

static bool bound_negative(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    (void)b;
    if (a->low.integer == INT64_MIN)
        return false;
    set(term, -a->high.integer, -a->low.integer);
    if (term->operation == HN_TERM_ABSOLUTE) {
        int64_t most = a->high.integer > term->high.integer ? a->high.integer : term->high.integer;
        set(term, 0, most);
    }
    return true;
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

/* Of the two values to choose from. */
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
    [HN_TERM_ADD] = {2, {1, 1}, false, bound_sum},
    [HN_TERM_SUBTRACT] = {2, {1, -1}, false, bound_difference},
    [HN_TERM_MULTIPLY] = {2, {1, 1}, true, bound_product},
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
    [HN_TERM_NEGATE] = {1, {-1, 0}, false, bound_negative},
    [HN_TERM_INVERT] = {1, {0, 0}, false, bound_monotone},
    [HN_TERM_ABSOLUTE] = {1, {0, 0}, false, bound_negative},
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

int hn_term_decided(enum hn_term_operation operation, const struct hn_term *a,
                    const struct hn_term *b)
{
    if (operation >= HN_TERM_REAL_LESS && !(hn_term_is_finite(a) && hn_term_is_finite(b)))
        return -1; /* nothing is known of NaN */
    switch (operation) {
    case HN_TERM_LESS:
        return a->high.integer < b->low.integer ? 1 : a->low.integer >= b->high.integer ? 0 : -1;
    case HN_TERM_LESS_EQUAL:
        return a->high.integer <= b->low.integer ? 1 : a->low.integer > b->high.integer ? 0 : -1;
    case HN_TERM_EQUAL:
        return a->high.integer < b->low.integer || b->high.integer < a->low.integer ? 0 : -1;
    case HN_TERM_REAL_LESS:
        return a->high.real < b->low.real ? 1 : a->low.real >= b->high.real ? 0 : -1;
    case HN_TERM_REAL_LESS_EQUAL:
        return a->high.real <= b->low.real ? 1 : a->low.real > b->high.real ? 0 : -1;
    case HN_TERM_REAL_EQUAL:
        return a->high.real < b->low.real || b->high.real < a->low.real ? 0 : -1;
    default:
        return -1;
    }
}
