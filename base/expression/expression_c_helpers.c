/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/expression/expression_c.h"

/* '@' stands for the prefix. A helper comes after those that it calls. The reals follow the
 * evaluator's own formulas (expression_arithmetic.c), so that both round alike. */
static const struct helper {
    const char *name;
    bool math;
    const char *code;
} helpers[] = {
    {"floor_div", false,
     "int64_t @_floor_div(int64_t a, int64_t b)\n"
     "{\n"
     "    int64_t away = b != 0 && b != -1 && a % b != 0 && (a % b < 0) != (b < 0);\n"
     "    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b - away;\n"
     "}\n"},
    {"modulo", false,
     "int64_t @_modulo(int64_t a, int64_t b)\n"
     "{\n"
     "    return b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);\n"
     "}\n"},
    {"ceil_div", false,
     "int64_t @_ceil_div(int64_t a, int64_t b)\n"
     "{\n"
     "    int64_t away = b != 0 && b != -1 && a % b != 0 && (a % b < 0) == (b < 0);\n"
     "    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b + away;\n"
     "}\n"},
    {"power", false,
     "int64_t @_power(int64_t base, int64_t exponent)\n"
     "{\n"
     "    uint64_t power = 1, square = (uint64_t)base;\n"
     "    for (; exponent > 0; exponent >>= 1) {\n"
     "        power *= (exponent & 1) != 0 ? square : 1;\n"
     "        square *= square;\n"
     "    }\n"
     "    return (int64_t)power;\n"
     "}\n"},
    {"shift_left", false,
     "int64_t @_shift_left(int64_t a, int64_t count)\n"
     "{\n"
     "    return count < 0 || count > 63 ? 0 : (int64_t)((uint64_t)a << count);\n"
     "}\n"},
    {"shift_right", false,
     "int64_t @_shift_right(int64_t a, int64_t count)\n"
     "{\n"
     "    return count < 0 ? 0 : a >> (count > 63 ? 63 : count);\n"
     "}\n"},
    {"min", false, "int64_t @_min(int64_t a, int64_t b)\n{\n    return b < a ? b : a;\n}\n"},
    {"max", false, "int64_t @_max(int64_t a, int64_t b)\n{\n    return b > a ? b : a;\n}\n"},
    {"abs", false,
     "int64_t @_abs(int64_t a)\n{\n    return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;\n}\n"},
    {"is_power_of_2", false,
     "int @_is_power_of_2(int64_t n)\n{\n    return n > 0 && (n & (n - 1)) == 0;\n}\n"},
    {"min_real", false, "double @_min_real(double a, double b)\n{\n    return b < a ? b : a;\n}\n"},
    {"max_real", false, "double @_max_real(double a, double b)\n{\n    return b > a ? b : a;\n}\n"},
    {"abs_real", true, "double @_abs_real(double a)\n{\n    return fabs(a);\n}\n"},
    {"modulo_real", true,
     "double @_modulo_real(double a, double b)\n"
     "{\n"
     "    double remainder = fmod(a, b);\n"
     "    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;\n"
     "}\n"},
    {"floor_div_real", true,
     "double @_floor_div_real(double a, double b)\n"
     "{\n"
     "    double remainder = fmod(a, b);\n"
     "    double quotient = (a - remainder) / b;\n"
     "    return round(remainder != 0 && (remainder < 0) != (b < 0) ? quotient - 1 : quotient);\n"
     "}\n"},
    {"ceil_div_real", true,
     "double @_ceil_div_real(double a, double b)\n"
     "{\n"
     "    return @_floor_div_real(a, b) + (fmod(a, b) != 0 ? 1 : 0);\n"
     "}\n"},
    {"is_power_of_2_real", true,
     "int @_is_power_of_2_real(double n)\n"
     "{\n"
     "    int exponent;\n"
     "    return n >= 1 && frexp(n, &exponent) == 0.5;\n"
     "}\n"},
    {"power_real", true,
     "double @_power_real(double base, double exponent)\n{\n    return pow(base, exponent);\n}\n"},
    {"log2", true, "double @_log2(double a)\n{\n    return log2(a);\n}\n"},
    {"integer", false,
     "int64_t @_integer(double a)\n"
     "{\n"
     "    return a > -9.2e18 && a < 9.2e18 ? (int64_t)a : 0;\n"
     "}\n"},
    {"whole", false, /* a size that is not whole is none */
     "int64_t @_whole(double a)\n"
     "{\n"
     "    int64_t whole = a >= -9e18 && a <= 9e18 ? (int64_t)a : -1;\n"
     "    return a > (double)whole || a < (double)whole ? -1 : whole;\n"
     "}\n"},
};

enum { HELPER_COUNT = sizeof helpers / sizeof helpers[0] };

static bool calls(const char *code, const char *prefix, const char *name)
{
    struct hn_text call = {0};
    hn_text_printf(&call, "%s_%s(", prefix, name);
    bool found = !call.failed && strstr(code, call.data) != NULL;
    hn_text_finish(&call);
    return found;
}

static void append_helper(struct hn_text *text, const char *code, const char *prefix)
{
    hn_text_append(text, "static inline ");
    while (*code != '\0') {
        size_t length = strcspn(code, "@");
        hn_text_append_bytes(text, code, length);
        code += length;
        if (*code == '@') {
            hn_text_append(text, prefix);
            code++;
        }
    }
    hn_text_append(text, "\n");
}

void hn_expression_append_c_helpers(const char *code, const char *prefix, struct hn_text *text,
                                    bool *needs_math)
{
    bool needed[HELPER_COUNT] = {false};
    *needs_math = false;
    for (size_t i = HELPER_COUNT; i-- > 0;) {
        needed[i] = calls(code, prefix, helpers[i].name);
        for (size_t user = i + 1; user < HELPER_COUNT && !needed[i]; user++)
            needed[i] = needed[user] && calls(helpers[user].code, "@", helpers[i].name);
        *needs_math = *needs_math || (needed[i] && helpers[i].math);
    }
    for (size_t i = 0; i < HELPER_COUNT; i++) {
        if (needed[i])
            append_helper(text, helpers[i].code, prefix);
    }
}
