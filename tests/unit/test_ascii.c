/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include "base/ascii.h"
#include "tests/unit/unit.h"

/* The process is in the C locale. */
static void each_byte_is_what_the_c_locale_says(void **state)
{
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        assert_int_equal(hn_is_digit(c), isdigit(byte) != 0);
        assert_int_equal(hn_is_hex_digit(c), isxdigit(byte) != 0);
        assert_int_equal(hn_is_upper(c), isupper(byte) != 0);
        assert_int_equal(hn_is_lower(c), islower(byte) != 0);
        assert_int_equal(hn_is_letter(c), isalpha(byte) != 0);
        assert_int_equal(hn_is_letter_or_digit(c), isalnum(byte) != 0);
        assert_int_equal(hn_is_space(c), isspace(byte) != 0);
        assert_int_equal((unsigned char)hn_lower(c), tolower(byte));
        assert_int_equal((unsigned char)hn_upper(c), toupper(byte));
    }
}

static void words_are_compared_without_case(void **state)
{
    assert_true(hn_same_letters("TITLE", "title"));
    assert_true(hn_same_letters("", ""));
    assert_false(hn_same_letters("title", "titles"));
    assert_false(hn_same_letters("titles", "title"));
    assert_false(hn_same_letters("[", "{"));
    assert_true(hn_same_letters_within("Block", "blockade", 5));
    assert_false(hn_same_letters_within("Block", "blockade", 6));
}

static void a_part_is_found_without_case(void **state)
{
    const char *text = "numThreadsThread";
    assert_ptr_equal(hn_find_letters(text, "THREAD"), text + 3);
    assert_ptr_equal(hn_find_letters(text, ""), text);
    assert_ptr_equal(hn_find_letters(text, "dthread"), NULL);
    assert_null(hn_find_letters("", "a"));
}

int test_ascii(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_what_the_c_locale_says),
        cmocka_unit_test(words_are_compared_without_case),
        cmocka_unit_test(a_part_is_found_without_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
