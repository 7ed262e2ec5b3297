/* SPDX-License-Identifier: MIT */
#include "runtime/plan/fill.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench_fixture.h"
#include "runtime/bench/support.h"

/* The support kernels of the bench's device, with a buffer of their own. */
struct filler {
    struct bench_fixture fixture;
    struct hn_context context;
    struct hn_support support;
    CUdeviceptr data;
};

enum { BYTES = 1 << 20 };

static int set_up(void **state)
{
    static struct filler filler;
    struct hn_error err = {.message = ""};
    bench_fixture_load(&filler.fixture, "double/types.yaml", 90);
    if (hn_driver_open(&filler.fixture.driver, &err) != HN_OK ||
        hn_driver_select(&filler.fixture.driver, NULL, &filler.fixture.device, &err) != HN_OK ||
        hn_context_init(&filler.context, &filler.fixture.driver, &filler.fixture.device, &err) !=
            HN_OK ||
        hn_support_init(&filler.support, &filler.context, &filler.fixture.support, &err) != HN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(filler.fixture.driver.p_cuMemAlloc(&filler.data, BYTES), CUDA_SUCCESS);
    *state = &filler;
    return 0;
}

static int tear_down(void **state)
{
    struct filler *filler = *state;
    filler->fixture.driver.p_cuMemFree(filler->data);
    hn_support_finish(&filler->support);
    hn_context_finish(&filler->context);
    hn_driver_close(&filler->fixture.driver);
    bench_fixture_unload(&filler->fixture);
    return 0;
}

static void fill(struct filler *filler, enum hn_fill_kind kind, double a, double b,
                 enum hn_element element, uint64_t count, uint64_t seed, void *to)
{
    const struct hn_fill fill = {.kind = kind, .numbers = {a, b}};
    struct hn_error err = {.message = ""};
    assert_true(count * hn_element_size(element) <= BYTES);
    const struct hn_elements elements = {.data = filler->data, .count = count, .type = element};
    if (hn_support_fill(&filler->support, &elements, &fill, seed, 0, &err) != HN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(
        filler->fixture.driver.p_cuMemcpyDtoH(to, filler->data, count * hn_element_size(element)),
        CUDA_SUCCESS);
}

/* Every number once, for counts that are powers and counts that are not, in an order of the seed.
 */
static void a_permutation_has_every_number_once(void **state)
{
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 100, 1000, 1024, 65536, 100003};
    static uint32_t numbers[100003], others[100003];
    static unsigned char seen[100003];
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        uint64_t count = counts[c];
        fill(*state, HN_FILL_PERMUTATION, 0, 0, HN_UINT32, count, 1, numbers);
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < count; i++) {
            assert_true(numbers[i] < count);
            assert_int_equal(seen[numbers[i]]++, 0);
        }
        fill(*state, HN_FILL_PERMUTATION, 0, 0, HN_UINT32, count, 2, others);
        if (count >= 100)
            assert_memory_not_equal(numbers, others, count * sizeof *numbers);
    }
    /* Neighbours are no neighbours any more. */
    uint64_t near = 0;
    for (uint64_t i = 1; i < 100003; i++)
        near += numbers[i] + 16 > numbers[i - 1] && numbers[i - 1] + 16 > numbers[i];
    assert_true(near < 200);
}

/* How often each of the first `n` numbers is there. */
static void count_numbers(const uint16_t *numbers, uint64_t count, double *shares, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        shares[k] = 0;
    for (uint64_t i = 0; i < count; i++) {
        assert_true(numbers[i] < n);
        shares[numbers[i]] += 1.0 / (double)count;
    }
}

/* Within five standard deviations. */
static void assert_share(double found, double expected, double count)
{
    double deviation = sqrt(expected * (1 - expected) / count);
    if (fabs(found - expected) > 5 * deviation + 1e-12)
        fail_msg("a share of %g, expected %g", found, expected);
}

static void skewed_hits_one_number(void **state)
{
    enum { COUNT = 200000, N = 10 };
    static uint16_t numbers[COUNT];
    double shares[N];
    fill(*state, HN_FILL_SKEWED, N, 0.3, HN_UINT16, COUNT, 1, numbers);
    count_numbers(numbers, COUNT, shares, N);
    assert_share(shares[0], 0.3 + 0.7 / N, COUNT);
    for (int k = 1; k < N; k++)
        assert_share(shares[k], 0.7 / N, COUNT);
    fill(*state, HN_FILL_SKEWED, N, 1, HN_UINT16, COUNT, 1, numbers);
    count_numbers(numbers, COUNT, shares, N);
    assert_true(fabs(shares[0] - 1) < 1e-9);
}

static void zipf_follows_its_formula(void **state)
{
    enum { COUNT = 200000, N = 50 };
    static const double exponents[] = {0, 0.5, 1, 1.0000001, 1.5, 3};
    static uint16_t numbers[COUNT];
    double shares[N];
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        double sum = 0;
        for (int j = 1; j <= N; j++)
            sum += pow(j, -exponents[e]);
        fill(*state, HN_FILL_ZIPF, N, exponents[e], HN_UINT16, COUNT, 1, numbers);
        count_numbers(numbers, COUNT, shares, N);
        for (int k = 0; k < N; k++)
            assert_share(shares[k], pow(k + 1, -exponents[e]) / sum, COUNT);
    }
    fill(*state, HN_FILL_ZIPF, 1, 2, HN_UINT16, COUNT, 1, numbers);
    count_numbers(numbers, COUNT, shares, 1);
}

static void the_others_are_as_described(void **state)
{
    enum { COUNT = 100000 };
    static double reals[COUNT];
    static int8_t bytes[COUNT];
    static uint16_t halves[COUNT];
    double sum = 0, squares = 0;
    fill(*state, HN_FILL_NORMAL, 3, 2, HN_FLOAT64, COUNT, 1, reals);
    for (int i = 0; i < COUNT; i++) {
        sum += reals[i] / COUNT;
        squares += (reals[i] - 3) * (reals[i] - 3) / COUNT;
    }
    assert_true(fabs(sum - 3) < 0.03 && fabs(squares - 4) < 0.1);
    fill(*state, HN_FILL_UNIFORM, -2, 2, HN_INT8, COUNT, 1, bytes);
    int counts[5] = {0};
    for (int i = 0; i < COUNT; i++) {
        assert_true(bytes[i] >= -2 && bytes[i] <= 2);
        counts[bytes[i] + 2]++;
    }
    for (int k = 0; k < 5; k++)
        assert_share(counts[k] / (double)COUNT, 0.2, COUNT);
    fill(*state, HN_FILL_IOTA, 1, 0.5, HN_FLOAT16, 100, 1, halves);
    for (int i = 0; i < 100; i++)
        assert_true(hn_element_decode(&halves[i], HN_FLOAT16) == 1 + 0.5 * i);
    fill(*state, HN_FILL_CONSTANT, 0.1, 0, HN_BFLOAT16, 100, 1, halves);
    uint16_t tenth;
    hn_element_encode(0.1, HN_BFLOAT16, &tenth);
    assert_int_equal(halves[99], tenth);
}

static void fills_are_checked(void **state)
{
    (void)state;
    static const struct {
        struct hn_fill fill;
        enum hn_element element;
        uint64_t count;
        const char *why;
    } cases[] = {
        {{.kind = HN_FILL_PERMUTATION}, HN_UINT8, 256, NULL},
        {{.kind = HN_FILL_PERMUTATION}, HN_UINT8, 257, "which does not fit into uint8"},
        {{.kind = HN_FILL_PERMUTATION}, HN_BFLOAT16, 257, NULL},
        {{.kind = HN_FILL_PERMUTATION}, HN_BFLOAT16, 258, "which does not fit into bfloat16"},
        {{.kind = HN_FILL_SKEWED, .numbers = {256, 0.5}}, HN_UINT8, 1, NULL},
        {{.kind = HN_FILL_SKEWED, .numbers = {8, 1.5}},
         HN_UINT8,
         1,
         "expected skewed(n, share) with a share from 0 to 1"},
        {{.kind = HN_FILL_SKEWED, .numbers = {0, 0.5}},
         HN_UINT8,
         1,
         "expected a whole number of values, at least 1"},
        {{.kind = HN_FILL_ZIPF, .numbers = {300, 1}}, HN_UINT8, 1, "which does not fit into uint8"},
        {{.kind = HN_FILL_ZIPF, .numbers = {30, -1}},
         HN_UINT8,
         1,
         "expected zipf(n, exponent) with an exponent of at least 0"},
        {{.kind = HN_FILL_UNIFORM, .numbers = {0, 0x1p64}}, HN_UINT64, 1, NULL},
        {{.kind = HN_FILL_CONSTANT, .numbers = {0.5, 0}},
         HN_INT32,
         1,
         "expected whole numbers for elements of int32"},
        {{.kind = HN_FILL_CONSTANT, .numbers = {(double)INFINITY, 0}},
         HN_FLOAT32,
         1,
         "expected finite numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[128] = "";
        bool fine =
            hn_fill_check(&cases[i].fill, cases[i].element, cases[i].count, why, sizeof why);
        assert_int_equal(fine, cases[i].why == NULL);
        if (!fine)
            assert_string_equal(why, cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_permutation_has_every_number_once),
        cmocka_unit_test(skewed_hits_one_number),
        cmocka_unit_test(zipf_follows_its_formula),
        cmocka_unit_test(the_others_are_as_described),
        cmocka_unit_test(fills_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
