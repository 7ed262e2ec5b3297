/* SPDX-License-Identifier: MIT */
#include "expression_fixture.h"

static const struct {
    const char *text, *message;
} malformed[] = {
    {"", "column 1: found the end of the expression, expected a value"},
    {"1 +", "column 4: found the end of the expression, expected a value"},
    {"a == )", "column 6: found ')', expected a value"},
    {"ceil_div(N", "column 11: missing ')'"},
    {"(A + 1", "column 7: missing ')'"},
    {"A in [1, 2", "column 11: missing ']'"},
    {"TILE)", "column 5: found ')' without '('"},
    {"A B", "column 3: found 'B', expected an operator or the end of the expression"},
    {"min(A B)", "column 7: found 'B', expected ',' or ')'"},
    {"(A B)", "column 4: found 'B', expected an operator or ')'"},
    {"a not b", "column 3: found 'not', expected an operator or the end of the expression"},
    {"1 + not a", "column 5: found 'not', expected a value"},
    {"a == not b", "column 6: found 'not', expected a value"},
    {"A in 3", "column 6: found '3', expected a list as [1, 2] or (1, 2)"},
    {"A in (3)", "column 8: found one value in parentheses after 'in', expected a list as "
                 "[1, 2] or (1, 2)"},
    {"A in [1] == 1", "column 13: a list cannot be compared"},
    {"[1, 2]", "column 1: found '[', expected a value; a list can only follow 'in'"},
    {"(1, 2)", "column 3: found ',' in parentheses; a tuple can only follow 'in'"},
    {"1 if A", "column 7: found the end of the expression, expected 'else'"},
    {"A && B", "column 3: found '&&', expected 'and'"},
    {"A || B", "column 3: found '||', expected 'or'"},
    {"!A", "column 1: found '!', expected 'not'"},
    {"A = 1", "column 3: found '=', expected '=='"},
    {"A ? 1 : 2", "column 3: found '?', expected 'a if c else b'"},
    {"A @ B", "column 3: found '@', expected a value or an operator"},
    {"A.x", "column 2: found '.', expected a value or an operator"},
    {"\xc3\x97 2", "column 1: found '\xc3\x97', expected a value or an operator"},
    {"12abc", "column 1: found '12abc', expected a number"},
    {"08", "column 1: found '08', expected a number"},
    {"0x", "column 1: found '0x', expected a number"},
    {"0x0x1", "column 1: found '0x0x1', expected a number"},
    {"1.0f", "column 1: found '1.0f', expected a number"},
    {"1__0", "column 1: found '1__0', expected a number"},
    {"9223372036854775808", "column 1: integer 9223372036854775808 is beyond 64 bits"},
    {"1e999", "column 1: number 1e999 is beyond a double"},
    {"A == 'x", "column 6: the string that begins here has no closing '"},
    {"'a\\n'", "column 1: found '\\' in a string, which has no escapes"},
    {"A < 2 ^ 10",
     "column 7: found '^' between numbers, the exclusive or of their bits; a power is "
     "'**'"},
    {"ceildiv(A, 2)", "column 1: unknown function 'ceildiv'; nearest is 'ceil_div'"},
    {"system(A)", "column 1: unknown function 'system'; there are min, max, abs, ceil_div, "
                  "log2, is_power_of_2, sizeof"},
    {"min(A)", "column 1: min takes 2 or more arguments, found 1"},
    {"abs(A, B)", "column 1: abs takes 1 argument, found 2"},
    {"ceil_div(A)", "column 1: ceil_div takes 2 arguments, found 1"},
    {"log2()", "column 1: log2 takes 1 argument, found 0"},
    {"min(, 1)", "column 5: found ',', expected a value"},
    {"A < < B", "column 5: found '<', expected a value"},
    {"lambda: 1", "column 7: found ':', expected a value or an operator"},
};

TEST(malformed_text_is_explained)
{
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        struct hn_expression *expression;
        if (hn_expression_parse(malformed[i].text, &expression, &said) != HN_ECONFIG)
            fail_msg("%s was taken", malformed[i].text);
        assert_string_equal(said.message, malformed[i].message);
        assert_null(expression);
    }
}

/* count times `open`, `middle`, count times `close` */
static char *nest(const char *open, const char *middle, const char *close, size_t count)
{
    struct hn_text text = {0};
    for (size_t i = 0; i < count; i++)
        hn_text_append(&text, open);
    hn_text_append(&text, middle);
    for (size_t i = 0; i < count; i++)
        hn_text_append(&text, close);
    return keep(hn_text_take(&text), free);
}

TEST(deep_nesting_is_refused)
{
    static const char *const openings[][2] = {
        {"(", ")"}, {"-", ""},     {"not ", ""},    {"2 ** ", ""},      {"1 if 0 else ", ""},
        {"~ ", ""}, {"abs(", ")"}, {"1 in [", "]"}, {"1 in (2, ", ")"}, {"min(1, ", ")"},
    };
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        char *text = nest(openings[i][0], "1", openings[i][1], 5000);
        struct hn_expression *expression;
        assert_mentions(hn_expression_parse(text, &expression, &said), HN_ECONFIG,
                        "nested deeper than 200");
        drop(text);

        text = nest(openings[i][0], "1", openings[i][1], 150);
        expression = bound(text);
        struct hn_value value;
        enum hn_status status = hn_expression_evaluate(expression, NULL, &value, NULL);
        assert_true(status == HN_OK || strcmp(openings[i][0], "2 ** ") == 0);
    }
}

TEST(long_chains_are_bounded)
{
    static const char *const links[] = {"1 + ", "1 and ", "0 or ", "2 - "};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        char *text = nest(links[i], "1", "", 900);
        struct hn_expression *expression = bound(text);
        struct hn_value value;
        assert_ok(hn_expression_evaluate(expression, NULL, &value, NULL));
        drop(expression);
        drop(text);

        text = nest(links[i], "1", "", 9000);
        assert_mentions(hn_expression_parse(text, &expression, &said), HN_ECONFIG,
                        "more than 1000 operators in a row");
    }
    char *long_text = nest(" ", "1", "", 70000);
    struct hn_expression *none;
    assert_int_equal(hn_expression_parse(long_text, &none, NULL), HN_ECONFIG);
    drop(long_text);

    /* one node, however long */
    char *text = nest("1 <= ", "1", "", 5000);
    struct hn_expression *expression = bound(text);
    struct hn_value value;
    assert_ok(hn_expression_evaluate(expression, NULL, &value, NULL));
    assert_true(hn_value_truth(&value));
}

TEST(unknown_names_have_a_nearest)
{
    static const char *const some[] = {"TILE_WIDTH", "PAD"};
    static const char *const modes[] = {"tile_ab"};
    const struct hn_scope small = {some, 2, modes, 1};
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"TILE_WITDH > 1", "unknown name 'TILE_WITDH'; nearest is 'TILE_WIDTH'"},
        {"PAD == tile_bb", "unknown name 'tile_bb'; nearest is 'tile_ab'"},
        {"PAD == Z", "unknown name 'Z'; there are TILE_WIDTH, PAD"},
        {"PAD == float32", "unknown name 'float32'; there are TILE_WIDTH, PAD"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_expression *expression;
        struct hn_error err;
        assert_ok(hn_expression_parse(cases[i].text, &expression, &err));
        assert_int_equal(hn_expression_bind(expression, &small, &err), HN_ECONFIG);
        assert_string_equal(err.message, cases[i].message);
        hn_expression_destroy(expression);
    }
    struct hn_expression *expression;
    struct hn_error err;
    assert_ok(hn_expression_parse("M", &expression, &err));
    assert_int_equal(hn_expression_bind(expression, &(struct hn_scope){0}, &err), HN_ECONFIG);
    assert_string_equal(err.message, "unknown name 'M'; there are none");
    struct hn_value value;
    assert_int_equal(hn_expression_evaluate(expression, NULL, &value, &err), HN_EVALUE);
    assert_string_equal(err.message, "'M', column 1: 'M' is not bound");
    hn_expression_destroy(expression);
}

TEST(tells_which_slots_it_uses)
{
    struct hn_expression *expression = bound("C > 1 and LOAD == ldg");
    assert_true(hn_expression_uses(expression, 2));
    assert_true(hn_expression_uses(expression, 5));
    assert_false(hn_expression_uses(expression, 0));
    assert_int_equal(hn_expression_slots(expression), 6);
    assert_string_equal(hn_expression_text(expression), "C > 1 and LOAD == ldg");

    /* binding again replaces the slots: LOAD becomes a word, C another slot */
    static const char *const others[] = {"C"};
    static const char *const more_words[] = {"LOAD", "ldg"};
    const struct hn_scope other = {others, 1, more_words, 2};
    assert_ok(hn_expression_bind(expression, &other, NULL));
    assert_int_equal(hn_expression_slots(expression), 1);
    struct hn_value two = hn_integer(2);
    struct hn_value value;
    assert_ok(hn_expression_evaluate(expression, &two, &value, NULL));
    assert_false(hn_value_truth(&value));
    drop(expression);

    expression = bound("1 + 1");
    assert_int_equal(hn_expression_slots(expression), 0);
    hn_expression_destroy(NULL);
}

TEST(demands_integers_and_numbers)
{
    int64_t integer;
    double number;
    struct hn_expression *expression = bound("N / 16");
    hn_error_init(&said);
    assert_true(hn_expression_integer(expression, values(), &integer, &said));
    assert_int_equal(integer, 256);
    drop(expression);

    static const struct {
        const char *text, *message;
    } cases[] = {
        {"N / 3",
         "'N / 3' gives 1365.3333333333333, expected an integer: // rounds down, ceil_div up"},
        {"LOAD", "'LOAD' gives 'ldg', expected an integer"},
        {"1e19", "'1e19' gives 1e+19, expected an integer"},
        {"A // B", "'A // B', column 3: 7 // 0: division by zero"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expression = bound(cases[i].text);
        hn_error_init(&said);
        assert_false(hn_expression_integer(expression, values(), &integer, &said));
        assert_error(said.status, HN_EVALUE, cases[i].message);
    }

    hn_error_init(&said);
    expression = bound("T + R");
    assert_true(hn_expression_number(expression, values(), &number, &said));
    assert_true(number == 3.5);
    drop(expression);
    expression = bound("LOAD");
    assert_false(hn_expression_number(expression, values(), &number, &said));
    assert_error(said.status, HN_EVALUE, "'LOAD' gives 'ldg', expected a number");
}

/* Text made of the language's own pieces in random order: every parse ends in a tree or a message,
 * never otherwise. */
TEST(random_text_never_crashes)
{
    static const char *const pieces[] = {"A",  "B",   "ldg",  "1",   "2.5", "'x'",  "(",      ")",
                                         "[",  "]",   ",",    "+",   "-",   "*",    "/",      "%",
                                         "**", "//",  "<<",   "<",   "==",  "and",  "or",     "not",
                                         "in", "if",  "else", "min", "(",   ")",    "sizeof", "~",
                                         "&",  "abs", "True", "0x1", "'",   "1e99", "$",      "|"};
    unsigned random = 12345;
    size_t parsed = 0;
    for (int i = 0; i < 20000; i++) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        random = random * 1103515245u + 12345u;
        unsigned length = 1 + (random >> 16) % 9;
        for (unsigned j = 0; j < length; j++) {
            random = random * 1103515245u + 12345u;
            hn_text_printf(&text, "%s ", pieces[(random >> 16) % 40]);
        }
        struct hn_expression *expression;
        struct hn_value value;
        if (hn_expression_parse(text.data, &expression, &said) == HN_OK) {
            parsed++;
            if (hn_expression_bind(expression, &scope, &said) == HN_OK)
                hn_expression_evaluate(expression, values(), &value, &said);
            hn_expression_destroy(expression);
        } else {
            assert_int_equal(strncmp(said.message, "column ", 7), 0);
        }
    }
    assert_true(parsed > 500);
}
