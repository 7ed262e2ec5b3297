/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/expression/expression_tree.h"

/* CUDA C++ names on a 64-bit Linux host, and the fixed-width names of the configuration. */
static const struct {
    const char *name;
    int64_t bytes;
} types[] = {
    {"bool", 1},        {"char", 1},         {"int8", 1},          {"uint8", 1},
    {"int8_t", 1},      {"uint8_t", 1},      {"short", 2},         {"int16", 2},
    {"uint16", 2},      {"int16_t", 2},      {"uint16_t", 2},      {"half", 2},
    {"float16", 2},     {"bfloat16", 2},     {"float8_e4m3", 1},   {"__half", 2},
    {"int", 4},         {"unsigned", 4},     {"int32", 4},         {"uint32", 4},
    {"int32_t", 4},     {"uint32_t", 4},     {"float", 4},         {"float32", 4},
    {"long", 8},        {"int64", 8},        {"uint64", 8},        {"int64_t", 8},
    {"uint64_t", 8},    {"size_t", 8},       {"double", 8},        {"float64", 8},
    {"char2", 2},       {"char4", 4},        {"uchar2", 2},        {"uchar4", 4},
    {"short2", 4},      {"short4", 8},       {"ushort2", 4},       {"ushort4", 8},
    {"int2", 8},        {"int3", 12},        {"int4", 16},         {"uint2", 8},
    {"uint3", 12},      {"uint4", 16},       {"float2", 8},        {"float3", 12},
    {"float4", 16},     {"double2", 16},     {"double4", 32},      {"half2", 4},
    {"__half2", 4},     {"longlong2", 16},   {"__nv_bfloat16", 2}, {"__nv_bfloat162", 4},
    {"nv_bfloat16", 2}, {"nv_bfloat162", 4}, {"__nv_fp8_e4m3", 1}, {"__nv_fp8_e5m2", 1},
};

/* The end of the name of a configuration's vector, as x4 of float32x4: how many elements it has; 0
 * when it is none. */
static int64_t vector_lanes(const char *type)
{
    static const struct {
        const char *suffix;
        int64_t lanes;
    } suffixes[] = {{"x2", 2}, {"x3", 3}, {"x4", 4}, {"x8", 8}, {"x16", 16}};
    const char *suffix = strrchr(type, 'x');
    bool fixed = strncmp(type, "int", 3) == 0 || strncmp(type, "uint", 4) == 0 ||
                 strncmp(type, "float", 5) == 0 || strncmp(type, "bfloat", 6) == 0;
    for (size_t i = 0; fixed && suffix != NULL && i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (suffix[-1] >= '0' && suffix[-1] <= '9' && strcmp(suffix, suffixes[i].suffix) == 0)
            return suffixes[i].lanes;
    return 0;
}

int64_t hn_type_bytes(const char *type)
{
    char element[16];
    int64_t lanes = vector_lanes(type);
    size_t length = lanes > 0 ? (size_t)(strrchr(type, 'x') - type) : 0;
    if (length >= sizeof element)
        return 0;
    if (lanes > 0) {
        memcpy(element, type, length);
        element[length] = '\0';
        return lanes * hn_type_bytes(element);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, type) == 0)
            return types[i].bytes;
    }
    return 0;
}

const char *hn_apply_extreme(enum hn_function function, const struct hn_value *next,
                             struct hn_value *best)
{
    bool better;
    enum hn_operator comparison = function == HN_MIN ? HN_LESS : HN_GREATER;
    const char *reason = hn_apply_comparison(comparison, next, best, &better);
    if (reason == NULL && better)
        *best = *next;
    return reason;
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
    return hn_apply_unary(negative ? HN_NEGATIVE : HN_POSITIVE, a, result);
}

/* -(-a // b), but without the overflow of -INT64_MIN. */
static const char *divide_up(const struct hn_value *a, const struct hn_value *b,
                             struct hn_value *result)
{
    struct hn_value remainder;
    const char *reason = hn_apply_binary(HN_FLOOR_DIVIDE, a, b, result);
    if (reason == NULL)
        reason = hn_apply_binary(HN_MODULO, a, b, &remainder);
    if (reason != NULL || !hn_value_truth(&remainder))
        return reason;
    struct hn_value one = hn_integer(1);
    struct hn_value floored = *result;
    return hn_apply_binary(HN_ADD, &floored, &one, result);
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

const char *hn_apply_function(enum hn_function function, const struct hn_value *a,
                              const struct hn_value *b, struct hn_value *result)
{
    switch (function) {
    case HN_ABS:
        return absolute(a, result);
    case HN_CEIL_DIV:
        return divide_up(a, b, result);
    case HN_LOG2:
        return logarithm(a, result);
    case HN_IS_POWER_OF_2:
        return power_of_2(a, result);
    case HN_SIZEOF:
        return type_bytes(a, result);
    default:
        return "not a function";
    }
}
