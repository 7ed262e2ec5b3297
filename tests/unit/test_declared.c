/* SPDX-License-Identifier: MIT */
#include "runtime/compile/code_scan.h"
#include "tests/unit/unit.h"

static const char source[] =
    "// __global__ void first(int *x) {}\n"
    "__global__ void first(int *x);\n"
    "extern \"C\" __global__ void __launch_bounds__(BLOCK * 2, f(1, 2))\n"
    "first(const float *__restrict__ in, float* out, std::uint32_t n = g(3, 4)) {}\n"
    "template <int N> __global__ void second(unsigned long long count, T x[]) { if (N) { } }\n"
    "__global__ void none(void) {}\n"
    "__global__ void twice(int) {}\n__global__ void twice(float) {}\n"
    "__global__ void torn(int a,\n#if X\n int b\n#endif\n) {}\n";

static bool find(const char *name, struct hn_declared *declared)
{
    return hn_declared_find(source, name, strlen(name), declared);
}

TEST(test_reads_parameters)
{
    struct hn_declared declared;
    assert_true(find("first", &declared));
    assert_int_equal(declared.count, 3);
    assert_string_equal(declared.parameters[0].type, "float");
    assert_string_equal(declared.parameters[0].spelled, "const float *");
    assert_true(declared.parameters[0].pointer && declared.parameters[0].constant);
    assert_true(declared.parameters[1].pointer && !declared.parameters[1].constant);
    assert_string_equal(declared.parameters[2].type, "std::uint32_t");
    assert_true(find("second", &declared));
    assert_string_equal(declared.parameters[0].type, "unsigned long long");
    assert_string_equal(declared.parameters[1].spelled, "T *");
    assert_true(find("none", &declared));
    assert_int_equal(declared.count, 0);
}

TEST(test_what_is_not_judged)
{
    struct hn_declared declared;
    static const char *const names[] = {"nowhere", "firs", "twice", "torn"};
    for (size_t i = 0; i < 4; i++)
        assert_false(find(names[i], &declared));
}

/* A file that ends anywhere is read all the same. */
TEST(test_torn_declarations)
{
    struct hn_declared declared;
    for (size_t length = 0; length < sizeof source; length++) {
        char *torn FREED = strndup(source, length);
        hn_declared_find(torn, "first", 5, &declared);
        hn_declared_find(torn, "torn", 4, &declared);
    }
}
