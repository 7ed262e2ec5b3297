/* SPDX-License-Identifier: MIT */
#include "runtime/plan/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct element_info {
    const char *name;
    size_t size;
    const char *c_name;
    const char *vector;
};

static const struct element_info elements[HN_ELEMENT_COUNT] = {
#define X(identifier, name, bytes, c_name, vector) [identifier] = {name, bytes, c_name, vector},
    HN_ELEMENTS(X)
#undef X
};

size_t hn_element_size(enum hn_element element)
{
    return elements[element].size;
}

const char *hn_element_name(enum hn_element element)
{
    return elements[element].name;
}

void hn_type_format(enum hn_element element, unsigned lanes, char text[HN_TYPE_SIZE])
{
    if (lanes > 1)
        snprintf(text, HN_TYPE_SIZE, "%sx%u", hn_element_name(element), lanes);
    else
        snprintf(text, HN_TYPE_SIZE, "%s", hn_element_name(element));
}

const char *hn_type_of_c(const char *name)
{
    static const struct {
        const char *c, *type;
    } types[] = {
        {"char", "int8"},
        {"signed char", "int8"},
        {"unsigned char", "uint8"},
        {"uchar", "uint8"},
        {"bool", "uint8"},
        {"short", "int16"},
        {"unsigned short", "uint16"},
        {"ushort", "uint16"},
        {"int", "int32"},
        {"unsigned", "uint32"},
        {"unsigned int", "uint32"},
        {"uint", "uint32"},
        {"long", "int64"},
        {"long long", "int64"},
        {"unsigned long", "uint64"},
        {"unsigned long long", "uint64"},
        {"size_t", "uint64"},
        {"float", "float32"},
        {"double", "float64"},
        {"half", "float16"},
        {"__half", "float16"},
        {"__nv_bfloat16", "bfloat16"},
        {"__nv_fp8_e4m3", "float8_e4m3"},
        {"int8_t", "int8"},
        {"int16_t", "int16"},
        {"int32_t", "int32"},
        {"int64_t", "int64"},
        {"uint8_t", "uint8"},
        {"uint16_t", "uint16"},
        {"uint32_t", "uint32"},
        {"uint64_t", "uint64"},
        {"float2", "float32x2"},
        {"float3", "float32x3"},
        {"float4", "float32x4"},
        {"double2", "float64x2"},
        {"int2", "int32x2"},
        {"int3", "int32x3"},
        {"int4", "int32x4"},
        {"uint2", "uint32x2"},
        {"uint4", "uint32x4"},
        {"uchar4", "uint8x4"},
        {"half2", "float16x2"},
        {"__half2", "float16x2"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].c, name) == 0)
            return types[i].type;
    return NULL;
}

bool hn_type_parse(const char *name, enum hn_element *element, unsigned *lanes)
{
    static const unsigned sizes[] = {1, 2, 3, 4, 8, 16};
    char text[HN_TYPE_SIZE];
    for (int i = 0; i < HN_ELEMENT_COUNT; i++) {
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
            hn_type_format((enum hn_element)i, sizes[n], text);
            if (strcmp(text, name) != 0)
                continue;
            *element = (enum hn_element)i;
            *lanes = sizes[n];
            return true;
        }
    }
    return false;
}

void hn_type_format_c(enum hn_element element, unsigned lanes, char *text, size_t size)
{
    unsigned most = element == HN_FLOAT8_E4M3 ? 1 : hn_element_is_narrow(element) ? 2 : 4;
    if (lanes <= 1)
        snprintf(text, size, "%s", elements[element].c_name);
    else if (lanes <= most)
        snprintf(text, size, "%s%u", elements[element].vector, lanes);
    else
        snprintf(text, size, "%s[%u]", elements[element].c_name, lanes);
}

bool hn_element_is_real(enum hn_element element)
{
    return element >= HN_FLOAT32;
}

bool hn_element_is_narrow(enum hn_element element)
{
    return element >= HN_FLOAT16;
}

void hn_element_range(enum hn_element element, int64_t *low, int64_t *high)
{
    bool is_unsigned = hn_element_name(element)[0] == 'u';
    size_t size = hn_element_size(element);
    int64_t most = INT64_MAX >> (64 - 8 * size);
    *low = is_unsigned ? 0 : -most - 1;
    *high = is_unsigned && size < 8 ? most * 2 + 1 : most;
}

/* A binary format of 16 or 8 bits: sign, exponent, fraction. */
struct narrow_format {
    int fraction_bits;
    int bias;
    int sign;
    int most; /* the bits of the largest number, or of infinity where there is one */
    int nan;
};

/* Float8_e4m3 has no infinity: what is too large becomes its largest number, 448. */
static struct narrow_format format_of(enum hn_element element)
{
    return element == HN_FLOAT16    ? (struct narrow_format){10, 15, 0x8000, 0x7c00, 0x7e00}
           : element == HN_BFLOAT16 ? (struct narrow_format){7, 127, 0x8000, 0x7f80, 0x7fc0}
                                    : (struct narrow_format){3, 7, 0x80, 0x7e, 0x7f};
}

/* As narrow() of support_element.cuh. */
static int encode_narrow(double real, struct narrow_format format)
{
    int sign = signbit(real) ? format.sign : 0;
    int exponent = 0;
    if (isnan(real))
        return sign | format.nan;
    if (isinf(real) || real == 0.0)
        return sign | (real == 0.0 ? 0 : format.most);
    frexp(fabs(real), &exponent);
    if (exponent < 2 - format.bias)
        exponent = 2 - format.bias; /* of the numbers without a leading one */
    double units = rint(ldexp(fabs(real), format.fraction_bits + 1 - exponent));
    int bits = (int)units + ((exponent - 2 + format.bias) << format.fraction_bits);
    return sign | (bits > format.most ? format.most : bits);
}

static double decode_narrow(int bits, struct narrow_format format)
{
    int magnitude = bits & (format.sign - 1);
    int exponent = magnitude >> format.fraction_bits;
    int fraction = magnitude & ((1 << format.fraction_bits) - 1);
    double sign = (bits & format.sign) != 0 ? -1.0 : 1.0;
    if (magnitude > format.most)
        return (double)NAN;
    if (magnitude == format.most && fraction == 0)
        return sign * (double)INFINITY;
    if (exponent > 0)
        fraction += 1 << format.fraction_bits;
    return sign *
           ldexp(fraction, (exponent > 0 ? exponent : 1) - format.bias - format.fraction_bits);
}

void hn_element_encode(double real, enum hn_element element, void *bytes)
{
    float single = (float)real;
    int narrow = 0;
    switch (element) {
    case HN_FLOAT64:
        memcpy(bytes, &real, sizeof real);
        break;
    case HN_FLOAT32:
        memcpy(bytes, &single, sizeof single);
        break;
    default:
        narrow = encode_narrow(real, format_of(element));
        memcpy(bytes, &narrow, hn_element_size(element)); /* little endian */
        break;
    }
}

double hn_element_decode(const void *bytes, enum hn_element element)
{
    double real = 0.0;
    float single = 0.0f;
    int narrow = 0;
    switch (element) {
    case HN_FLOAT64:
        memcpy(&real, bytes, sizeof real);
        return real;
    case HN_FLOAT32:
        memcpy(&single, bytes, sizeof single);
        return (double)single;
    default:
        memcpy(&narrow, bytes, hn_element_size(element));
        return decode_narrow(narrow, format_of(element));
    }
}

/* Little endian, as the host. */
static uint64_t bits_of(const void *bytes, enum hn_element element)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, hn_element_size(element));
    return bits;
}

uint64_t hn_element_count(const void *bytes, enum hn_element element)
{
    bool is_signed = hn_element_name(element)[0] == 'i';
    uint64_t number = bits_of(bytes, element);
    bool negative = is_signed && (number >> (8 * hn_element_size(element) - 1)) != 0;
    return negative ? 0 : number;
}

void hn_element_format(const void *bytes, enum hn_element element, char *text, size_t size)
{
    uint64_t bits = bits_of(bytes, element);
    size_t unused_bits = 64 - 8 * hn_element_size(element);
    int digits = element == HN_FLOAT64 ? 17 : element == HN_FLOAT32 ? 9 : 6;
    if (hn_element_name(element)[0] == 'i')
        snprintf(text, size, "%" PRId64, (int64_t)(bits << unused_bits) >> unused_bits);
    else if (hn_element_name(element)[0] == 'u')
        snprintf(text, size, "%" PRIu64, bits);
    else if (bits == UINT64_MAX >> unused_bits)
        snprintf(text, size, "never written");
    else
        snprintf(text, size, "%.*g", digits, hn_element_decode(bytes, element));
}
