/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include "base/text.h"
#include "tests/unit/unit.h"

/* The process is in the C locale. */
TEST(each_byte_is_what_the_c_locale_says)
{
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        assert_int_equal(hn_is_digit(c), isdigit(byte) != 0);
        assert_int_equal(hn_lower(c) != c, isupper(byte) != 0);
        assert_int_equal(hn_upper(c) != c, islower(byte) != 0);
        assert_int_equal(hn_is_letter(c), isalpha(byte) != 0);
        assert_int_equal(hn_is_letter_or_digit(c), isalnum(byte) != 0);
        assert_int_equal(hn_is_space(c), isspace(byte) != 0);
        assert_int_equal((unsigned char)hn_lower(c), tolower(byte));
        assert_int_equal((unsigned char)hn_upper(c), toupper(byte));
    }
}

TEST(words_are_compared_without_case)
{
    assert_true(hn_same_letters("TITLE", "title", SIZE_MAX));
    assert_true(hn_same_letters("", "", SIZE_MAX));
    assert_false(hn_same_letters("title", "titles", SIZE_MAX));
    assert_false(hn_same_letters("titles", "title", SIZE_MAX));
    assert_false(hn_same_letters("[", "{", SIZE_MAX));
    assert_true(hn_same_letters("Block", "blockade", 5));
    assert_false(hn_same_letters("Block", "blockade", 6));
}

TEST(a_part_is_found_without_case)
{
    const char *text = "numThreadsThread";
    assert_ptr_equal(hn_find_letters(text, "THREAD"), text + 3);
    assert_ptr_equal(hn_find_letters(text, ""), text);
    assert_ptr_equal(hn_find_letters(text, "dthread"), NULL);
    assert_null(hn_find_letters("", "a"));
}
