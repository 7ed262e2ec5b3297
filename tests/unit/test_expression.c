/* SPDX-License-Identifier: MIT */
#include "expression_fixture.h"

/* As python3 computes them for the values above; NULL where it raises, gives a complex number or
 * leaves 64 bits. */
static const struct {
    const char *text, *result;
} python[] = {
    /* clang-format off */
    {"1 + 2 * 3", "7"},
    {"(1 + 2) * 3", "9"},
    {"2 - 3 - 4", "-5"},
    {"2 ** 3 ** 2", "512"},
    {"-2 ** 2", "-4"},
    {"(-2) ** 2", "4"},
    {"2 ** -1", "0.5"},
    {"-2 ** -2", "-0.25"},
    {"2 ** 0", "1"},
    {"0 ** 0", "1"},
    {"(-8) ** 3", "-512"},
    {"2 ** 62", "4611686018427387904"},
    {"2 ** 63", NULL},
    {"(-2) ** 63", "-9223372036854775808"},
    {"10 ** 18", "1000000000000000000"},
    {"10 ** 19", NULL},
    {"2.0 ** 0.5", "1.4142135623730951"},
    {"(-2.0) ** 0.5", NULL},
    {"(-8) ** (1 / 3)", NULL},
    {"0 ** -1", NULL},
    {"0.0 ** -1", NULL},
    {"10.0 ** 400", NULL},
    {"True ** 2", "1"},
    {"7 / 2", "3.5"},
    {"8 / 2", "4.0"},
    {"-7 / 2", "-3.5"},
    {"0 / C", "-0.0"},
    {"1 / 3", "0.3333333333333333"},
    {"3 / 4503599627370497", "6.661338147750938e-16"},
    {"7 // 2", "3"},
    {"-7 // 2", "-4"},
    {"7 // -2", "-4"},
    {"-7 // -2", "3"},
    {"7 % 3", "1"},
    {"-7 % 3", "2"},
    {"7 % -3", "-2"},
    {"-7 % -3", "-1"},
    {"7.5 // 2", "3.0"},
    {"-7.5 // 2", "-4.0"},
    {"7.5 % 2", "1.5"},
    {"-7.5 % 2", "0.5"},
    {"7.5 % -2", "-0.5"},
    {"-0.0 % 3", "0.0"},
    {"1.0 % 0.1", "0.09999999999999995"},
    {"1.0 // 0.1", "9.0"},
    {"6 % 3.0", "0.0"},
    {"-1 % 1e300", "1e+300"},
    {"1 // 0", NULL},
    {"1 % 0", NULL},
    {"1 / 0", NULL},
    {"1.0 / 0", NULL},
    {"1.0 // 0.0", NULL},
    {"1.0 % 0", NULL},
    {"A // B", NULL},
    {"B // A", "0"},
    {"A % C", "-2"},
    {"C % A", "4"},
    {"A // C", "-3"},
    {"A / C", "-2.3333333333333335"},
    {"BIG + 1", NULL},
    {"-BIG - 1", "-9223372036854775808"},
    {"-BIG - 2", NULL},
    {"BIG * 2", NULL},
    {"BIG * -1", "-9223372036854775807"},
    {"(-BIG - 1) * -1", NULL},
    {"(-BIG - 1) // -1", NULL},
    {"(-BIG - 1) % -1", "0"},
    {"-(-BIG - 1)", NULL},
    {"abs(-BIG - 1)", NULL},
    {"BIG / 3", "3.0744573456182584e+18"},
    {"BIG / 1", "9.223372036854776e+18"},
    {"BIG / BIG", "1.0"},
    {"(BIG - 1) / BIG", "1.0"},
    {"9007199254740993 / 1", "9007199254740992.0"},
    {"BIG == 9223372036854775807.0", "false"},
    {"BIG < 9223372036854775808.0", "true"},
    {"BIG >= 9223372036854775808.0", "false"},
    {"9007199254740993 == 9007199254740992.0", "false"},
    {"9007199254740993 > 9007199254740992.0", "true"},
    {"9007199254740992 == 9007199254740992.0", "true"},
    {"-BIG - 1 == -9223372036854775808.0", "true"},
    {"1 == 1.0", "true"},
    {"True == 1", "true"},
    {"True == 1.0", "true"},
    {"False == 0", "true"},
    {"True + True", "2"},
    {"True / 2", "0.5"},
    {"-True", "-1"},
    {"+True", "1"},
    {"~True", "-2"},
    {"~5", "-6"},
    {"~-1", "0"},
    {"~R", NULL},
    {"not 0", "true"},
    {"not 1", "false"},
    {"not ''", "true"},
    {"not 'x'", "false"},
    {"not 0.0", "true"},
    {"not A == 7", "false"},
    {"not not A", "true"},
    {"not A in [7]", "false"},
    {"1 < 2 < 3", "true"},
    {"1 < 2 > 1", "true"},
    {"3 > 2 > 1 > 0", "true"},
    {"1 < 3 < 2", "false"},
    {"1 == 1 != 2", "true"},
    {"A > 0 == True", "false"},
    {"(A > 0) == True", "true"},
    {"0 < A // 0", NULL},
    {"1 > 2 > 1 // 0", "false"},
    {"1 < R < 3", "true"},
    {"0 <= B <= 0", "true"},
    {"A in [1, 7]", "true"},
    {"A in [1, 2]", "false"},
    {"A not in [1, 2]", "true"},
    {"A in (1, 7, )", "true"},
    {"A in ()", "false"},
    {"A in []", "false"},
    {"A in (7,)", "true"},
    {"R in [2, 2.5]", "true"},
    {"7.0 in [A]", "true"},
    {"True in [1]", "true"},
    {"LOAD in [plain, ldg]", "true"},
    {"LOAD not in [plain]", "true"},
    {"LOAD in ['ldg']", "true"},
    {"LOAD in [1, 2]", "false"},
    {"1 in [1, 1 // 0]", NULL},
    {"1 < A in [7]", "true"},
    {"A in [7] or 1 // 0", "true"},
    {"LOAD == ldg", "true"},
    {"LOAD == plain", "false"},
    {"LOAD != plain", "true"},
    {"LOAD == 'ldg'", "true"},
    {"LOAD == \"ldg\"", "true"},
    {"LOAD == 1", "false"},
    {"LOAD != 1", "true"},
    {"LOAD < plain", "true"},
    {"LOAD >= 'ldg'", "true"},
    {"LOAD < 1", NULL},
    {"LOAD + 1", NULL},
    {"1 + LOAD", NULL},
    {"-LOAD", NULL},
    {"LOAD and 1", "1"},
    {"LOAD or 1", "'ldg'"},
    {"'' or 5", "5"},
    {"0 and 1 // 0", "0"},
    {"1 or 1 // 0", "1"},
    {"1 and 1 // 0", NULL},
    {"0 or 1 // 0", NULL},
    {"0 or 0.0", "0.0"},
    {"0 or B or A", "7"},
    {"A and R and LOAD", "'ldg'"},
    {"A and B and 1 // 0", "0"},
    {"1 or 0 and 0", "1"},
    {"(1 or 0) and 0", "0"},
    {"not 1 or 1", "1"},
    {"A if B else C", "-3"},
    {"A if A else 1 // 0", "7"},
    {"1 // 0 if B else A", "7"},
    {"1 if 0 else 2 if 0 else 3", "3"},
    {"1 if 1 else 2 if 1 else 3", "1"},
    {"(1 if 0 else 2) + 10", "12"},
    {"1 + 1 if B else 5", "5"},
    {"A > 5 and A < 9", "true"},
    {"5 & 3", "1"},
    {"5 | 3", "7"},
    {"5 ^ (3)", "6"},
    {"1 | 2 ^ 3 & 4", "3"},
    {"1 << 4", "16"},
    {"1 << 62", "4611686018427387904"},
    {"1 << 63", NULL},
    {"-1 << 63", "-9223372036854775808"},
    {"-1 << 64", NULL},
    {"0 << 100", "0"},
    {"1 << -1", NULL},
    {"3 << 62", NULL},
    {"-5 >> 1", "-3"},
    {"5 >> 100", "0"},
    {"-5 >> 100", "-1"},
    {"5 >> -1", NULL},
    {"1 << 2 + 1", "8"},
    {"1 + 1 << 2", "8"},
    {"1 << 2 >> 1", "2"},
    {"6 & 3 == 2", "true"},
    {"(6 & 3) == 2", "true"},
    {"True & False", "false"},
    {"True | False", "true"},
    {"True ^ 1", "0"},
    {"1.5 & 1", NULL},
    {"1 << 1.0", NULL},
    {"~2 ** 2", "-5"},
    {"- - 3", "3"},
    {"-+-3", "3"},
    {"2 * -3", "-6"},
    {"2 ** - - 1", "2"},
    {"4 - -3", "7"},
    {"min(3, 1, 2)", "1"},
    {"max(3, 1, 2)", "3"},
    {"min(1, 1.0)", "1"},
    {"min(1.0, 1)", "1.0"},
    {"max(True, 1)", "true"},
    {"max(2, R)", "2.5"},
    {"min(LOAD, plain)", "'ldg'"},
    {"min(LOAD, 1)", NULL},
    {"abs(-3)", "3"},
    {"abs(-2.5)", "2.5"},
    {"abs(True)", "1"},
    {"abs(LOAD)", NULL},
    {"ceil_div(7, 2)", "4"},
    {"ceil_div(-7, 2)", "-3"},
    {"ceil_div(7, -2)", "-3"},
    {"ceil_div(8, 2)", "4"},
    {"ceil_div(N, 16) * 16", "4096"},
    {"ceil_div(N / 2, 3)", "683.0"},
    {"ceil_div(1, 0)", NULL},
    {"ceil_div(BIG, 2)", "4611686018427387904"},
    {"log2(8)", "3.0"},
    {"log2(1)", "0.0"},
    {"log2(0.5)", "-1.0"},
    {"log2(3)", "1.584962500721156"},
    {"log2(0)", NULL},
    {"log2(-1)", NULL},
    {"is_power_of_2(64)", "true"},
    {"is_power_of_2(63)", "false"},
    {"is_power_of_2(0)", "false"},
    {"is_power_of_2(-4)", "false"},
    {"0x1F + 0o17 + 0b101", "51"},
    {"1_000 * 2", "2000"},
    {"1e3", "1e+03"},
    {".5 + 1.", "1.5"},
    {"1E-2", "0.01"},
    {"1.5e+3", "1.5e+03"},
    {"00", "0"},
    {"N % (A * 2) == 0", "false"},
    {"N * N * 4 // 1024", "65536"},
    {"(N + 15) // 16 * 16", "4096"},
    {"32 <= A * 8 <= 1024", "true"},
    {"A * 8 % 4 == 0 and R < 3 or T", "true"},
    {"1e308 * 10", ".inf"},
    {"1e308 * 10 - 1e308 * 10", ".nan"},
    {"1 < 1e308 * 10", "true"},
    {"(1e308 * 10 - 1e308 * 10) == (1e308 * 10 - 1e308 * 10)", "false"},
    {"1e308 * 10 // 1", ".nan"},
    {"-1 // (1e308 * 10)", "-1.0"},
    {"-1 % (1e308 * 10)", ".inf"},
    {"true and not false", "true"},
    /* clang-format on */
};

static char *text_of(const struct hn_value *value)
{
    struct hn_text text = {0};
    const char *quote = value->type == HN_WORD ? "'" : "";
    hn_text_append(&text, quote);
    hn_value_append(&text, value);
    hn_text_append(&text, quote);
    return keep(hn_text_take(&text), free);
}

TEST(evaluates_as_python)
{
    for (size_t i = 0; i < sizeof python / sizeof python[0]; i++) {
        struct hn_expression *expression = bound(python[i].text);
        struct hn_value value;
        enum hn_status status = hn_expression_evaluate(expression, values(), &value, &said);
        assert_int_equal(hn_expression_evaluate(expression, values(), &value, NULL), status);
        char *text = status == HN_OK ? text_of(&value) : NULL;
        if (python[i].result == NULL && status != HN_EVALUE)
            fail_msg("%s gives %s, python raises", python[i].text, text);
        if (python[i].result == NULL && strstr(said.message, ": ") == NULL)
            fail_msg("%s fails without a reason", python[i].text);
        if (python[i].result != NULL && (text == NULL || strcmp(text, python[i].result) != 0))
            fail_msg("%s gives %s (%s), python gives %s", python[i].text, text ? text : "an error",
                     said.message, python[i].result);
    }
}

TEST(failed_evaluation_says_why)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"A % B == 0", "'A % B == 0', column 3: 7 % 0: division by zero"},
        {"N * BIG", "'N * BIG', column 3: 4096 * 9223372036854775807: beyond 64 bits"},
        {"1 + LOAD", "'1 + LOAD', column 3: 1 + 'ldg': expected numbers"},
        {"LOAD < 2", "'LOAD < 2', column 6: 'ldg' < 2: a word and a number have no order"},
        {"A & R", "'A & R', column 3: 7 & 2.5: expected integers"},
        {"- LOAD", "'- LOAD', column 1: -'ldg': expected a number"},
        {"log2(B)", "'log2(B)', column 1: log2(0): expected a positive number"},
        {"ceil_div(A, B)", "'ceil_div(A, B)', column 1: ceil_div(7, 0): division by zero"},
        {"sizeof(LOAD)", "'sizeof(LOAD)', column 1: sizeof('ldg'): not a type that sizeof knows"},
        {"sizeof('float32x5')",
         "'sizeof('float32x5')', column 1: sizeof('float32x5'): not a type that sizeof knows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_expression *expression = bound(cases[i].text);
        struct hn_value value;
        assert_error(hn_expression_evaluate(expression, values(), &value, &said), HN_EVALUE,
                     cases[i].message);
    }
}

TEST(knows_the_sizes_of_types)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"sizeof(float32)", 4},   {"sizeof(float)", 4},      {"sizeof(int)", 4},
        {"sizeof(double)", 8},    {"sizeof(float16)", 2},    {"sizeof(bfloat16)", 2},
        {"sizeof(uint8)", 1},     {"sizeof(int64)", 8},      {"sizeof('float4')", 16},
        {"sizeof(half) * A", 14}, {"sizeof(float32x4)", 16}, {"sizeof(bfloat16x2)", 4},
        {"sizeof(uint8x16)", 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_expression *expression = bound(cases[i].text);
        int64_t bytes;
        assert_true(hn_expression_integer(expression, values(), &bytes, NULL));
        assert_int_equal(bytes, cases[i].bytes);
    }
}
