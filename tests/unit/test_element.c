/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/plan/argument.h"

#include "tests/unit/unit.h"

static double decode(uint16_t half, enum hn_element element)
{
    return hn_element_decode(&half, element);
}

static uint16_t encode(double real, enum hn_element element)
{
    uint16_t half = 0;
    hn_element_encode(real, element, &half);
    return half;
}

/* Every number of 16 bits is itself after decoding and encoding, and they grow with their bits. */
TEST(halves_read_back)
{
    static const enum hn_element types[] = {HN_FLOAT16, HN_BFLOAT16};
    for (int t = 0; t < 2; t++) {
        uint16_t infinity = types[t] == HN_FLOAT16 ? 0x7c00 : 0x7f80;
        for (unsigned bits = 0; bits < 0x8000; bits++) {
            double number = decode((uint16_t)bits, types[t]);
            assert_int_equal(isnan(number), bits > infinity);
            assert_int_equal(isinf(number), bits == infinity);
            if (bits > infinity)
                continue;
            assert_int_equal(encode(number, types[t]), bits);
            assert_int_equal(encode(-number, types[t]), bits | 0x8000);
            if (bits > 0)
                assert_true(number > decode((uint16_t)(bits - 1), types[t]));
        }
        assert_true(isnan(decode(encode((double)NAN, types[t]), types[t])));
    }
}

/* Half way between two numbers the even one is taken, beyond it the nearer one. */
TEST(halves_are_rounded_to_the_nearest)
{
    static const enum hn_element types[] = {HN_FLOAT16, HN_BFLOAT16};
    for (int t = 0; t < 2; t++) {
        uint16_t infinity = types[t] == HN_FLOAT16 ? 0x7c00 : 0x7f80;
        for (unsigned bits = 0; bits + 1 < infinity; bits++) {
            double low = decode((uint16_t)bits, types[t]);
            double high = decode((uint16_t)(bits + 1), types[t]);
            double middle = (low + high) / 2;
            assert_int_equal(encode(middle, types[t]), bits % 2 == 0 ? bits : bits + 1);
            assert_int_equal(encode(nextafter(middle, 0), types[t]), bits);
            assert_int_equal(encode(nextafter(middle, high), types[t]), bits + 1);
        }
    }
    assert_int_equal(encode(65504, HN_FLOAT16), 0x7bff);
    assert_int_equal(encode(65519.99, HN_FLOAT16), 0x7bff);
    assert_int_equal(encode(65520, HN_FLOAT16), 0x7c00);
    assert_int_equal(encode(1e300, HN_FLOAT16), 0x7c00);
    assert_int_equal(encode(1e-300, HN_BFLOAT16), 0);
    assert_int_equal(encode(-1e300, HN_BFLOAT16), 0xff80);
}

TEST(known_numbers_are_encoded)
{
    assert_int_equal(encode(1.0, HN_FLOAT16), 0x3c00);
    assert_int_equal(encode(-2.0, HN_FLOAT16), 0xc000);
    assert_int_equal(encode(0x1p-24, HN_FLOAT16), 1);
    assert_int_equal(encode(1.0, HN_BFLOAT16), 0x3f80);
    assert_int_equal(encode(0x1p-133, HN_BFLOAT16), 1);
    assert_true(decode(0x3555, HN_FLOAT16) == 0.333251953125);
    /* bfloat16 is the upper half of a float. */
    for (unsigned bits = 0; bits < 0x7f80; bits += 7) {
        uint32_t word = bits << 16;
        float single;
        memcpy(&single, &word, sizeof single);
        assert_true(decode((uint16_t)bits, HN_BFLOAT16) == (double)single);
    }
}

/* Every number of 8 bits reads back, they grow with their bits, and what is too large is the
 * largest. */
TEST(bytes_read_back)
{
    for (unsigned bits = 0; bits < 0x7f; bits++) {
        double number = decode((uint16_t)bits, HN_FLOAT8_E4M3);
        assert_int_equal(encode(number, HN_FLOAT8_E4M3), bits);
        assert_int_equal(encode(-number, HN_FLOAT8_E4M3), bits | 0x80);
        if (bits == 0)
            continue;
        double low = decode((uint16_t)(bits - 1), HN_FLOAT8_E4M3), middle = (low + number) / 2;
        assert_true(number > low);
        assert_int_equal(encode(middle, HN_FLOAT8_E4M3), bits % 2 == 0 ? bits : bits - 1);
        assert_int_equal(encode(nextafter(middle, number), HN_FLOAT8_E4M3), bits);
    }
    assert_int_equal(encode(1.0, HN_FLOAT8_E4M3), 0x38);
    assert_int_equal(encode(448, HN_FLOAT8_E4M3), 0x7e);
    assert_int_equal(encode(1e300, HN_FLOAT8_E4M3), 0x7e);
    assert_int_equal(encode(-(double)INFINITY, HN_FLOAT8_E4M3), 0xfe);
    assert_true(decode(1, HN_FLOAT8_E4M3) == 0x1p-9);
    assert_true(isnan(decode(0xff, HN_FLOAT8_E4M3)));
    assert_true(isnan(decode(encode((double)NAN, HN_FLOAT8_E4M3), HN_FLOAT8_E4M3)));
}

TEST(types_have_names)
{
    static const struct {
        const char *name;
        enum hn_element element;
        unsigned lanes;
        const char *c_name;
    } types[] = {
        {"float32", HN_FLOAT32, 1, "float"},
        {"float32x4", HN_FLOAT32, 4, "float4"},
        {"float8_e4m3", HN_FLOAT8_E4M3, 1, "__nv_fp8_e4m3"},
        {"float8_e4m3x16", HN_FLOAT8_E4M3, 16, "__nv_fp8_e4m3[16]"},
        {"float16x2", HN_FLOAT16, 2, "__half2"},
        {"bfloat16x2", HN_BFLOAT16, 2, "__nv_bfloat162"},
        {"float16x8", HN_FLOAT16, 8, "__half[8]"},
        {"uint8x16", HN_UINT8, 16, "uint8_t[16]"},
        {"int64x2", HN_INT64, 2, "longlong2"},
        {"uint16x3", HN_UINT16, 3, "ushort3"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        enum hn_element element = HN_INT8;
        unsigned lanes = 0;
        char text[HN_TYPE_SIZE], c_name[32];
        assert_true(hn_type_parse(types[i].name, &element, &lanes));
        assert_int_equal(element, types[i].element);
        assert_int_equal(lanes, types[i].lanes);
        const struct hn_argument argument = {.element = element, .lanes = lanes};
        hn_argument_format_type(&argument, text);
        assert_string_equal(text, types[i].name);
        hn_type_format_c(element, lanes, c_name, sizeof c_name);
        assert_string_equal(c_name, types[i].c_name);
    }
    enum hn_element element;
    unsigned lanes;
    assert_false(hn_type_parse("float32x5", &element, &lanes));
    assert_false(hn_type_parse("float32x1", &element, &lanes));
    assert_false(hn_type_parse("float", &element, &lanes));
}

TEST(ranges_and_counts_of_integers)
{
    int64_t low, high;
    hn_element_range(HN_INT8, &low, &high);
    assert_true(low == INT8_MIN && high == INT8_MAX);
    hn_element_range(HN_UINT32, &low, &high);
    assert_true(low == 0 && high == UINT32_MAX);
    hn_element_range(HN_INT64, &low, &high);
    assert_true(low == INT64_MIN && high == INT64_MAX);
    hn_element_range(HN_UINT64, &low, &high);
    assert_true(low == 0 && high == INT64_MAX);
}

TEST(elements_are_written)
{
    char text[40];
    uint16_t half = 0xffff;
    hn_element_format(&half, HN_BFLOAT16, text, sizeof text);
    assert_string_equal(text, "never written");
    half = encode(0.1, HN_FLOAT16);
    hn_element_format(&half, HN_FLOAT16, text, sizeof text);
    assert_string_equal(text, "0.0999756");
    int8_t byte = -3;
    hn_element_format(&byte, HN_INT8, text, sizeof text);
    assert_string_equal(text, "-3");
    int64_t least = INT64_MIN;
    hn_element_format(&least, HN_INT64, text, sizeof text);
    assert_string_equal(text, "-9223372036854775808");
    uint32_t most = UINT32_MAX;
    hn_element_format(&most, HN_UINT32, text, sizeof text);
    assert_string_equal(text, "4294967295");
    hn_element_format(&most, HN_FLOAT32, text, sizeof text);
    assert_string_equal(text, "never written");
    hn_element_format(&(double){0.1}, HN_FLOAT64, text, sizeof text);
    assert_string_equal(text, "0.10000000000000001");
}
