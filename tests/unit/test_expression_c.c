/* SPDX-License-Identifier: MIT */
#include "base/expression/expression.h"
#include "base/file.h"
#include "tests/unit/unit.h"

/* The generated C is compiled, run and held against the evaluator. */

static const char *const names[] = {"M", "N", "R", "LOAD", "TILE", "MODE"};
enum { NAMES = 6 };
static const char *const words[] = {"plain", "ldg", "restrict", "row"};
static const char *const load_words[] = {"plain", "ldg", "restrict"};
static const struct hn_scope scope = {names, NAMES, words, 4};
static const struct hn_value tile = {.type = HN_INTEGER, .integer = 16};
static const struct hn_value mode = {.type = HN_WORD, .word = "row"};

/* M, N, R and LOAD are known at run time; TILE and MODE are folded. */
static const struct hn_c_slot slots[] = {
    {.name = "M"},
    {.name = "N"},
    {.name = "R", .real = true},
    {.name = "LOAD", .words = load_words, .word_count = 3},
    {.constant = &tile},
    {.constant = &mode},
};

static const char texts[] =
    "M; -M; +M - -N; M + N * 3 - 7; M // N; M % N; (M - 40) // 7; (M - 40) % -7; M / N; "
    "M / 2 + N; R // 0.75; R % 0.75; -R // 0.75; -R % 0.75; M // R; M ** 2; 2 ** (N % 10); "
    "M ** -1; 2 ** -N; M ** -(N % 5); R ** 2; N ** R; M & N | 5 ^ M; ~M; M << 3 >> 1; -M >> 2; 1 "
    "<< N % 40; M < N; "
    "M <= N < 100; 0 < M < N < 50; M == N != R; R >= M; (M < N) + (M > 3) * 4000000000; "
    "(M < 1000) * 100000 * 100000; (70000 if M > 3 else 5) * (70000 if N > 2 else 3); "
    "M if M > N else N; M and N; M - 12 and N; M or R; M - 12 or R; "
    "(M > 3 and N > 3) or R > 100; not M; not (M > 3 and N); M > 3 and TILE > 1000; "
    "M > 12 and TILE; N > 7 or TILE; N > 7 or TILE > 1000; 1 if M and not N - 5 else 2; "
    "M in (1, 12, N); M not in [1, 13, N]; TILE in (8, 16); LOAD == ldg; LOAD != plain; "
    "LOAD == row; LOAD in (plain, restrict); 3 if LOAD else 4; LOAD == 'ldg' and M > 3; "
    "MODE == row; M if MODE == row else 1 // 0; MODE == LOAD; LOAD == LOAD; min(M, N); "
    "max(M, N, 30); min(M, R); max(TILE, 4, 8); abs(M - 40); abs(R - 100); "
    "ceil_div(M, TILE); ceil_div(M - 40, 7); ceil_div(M, -7); ceil_div(R, 2); log2(M * 8); "
    "is_power_of_2(M); is_power_of_2(R); sizeof(float32) * M; TILE * (TILE + 1) * 4; -TILE; "
    "-9223372036854775807 + M; True + M; M == True; (LOAD == ldg) + 1; 9007199254740993 - M; "
    "1.5 * M; 1e300 * M; TILE / 4; M - TILE / 4; 2 ** (N - 64) // 1; M % (N - 5) == 0; "
    "min(M, 1e308 * 10); max(-1e308 * 10, N - R); M + 1e308 * 10";
static char *cases[128];
static size_t case_count;

static const struct {
    int64_t m, n;
    double r;
    int load;
} inputs[] = {
    {12, 5, 2.5, 1}, {13, 13, 0.1, 2}, {1, 64, 64.0, 3}, {4096, 7, 1e6, 2}, {1, 1, 3.0, 1}};
enum { INPUTS = sizeof inputs / sizeof inputs[0] };

static struct hn_expression *parse(const char *text)
{
    struct hn_expression *expression = NULL;
    if (hn_expression_parse(text, &expression, &said) != HN_OK ||
        hn_expression_bind(expression, &scope, &said) != HN_OK)
        fail_msg("%s: %s", text, said.message);
    return keep(expression, hn_expression_destroy);
}

static char *write_program(void)
{
    struct hn_text body = {0};
    struct hn_text helpers = {0};
    struct hn_text program = {0};
    bool needs_math;
    for (size_t i = 0; i < case_count; i++) {
        struct hn_expression *expression = parse(cases[i]);
        bool real = false;
        struct hn_text code ENDED_BY(hn_text_finish) = {0};
        if (hn_expression_append_c(expression, slots, "t", HN_C_NUMBER, &real, &code, &said) !=
            HN_OK)
            fail_msg("%s: %s", cases[i], said.message);
        hn_text_printf(&body,
                       real ? "    printf(\"%%a\", %s);\n"
                            : "    printf(\"%%\" PRId64, (int64_t)%s);\n",
                       code.data);
        hn_text_append(&body, "    printf(\" %d\\n\", (");
        assert_ok(
            hn_expression_append_c(expression, slots, "t", HN_C_CONDITION, NULL, &body, &said));
        hn_text_append(&body, ") != 0);\n");
        drop(expression);
    }
    hn_expression_append_c_helpers(body.data, "t", &helpers, &needs_math);
    assert_true(needs_math);
    hn_text_printf(
        &program,
        "#include <inttypes.h>\n#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n%s\n"
        "static void show(int64_t M, int64_t N, double R, int64_t LOAD)\n{\n%s}\n\nint "
        "main(void)\n{\n",
        helpers.data, body.data);
    for (size_t i = 0; i < INPUTS; i++)
        hn_text_printf(&program, "    show(%lld, %lld, %a, %d);\n", (long long)inputs[i].m,
                       (long long)inputs[i].n, inputs[i].r, inputs[i].load);
    hn_text_append(&program, "    return 0;\n}\n");
    hn_text_finish(&body);
    hn_text_finish(&helpers);
    return hn_text_take(&program);
}

static void check_line(const char *expression_text, size_t input, const char *line)
{
    struct hn_expression *expression = parse(expression_text);
    const struct hn_value values[NAMES] = {hn_integer(inputs[input].m),
                                           hn_integer(inputs[input].n),
                                           hn_real(inputs[input].r),
                                           hn_word(load_words[inputs[input].load - 1]),
                                           tile,
                                           mode};
    struct hn_value value;
    enum hn_status status = hn_expression_evaluate(expression, values, &value, &said);
    drop(expression);
    /* Where there is no value the C is only required to be defined; nothing is a multiple of 0. */
    if (status != HN_OK) {
        assert_true(strstr(expression_text, "% (N") == NULL || strcmp(line, "0 0") == 0);
        return;
    }
    double got = strtod(line, NULL);
    bool equal = value.type == HN_INTEGER ? strchr(line, 'x') != NULL
                                                ? got == (double)value.integer
                                                : strtoll(line, NULL, 10) == value.integer
                                          : got == hn_value_number(&value);
    if (equal)
        equal = strcmp(strrchr(line, ' '), hn_value_truth(&value) ? " 1" : " 0") == 0;
    if (!equal)
        fail_msg("%s for M=%lld N=%lld R=%g: C gives %s, the evaluator %.17g", expression_text,
                 (long long)inputs[input].m, (long long)inputs[input].n, inputs[input].r, line,
                 hn_value_number(&value));
}

TEST(test_same_as_evaluator)
{
    assert_int_equal(chdir(own_folder()), 0);
    const char *list = texts;
    while ((cases[case_count] = next_text(&list)) != NULL)
        case_count++;
    char *program FREED = write_program();
    assert_ok(hn_file_write("program.c", program, strlen(program), NULL));
    if (system(
            HONE_C_COMPILER
            " -std=c11 -O1 -fsanitize=undefined -fno-sanitize-recover=undefined "
            "-Wall -Wextra -Wpedantic -Wconversion -Werror -Wno-tautological-compare program.c -o "
            "program -lm && ./program > output") != 0)
        fail_msg("the generated program does not compile or run:\n%s", program);
    char *output FREED = NULL;
    assert_ok(hn_file_read("output", 1 << 20, &output, NULL, NULL));
    char *rest = output;
    for (size_t input = 0; input < INPUTS; input++) {
        for (size_t i = 0; i < case_count; i++) {
            char *line = strsep(&rest, "\n");
            assert_non_null(line);
            check_line(cases[i], input, line);
        }
    }
}

static void check_text(const char *expression_text, const char *expected)
{
    struct hn_expression *expression = parse(expression_text);
    struct hn_text code ENDED_BY(hn_text_finish) = {0};
    assert_ok(
        hn_expression_append_c(expression, slots, "hone_x", HN_C_INTEGER, NULL, &code, &said));
    assert_string_equal(code.data, expected);
}

TEST(test_text)
{
    check_text("ceil_div(N, TILE)", "hone_x_ceil_div(N, 16)");
    check_text("TILE * TILE // 4", "64");
    check_text("TILE / 4", "4");
    check_text("N / 2", "hone_x_integer(((double)N / 2.0))");
    check_text("M if MODE == row else N", "M");
    check_text("LOAD == ldg", "(LOAD == 2)");
    check_text("5000000000", "INT64_C(5000000000)");
}

static void check_refused(const char *expression_text, enum hn_status expected, const char *message)
{
    struct hn_expression *expression = parse(expression_text);
    struct hn_text code ENDED_BY(hn_text_finish) = {0};
    assert_int_equal(
        hn_expression_append_c(expression, slots, "t", HN_C_INTEGER, NULL, &code, &said), expected);
    assert_non_null(strstr(said.message, message));
}

TEST(test_refused)
{
    check_refused("MODE", HN_ECONFIG, "a word is not a number");
    check_refused("LOAD", HN_ECONFIG, "a word is not a number");
    check_refused("LOAD < 'x'", HN_ECONFIG, "words have no order in C");
    check_refused("LOAD + 1", HN_ECONFIG, "a word or real where a number is needed");
    check_refused("R & 1", HN_ECONFIG, "a word or real where a number is needed");
    check_refused("TILE // 0", HN_EVALUE, "division by zero");
    check_refused("M + TILE % (TILE - 16)", HN_EVALUE, "division by zero");
    check_refused("MODE < 3", HN_EVALUE, "no order");
    check_refused("1e99", HN_EVALUE, "not an integer");
    check_refused("0.5", HN_EVALUE, "not an integer");
}

/* What is needed twice is written twice, so that this would be 2^60 names long. */
TEST(test_nested_chains_are_refused)
{
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    for (int i = 0; i < 60; i++)
        hn_text_append(&text, "M < (");
    hn_text_append(&text, "N");
    for (int i = 0; i < 60; i++)
        hn_text_append(&text, ") < N");
    check_refused(text.data, HN_ECONFIG, "too long; nest less");
}
