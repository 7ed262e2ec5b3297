/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/value.h"

#include "tests/unit/unit.h"

static char *text_of(struct hn_value value)
{
    struct hn_text text = {0};
    hn_value_append(&text, &value);
    return keep(hn_text_take(&text), free);
}

TEST(has_one_text)
{
    const struct {
        struct hn_value value;
        const char *text;
    } cases[] = {
        {hn_integer(0), "0"},
        {hn_integer(INT64_MIN), "-9223372036854775808"},
        {hn_boolean(true), "true"},
        {hn_boolean(false), "false"},
        {hn_word("tile_ab"), "tile_ab"},
        {hn_real(1.0), "1.0"},
        {hn_real(-0.0), "-0.0"},
        {hn_real(0.1), "0.1"},
        {hn_real(1e-5), "1e-05"},
        {hn_real(0.1 + 0.2), "0.30000000000000004"},
        {hn_real(1e22), "1e+22"},
        {hn_real(123456.0), "123456.0"},
        {hn_real(5e-324), "5e-324"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = text_of(cases[i].value);
        assert_string_equal(text, cases[i].text);
        struct hn_value back;
        assert_ok(hn_value_parse(text, &back, NULL));
        assert_true(hn_value_equal(&back, &cases[i].value));
        drop(text);
    }
}

TEST(random_reals_read_back)
{
    uint64_t bits = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double real;
        memcpy(&real, &bits, sizeof real);
        if (!isfinite(real))
            continue;
        char *text = text_of(hn_real(real));
        struct hn_value back;
        assert_ok(hn_value_parse(text, &back, NULL));
        assert_int_equal(back.type, HN_REAL);
        assert_memory_equal(&back.real, &real, sizeof real);
        drop(text);
    }
}

TEST(reads_the_core_schema)
{
    const struct {
        const char *text;
        struct hn_value value;
    } cases[] = {
        {"12", hn_integer(12)},
        {"012", hn_integer(12)},
        {"-7", hn_integer(-7)},
        {"+7", hn_integer(7)},
        {"0x1F", hn_integer(31)},
        {"0o17", hn_integer(15)},
        {"9223372036854775807", hn_integer(INT64_MAX)},
        {"-9223372036854775808", hn_integer(INT64_MIN)},
        {"1.", hn_real(1)},
        {".5", hn_real(0.5)},
        {"1e3", hn_real(1000)},
        {"-1.5E-2", hn_real(-0.015)},
        {"true", hn_boolean(true)},
        {"True", hn_boolean(true)},
        {"FALSE", hn_boolean(false)},
        {"yes", hn_word("yes")},
        {"inf", hn_word("inf")},
        {"tRUE", hn_word("tRUE")},
        {"_x9", hn_word("_x9")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_value value;
        assert_ok(hn_value_parse(cases[i].text, &value, NULL));
        assert_true(hn_value_equal(&value, &cases[i].value));
    }
}

TEST(refuses_what_is_no_value)
{
    static const char *const bad[] = {"",    "~",   "0x",   "0o8",   "1e",  ".",      "1.2.3",
                                      "a-b", "1_0", "a b",  "-0x1",  "+",   "0x1p-3", "--1",
                                      "-",   "1 ",  ".inf", "-.Inf", ".NaN"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct hn_value value;
        assert_int_equal(hn_value_parse(bad[i], &value, NULL), HN_ECONFIG);
    }
    struct hn_value value;
    assert_error(hn_value_parse("9223372036854775808", &value, &said), HN_ECONFIG,
                 "integer 9223372036854775808 is beyond 64 bits");
    assert_int_equal(hn_value_parse("0xffffffffffffffff", &value, &said), HN_ECONFIG);
    assert_error(hn_value_parse("1e999", &value, &said), HN_ECONFIG,
                 "number 1e999 is beyond a double");
    assert_error(hn_value_parse("a-b", &value, &said), HN_ECONFIG,
                 "'a-b' is not a value; expected a finite number, true, false or a word (a letter "
                 "or '_', then letters, digits and '_')");
}

TEST(equality_does_not_convert)
{
    struct hn_value one = hn_integer(1);
    struct hn_value real = hn_real(1);
    struct hn_value yes = hn_boolean(true);
    struct hn_value zero = hn_real(0.0);
    struct hn_value minus_zero = hn_real(-0.0);
    struct hn_value nan = hn_real(NAN);
    assert_false(hn_value_equal(&one, &real));
    assert_false(hn_value_equal(&one, &yes));
    assert_true(hn_value_equal(&zero, &minus_zero));
    assert_true(hn_value_equal(&nan, &nan));
}

TEST(orders_totally)
{
    const struct hn_value sorted[] = {
        hn_boolean(false),
        hn_boolean(true),
        hn_real(-INFINITY),
        hn_integer(INT64_MIN),
        hn_real(-0x1p63),
        hn_integer(1),
        hn_real(1.0),
        hn_real(1.5),
        hn_integer(2),
        hn_real(9007199254740992.0),
        hn_integer(9007199254740993),
        hn_integer(INT64_MAX),
        hn_real(0x1p63),
        hn_real(INFINITY),
        hn_real(NAN),
        hn_word("a"),
        hn_word("b"),
    };
    size_t count = sizeof sorted / sizeof sorted[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int expected = (i > j) - (i < j);
            assert_int_equal(hn_value_compare(&sorted[i], &sorted[j]), expected);
        }
    }
}

TEST(counts_as_a_number)
{
    const struct hn_value values[] = {hn_integer(3), hn_real(0.5), hn_boolean(true), hn_word("a")};
    const double numbers[] = {3, 0.5, 1, 0};
    for (size_t i = 0; i < 4; i++)
        assert_true(hn_value_number(&values[i]) == numbers[i]);
}
