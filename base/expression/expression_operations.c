/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/expression/expression_terms.h"

/* Values. */

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

static const char *unary(enum hn_operator code, const struct hn_value *a, struct hn_value *result)
{
    bool is_integer = is_whole(a);
    int64_t integer = is_integer ? whole(a) : 0;
    bool negates = code == HN_OP_NEGATIVE || (code == HN_OP_ABS && integer < 0);
    int exponent;
    if (code == HN_OP_NOT) {
        *result = hn_boolean(!hn_value_truth(a));
        return NULL;
    }
    if (code == HN_OP_SIZEOF) {
        *result = hn_integer(a->type == HN_WORD ? hn_type_bytes(a->word) : 0);
        return result->integer == 0 ? "not a type that sizeof knows" : NULL;
    }
    if (code == HN_OP_INVERT && !is_integer)
        return "expected an integer";
    if (a->type == HN_WORD)
        return "expected a number";
    if (code == HN_OP_LOG2) {
        double number = hn_value_number(a);
        *result = hn_real(log2(number));
        return number <= 0 ? "expected a positive number" : NULL;
    }
    if (code == HN_OP_IS_POWER_OF_2)
        *result = hn_boolean(is_integer ? integer > 0 && (integer & (integer - 1)) == 0
                                        : a->real >= 1 && isfinite(a->real) &&
                                              frexp(a->real, &exponent) == 0.5);
    else if (!is_integer)
        *result = hn_real(code == HN_OP_ABS ? fabs(a->real) : negates ? -a->real : a->real);
    else if (negates && integer == INT64_MIN)
        return overflow;
    else
        *result = hn_integer(code == HN_OP_INVERT ? ~integer : negates ? -integer : integer);
    return NULL;
}

static const char *shift(enum hn_operator code, int64_t a, int64_t count, struct hn_value *result)
{
    if (count < 0)
        return "negative shift count";
    int64_t bits = count > 63 ? 63 : count;
    int64_t shifted = (int64_t)((uint64_t)a << bits);
    *result = hn_integer(code == HN_OP_SHIFT_RIGHT ? a >> bits : shifted);
    bool fits = a == 0 || (count <= 63 && shifted >> bits == a);
    return code == HN_OP_SHIFT_LEFT && !fits ? overflow : NULL;
}

static const char *bitwise(enum hn_operator code, const struct hn_value *a,
                           const struct hn_value *b, struct hn_value *result)
{
    if (!is_whole(a) || !is_whole(b))
        return "expected integers";
    int64_t x = whole(a);
    int64_t y = whole(b);
    if (code == HN_OP_SHIFT_LEFT || code == HN_OP_SHIFT_RIGHT)
        return shift(code, x, y, result);
    int64_t bits = code == HN_OP_BIT_OR ? x | y : code == HN_OP_BIT_XOR ? x ^ y : x & y;
    bool booleans = a->type == HN_BOOLEAN && b->type == HN_BOOLEAN;
    *result = booleans ? hn_boolean(bits != 0) : hn_integer(bits);
    return NULL;
}

/* The quotient rounded down and the remainder with the sign of the divisor. INT64_MIN // -1 is the
 * one overflow. */
static inline const char *divide_floor(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
    *quotient = *remainder = 0;
    if (b == 0)
        return division_by_zero;
    if (b == -1)
        return __builtin_sub_overflow((int64_t)0, a, quotient) ? overflow : NULL;
    *quotient = a / b;
    *remainder = a % b;
    if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
        *quotient -= 1;
        *remainder += b;
    }
    return NULL;
}

static const char *power_integer(int64_t base, int64_t exponent, int64_t *power)
{
    bool overflowed = false;
    for (*power = 1; exponent > 0 && !overflowed; exponent >>= 1) {
        if (exponent & 1)
            overflowed = __builtin_mul_overflow(*power, base, power);
        /* a last square that nobody needs must not count */
        if (exponent > 1 && !overflowed)
            overflowed = __builtin_mul_overflow(base, base, &base);
    }
    return overflowed ? overflow : NULL;
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

static const char *arithmetic_real(enum hn_operator code, double a, double b,
                                   struct hn_value *result)
{
    bool divides = code == HN_OP_DIVIDE || code == HN_OP_FLOOR_DIVIDE || code == HN_OP_MODULO;
    if (divides && b == 0)
        return division_by_zero;
    if (code == HN_OP_POWER)
        return power_real(a, b, result);
    *result = hn_real(code == HN_OP_ADD            ? a + b
                      : code == HN_OP_SUBTRACT     ? a - b
                      : code == HN_OP_MULTIPLY     ? a * b
                      : code == HN_OP_DIVIDE       ? a / b
                      : code == HN_OP_FLOOR_DIVIDE ? floor_divide_real(a, b)
                                                   : modulo_real(a, b));
    return NULL;
}

static const char *arithmetic_integer(enum hn_operator code, int64_t a, int64_t b,
                                      struct hn_value *result)
{
    int64_t other;
    int64_t *integer = &result->integer;
    *result = hn_integer(0);
    switch (code) {
    case HN_OP_ADD:
        return __builtin_add_overflow(a, b, integer) ? overflow : NULL;
    case HN_OP_SUBTRACT:
        return __builtin_sub_overflow(a, b, integer) ? overflow : NULL;
    case HN_OP_MULTIPLY:
        return __builtin_mul_overflow(a, b, integer) ? overflow : NULL;
    case HN_OP_DIVIDE:
        return arithmetic_real(code, (double)a, (double)b, result);
    case HN_OP_POWER:
        return b >= 0 ? power_integer(a, b, integer) : power_real((double)a, (double)b, result);
    case HN_OP_FLOOR_DIVIDE:
        return divide_floor(a, b, integer, &other);
    default: /* INT64_MIN % -1 is 0, though INT64_MIN // -1 has no value */
        return b == -1 ? NULL : divide_floor(a, b, &other, integer);
    }
}

static const char *arithmetic(enum hn_operator code, const struct hn_value *a,
                              const struct hn_value *b, struct hn_value *result)
{
    if (a->type == HN_WORD || b->type == HN_WORD)
        return "expected numbers";
    if (is_whole(a) && is_whole(b))
        return arithmetic_integer(code, whole(a), whole(b), result);
    return arithmetic_real(code, hn_value_number(a), hn_value_number(b), result);
}

/* Below 0 where a is less, above 0 where it is greater; NAN: they have no order. */
static double order_numbers(const struct hn_value *a, const struct hn_value *b)
{
    if (is_whole(a) && is_whole(b))
        return (whole(a) > whole(b)) - (whole(a) < whole(b));
    if ((a->type == HN_REAL && isnan(a->real)) || (b->type == HN_REAL && isnan(b->real)))
        return NAN;
    if (is_whole(a))
        return hn_compare_integer_real(whole(a), b->real);
    if (is_whole(b))
        return -hn_compare_integer_real(whole(b), a->real);
    return (a->real > b->real) - (a->real < b->real);
}

static const char *compare(enum hn_operator code, const struct hn_value *a,
                           const struct hn_value *b, struct hn_value *result)
{
    double order = NAN;
    if (a->type == HN_WORD && b->type == HN_WORD)
        order = strcmp(a->word, b->word);
    else if (a->type != HN_WORD && b->type != HN_WORD)
        order = order_numbers(a, b);
    else if (code != HN_OP_EQUAL && code != HN_OP_NOT_EQUAL)
        return "a word and a number have no order";
    *result = hn_boolean(code == HN_OP_LESS            ? order < 0
                         : code == HN_OP_LESS_EQUAL    ? order <= 0
                         : code == HN_OP_GREATER       ? order > 0
                         : code == HN_OP_GREATER_EQUAL ? order >= 0
                         : code == HN_OP_EQUAL         ? order == 0
                                                       : order != 0);
    return NULL;
}

/* The first one where both are equal. */
static const char *extreme(enum hn_operator code, const struct hn_value *best,
                           const struct hn_value *next, struct hn_value *result)
{
    struct hn_value better;
    const char *reason =
        compare(code == HN_OP_MIN ? HN_OP_LESS : HN_OP_GREATER, next, best, &better);
    if (reason == NULL)
        *result = better.boolean ? *next : *best;
    return reason;
}

/* -(-a // b), but without the overflow of -INT64_MIN. */
static const char *divide_up(const struct hn_value *a, const struct hn_value *b,
                             struct hn_value *result)
{
    const struct hn_value one = hn_integer(1);
    struct hn_value floored, remainder;
    const char *reason = arithmetic(HN_OP_FLOOR_DIVIDE, a, b, &floored);
    if (reason == NULL)
        reason = arithmetic(HN_OP_MODULO, a, b, &remainder);
    if (reason == NULL && hn_value_truth(&remainder))
        return arithmetic(HN_OP_ADD, &floored, &one, result);
    *result = floored;
    return reason;
}

const char *hn_apply(enum hn_operator code, const struct hn_value *a, const struct hn_value *b,
                     struct hn_value *result)
{
    if (hn_operation_forms[code].operands == 1)
        return unary(code, a, result);
    if (code <= HN_OP_SHIFT_RIGHT)
        return bitwise(code, a, b, result);
    if (code <= HN_OP_POWER)
        return arithmetic(code, a, b, result);
    if (code <= HN_OP_NOT_EQUAL)
        return compare(code, a, b, result);
    return code == HN_OP_CEIL_DIV ? divide_up(a, b, result) : extreme(code, a, b, result);
}

/* Cells. */

static union hn_cell integer_cell(int64_t integer)
{
    return (union hn_cell){.integer = integer};
}

static union hn_cell real_cell(double real)
{
    return (union hn_cell){.real = real};
}

static inline union hn_cell divide_cells(enum hn_operator code, int64_t a, int64_t b)
{
    int64_t quotient, rest;
    (void)divide_floor(a, b, &quotient, &rest);
    return integer_cell(code == HN_OP_MODULO         ? rest
                        : code == HN_OP_FLOOR_DIVIDE ? quotient
                                                     : quotient + (rest != 0));
}

static inline union hn_cell apply_cell(int operation, union hn_cell a, union hn_cell b,
                                       union hn_cell c)
{
    int64_t x = a.integer;
    int64_t y = b.integer;
    int64_t power;
    struct hn_value result;
    switch (operation) {
    case HN_OP_ADD:
        return integer_cell(x + y);
    case HN_OP_SUBTRACT:
        return integer_cell(x - y);
    case HN_OP_MULTIPLY:
        return integer_cell(x * y);
    case HN_OP_FLOOR_DIVIDE:
    case HN_OP_CEIL_DIV:
    case HN_OP_MODULO:
        return divide_cells((enum hn_operator)operation, x, y);
    case HN_OP_POWER:
        (void)power_integer(x, y, &power);
        return integer_cell(power);
    case HN_OP_SHIFT_LEFT:
        return integer_cell((int64_t)((uint64_t)x << y));
    case HN_OP_SHIFT_RIGHT:
        return integer_cell(x >> (y > 63 ? 63 : y));
    case HN_OP_BIT_AND:
    case HN_OP_AND:
        return integer_cell(x & y);
    case HN_OP_BIT_OR:
    case HN_OP_OR:
        return integer_cell(x | y);
    case HN_OP_BIT_XOR:
        return integer_cell(x ^ y);
    case HN_OP_MIN:
        return integer_cell(x < y ? x : y);
    case HN_OP_MAX:
        return integer_cell(x > y ? x : y);
    case HN_OP_NEGATIVE:
        return integer_cell(-x);
    case HN_OP_INVERT:
        return integer_cell(~x);
    case HN_OP_ABS:
        return integer_cell(x < 0 ? -x : x);
    case HN_OP_IS_POWER_OF_2:
        return integer_cell(x > 0 && (x & (x - 1)) == 0);
    case HN_OP_LESS:
        return integer_cell(x < y);
    case HN_OP_LESS_EQUAL:
        return integer_cell(x <= y);
    case HN_OP_EQUAL:
        return integer_cell(x == y);
    case HN_OP_NOT:
        return integer_cell(!x);
    case HN_OP_SELECT:
        return x ? b : c;
    case HN_OP_POSITIVE:
        return real_cell((double)x);
    case HN_OP_DIVIDE:
        return real_cell(y != 0 ? (double)x / (double)y : 0);
    case HN_OF_REALS + HN_OP_LESS:
        return integer_cell(a.real < b.real);
    case HN_OF_REALS + HN_OP_LESS_EQUAL:
        return integer_cell(a.real <= b.real);
    case HN_OF_REALS + HN_OP_EQUAL:
        return integer_cell(a.real == b.real);
    case HN_OF_REALS + HN_OP_ADD:
        return real_cell(a.real + b.real);
    case HN_OF_REALS + HN_OP_SUBTRACT:
        return real_cell(a.real - b.real);
    case HN_OF_REALS + HN_OP_MULTIPLY:
        return real_cell(a.real * b.real);
    case HN_OF_REALS + HN_OP_DIVIDE:
        return real_cell(b.real != 0 ? a.real / b.real : 0);
    case HN_OF_REALS + HN_OP_MIN:
        return b.real < a.real ? b : a;
    case HN_OF_REALS + HN_OP_MAX:
        return b.real > a.real ? b : a;
    case HN_OF_REALS + HN_OP_NEGATIVE:
        return real_cell(-a.real);
    case HN_OF_REALS + HN_OP_ABS:
        return real_cell(fabs(a.real));
    default: /* as the evaluator does it, so that both round alike */
        result = hn_real(0);
        (void)arithmetic_real((enum hn_operator)(operation - HN_OF_REALS), a.real, b.real, &result);
        return real_cell(result.real);
    }
}

static inline void run(const struct hn_instruction *item, const uint16_t *positions,
                       union hn_cell *cells)
{
    if (item->operation == HN_OP_TABLE)
        cells[item->result] = item->table[positions[item->slot]];
    else
        cells[item->result] = apply_cell(item->operation, cells[item->operand[0]],
                                         cells[item->operand[1]], cells[item->operand[2]]);
}

void hn_instructions_run(const struct hn_instruction *instructions, size_t count,
                         const uint16_t *positions, union hn_cell *cells)
{
    for (size_t i = 0; i < count; i++)
        run(&instructions[i], positions, cells);
}

bool hn_program_run(struct hn_program *program, const struct hn_program_part *part)
{
    hn_instructions_run(part->instructions, part->count, program->positions, program->cells);
    return program->cells[program->valid].integer != 0;
}

/* Bounds of terms from those of their operands. */

static void set(struct hn_term *term, int64_t low, int64_t high)
{
    term->low.integer = low;
    term->high.integer = high;
}

/* An operation that is monotone in each operand has its bounds at the corners. Rounding
 * is monotone, too. False: one of them has no value, so that it might overflow. */
static bool bound_monotone(struct hn_term *term, const struct hn_term *a, const struct hn_term *b)
{
    enum hn_operator code = (enum hn_operator)(term->operation % HN_OF_REALS);
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
    if (term->operation == HN_OP_BIT_AND)
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
                 (term->operation != HN_OF_REALS + HN_OP_DIVIDE || b->low.real > 0);
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

const struct hn_operation_form hn_operation_forms[HN_OP_COUNT] = {
    [HN_OP_AND] = {"and", 2, 0, "&&", {bound_truth}, {1, 1}, false},
    [HN_OP_OR] = {"or", 2, 0, "||", {bound_truth}, {1, 1}, false},
    [HN_OP_SELECT] = {"if", 3, 0, "?", {bound_select}, {0, 0}, false},
    [HN_OP_CHAIN] = {"and", .operands = 2},
    [HN_OP_ANY] = {"in", .operands = 2},
    [HN_OP_ALL] = {"not in", .operands = 2},
    [HN_OP_NEVER] = {"in", .operands = 1},
    [HN_OP_ALWAYS] = {"not in", .operands = 1},
    [HN_OP_POSITIVE] = {"+", 1, 0, "+", {bound_monotone}, {1, 0}, false},
    [HN_OP_NEGATIVE] = {"-", 1, 0, "-", {bound_monotone, bound_real}, {-1, 0}, false},
    [HN_OP_INVERT] = {"~", 1, 0, "~", {bound_monotone}, {0, 0}, false},
    [HN_OP_NOT] = {"not", 1, 0, "!", {bound_truth}, {-1, 0}, false},
    [HN_OP_BIT_OR] = {"|", 2, 1, "|", {bound_bits}, {0, 0}, false},
    [HN_OP_BIT_XOR] = {"^", 2, 2, "^", {bound_bits}, {0, 0}, false},
    [HN_OP_BIT_AND] = {"&", 2, 3, "&", {bound_bits}, {0, 0}, false},
    [HN_OP_SHIFT_LEFT] = {"<<", 2, 4, "shift_left", {bound_shift_left}, {1, 1}, true},
    [HN_OP_SHIFT_RIGHT] = {">>", 2, 4, "shift_right", {bound_shift_right}, {0, 0}, false},
    [HN_OP_ADD] = {"+", 2, 5, "+", {bound_monotone, bound_real}, {1, 1}, false},
    [HN_OP_SUBTRACT] = {"-", 2, 5, "-", {bound_monotone, bound_real}, {1, -1}, false},
    [HN_OP_MULTIPLY] = {"*", 2, 6, "*", {bound_monotone, bound_real}, {1, 1}, true},
    [HN_OP_DIVIDE] = {"/", 2, 6, "/", {bound_true_quotient, bound_real}, {1, -1}, true},
    [HN_OP_FLOOR_DIVIDE] =
        {"//", 2, 6, "floor_div", {bound_quotient, bound_unknown}, {1, -1}, true},
    [HN_OP_MODULO] = {"%", 2, 6, "modulo", {bound_remainder, bound_unknown}, {0, 0}, false},
    [HN_OP_POWER] = {"**", 2, 0, "power", {bound_power}, {0, 0}, false},
    [HN_OP_LESS] = {"<", 2, 0, "<", {bound_truth, bound_truth}, {-1, 1}, false},
    [HN_OP_LESS_EQUAL] = {"<=", 2, 0, "<=", {bound_truth, bound_truth}, {-1, 1}, false},
    [HN_OP_GREATER] = {">", 2, 0, ">"},
    [HN_OP_GREATER_EQUAL] = {">=", 2, 0, ">="},
    [HN_OP_EQUAL] = {"==", 2, 0, "==", {bound_truth, bound_truth}, {0, 0}, false},
    [HN_OP_NOT_EQUAL] = {"!=", 2, 0, "!="},
    [HN_OP_MIN] = {"min", 2, 0, "min", {bound_monotone, bound_real}, {1, 1}, false},
    [HN_OP_MAX] = {"max", 2, 0, "max", {bound_monotone, bound_real}, {1, 1}, false},
    [HN_OP_ABS] = {"abs", 1, 0, "abs", {bound_absolute, bound_unknown}, {0, 0}, false},
    [HN_OP_CEIL_DIV] = {"ceil_div", 2, 0, "ceil_div", {bound_quotient}, {1, -1}, true},
    [HN_OP_LOG2] = {"log2", 1, 0, "log2"},
    [HN_OP_IS_POWER_OF_2] = {"is_power_of_2", 1, 0, "is_power_of_2", {bound_truth}, {0, 0}, false},
    [HN_OP_SIZEOF] = {"sizeof", .operands = 1},
};
