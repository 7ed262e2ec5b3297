/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "tuner/init/draft.h"

static struct hn_source_text *source_of(const char *text)
{
    static struct hn_source_text source;
    hn_source_text_make("k.cu", strdup(text), &source);
    return keep(&source, hn_source_text_finish);
}

static struct hn_kernels *kernels_of(const struct hn_source_text *source)
{
    static struct hn_kernels kernels;
    hn_kernels_find(source, &kernels);
    return keep(&kernels, hn_kernels_finish);
}

static struct hn_macros *macros_of(const struct hn_source_text *source)
{
    static struct hn_macros macros;
    hn_macros_find(source, &macros);
    return keep(&macros, hn_macros_finish);
}

static void assert_code(const char *text, const char *code)
{
    struct hn_source_text *source = source_of(text);
    assert_string_equal(source->code, code);
    assert_int_equal(strlen(source->directives), source->length);
    drop(source);
}

TEST(test_blanks_what_is_no_code)
{
    assert_code("a // b\nc", "a     \nc");
    assert_code("a /* b\n */ c", "a     \n    c");
    assert_code("s = \"// no { \"; t", "s = \"        \"; t");
    assert_code("c = '\"'; d", "c = ' '; d");
    assert_code("c = '\\''; d", "c = '  '; d");
    assert_code("n = 1'000'000; d", "n = 1'000'000; d");
    assert_code("r = R\"x(a \" )\" )x\"; d", "r = R\"           \"; d");
    assert_code("#define A {\nb", "           \nb");
    assert_code("#define A \\\n {\nb", "              \nb");
    assert_code("a /* open", "a        ");
    assert_code("\"open\nb", "\"    \nb");
}

TEST(test_finds_kernels)
{
    const struct hn_source_text *source =
        source_of("// __global__ void no(int *x) {}\n"
                  "__global__ void declared(int *x);\n"
                  "extern \"C\" __global__ void\n"
                  "__launch_bounds__(BLOCK * 2, f(1, 2))\n"
                  "first(const float *__restrict__ in, float* out, int n = 3) {}\n"
                  "namespace a { namespace b {\n"
                  "template <int N, class T> static __global__ void second(T x[], "
                  "unsigned long long count) { if (N) { } }\n"
                  "}}\n"
                  "extern \"C\" {\n__global__ void third(void) {}\n}\n");
    const struct hn_kernels *kernels = kernels_of(source);
    assert_int_equal(kernels->count, 3);
    const struct hn_kernel *first = &kernels->items[0];
    assert_string_equal(first->name, "first");
    assert_string_equal(first->scope, "");
    assert_string_equal(first->bounds, "BLOCK * 2");
    assert_true(first->extern_c);
    assert_int_equal(first->argument_count, 3);
    assert_string_equal(first->arguments[0].name, "in");
    assert_string_equal(first->arguments[0].type, "float");
    assert_true(first->arguments[0].pointer && first->arguments[0].constant);
    assert_true(first->arguments[1].pointer && !first->arguments[1].constant);
    assert_string_equal(first->arguments[2].name, "n");
    assert_false(first->arguments[2].pointer);
    const struct hn_kernel *second = &kernels->items[1];
    assert_string_equal(second->scope, "a::b::");
    assert_false(second->extern_c);
    assert_int_equal(second->parameter_count, 2);
    assert_string_equal(second->parameters[0].name, "N");
    assert_false(second->parameters[0].is_type);
    assert_true(second->parameters[1].is_type);
    assert_string_equal(second->arguments[0].name, "x");
    assert_true(second->arguments[0].pointer);
    assert_string_equal(second->arguments[1].type, "unsigned long long");
    assert_true(kernels->items[2].extern_c);
    assert_int_equal(kernels->items[2].argument_count, 0);
}

/* A file that ends anywhere is read all the same. */
TEST(test_torn_sources)
{
    static const char whole[] =
        "#ifndef T\n#define T 4\n#endif\nextern \"C\" __global__ void __launch_bounds__(T) "
        "k(const float *a, float *b) { b[threadIdx.x] = a[0]; /* x */ \"s\"; 'c'; R\"(r)\"; }";
    for (size_t length = 0; length < sizeof whole; length++) {
        char *torn FREED = strndup(whole, length);
        struct hn_source_text *source = source_of(torn);
        drop(kernels_of(source));
        drop(macros_of(source));
        drop(source);
    }
}

TEST(test_macros)
{
    const struct hn_source_text *source =
        source_of("#ifndef FIELD_H\n#define FIELD_H 1\n#define NOT 3\n#endif\n"
                  "#ifndef TILE /* x */\n# define TILE (0x10u)\n#endif\n"
                  "#if !defined(LOAD)\n#define LOAD_plain 1\n#define LOAD_ldg 2\n"
                  "#define LOAD LOAD_ldg\n#endif\n"
                  "#ifndef BM\n#define BM 128\n#define BN 64\n#define F(x) x\n#endif\n"
                  "#ifndef FACTOR\n#define FACTOR 2.5f\n#endif\n"
                  "#define ALONE 3\n");
    const struct hn_macros *macros = macros_of(source);
    assert_int_equal(macros->count, 5);
    assert_int_equal(hn_macros_get(macros, "TILE")->number, 16);
    const struct hn_macro *load = hn_macros_get(macros, "LOAD");
    assert_int_equal(load->kind, HN_MACRO_WORD);
    assert_string_equal(load->word, "ldg");
    assert_int_equal(load->word_count, 2);
    assert_int_equal(hn_macros_get(macros, "BN")->number, 64);
    assert_int_equal(hn_macros_get(macros, "FACTOR")->kind, HN_MACRO_OTHER);
}
