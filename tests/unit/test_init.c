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

/* The config of a source's one kernel. */
static char *config_of(const char *text)
{
    struct hn_draft draft;
    struct hn_source_text *source = source_of(text);
    struct hn_kernels *kernels = kernels_of(source);
    struct hn_macros *macros = macros_of(source);
    assert_int_equal(kernels->count, 1);
    hn_macros_add_undefined(source, macros);
    assert_ok(hn_draft_make(source, &kernels->items[0], macros, &draft, &said));
    char *config = hn_draft_write(&draft, "k.cu", "k.cu");
    assert_non_null(config);
    hn_draft_finish(&draft);
    drop(macros);
    drop(kernels);
    drop(source);
    return keep(config, free);
}

/* The config of a source has these parts, up to a NULL. */
static void assert_has(const char *source, const char *const *parts)
{
    char *config = config_of(source);
    for (; *parts != NULL; parts++)
        if (strstr(config, *parts) == NULL)
            fail_msg("no '%s' in:\n%s", *parts, config);
    drop(config);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(test_roles)
{
    assert_has(
        "__global__ void k(const float *a, float *b, float *c, int *d, double *e, float2 *f, int "
        "n) {"
        " b[n] = a[n]; if (b == c) c[n + 1] += 1; atomicAdd(&d[0], 1); b[0] = e[n]; f[n].x = 1; }",
        PARTS("entry: \"&k\"", "{name: a, type: float32, count: n}\n",
              "{name: c, type: float32, count: n, role: inout}",
              "{name: d, type: int32, count: n, role: inout}",
              "{name: e, type: float64, count: n}\n",
              "{name: f, type: float32x2, count: n, role: output}\n",
              "{name: n, type: int32, value: n}\n", "grid: [\"ceil_div(n, BLOCK)\"]"));
}

TEST(test_two_dimensions)
{
    assert_has(
        "#ifndef TILE_DIM\n#define TILE_DIM 32\n#endif\n"
        "#ifndef BLOCK_ROWS\n#define BLOCK_ROWS 8\n#endif\n"
        "extern \"C\" __global__ void k(float *out, const float *in, int width, int height) {"
        " out[threadIdx.y * width + threadIdx.x] = in[0]; }",
        PARTS("block: [TILE_DIM, BLOCK_ROWS]\n",
              "grid: [\"ceil_div(width, TILE_DIM)\", \"ceil_div(height, TILE_DIM)\"]",
              "- TILE_DIM * BLOCK_ROWS <= 1024",
              "{name: out, type: float32, count: width * height, role: output}\n"));
}

TEST(test_templates_and_bounds)
{
    assert_has(
        "template <typename T, int block, int ITEMS> __global__ void __launch_bounds__(block)"
        " k(T *x, size_t n) { x[n] = 0; int BLOCK = 3; }",
        PARTS("entry: \"k<float, TUNE_BLOCK, TUNE_ITEMS>\"",
              "TUNE_BLOCK: [64, 128, 256, 512, 1024]", "block: [TUNE_BLOCK]\n",
              "grid: [\"ceil_div(n, TUNE_BLOCK * TUNE_ITEMS)\"]"));
}

TEST(test_sizes_that_are_macros)
{
    assert_has("#ifndef N\n#define N 1048576\n#endif\n#ifndef PAD\n#define PAD 0\n#endif\n"
               "extern \"C\" __global__ void __launch_bounds__(128) k(float *x) { x[N] = PAD; }",
               PARTS("problem: {N: 1048576}\nfreeze: [N]", "PAD: [0, 1]\n", "block: [128]\n"));
}

TEST(test_names_that_nobody_defines)
{
    assert_has(
        "#define SET 3\nconstexpr int KNOWN = 4; enum { A, B };\n"
        "__global__ void k(float *C, const float *D) { float *P = C; P[0] = P + 1 != C;"
        " for (int i = 0; i < ITEMS * KNOWN; i++) C[i * BLOCK + A] = D[N & 3] + SET + INT_MAX"
        " + CALL(1) + s.M + T::K; }",
        PARTS("problem: {N: 4194304}\nfreeze: [N]",
              "parameters:\n"
              "  ITEMS: [1, 2, 4, 8]  # TODO: which values? The source defines it nowhere\n"
              "  BLOCK: [64, 128, 256, 512, 1024]  # TODO: which values? The source defines "
              "it nowhere\ndefaults:"));
    assert_has("#include \"other.cuh\"\n__global__ void k(float *x) { x[0] = ITEMS; }",
               PARTS("parameters:\n  BLOCK: "));
}

/* The parameters of a source, as one line. */
static void assert_parameters(const char *source, const char *parameters)
{
    char *config = config_of(source);
    const char *begin = strstr(config, "defaults: ");
    assert_non_null(begin);
    if (strncmp(begin, parameters, strlen(parameters)) != 0)
        fail_msg("no '%s' in:\n%s", parameters, config);
}

TEST(test_names_in_conditions_and_macros)
{
    assert_parameters(
        "#define width (block_size_x * tile)\n#define CACHE read_only\n#define UNUSED(x) nothing\n"
        "#if use_shmem == 1 && CACHE == 2\n#endif\n#ifdef DEBUG\n#endif\n#if "
        "defined(TRACE)\n#endif\n"
        "__global__ void k(float *x) {\n#pragma unroll factor\n for (int i = 0; i < width; i++) "
        "x[i] = 0; }",
        "defaults: {block_size_x: 256, tile: 16, read_only: 2, use_shmem: 0, factor: 1}");
}

/* Nothing of these is a parameter. */
TEST(test_names_that_are_declared)
{
    assert_parameters(
        "constexpr int A = 1, B = 2; typedef double real; using byte = unsigned char;\n"
        "#define CHECK(call) do { int status = (call); if (status != cudaSuccess) exit(status); } "
        "while (0)\n"
        "struct Two { real one, two; }; enum Kind { First, Second };\n"
        "int main() { int host = unknown; k<<<1, GRID>>>(0); CHECK(0); }\n"
        "template <int N> __device__ void fill(real (&to)[N], const real *from, int n, byte b) {\n"
        " for (int i = 0, end = n; i < end && n > A; i++) to[i] = from[i] * B + b; }\n"
        "__global__ void k(real *out, cudaTextureObject_t image) {\n"
        " struct { float a; } temp; union { int i; float f; } *both = 0; auto f = [](int v) { "
        "return v; };\n"
        " float4 four = make_float4(0, 0, 0, 0); temp.a = four.x; real own[2], other = *own, "
        "more;\n"
        " more = tex2D<float>(image, 0, 0) + (float)sizeof(float4) + INT16_MAX + FLT_MIN + First;\n"
        " again: if (other * more > 1) goto again; out[warpSize] = f(both->i) + "
        "static_cast<uint32_t>(other); }",
        "defaults: {BLOCK: 256}");
}

TEST(test_values_of_template_parameters)
{
    assert_has("template <typename T, typename Index, bool Shared, int Bins = 64, unsigned Odd>\n"
               "__global__ void k(T *x, const Index *at) { x[at[0]] = 0; }",
               PARTS("entry: \"k<float, int, SHARED, BINS, ODD>\"", "{name: at, type: int32, ",
                     "  SHARED: [false, true]  # the template's Shared\n",
                     "  BINS: [32, 64, 128]  # the template's Bins\n",
                     "  ODD: [1]  # the template's Odd; TODO: which values?\n"));
}

TEST(test_blocks)
{
    assert_has(
        "constexpr int kWarp = 32, kThreads = 192;\n"
        "__global__ void __launch_bounds__(kThreads) k(float *x) { x[blockDim.x] = 0; }",
        PARTS("  BLOCK: [192]  # TODO: which block? The kernel does not ask how large it is\n"));
    assert_has("__global__ void k(float *x) { x[threadIdx.y] = 0; }",
               PARTS("  BLOCK_X: [32]  # TODO: which block?"));
    assert_has("__global__ void k(float *x) { x[blockIdx.y * block_size_x + threadIdx.x] = 0; }",
               PARTS("  block: [block_size_x, 1]\n"));
}

TEST(test_compiler)
{
    static const char kernel[] = "__global__ void k(int *x) { x[0] = 1; }\n";
    static const struct {
        const char *before;
        bool nvcc;
    } cases[] = {
        {"#include <stdint.h>\n#include <cmath>\n#include <cuda_fp16.h>\n#include "
         "<cub/block/block_scan.cuh>\n",
         false},
        {"#include <vector>\n", true},
        {"#include <cub/cub.cuh>\n", true},
        {"namespace a { inline int f(int x) { return x; } }\n", true},
        {"namespace a { __device__ inline int f(int x) { return x; } }\n", false},
        {"int f(int x);\nstruct S { int a[2] = {1, 2}; };\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char source[256];
        snprintf(source, sizeof source, "%s%s", cases[i].before, kernel);
        char *config = config_of(source);
        assert_int_equal(strstr(config, "\ncompile: {compiler: nvcc}") != NULL, cases[i].nvcc);
    }
}

TEST(test_nothing_is_written)
{
    struct hn_macros macros = {.items = NULL};
    struct hn_draft draft;
    struct hn_source_text *source = source_of("__global__ void k(const float *a, int n) { }");
    assert_error(hn_draft_make(source, &kernels_of(source)->items[0], &macros, &draft, &said),
                 HN_ECONFIG,
                 "k.cu: kernel 'k' has no argument that it could write to; its results "
                 "have to be there to be compared");
}
