/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source.h"

#include "tests/unit/unit.h"

static struct hn_text_file files[] = {{"f.cu", NULL}, {"part.cuh", "static int part = DEPTH;\n"}};

/* Of `#define X 1` before the body, and 2. */
struct pair {
    const char *name, *body;
    const char *option; /* NULL: none */
    bool has_include;
    enum hn_compiler compiler;
};

static struct hn_source_key key_of(const struct pair *pair, int value, const char *architecture)
{
    char text[512];
    char *entry = "f";
    char *option = (char *)pair->option;
    struct hn_source_key key;
    struct hn_template template = {.files = files, .file_count = 1 + pair->has_include};
    snprintf(text, sizeof text, "#define OTHER 3\n#define %s %d\n#line 1\n%s", pair->name, value,
             pair->body);
    const struct hn_source source = {.template = &template,
                                     .compiler = pair->compiler,
                                     .text = text,
                                     .entries = &entry,
                                     .entry_count = 1,
                                     .options = &option,
                                     .option_count = option != NULL};
    assert_ok(hn_source_key(&source, architecture, &key, NULL));
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

TEST(what_nothing_reads_does_not_count)
{
    static const struct pair pairs[] = {
        {.name = "STREAMS", .body = "__global__ void f() {}"},
        {.name = "STREAMS", .body = "int STREAMS_2, NSTREAMS; // and OTHER"},
        {.name = "STREAMS", .body = "#include <stdint.h>\n#include <climits>\nint x;"},
        {.name = "STREAMS", .body = "#include \"part.cuh\"\n", .has_include = true},
        {.name = "STREAMS", .body = "int x;", .option = "-DN=OTHER"},
        {.name = "TILE", .body = "int x; // TILE\n/* TILE\n # if TILE */ int OTHER; // a ## b"},
        {.name = "TILE", .body = "int x = 1'000; char y = '\"';\n// TILE\nint OTHER;"},
        {.name = "TILE", .body = "// TILE \\\n TILE /* \nint OTHER; // \\\r\n TILE"},
        {.name = "TILE", .body = "#define SUM(a) \\\n (a + \\\n  1)\nint OTHER; // TILE"},
        {.name = "TILE", .body = "#ifndef TILE // wide\n#define TILE 8\n#endif\nint OTHER;"},
        {.name = "TILE", .body = "#define SUM(a, n) a + SUM_##n - SUM_##a\nint OTHER;"},
        {.name = "TILE",
         .body = "int OTHER;\n # ifndef TILE\n#if TILE > 2\n#else\n#endif\n# endif"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_false(counts(&pairs[i]));
        assert_true(key_of(&pairs[i], 1, "sm_90").leaves_out);
    }
}

TEST(what_may_be_read_counts)
{
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
        {.name = "TILE", .body = "#if OTHER != 3\nint x = TILE;\n#endif\nint OTHER;"},
        {.name = "TILE", .body = "#if TILE > 1\nint OTHER;\n#endif"},
        {.name = "SUM_TILE", .body = "#define SUM(a, n) a + SUM_##n\nint OTHER;"},
        {.name = "TILE", .body = "# error don't\nint OTHER;"},
        {.name = "TILE", .body = "#ifndef TILE\n#define TILE 8\n#endif\nint OTHER[TILE];"},
        {.name = "TILE", .body = "#ifndef TILE\n#else\nint x[TILE];\n#endif\nint OTHER;"},
        {.name = "TILE", .body = "#ifndef TILE\n/**/ #endif\nint x[TILE];\n#ifdef A\n#endif"},
        {.name = "TILE", .body = "#undef OTHER\n#ifndef OTHER\nint x[TILE];\n#endif"},
        {.name = "TILE", .body = "#ifndef OTHERS\nint x[TILE];\n#endif\nint OTHER;"},
        {.name = "TILE", .body = "#ifndef OTHER\nint x;\n"},
        {.name = "TILE", .body = "/\\\n/ it's /*\nint x = TILE; // */"},
        {.name = "TILE", .body = "auto x = \"a \\\n /* \"; int y = TILE; /* */"},
        {.name = "TILE", .body = "char x = '\\''; int y = 1'0/* ' */; int z = TILE; // '"},
        {.name = "TILE", .body = "int OTHER; // ?\?/\n int x = TILE;"},
        {.name = "TILE", .body = "auto x = R\"(/*)\"; int y = TILE; // */"},
        {.name = "TILE", .body = "/* int OTHER;"},
        {.name = "UINT_MAX", .body = "#include <climits>\nint OTHER;"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!counts(&pairs[i]))
            fail_msg("%s does not count in %s", pairs[i].name, pairs[i].body);
    }
}

/* LOAD_ldg is there for LOAD, and no parameter. */
TEST(words_of_a_parameter_are_no_parameters)
{
    struct hn_source_key key;
    struct hn_template template = {.files = files, .file_count = 1};
    char text[] = "#define LOAD_plain 1\n#define LOAD_ldg 2\n#define LOAD 2\n#define TILE LOAD\n"
                  "#line 1\nint x = TILE == LOAD_ldg;";
    const struct hn_source source = {.template = &template, .text = text};
    assert_ok(hn_source_key(&source, "sm_90", &key, NULL));
    assert_false(key.leaves_out);
}

/* What was compiled with a header of -I is of no use once that is edited. */
TEST(files_of_folders_count)
{
    struct hn_source_key keys[2];
    struct hn_text_file other = {.name = "/inc/a.cuh", .text = "int a;"};
    struct hn_template template = {
        .files = files, .file_count = 1, .others = &other, .other_count = 1};
    char text[] = "#line 1\n#include <a.cuh>";
    const struct hn_source source = {.template = &template, .text = text};
    for (int i = 0; i < 2; i++) {
        template.hash = hn_hash_string(i == 0 ? "int a;" : "int b;"); /* of all texts */
        assert_ok(hn_source_key(&source, "sm_90", &keys[i], NULL));
    }
    assert_string_not_equal(keys[0].hash.hex, keys[1].hash.hex);
}
