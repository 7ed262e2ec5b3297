/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct hn_template_include includes[] = {{"part.cuh", "static int part = DEPTH;\n"}};

/* Of `#define X 1` before the body, and 2. */
struct pair {
    const char *name;
    const char *body;
    const char *option; /* NULL: none */
    bool has_include;
    enum hn_compiler compiler;
    bool blind; /* no condition is decided */
};

static struct hn_source_key key_of(const struct pair *pair, int value, const char *architecture)
{
    char text[512];
    char *entry = "f";
    char *option = (char *)pair->option;
    struct hn_source_key key;
    struct hn_template template = {
        .path = "f.cu", .includes = includes, .include_count = pair->has_include};
    snprintf(text, sizeof text, "#define OTHER 3\n#define %s %d\n#line 1\n%s", pair->name, value,
             pair->body);
    const struct hn_source source = {.template = &template,
                                     .compiler = pair->compiler,
                                     .text = text,
                                     .entries = &entry,
                                     .entry_count = 1,
                                     .options = &option,
                                     .option_count = option != NULL};
    assert_int_equal(hn_source_key(&source, architecture, !pair->blind, &key, NULL), HN_OK);
    return key;
}

static bool counts(const struct pair *pair)
{
    struct hn_source_key one = key_of(pair, 1, "sm_90");
    struct hn_source_key two = key_of(pair, 2, "sm_90");
    assert_string_not_equal(one.hash.hex, key_of(pair, 1, "sm_80").hash.hex);
    assert_string_equal(one.hash.hex, key_of(pair, 1, "sm_90").hash.hex);
    return strcmp(one.hash.hex, two.hash.hex) != 0;
}

static void what_nothing_reads_does_not_count(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {.name = "STREAMS", .body = "__global__ void f() {}"},
        {.name = "STREAMS", .body = "int STREAMS_2, NSTREAMS; // and OTHER"},
        {.name = "STREAMS", .body = "#include <stdint.h>\n#include <climits>\nint x;"},
        {.name = "STREAMS", .body = "#include \"part.cuh\"\n", .has_include = true},
        {.name = "STREAMS", .body = "int x;", .option = "-DN=OTHER"},
        {.name = "STREAMS", .body = "#define SUM(a, n) a + SUM_##n \\\n + PART ## n\nint OTHER;"},
        {.name = "TILE", .body = "int x; // TILE\n/* TILE\n # if TILE */ int OTHER; // a ## b"},
        {.name = "TILE", .body = "#if 0\n// TILE\nint x = TILE;\n#else\nint OTHER;\n#endif"},
        {.name = "TILE", .body = "#if OTHER != 3\nint x = TILE;\n#endif\nint OTHER;"},
        {.name = "TILE", .body = "#if (TILE) > 0 && OTHER == 3 /* so it is */\nint x;\n#endif"},
        {.name = "TILE", .body = "#ifndef TILE\n#define TILE 16\n#endif\nint OTHER;"},
        {.name = "TILE",
         .body = "#define HALF (OTHER * 2)\n#if HALF < 6 || -HALF % 4 == 1\n"
                 "int x = TILE;\n#elif HALF >> 1 == 3\n#else\nTILE\n#endif"},
        {.name = "TILE", .body = "#undef OTHER\n#ifdef OTHER\nint x = TILE;\n#endif\nint OTHER;"},
        {.name = "TILE", .body = "int x = 1'000; char y = '\"';\n// TILE\nint OTHER;"},
        {.name = "TILE", .body = "#if 0\n# error don't\nTILE\n#endif\nint OTHER;"},
        {.name = "DEPTH",
         .body = "#if OTHER == 4\n#include \"part.cuh\"\n#endif\nint OTHER;",
         .has_include = true},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_false(counts(&pairs[i]));
        assert_true(key_of(&pairs[i], 1, "sm_90").leaves_out);
    }
}

static void what_may_be_read_counts(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {.name = "TILE", .body = "int x[TILE];"},
        {.name = "TILE", .body = "_Pragma(\"unroll TILE\")"},
        {.name = "TILE", .body = "int x;", .option = "-DN=TILE"},
        {.name = "f", .body = "int x;"}, /* the entry's name */
        {.name = "DEPTH", .body = "#include \"part.cuh\"", .has_include = true},
        {.name = "NDEBUG", .body = "#include <assert.h>\nint OTHER;"},
        {.name = "_TILE", .body = "int OTHER;"},
        {.name = "TILE", .body = "#define JOIN(a, b) a##b\nint OTHER, JOIN(TI, LE);"},
        {.name = "TILE", .body = "#define NAME(x) TI##x\nint OTHER, NAME(LE);"},
        {.name = "TILE", .body = "#define NAME(x, TI) 0 \\\n + TI##x\nint OTHER, NAME(LE, TI);"},
        {.name = "TILE", .body = "#define NAME(...) __VA_ARGS__##E\nint OTHER, NAME(TIL);"},
        {.name = "TILE", .body = "#define NAME(a, b) a%:%:b\nint OTHER, NAME(TI, LE);"},
        {.name = "TILE", .body = "#include <cub/cub.cuh>\nint OTHER;"},
        {.name = "TILE", .body = "# include OTHER"},
        {.name = "TILE", .body = "#include <stdint.h>\nint OTHER;", .option = "-I/usr/own"},
        {.name = "TILE", .body = "#include <stdint.h>\nint OTHER;", .compiler = HN_COMPILER_NVCC},
        {.name = "TILE", .body = "#include <vector_types.h>\nint OTHER;"},
        {.name = "TILE", .body = "int x = TI\\\nLE;"},
        {.name = "TILE", .body = "int x = TI\\\r\nLE;"},
        {.name = "TILE", .body = "int OTHER = TI\\ \nLE;"},
        {.name = "TILE", .body = "#if OTHER != 3\nint x;\n#else\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "#if TILE > 1\nint OTHER;\n#endif"},
        {.name = "TILE", .body = "#if TILE > 1\n#elif TILE == 1\nint OTHER;\n#endif"},
        {.name = "TILE", .body = "#define N OTHER - TILE\n#if N * 2 == -1\n#else\nint x;\n#endif"},
        {.name = "TILE", .body = "#if __CUDA_ARCH__ >= 900\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "#if defined(__CUDA_ARCH__) && TILE > 1\nint x;\n#endif"},
        {.name = "TILE",
         .body = "#ifndef WIDTH\n#define WIDTH 1\n#endif\n#if WIDTH == 2\nint x = TILE;\n#endif"},
        {.name = "TILE",
         .body = "#ifdef WIDTH\n#undef OTHER\n#endif\n#ifndef OTHER\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "#if OTHER - 4u > 0\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "#if 9223372036854775807 + OTHER < 0\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "#if 1 / (OTHER - 3)\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "#define OTHER(x) 0\n#if OTHER(1)\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "#define LOOP LOOP\n#if LOOP\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "char x = '\\''; int y = 1'0/* ' */; int z = TILE; // '"},
        {.name = "TILE", .body = "int OTHER;\n?\?=if 0\n#else\nint x = TILE;\n#endif"},
        {.name = "TILE", .body = "auto x = R\"(/*)\"; int y = TILE; // */"},
        {.name = "TILE",
         .body = "#pragma push_macro(\"OTHER\")\n#undef OTHER\n#define OTHER 4\n"
                 "#pragma pop_macro(\"OTHER\")\n#if OTHER == 3\nTILE\n#endif"},
        {.name = "TILE", .body = "#if OTHER == 3\n#elifdef X\n#else\nint x;\n#endif"},
        {.name = "TILE", .body = "#if 0\nint x;"},
        {.name = "TILE", .body = "#endif\nint x;"},
        {.name = "UINT_MAX", .body = "#include <climits>\n#if UINT_MAX > 1\nint x;\n#endif"},
        {.name = "TILE", .body = "#if 0\nint x = TILE;\n#endif", .blind = true},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!counts(&pairs[i]))
            fail_msg("%s does not count in %s", pairs[i].name, pairs[i].body);
    }
}

/* Where a condition leaves the same text the macro itself counts no more. */
static void conditions_count_by_what_they_leave(void **state)
{
    (void)state;
    const struct pair pair = {.name = "TILE",
                              .body = "#if TILE % 4 == 0\nint a;\n#else\nint b;\n#endif"};
    struct hn_source_key keys[9];
    for (int i = 0; i <= 8; i++)
        keys[i] = key_of(&pair, i, "sm_90");
    assert_string_equal(keys[1].hash.hex, keys[2].hash.hex);
    assert_string_equal(keys[4].hash.hex, keys[8].hash.hex);
    assert_string_not_equal(keys[3].hash.hex, keys[4].hash.hex);
    const struct pair nothing = {
        .name = "TILE", .body = "#if TILE > 1\n#if OTHER == 4\nint x = TILE;\n#endif\n#endif"};
    assert_false(counts(&nothing));
    const struct pair moved = {
        .name = "TILE",
        .body = "#if TILE > 1\nint x = __LINE__;\n#else\nint x = __LINE__;\n#endif"};
    assert_true(counts(&moved));
}

/* What leaves it out the second time is not known, so that the macros of its lines are not either.
 */
static void files_that_are_included_twice(void **state)
{
    (void)state;
    const struct pair pair = {
        .name = "TILE",
        .has_include = true,
        .body = "#undef DEPTH\n#define DEPTH 1\n#include \"part.cuh\"\n#undef DEPTH\n"
                "#define DEPTH TILE\n#include \"part.cuh\"\n"};
    assert_true(counts(&pair));
}

/* LOAD_ldg is there for LOAD, and no parameter. */
static void words_of_a_parameter_are_no_parameters(void **state)
{
    (void)state;
    struct hn_source_key key;
    struct hn_template template = {.path = "f.cu"};
    char text[] = "#define LOAD_plain 1\n#define LOAD_ldg 2\n#define LOAD 2\n#define TILE LOAD\n"
                  "#line 1\nint x = TILE == LOAD_ldg;";
    const struct hn_source source = {.template = &template, .text = text};
    assert_int_equal(hn_source_key(&source, "sm_90", true, &key, NULL), HN_OK);
    assert_false(key.leaves_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_reads_does_not_count),
        cmocka_unit_test(what_may_be_read_counts),
        cmocka_unit_test(conditions_count_by_what_they_leave),
        cmocka_unit_test(files_that_are_included_twice),
        cmocka_unit_test(words_of_a_parameter_are_no_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
