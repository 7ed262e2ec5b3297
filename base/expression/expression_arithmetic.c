/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/expression/expression_tree.h"

static const char expected_numbers[] = "expected numbers";
static const char expected_integers[] = "expected integers";
static const char overflow[] = "beyond 64 bits";
static const char division_by_zero[] = "division by zero";

static bool is_whole(const struct hn_value *value)
{
    return value->type == HN_INTEGER || value->type == HN_BOOLEAN;
}

static int64_t whole(const struct hn_value *value)
{
    return value->type == HN_BOOLEAN ? value->boolean : value->integer;
}

static const char *give_integer(bool overflowed, int64_t integer, struct hn_value *result)
{
    if (overflowed)
        return overflow;
    *result = hn_integer(integer);
    return NULL;
}

const char *hn_apply_unary(enum hn_operator operation, const struct hn_value *a,
                           struct hn_value *result)
{
    if (operation == HN_NOT) {
        *result = hn_boolean(!hn_value_truth(a));
        return NULL;
    }
    if (operation == HN_INVERT && !is_whole(a))
        return "expected an integer";
    if (a->type == HN_WORD)
        return "expected a number";
    if (a->type == HN_REAL) {
        *result = hn_real(operation == HN_NEGATIVE ? -a->real : a->real);
        return NULL;
    }
    int64_t integer = whole(a);
    if (operation == HN_INVERT)
        return give_integer(false, ~integer, result);
    if (operation == HN_NEGATIVE)
        return give_integer(integer == INT64_MIN, integer == INT64_MIN ? 0 : -integer, result);
    return give_integer(false, integer, result);
}

static const char *shift_left(int64_t a, int64_t count, struct hn_value *result)
{
    if (count < 0)
        return "negative shift count";
    if (a == 0)
        return give_integer(false, 0, result);
    if (count >= 63 && !(count == 63 && a == -1))
        return overflow;
    int64_t shifted = (int64_t)((uint64_t)a << count);
    return give_integer(shifted >> count != a, shifted, result);
}

static const char *bitwise(enum hn_operator operation, const struct hn_value *a,
                           const struct hn_value *b, struct hn_value *result)
{
    if (!is_whole(a) || !is_whole(b))
        return expected_integers;
    int64_t x = whole(a);
    int64_t y = whole(b);
    int64_t bits = 0;
    switch (operation) {
    case HN_BIT_OR:
        bits = x | y;
        break;
    case HN_BIT_XOR:
        bits = x ^ y;
        break;
    case HN_BIT_AND:
        bits = x & y;
        break;
    case HN_SHIFT_LEFT:
        return shift_left(x, y, result);
    default:
        if (y < 0)
            return "negative shift count";
        return give_integer(false, x >> (y > 63 ? 63 : y), result);
    }
    bool booleans = a->type == HN_BOOLEAN && b->type == HN_BOOLEAN;
    *result = booleans ? hn_boolean(bits != 0) : hn_integer(bits);
    return NULL;
}

/* The quotient rounded down and the remainder with the sign of the divisor. INT64_MIN // -1 is the
 * one overflow. */
static const char *divide_floor(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
    if (b == 0)
        return division_by_zero;
    if (b == -1) {
        *remainder = 0;
        return __builtin_sub_overflow((int64_t)0, a, quotient) ? overflow : NULL;
    }
    *quotient = a / b;
    *remainder = a % b;
    if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
        *quotient -= 1;
        *remainder += b;
    }
    return NULL;
}

static const char *power_integer(int64_t base, int64_t exponent, struct hn_value *result)
{
    int64_t power = 1;
    bool overflowed = false;
    while (exponent > 0 && !overflowed) {
        if (exponent & 1)
            overflowed = __builtin_mul_overflow(power, base, &power);
        exponent >>= 1;
        /* a last square that nobody needs must not count */
        if (exponent > 0 && !overflowed)
            overflowed = __builtin_mul_overflow(base, base, &base);
    }
    return give_integer(overflowed, power, result);
}

static const char *power_real(double base, double exponent, struct hn_value *result)
{
    if (base == 0 && exponent < 0)
        return "zero to a negative power";
    double power = pow(base, exponent);
    if (isnan(power) && !isnan(base) && !isnan(exponent))
        return "negative number to a fractional power";
    if (isinf(power) && isfinite(base) && isfinite(exponent))
        return "beyond a double";
    *result = hn_real(power);
    return NULL;
}

/* Exact where both are exact as doubles; beyond 2^53 a whole quotient is kept exact. */
static const char *divide_true(int64_t a, int64_t b, struct hn_value *result)
{
    if (b == 0)
        return division_by_zero;
    if (a != 0 && b != -1 && a % b == 0) /* 0 / -3 is -0.0 */
        *result = hn_real((double)(a / b));
    else
        *result = hn_real((double)((long double)a / (long double)b));
    return NULL;
}

static const char *arithmetic_integer(enum hn_operator operation, int64_t a, int64_t b,
                                      struct hn_value *result)
{
    int64_t integer = 0;
    int64_t other = 0;
    bool overflowed = false;
    const char *reason = NULL;
    switch (operation) {
    case HN_ADD:
        overflowed = __builtin_add_overflow(a, b, &integer);
        return give_integer(overflowed, integer, result);
    case HN_SUBTRACT:
        overflowed = __builtin_sub_overflow(a, b, &integer);
        return give_integer(overflowed, integer, result);
    case HN_MULTIPLY:
        overflowed = __builtin_mul_overflow(a, b, &integer);
        return give_integer(overflowed, integer, result);
    case HN_DIVIDE:
        return divide_true(a, b, result);
    case HN_POWER:
        return b >= 0 ? power_integer(a, b, result) : power_real((double)a, (double)b, result);
    case HN_FLOOR_DIVIDE:
        reason = divide_floor(a, b, &integer, &other);
        *result = hn_integer(integer);
        return reason;
    default:
        if (b == -1) /* INT64_MIN % -1 is 0, though INT64_MIN // -1 has no value */
            return give_integer(false, 0, result);
        reason = divide_floor(a, b, &other, &integer);
        *result = hn_integer(integer);
        return reason;
    }
}

static double modulo_real(double a, double b)
{
    double remainder = fmod(a, b);
    if (remainder == 0)
        return copysign(0.0, b);
    return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/* (a - remainder) / b is whole but for rounding, so the nearest whole number is meant. */
static double floor_divide_real(double a, double b)
{
    double remainder = fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0 && (remainder < 0) != (b < 0))
        quotient -= 1;
    return quotient == 0 ? copysign(0.0, a / b) : round(quotient);
}

static const char *arithmetic_real(enum hn_operator operation, double a, double b,
                                   struct hn_value *result)
{
    bool divides = operation == HN_DIVIDE || operation == HN_FLOOR_DIVIDE || operation == HN_MODULO;
    if (divides && b == 0)
        return division_by_zero;
    switch (operation) {
    case HN_ADD:
        *result = hn_real(a + b);
        break;
    case HN_SUBTRACT:
        *result = hn_real(a - b);
        break;
    case HN_MULTIPLY:
        *result = hn_real(a * b);
        break;
    case HN_DIVIDE:
        *result = hn_real(a / b);
        break;
    case HN_FLOOR_DIVIDE:
        *result = hn_real(floor_divide_real(a, b));
        break;
    case HN_MODULO:
        *result = hn_real(modulo_real(a, b));
        break;
    default:
        return power_real(a, b, result);
    }
    return NULL;
}

const char *hn_apply_binary(enum hn_operator operation, const struct hn_value *a,
                            const struct hn_value *b, struct hn_value *result)
{
    if (operation >= HN_BIT_OR && operation <= HN_SHIFT_RIGHT)
        return bitwise(operation, a, b, result);
    if (a->type == HN_WORD || b->type == HN_WORD)
        return expected_numbers;
    if (is_whole(a) && is_whole(b))
        return arithmetic_integer(operation, whole(a), whole(b), result);
    return arithmetic_real(operation, hn_value_number(a), hn_value_number(b), result);
}

enum order { LESS, SAME, GREATER, UNORDERED };

static enum order order_of(int difference)
{
    return difference < 0 ? LESS : difference > 0 ? GREATER : SAME;
}

static enum order order_numbers(const struct hn_value *a, const struct hn_value *b)
{
    bool a_whole = is_whole(a);
    bool b_whole = is_whole(b);
    if (a_whole && b_whole)
        return order_of((whole(a) > whole(b)) - (whole(a) < whole(b)));
    if ((!a_whole && isnan(a->real)) || (!b_whole && isnan(b->real)))
        return UNORDERED;
    if (a_whole)
        return order_of(hn_compare_integer_real(whole(a), b->real));
    if (b_whole)
        return order_of(-hn_compare_integer_real(whole(b), a->real));
    return order_of((a->real > b->real) - (a->real < b->real));
}

const char *hn_apply_comparison(enum hn_operator operation, const struct hn_value *a,
                                const struct hn_value *b, bool *result)
{
    enum order order;
    bool a_word = a->type == HN_WORD;
    bool b_word = b->type == HN_WORD;
    if (a_word && b_word)
        order = order_of(strcmp(a->word, b->word));
    else if (!a_word && !b_word)
        order = order_numbers(a, b);
    else if (operation == HN_EQUAL || operation == HN_NOT_EQUAL)
        order = UNORDERED;
    else
        return "a word and a number have no order";

    switch (operation) {
    case HN_LESS:
        *result = order == LESS;
        break;
    case HN_LESS_EQUAL:
        *result = order == LESS || order == SAME;
        break;
    case HN_GREATER:
        *result = order == GREATER;
        break;
    case HN_GREATER_EQUAL:
        *result = order == GREATER || order == SAME;
        break;
    case HN_NOT_EQUAL:
        *result = order != SAME;
        break;
    default:
        *result = order == SAME;
        break;
    }
    return NULL;
}
