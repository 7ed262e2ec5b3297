/* SPDX-License-Identifier: MIT */
#include "base/bindings.h"

#include "tests/unit/bindings_fixture.h"

static char *text_of(const struct hn_bindings *bindings)
{
    struct hn_text text = {0};
    hn_bindings_append(&text, bindings);
    return keep(hn_text_take(&text), free);
}

TEST(keeps_names_sorted_and_copies)
{
    struct hn_bindings bindings = {0};
    char word[] = "ldg";
    set(&bindings, "PAD", hn_integer(0));
    set(&bindings, "LOAD", hn_word(word));
    set(&bindings, "BLOCK", hn_integer(64));
    set(&bindings, "BLOCK", hn_integer(128));
    word[0] = 'x';
    assert_string_equal(text_of(&bindings), "BLOCK=128,LOAD=ldg,PAD=0");
    assert_int_equal(hn_bindings_get(&bindings, "PAD")->integer, 0);
    assert_null(hn_bindings_get(&bindings, "UNROLL"));
    /* a value of the set itself */
    set(&bindings, "LOAD", *hn_bindings_get(&bindings, "LOAD"));
    assert_string_equal(hn_bindings_get(&bindings, "LOAD")->word, "ldg");
    hn_bindings_finish(&bindings);
    assert_int_equal(bindings.count, 0);
    hn_bindings_finish(NULL);
}

TEST(text_reads_back)
{
    static const char *const texts[] = {"", "A=1", "A=true,B=1.0,C=word,D=-3,E=1e+22,_=0.5"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_string_equal(text_of(parsed(texts[i])), texts[i]);
}

TEST(parse_takes_any_order)
{
    struct hn_bindings *a = parsed("B=2,A=x"), *b = parsed("A=x,B=2");
    assert_true(hn_bindings_equal(a, b));
    set(b, "B", hn_real(2));
    assert_false(hn_bindings_equal(a, b));
    hn_bindings_finish(a);
    assert_false(hn_bindings_equal(a, b));
}

TEST(parse_says_what_was_found)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"A", "found 'A', expected NAME=VALUE"},
        {"A=1,", "found '', expected NAME=VALUE"},
        {"=1", "found '', expected a name before '='"},
        {"4A=1", "found '4A', expected a name before '='"},
        {"A=1,A=2", "'A' is given twice"},
        {"A=", "'A' has no value; expected A=VALUE"},
        {"A=99999999999999999999", "integer 99999999999999999999 is beyond 64 bits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_bindings bindings;
        assert_error(hn_bindings_parse(cases[i].text, &bindings, &said), HN_ECONFIG,
                     cases[i].message);
        assert_int_equal(bindings.count, 0);
    }
}

TEST(adds_what_is_not_there_yet)
{
    struct hn_bindings bindings ENDED_BY(hn_bindings_finish) = {0};
    assert_ok(hn_bindings_add(&bindings, "B=2", &said));
    assert_ok(hn_bindings_add(&bindings, "C=3,A=x", &said));
    assert_error(hn_bindings_add(&bindings, "B=2", &said), HN_ECONFIG, "'B' is given twice");
    assert_string_equal(text_of(&bindings), "A=x,B=2,C=3");
}

TEST(copies_and_merges)
{
    struct hn_bindings *a = parsed("A=x,B=2"), *b = parsed("B=y,C=3");
    struct hn_bindings copy ENDED_BY(hn_bindings_finish);
    assert_ok(hn_bindings_copy(&copy, a, NULL));
    assert_true(hn_bindings_equal(&copy, a));
    assert_ok(hn_bindings_merge(&copy, b, NULL));
    drop(a);
    drop(b);
    assert_string_equal(text_of(&copy), "A=x,B=y,C=3");
}
