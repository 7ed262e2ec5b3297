/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_instruction.h"

#include <math.h>

#include "base/expression/expression_tree.h"

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

/* What the evaluator does, so that both round alike. */
static union hn_cell divide_real(enum hn_operator operation, struct hn_value a, struct hn_value b)
{
    struct hn_value result;
    if (hn_apply_binary(operation, &a, &b, &result) != NULL)
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
        return divide_real(HN_DIVIDE, hn_real(a.real), hn_real(b.real));
    case HN_TERM_REAL_FLOOR_DIVIDE:
        return divide_real(HN_FLOOR_DIVIDE, hn_real(a.real), hn_real(b.real));
    case HN_TERM_REAL_MODULO:
        return divide_real(HN_MODULO, hn_real(a.real), hn_real(b.real));
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
        return divide_real(HN_DIVIDE, hn_integer(a.integer), hn_integer(b.integer));
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
