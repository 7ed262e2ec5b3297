/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/expression/expression_terms_part.h"
#include "base/expression/expression_tree.h"

static void set(struct hn_term *term, int64_t low, int64_t high)
{
    term->low.integer = low;
    term->high.integer = high;
}

static void set_real(struct hn_term *term, double low, double high)
{
    bool known = isfinite(low) && isfinite(high);
    term->low.real = known ? low : -INFINITY;
    term->high.real = known ? high : INFINITY;
}

/* Bounds from the values at the corners, of an operation that is monotone in each operand. */
static void set_corners(struct hn_term *term, const int64_t corners[4])
{
    set(term, corners[0], corners[0]);
    for (size_t i = 1; i < 4; i++) {
        if (corners[i] < term->low.integer)
            term->low.integer = corners[i];
        if (corners[i] > term->high.integer)
            term->high.integer = corners[i];
    }
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
    int64_t corners[4];
    if (__builtin_mul_overflow(a->low.integer, b->low.integer, &corners[0]) ||
        __builtin_mul_overflow(a->low.integer, b->high.integer, &corners[1]) ||
        __builtin_mul_overflow(a->high.integer, b->low.integer, &corners[2]) ||
        __builtin_mul_overflow(a->high.integer, b->high.integer, &corners[3]))
        return false;
    set_corners(term, corners);
    return true;
}

static void include_zero(struct hn_term *term)
{
    if (term->low.integer > 0)
        term->low.integer = 0;
    if (term->high.integer < 0)
        term->high.integer = 0;
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
    union hn_cell least = {.integer = b->low.integer == 0 ? 1 : b->low.integer};
    union hn_cell ends[2] = {{.integer = low}, {.integer = high}};
    int64_t corners[4];
    for (size_t i = 0; i < 4; i++)
        corners[i] =
            hn_cell_apply(term->operation, ends[i / 2],
                          i % 2 == 0 || b->high.integer == 0 ? least : b->high, (union hn_cell){0})
                .integer;
    set_corners(term, corners);
    if (b->low.integer == 0)
        include_zero(term);
    return true;
}

static void bound_remainder(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    int64_t low = b->low.integer < 0 ? b->low.integer + 1 : 0;
    int64_t high = b->high.integer > 0 ? b->high.integer - 1 : 0;
    if (a->low.integer >= 0 && b->low.integer >= 0 && a->high.integer < high)
        high = a->high.integer;
    set(term, low, high);
}

static bool bound_power(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (a->low.integer < 0 || b->low.integer < 0)
        return false;
    struct hn_value base = hn_integer(a->high.integer);
    struct hn_value exponent = hn_integer(b->high.integer);
    struct hn_value most;
    if (hn_apply_binary(HN_POWER, &base, &exponent, &most) != NULL)
        return false;
    /* 0 ** 0 is 1; no square that power() takes on the way is beyond the result */
    set(term, 0, most.integer > 1 ? most.integer : 1);
    return true;
}

static bool bound_shift_left(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (b->low.integer < 0 || b->high.integer > 62)
        return false;
    struct hn_term factor = {0};
    set(&factor, (int64_t)1 << b->low.integer, (int64_t)1 << b->high.integer);
    return bound_product(term, a, &factor);
}

static bool bound_shift_right(struct hn_term *term, const struct hn_term *a,
                              const struct hn_term *b)
{
    if (b->low.integer < 0)
        return false;
    set(term, a->low.integer < 0 ? a->low.integer : 0, a->high.integer >= 0 ? a->high.integer : -1);
    return true;
}

static void bound_bits(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (a->low.integer < 0 || b->low.integer < 0) {
        set(term, INT64_MIN, INT64_MAX);
        return;
    }
    uint64_t all = (uint64_t)(a->high.integer | b->high.integer);
    for (unsigned shift = 1; shift < 64; shift *= 2)
        all |= all >> shift;
    set(term, 0, (int64_t)all);
    if (term->operation == HN_TERM_BIT_AND)
        term->high.integer = a->high.integer < b->high.integer ? a->high.integer : b->high.integer;
}

static bool bound_negative(struct hn_term *term, const struct hn_term *a)
{
    if (a->low.integer == INT64_MIN)
        return false;
    set(term, -a->high.integer, -a->low.integer);
    if (term->operation == HN_TERM_ABSOLUTE) {
        int64_t most = a->high.integer > term->high.integer ? a->high.integer : term->high.integer;
        set(term, 0, most);
    }
    return true;
}

static void bound_extreme(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    bool least = term->operation == HN_TERM_MINIMUM;
    set(term, (a->low.integer < b->low.integer) == least ? a->low.integer : b->low.integer,
        (a->high.integer < b->high.integer) == least ? a->high.integer : b->high.integer);
}

static void bound_real(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    bool known = hn_term_is_finite(a) && (b == NULL || hn_term_is_finite(b));
    double low = -INFINITY;
    double high = INFINITY;
    if (known && (term->operation == HN_TERM_REAL_MULTIPLY ||
                  (term->operation == HN_TERM_REAL_DIVIDE && b->low.real > 0))) {
        for (size_t i = 0; i < 4; i++) {
            double corner = hn_cell_apply(term->operation, i / 2 == 0 ? a->low : a->high,
                                          i % 2 == 0 ? b->low : b->high, (union hn_cell){0})
                                .real;
            low = i == 0 ? corner : fmin(low, corner);
            high = i == 0 ? corner : fmax(high, corner);
        }
    } else if (known && term->operation == HN_TERM_REAL_ADD) {
        low = a->low.real + b->low.real;
        high = a->high.real + b->high.real;
    } else if (known && term->operation == HN_TERM_REAL_SUBTRACT) {
        low = a->low.real - b->high.real;
        high = a->high.real - b->low.real;
    } else if (known && term->operation == HN_TERM_REAL_MINIMUM) {
        low = fmin(a->low.real, b->low.real);
        high = fmin(a->high.real, b->high.real);
    } else if (known && term->operation == HN_TERM_REAL_MAXIMUM) {
        low = fmax(a->low.real, b->low.real);
        high = fmax(a->high.real, b->high.real);
    } else if (known && term->operation == HN_TERM_REAL_NEGATE) {
        low = -a->high.real;
        high = -a->low.real;
    }
    set_real(term, low, high);
}

/* Rounding is monotone, so the quotients at the corners are bounds of the rounded ones too. */
static void bound_true_quotient(struct hn_term *term, const struct hn_term *a,
                                const struct hn_term *b)
{
    set_real(term, -INFINITY, INFINITY);
    if (b->low.integer <= 0)
        return;
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < 4; i++) {
        double corner = hn_cell_apply(HN_TERM_TRUE_DIVIDE, i / 2 == 0 ? a->low : a->high,
                                      i % 2 == 0 ? b->low : b->high, (union hn_cell){0})
                            .real;
        low = fmin(low, corner);
        high = fmax(high, corner);
    }
    set_real(term, low, high);
}

static void bound_select(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    if (term->real) {
        bool known = hn_term_is_finite(a) && hn_term_is_finite(b);
        set_real(term, known ? fmin(a->low.real, b->low.real) : -INFINITY,
                 known ? fmax(a->high.real, b->high.real) : INFINITY);
        return;
    }
    set(term, a->low.integer < b->low.integer ? a->low.integer : b->low.integer,
        a->high.integer > b->high.integer ? a->high.integer : b->high.integer);
}

bool hn_term_bound(struct hn_term *term, const struct hn_term *a, const struct hn_term *b,
                   const struct hn_term *c)
{
    switch (term->operation) {
    case HN_TERM_ADD:
        return bound_sum(term, a, b);
    case HN_TERM_SUBTRACT:
        return bound_difference(term, a, b);
    case HN_TERM_MULTIPLY:
        return bound_product(term, a, b);
    case HN_TERM_FLOOR_DIVIDE:
    case HN_TERM_CEIL_DIVIDE:
        return bound_quotient(term, a, b);
    case HN_TERM_MODULO:
        bound_remainder(term, a, b);
        return true;
    case HN_TERM_POWER:
        return bound_power(term, a, b);
    case HN_TERM_SHIFT_LEFT:
        return bound_shift_left(term, a, b);
    case HN_TERM_SHIFT_RIGHT:
        return bound_shift_right(term, a, b);
    case HN_TERM_BIT_AND:
    case HN_TERM_BIT_OR:
    case HN_TERM_BIT_XOR:
        bound_bits(term, a, b);
        return true;
    case HN_TERM_MINIMUM:
    case HN_TERM_MAXIMUM:
        bound_extreme(term, a, b);
        return true;
    case HN_TERM_NEGATE:
    case HN_TERM_ABSOLUTE:
        return bound_negative(term, a);
    case HN_TERM_INVERT:
        set(term, ~a->high.integer, ~a->low.integer);
        return true;
    case HN_TERM_TO_REAL:
        set_real(term, (double)a->low.integer, (double)a->high.integer);
        return true;
    case HN_TERM_TRUE_DIVIDE:
        bound_true_quotient(term, a, b);
        return true;
    case HN_TERM_SELECT:
        bound_select(term, b, c);
        return true;
    default:
        if (term->real)
            bound_real(term, a, b);
        else
            set(term, 0, 1);
        return true;
    }
}

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
