/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/expression/expression_terms.h"

const struct hn_operation_form hn_operation_forms[HN_OP_COUNT] = {
    [HN_OP_CONSTANT] = {""},
    [HN_OP_NAME] = {""},
    [HN_OP_SKIP_UNLESS] = {""},
    [HN_OP_SKIP_IF] = {""},
    [HN_OP_AND] = {"and", .operands = 2},
    [HN_OP_OR] = {"or", .operands = 2},
    [HN_OP_SELECT] = {"if", .operands = 3},
    [HN_OP_CHAIN] = {"and", .operands = 2},
    [HN_OP_ANY] = {"in", .operands = 2},
    [HN_OP_ALL] = {"not in", .operands = 2},
    [HN_OP_NEVER] = {"in", .operands = 1},
    [HN_OP_ALWAYS] = {"not in", .operands = 1},
    [HN_OP_POSITIVE] = {"+", .operands = 1, .in_c = "+"},
    [HN_OP_NEGATIVE] = {"-", 1, 0, {HN_TERM_NEGATE, HN_TERM_REAL_NEGATE}, "-"},
    [HN_OP_INVERT] = {"~", 1, 0, {HN_TERM_INVERT}, "~"},
    [HN_OP_NOT] = {"not", .operands = 1},
    [HN_OP_BIT_OR] = {"|", 2, 1, {HN_TERM_BIT_OR}, "|"},
    [HN_OP_BIT_XOR] = {"^", 2, 2, {HN_TERM_BIT_XOR}, "^"},
    [HN_OP_BIT_AND] = {"&", 2, 3, {HN_TERM_BIT_AND}, "&"},
    [HN_OP_SHIFT_LEFT] = {"<<", 2, 4, {HN_TERM_SHIFT_LEFT}, "shift_left"},
    [HN_OP_SHIFT_RIGHT] = {">>", 2, 4, {HN_TERM_SHIFT_RIGHT}, "shift_right"},
    [HN_OP_ADD] = {"+", 2, 5, {HN_TERM_ADD, HN_TERM_REAL_ADD}, "+"},
    [HN_OP_SUBTRACT] = {"-", 2, 5, {HN_TERM_SUBTRACT, HN_TERM_REAL_SUBTRACT}, "-"},
    [HN_OP_MULTIPLY] = {"*", 2, 6, {HN_TERM_MULTIPLY, HN_TERM_REAL_MULTIPLY}, "*"},
    [HN_OP_DIVIDE] = {"/", 2, 6, {HN_TERM_TRUE_DIVIDE, HN_TERM_REAL_DIVIDE}, "/"},
    [HN_OP_FLOOR_DIVIDE] =
        {"//", 2, 6, {HN_TERM_FLOOR_DIVIDE, HN_TERM_REAL_FLOOR_DIVIDE}, "floor_div"},
    [HN_OP_MODULO] = {"%", 2, 6, {HN_TERM_MODULO, HN_TERM_REAL_MODULO}, "modulo"},
    [HN_OP_POWER] = {"**", 2, 0, {HN_TERM_POWER}, "power"},
    [HN_OP_LESS] = {"<", 2, 0, {HN_TERM_LESS, HN_TERM_REAL_LESS}, "<"},
    [HN_OP_LESS_EQUAL] = {"<=", 2, 0, {HN_TERM_LESS_EQUAL, HN_TERM_REAL_LESS_EQUAL}, "<="},
    [HN_OP_GREATER] = {">", 2, 0, {HN_TERM_LESS, HN_TERM_REAL_LESS}, ">"},
    [HN_OP_GREATER_EQUAL] = {">=", 2, 0, {HN_TERM_LESS_EQUAL, HN_TERM_REAL_LESS_EQUAL}, ">="},
    [HN_OP_EQUAL] = {"==", 2, 0, {HN_TERM_EQUAL, HN_TERM_REAL_EQUAL}, "=="},
    [HN_OP_NOT_EQUAL] = {"!=", 2, 0, {HN_TERM_EQUAL, HN_TERM_REAL_EQUAL}, "!="},
    [HN_OP_MIN] = {"min", 2, 0, {HN_TERM_MINIMUM, HN_TERM_REAL_MINIMUM}, "min"},
    [HN_OP_MAX] = {"max", 2, 0, {HN_TERM_MAXIMUM, HN_TERM_REAL_MAXIMUM}, "max"},
    [HN_OP_ABS] = {"abs", 1, 0, {HN_TERM_ABSOLUTE, HN_TERM_REAL_ABSOLUTE}, "abs"},
    [HN_OP_CEIL_DIV] = {"ceil_div", 2, 0, {HN_TERM_CEIL_DIVIDE}, "ceil_div"},
    [HN_OP_LOG2] = {"log2", 1, 0, {HN_TERM_CONSTANT}, "log2"},
    [HN_OP_IS_POWER_OF_2] = {"is_power_of_2", 1, 0, {HN_TERM_IS_POWER_OF_2}, "is_power_of_2"},
    [HN_OP_SIZEOF] = {"sizeof", .operands = 1},
};

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

static const char *unary(enum hn_code code, const struct hn_value *a, struct hn_value *result)
{
    if (code == HN_OP_NOT) {
        *result = hn_boolean(!hn_value_truth(a));
        return NULL;
    }
    if (code == HN_OP_INVERT && !is_whole(a))
        return "expected an integer";
    if (a->type == HN_WORD)
        return "expected a number";
    if (a->type == HN_REAL) {
        *result = hn_real(code == HN_OP_NEGATIVE ? -a->real : a->real);
        return NULL;
    }
    int64_t integer = whole(a);
    if (code == HN_OP_INVERT)
        return give_integer(false, ~integer, result);
    if (code == HN_OP_NEGATIVE)
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

static const char *bitwise(enum hn_code code, const struct hn_value *a, const struct hn_value *b,
                           struct hn_value *result)
{
    if (!is_whole(a) || !is_whole(b))
        return expected_integers;
    int64_t x = whole(a);
    int64_t y = whole(b);
    int64_t bits = 0;
    switch (code) {
    case HN_OP_BIT_OR:
        bits = x | y;
        break;
    case HN_OP_BIT_XOR:
        bits = x ^ y;
        break;
    case HN_OP_BIT_AND:
        bits = x & y;
        break;
    case HN_OP_SHIFT_LEFT:
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

static const char *arithmetic_integer(enum hn_code code, int64_t a, int64_t b,
                                      struct hn_value *result)
{
    int64_t integer = 0;
    int64_t other = 0;
    bool overflowed = false;
    const char *reason = NULL;
    switch (code) {
    case HN_OP_ADD:
        overflowed = __builtin_add_overflow(a, b, &integer);
        return give_integer(overflowed, integer, result);
    case HN_OP_SUBTRACT:
        overflowed = __builtin_sub_overflow(a, b, &integer);
        return give_integer(overflowed, integer, result);
    case HN_OP_MULTIPLY:
        overflowed = __builtin_mul_overflow(a, b, &integer);
        return give_integer(overflowed, integer, result);
    case HN_OP_DIVIDE:
        return divide_true(a, b, result);
    case HN_OP_POWER:
        return b >= 0 ? power_integer(a, b, result) : power_real((double)a, (double)b, result);
    case HN_OP_FLOOR_DIVIDE:
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

static const char *arithmetic_real(enum hn_code code, double a, double b, struct hn_value *result)
{
    bool divides = code == HN_OP_DIVIDE || code == HN_OP_FLOOR_DIVIDE || code == HN_OP_MODULO;
    if (divides && b == 0)
        return division_by_zero;
    switch (code) {
    case HN_OP_ADD:
        *result = hn_real(a + b);
        break;
    case HN_OP_SUBTRACT:
        *result = hn_real(a - b);
        break;
    case HN_OP_MULTIPLY:
        *result = hn_real(a * b);
        break;
    case HN_OP_DIVIDE:
        *result = hn_real(a / b);
        break;
    case HN_OP_FLOOR_DIVIDE:
        *result = hn_real(floor_divide_real(a, b));
        break;
    case HN_OP_MODULO:
        *result = hn_real(modulo_real(a, b));
        break;
    default:
        return power_real(a, b, result);
    }
    return NULL;
}

static const char *arithmetic(enum hn_code code, const struct hn_value *a, const struct hn_value *b,
                              struct hn_value *result)
{
    if (a->type == HN_WORD || b->type == HN_WORD)
        return expected_numbers;
    if (is_whole(a) && is_whole(b))
        return arithmetic_integer(code, whole(a), whole(b), result);
    return arithmetic_real(code, hn_value_number(a), hn_value_number(b), result);
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

static const char *compare(enum hn_code code, const struct hn_value *a, const struct hn_value *b,
                           struct hn_value *result)
{
    enum order order;
    bool a_word = a->type == HN_WORD;
    bool b_word = b->type == HN_WORD;
    if (a_word && b_word)
        order = order_of(strcmp(a->word, b->word));
    else if (!a_word && !b_word)
        order = order_numbers(a, b);
    else if (code == HN_OP_EQUAL || code == HN_OP_NOT_EQUAL)
        order = UNORDERED;
    else
        return "a word and a number have no order";

    bool less = code == HN_OP_LESS || code == HN_OP_LESS_EQUAL || code == HN_OP_NOT_EQUAL;
    bool same = code == HN_OP_EQUAL || code == HN_OP_LESS_EQUAL || code == HN_OP_GREATER_EQUAL;
    bool greater = code == HN_OP_GREATER || code == HN_OP_GREATER_EQUAL || code == HN_OP_NOT_EQUAL;
    bool holds[] = {
        [LESS] = less, [SAME] = same, [GREATER] = greater, [UNORDERED] = code == HN_OP_NOT_EQUAL};
    *result = hn_boolean(holds[order]);
    return NULL;
}

/* The first one where both are equal. */
static const char *extreme(enum hn_code code, const struct hn_value *best,
                           const struct hn_value *next, struct hn_value *result)
{
    struct hn_value better;
    const char *reason =
        compare(code == HN_OP_MIN ? HN_OP_LESS : HN_OP_GREATER, next, best, &better);
    if (reason == NULL)
        *result = better.boolean ? *next : *best;
    return reason;
}

/* Elements by their names in configs, with the names of CUDA C++ on a 64-bit Linux host, and those
 * of its vectors without their size. Commas end the names. */
static const struct {
    const char *name;
    int64_t bytes;
    const char *of_c, *vectors;
} elements[] = {
    {"int8", 1, "char,signed char,int8_t,", "char,"},
    {"int16", 2, "short,int16_t,", "short,"},
    {"int32", 4, "int,int32_t,", "int,"},
    {"int64", 8, "long,long long,int64_t,", "long,longlong,"},
    {"uint8", 1, "unsigned char,uchar,bool,uint8_t,", "uchar,"},
    {"uint16", 2, "unsigned short,ushort,uint16_t,", "ushort,"},
    {"uint32", 4, "unsigned,unsigned int,uint,uint32_t,", "uint,"},
    {"uint64", 8, "unsigned long,unsigned long long,size_t,uint64_t,", "ulong,ulonglong,"},
    {"float32", 4, "float,", "float,"},
    {"float64", 8, "double,", "double,"},
    {"float16", 2, "half,__half,", "half,__half,"},
    {"bfloat16", 2, "nv_bfloat16,__nv_bfloat16,", "nv_bfloat16,__nv_bfloat16,"},
    {"float8_e4m3", 1, "__nv_fp8_e4m3,", ""},
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

static bool is_listed(const char *names, const char *name, size_t length)
{
    for (; *names != '\0'; names += strcspn(names, ",") + 1)
        if (strcspn(names, ",") == length && strncmp(names, name, length) == 0)
            return true;
    return false;
}

bool hn_type_of_c(const char *name, char type[HN_TYPE_SIZE])
{
    size_t length = strlen(name);
    bool sized = length > 1 && name[length - 1] >= '2' && name[length - 1] <= '4';
    for (size_t i = 0; i < ELEMENTS; i++) {
        bool vector = sized && is_listed(elements[i].vectors, name, length - 1);
        if (!vector && !is_listed(elements[i].of_c, name, length))
            continue;
        snprintf(type, HN_TYPE_SIZE, vector ? "%sx%c" : "%s", elements[i].name, name[length - 1]);
        return true;
    }
    return false;
}

int64_t hn_type_bytes(const char *name)
{
    char type[HN_TYPE_SIZE];
    const char *own = hn_type_of_c(name, type) ? type : name;
    size_t length = strcspn(own, "x");
    bool whole = own[length] == '\0';
    if (!whole && !is_listed("x2,x3,x4,x8,x16,", own + length, strlen(own + length)))
        return 0;
    for (size_t i = 0; i < ELEMENTS; i++)
        if (strncmp(elements[i].name, own, length) == 0 && elements[i].name[length] == '\0')
            return elements[i].bytes * (whole ? 1 : atoi(own + length + 1));
    return strcmp(name, "__nv_fp8_e5m2") == 0 ? 1 : 0;
}

static const char *absolute(const struct hn_value *a, struct hn_value *result)
{
    if (a->type == HN_WORD)
        return "expected a number";
    if (a->type == HN_REAL) {
        *result = hn_real(fabs(a->real));
        return NULL;
    }
    bool negative = a->type == HN_INTEGER && a->integer < 0;
    return unary(negative ? HN_OP_NEGATIVE : HN_OP_POSITIVE, a, result);
}

/* -(-a // b), but without the overflow of -INT64_MIN. */
static const char *divide_up(const struct hn_value *a, const struct hn_value *b,
                             struct hn_value *result)
{
    const struct hn_value one = hn_integer(1);
    struct hn_value floored;
    struct hn_value remainder;
    const char *reason = arithmetic(HN_OP_FLOOR_DIVIDE, a, b, &floored);
    if (reason == NULL)
        reason = arithmetic(HN_OP_MODULO, a, b, &remainder);
    if (reason != NULL)
        return reason;
    if (hn_value_truth(&remainder))
        return arithmetic(HN_OP_ADD, &floored, &one, result);
    *result = floored;
    return NULL;
}

static const char *logarithm(const struct hn_value *a, struct hn_value *result)
{
    if (a->type == HN_WORD)
        return "expected a number";
    double number = hn_value_number(a);
    if (number <= 0)
        return "expected a positive number";
    *result = hn_real(log2(number));
    return NULL;
}

static const char *power_of_2(const struct hn_value *a, struct hn_value *result)
{
    if (a->type == HN_WORD)
        return "expected a number";
    bool is_power;
    if (a->type == HN_REAL) {
        int exponent;
        is_power = a->real >= 1 && isfinite(a->real) && frexp(a->real, &exponent) == 0.5;
    } else {
        int64_t n = a->type == HN_BOOLEAN ? a->boolean : a->integer;
        is_power = n > 0 && (n & (n - 1)) == 0;
    }
    *result = hn_boolean(is_power);
    return NULL;
}

static const char *type_bytes(const struct hn_value *a, struct hn_value *result)
{
    int64_t bytes = a->type == HN_WORD ? hn_type_bytes(a->word) : 0;
    *result = hn_integer(bytes);
    return bytes == 0 ? "not a type that sizeof knows" : NULL;
}

const char *hn_apply(enum hn_code code, const struct hn_value *a, const struct hn_value *b,
                     struct hn_value *result)
{
    if (code <= HN_OP_NOT)
        return unary(code, a, result);
    if (code <= HN_OP_SHIFT_RIGHT)
        return bitwise(code, a, b, result);
    if (code <= HN_OP_POWER)
        return arithmetic(code, a, b, result);
    if (code <= HN_OP_NOT_EQUAL)
        return compare(code, a, b, result);
    switch (code) {
    case HN_OP_MIN:
    case HN_OP_MAX:
        return extreme(code, a, b, result);
    case HN_OP_ABS:
        return absolute(a, result);
    case HN_OP_CEIL_DIV:
        return divide_up(a, b, result);
    case HN_OP_LOG2:
        return logarithm(a, result);
    case HN_OP_IS_POWER_OF_2:
        return power_of_2(a, result);
    default:
        return type_bytes(a, result);
    }
}

/* Terms are computed with operations on cells. */

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

static int64_t cell_power(int64_t base, int64_t exponent)
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

static inline union hn_cell apply_cell(enum hn_term_operation operation, union hn_cell a,
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
        return integer_cell(cell_power(x, y));
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
    return apply_cell(operation, a, b, c);
}

void hn_instructions_run(const struct hn_instruction *instructions, size_t count,
                         const uint16_t *positions, union hn_cell *cells)
{
    for (size_t i = 0; i < count; i++) {
        const struct hn_instruction *item = &instructions[i];
        if (item->operation == HN_TERM_TABLE)
            cells[item->result] = item->table[positions[item->slot]];
        else
            cells[item->result] = apply_cell(item->operation, cells[item->operand[0]],
                                             cells[item->operand[1]], cells[item->operand[2]]);
    }
}
