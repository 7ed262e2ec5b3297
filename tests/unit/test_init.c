/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "tests/unit/unit.h"
#include "tuner/init/draft.h"
#include "tuner/init/unit.h"

/* Without libclang the tests are skipped, and say so. */
static int find_clang(void)
{
    struct hn_unit unit = {.path = NULL};
    bool found = hn_unit_read(HONE_TEST_DATA "/init/sparse.cu", &unit, &said) == HN_OK;
    if (!found)
        print_message("%s\n", said.message);
    hn_blocks_finish(&unit.memory);
    return found;
}

ONLY_WHERE(find_clang)

static void finish_unit(struct hn_unit *unit)
{
    hn_blocks_finish(&unit->memory);
}

static struct hn_unit *read_unit(const char *text)
{
    static struct hn_unit unit;
    char path[4096];
    snprintf(path, sizeof path, "%s/k.cu", own_folder());
    assert_ok(hn_file_write(path, text, strlen(text), NULL));
    unit = (struct hn_unit){.path = NULL};
    assert_ok(hn_unit_read(path, &unit, &said));
    return keep(&unit, finish_unit);
}

TEST(test_finds_kernels)
{
    const struct hn_unit *unit =
        read_unit("// __global__ void no(int *x) {}\n"
                  "__global__ void declared(int *x);\n"
                  "extern \"C\" __global__ void\n"
                  "__launch_bounds__(128 * 2)\n"
                  "first(const float *__restrict__ in, float* out, int n = 3) {}\n"
                  "namespace a { namespace b {\n"
                  "template <int N, class T> static __global__ void second(T x[], "
                  "unsigned long long count) { if (N) { } }\n"
                  "}}\n"
                  "extern \"C\" {\n__global__ void third(void) {}\n}\n");
    assert_int_equal(unit->kernels.count, 3);
    const struct hn_kernel *first = &unit->kernels.items[0];
    assert_string_equal(first->name, "first");
    assert_string_equal(first->scope, "");
    assert_string_equal(first->mangled, first->name);
    assert_int_equal(first->arguments.count, 3);
    assert_string_equal(first->arguments.items[0].name, "in");
    assert_string_equal(first->arguments.items[0].type, "float32");
    assert_true(first->arguments.items[0].pointer && first->arguments.items[0].constant);
    assert_true(first->arguments.items[1].pointer && !first->arguments.items[1].constant);
    assert_string_equal(first->arguments.items[2].name, "n");
    assert_false(first->arguments.items[2].pointer);
    const struct hn_kernel *second = &unit->kernels.items[1];
    assert_string_equal(second->scope, "a::b::");
    assert_string_not_equal(second->mangled, second->name);
    assert_int_equal(second->parameters.count, 2);
    assert_string_equal(second->parameters.items[0].name, "N");
    assert_int_equal(second->parameters.items[0].kind, HN_PARAMETER_NUMBER);
    assert_int_equal(second->parameters.items[1].kind, HN_PARAMETER_TYPE);
    assert_string_equal(second->arguments.items[0].name, "x");
    assert_true(second->arguments.items[0].pointer);
    assert_string_equal(second->arguments.items[1].type, "uint64");
    assert_string_equal(unit->kernels.items[2].mangled, unit->kernels.items[2].name);
    assert_int_equal(unit->kernels.items[2].arguments.count, 0);
}

/* A file that ends anywhere is read all the same. */
TEST(test_torn_sources)
{
    static const char whole[] =
        "#ifndef T\n#define T 4\n#endif\nextern \"C\" __global__ void __launch_bounds__(T) "
        "k(const float *a, float *b) { b[threadIdx.x] = a[0]; /* x */ \"s\"; 'c'; R\"(r)\"; }\n"
        "int main() { k<<<dim3(1, T), T>>>(0, 0); }";
    for (size_t length = 0; length < sizeof whole; length += 3) {
        char *torn FREED = strndup(whole, length);
        drop(read_unit(torn));
    }
}

static const struct hn_meaning *meaning_of(const struct hn_unit *unit, const char *name)
{
    const struct hn_meaning *meaning = hn_unit_meaning(unit, name, 0);
    assert_non_null(meaning);
    return meaning;
}

TEST(test_macros)
{
    const struct hn_unit *unit =
        read_unit("#ifndef FIELD_H\n#define FIELD_H 1\n#define NOT 3\n#endif\n"
                  "#ifndef TILE /* x */\n# define TILE (0x10u)\n#endif\n"
                  "#if !defined(LOAD)\n#define LOAD_plain 1\n#define LOAD LOAD_plain\n#endif\n"
                  "#ifndef BM\n#define BM 128\n#define BN 1 << 6\n#define F(x) x\n#endif\n"
                  "#define ALONE 3 \\\n + 4\n");
    int64_t number = 0;
    assert_true(meaning_of(unit, "TILE")->guarded);
    assert_true(hn_unit_number(unit, meaning_of(unit, "TILE")->body.begin + 1, &number));
    assert_int_equal(number, 16);
    assert_true(meaning_of(unit, "LOAD")->guarded && meaning_of(unit, "BN")->guarded);
    assert_false(meaning_of(unit, "FIELD_H")->guarded || meaning_of(unit, "NOT")->guarded);
    assert_false(meaning_of(unit, "ALONE")->guarded);
    assert_false(hn_unit_number(unit, meaning_of(unit, "LOAD")->body.begin, &number));
}

/* What a kernel does with its pointers, also by another name. */
TEST(test_uses_of_pointers)
{
    const struct hn_unit *unit = read_unit(
        "__device__ void f(float *x);\n"
        "__global__ void k(float *r, float *w, float *b, float *p, float *a, float *s, "
        "float *c, float *m, float *d, float *e, float *g, int *i, int *j) {\n"
        " m += 4; m[0] = 1; ++i[2]; --*j; const auto *t = reinterpret_cast<const float4 *>(d);\n"
        " reinterpret_cast<float4 *>(&e[4])[0] = t[0]; float *h = &g[4]; *h += 1;\n"
        " w[1] = r[0] == 1 ? 2 : 3; b[0] += 1; f(p); float *row = a + 4; row[2] = 1;\n"
        " *(s + 1) = 2; reinterpret_cast<float4 *>(c)[0] = make_float4(0, 0, 0, 0); }\n");
    static const struct {
        bool reads, writes, passed;
    } expected[] = {{true, false, false}, {false, true, false}, {true, true, false},
                    {true, true, true},   {false, true, false}, {false, true, false},
                    {false, true, false}, {false, true, false}, {true, false, false},
                    {false, true, false}, {true, true, false},  {true, true, false},
                    {true, true, false}};
    for (size_t i = 0; i < 13; i++) {
        const struct hn_kernel_argument *argument = &unit->kernels.items[0].arguments.items[i];
        assert_int_equal(argument->reads, expected[i].reads);
        assert_int_equal(argument->writes, expected[i].writes);
        assert_int_equal(argument->passed, expected[i].passed);
    }
}

TEST(test_expressions)
{
    static const char *const expected[][2] = {
        {"n / B + 0x10u", "N // 64 + 16"},
        {"WIDE * blockDim.x", "(2 * 64) * (BX * BY)"},
        {"static_cast<size_t>(n) % (unsigned)config::B", "N % 64"},
        {"(number)n * static_cast<number>(2)", "N * 2"},
        {"n << 2 && !n", "N << 2 and not N"},
        {"(n + 255) / 256", "ceil_div(N, 256)"},
        {"(n + B - 1) / B", "ceil_div(N, 64)"},
        {"(n + B * 2 - 1) / (B * 2)", "ceil_div(N, 64 * 2)"},
        {"(n + blockDim.x - 1) / blockDim.x", "ceil_div(N, BX * BY)"},
        {"(n + 127) / 128 * 2", "(N + 127) // 128 * 2"},
        {"(n + 1) * ((n + 7) / 8)", "(N + 1) * ceil_div(N, 8)"},
        {"(unsigned)ceil(n / (float)B)", "ceil_div(N, 64)"},
        {"ceil(n / 128.0f)", "ceil_div(N, 128)"},
        {"cdiv(n, B)", "ceil_div(N, 64)"},
        {"up(n * 2)", "ceil_div(N * 2, 32)"},
        {"std::min(n / 2, 0x10u)", "min(N // 2, 16)"},
        {"n * sizeof(float2)", "N * 8"},
        {"2.5f", "2.5"},
        {"n + 0x1000000000000000", "N + 1152921504606846976"},
        {"(0x10u)", "16"},
        {"1 << 6", "1 << 6"},
        {"true + 3 \\\n + 4", "1 + 3 + 4"},
        {"n ? 1 : 2", "1 if N else 2"},
        {"n > 1 ? n : n > 0 ? 2 : 3", "N if N > 1 else (2 if N > 0 else 3)"},
        {"2 * ((n < 8) ? n : 8)", "2 * (N if N < 8 else 8)"},
        {"n % B == 0 ? 0 : n / B + 1", "0 if N % 64 == 0 else (N // 64 + 1)"},
        {"(n % B) ? n / B + 1 : n / B", "(N // 64 + 1) if N % 64 else (N // 64)"},
        {"B > 32 ? n : unknown", "N"},
        {"n > 1 ? n > 2 ? 3 : 4 : 5", NULL},
        {"n ? unknown : 1", NULL},
        {"n ?", NULL},
        {"f(n)", NULL},
        {"unknown + 1", NULL},
        {"-", NULL},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "#define WIDE 2 * B\n#define up(x) (((x) + 31) / 32)\nconst int B = 64;\n"
                 "typedef unsigned long long number;\nint f(int x);\nint wanted = %s;\n",
                 expected[i][0]);
        struct hn_unit *unit = read_unit(text);
        struct hn_value one = hn_integer(1);
        struct hn_draft_name size = {.name = "N", .own = "n", .values = {&one, 1}};
        struct hn_draft draft = {.unit = unit,
                                 .kernel = &(struct hn_kernel){.name = "k"},
                                 .names = {&size, 1},
                                 .block = {"BX * BY"}};
        size_t name = hn_find(unit, (struct hn_tokens){0, SIZE_MAX}, "wanted");
        struct hn_tokens tokens = {name + 2, unit->tokens.count - 1};
        const char *found = hn_draft_translate(&draft, tokens);
        if (expected[i][1] == NULL)
            assert_null(found);
        else
            assert_string_equal(found != NULL ? found : expected[i][0], expected[i][1]);
        drop(unit);
    }
}
