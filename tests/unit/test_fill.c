/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/plan/argument.h"

#include "bench_fixture.h"
#include "runtime/bench/support.h"
#include "tests/unit/unit.h"

/* The support kernels of the bench's device, with a buffer of their own. */
struct filler {
    struct bench_fixture fixture;
    struct hn_context context;
    struct hn_support support;
    CUdeviceptr data;
};

enum { BYTES = 1 << 20 };

ONLY_WHERE(bench_fixture_find_device)

static int set_up(void **state)
{
    static struct filler filler;
    struct hn_error err = {.message = ""};
    bench_fixture_load(&filler.fixture, "double/types.yaml", bench_fixture_capability);
    struct hn_driver *driver = &filler.fixture.driver;
    struct hn_device *device = &filler.fixture.device;
    if (hn_driver_open(driver, &err) == HN_OK &&
        hn_driver_select(driver, NULL, device, &err) == HN_OK &&
        hn_context_init(&filler.context, driver, device, &err) == HN_OK)
        hn_support_init(&filler.support, &filler.context, &filler.fixture.support, &err);
    if (hn_failed(&err))
        fail_msg("%s", err.message);
    assert_int_equal(driver->p_cuMemAlloc(&filler.data, BYTES), CUDA_SUCCESS);
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

ALL_TESTS(set_up, tear_down)

static void fill_by(struct filler *filler, const struct hn_recipe *recipe, enum hn_element element,
                    uint64_t seed, void *to)
{
    uint64_t count = recipe->count;
    struct hn_error err = {.message = ""};
    assert_true(count * hn_element_size(element) <= BYTES);
    const struct hn_elements elements = {.data = filler->data, .count = count, .type = element};
    hn_error_init(&err);
    hn_support_fill(&filler->support, elements, recipe, seed, &err);
    if (hn_failed(&err))
        fail_msg("%s", err.message);
    assert_int_equal(
        filler->fixture.driver.p_cuMemcpyDtoH(to, filler->data, count * hn_element_size(element)),
        CUDA_SUCCESS);
}

static void fill(struct filler *filler, enum hn_fill_kind kind, double a, double b,
                 enum hn_element element, uint64_t count, uint64_t seed, void *to)
{
    const struct hn_recipe recipe = {.fill = {.kind = kind, .numbers = {a, b}}, .count = count};
    fill_by(filler, &recipe, element, seed, to);
}

/* Every number once, for counts that are powers and counts that are not, in an order of the seed.
 */
TEST(a_permutation_has_every_number_once)
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

TEST(skewed_hits_one_number)
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

TEST(zipf_follows_its_formula)
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

TEST(the_others_are_as_described)
{
    enum { COUNT = 100000 };
    static int8_t bytes[COUNT];
    static uint16_t halves[COUNT];
    fill(*state, HN_FILL_UNIFORM, -2, 2, HN_INT8, COUNT, 1, bytes);
    int counts[5] = {0};
    for (int i = 0; i < COUNT; i++) {
        assert_true(bytes[i] >= -2 && bytes[i] <= 2);
        counts[bytes[i] + 2]++;
    }
    for (int k = 0; k < 5; k++)
        assert_share(counts[k] / (double)COUNT, 0.2, COUNT);
    static uint8_t pixels[COUNT];
    int dark = 0, bright = 0;
    fill(*state, HN_FILL_NORMAL, 128, 128, HN_UINT8, COUNT, 1, pixels);
    for (int i = 0; i < COUNT; i++) {
        dark += pixels[i] == 0;
        bright += pixels[i] == 255;
    }
    assert_share(dark / (double)COUNT, 0.1599, COUNT); /* below 1, or above 255: a deviation off */
    assert_share(bright / (double)COUNT, 0.1604, COUNT);
    fill(*state, HN_FILL_IOTA, 1, 0.5, HN_FLOAT16, 100, 1, halves);
    for (int i = 0; i < 100; i++)
        assert_true(hn_element_decode(&halves[i], HN_FLOAT16) == 1 + 0.5 * i);
    fill(*state, HN_FILL_CONSTANT, 0.1, 0, HN_BFLOAT16, 100, 1, halves);
    uint16_t tenth;
    hn_element_encode(0.1, HN_BFLOAT16, &tenth);
    assert_int_equal(halves[99], tenth);
    fill(*state, HN_FILL_IOTA, -1, 0.125, HN_FLOAT8_E4M3, 17, 1, halves);
    for (int i = 0; i < 17; i++)
        assert_true(hn_element_decode((const char *)halves + i, HN_FLOAT8_E4M3) == -1 + 0.125 * i);
}

TEST(fills_are_checked)
{
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
        {{.kind = HN_FILL_PERMUTATION}, HN_FLOAT8_E4M3, 18, "which does not fit into float8_e4m3"},
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
        {{.kind = HN_FILL_IOTA, .numbers = {0, 1}}, HN_UINT8, 256, NULL},
        {{.kind = HN_FILL_IOTA, .numbers = {0, 1}}, HN_UINT8, 257, "which does not fit into uint8"},
        {{.kind = HN_FILL_IOTA, .numbers = {9, -1}}, HN_UINT32, 10, NULL},
        {{.kind = HN_FILL_IOTA, .numbers = {9, -1}},
         HN_UINT32,
         11,
         "which does not fit into uint32"},
        {{.kind = HN_FILL_UNIFORM, .numbers = {-65504, 65504}}, HN_FLOAT16, 1, NULL},
        {{.kind = HN_FILL_UNIFORM, .numbers = {-70000, 1}},
         HN_FLOAT16,
         1,
         "which does not fit into float16"},
        {{.kind = HN_FILL_IOTA, .numbers = {0, 1}}, HN_FLOAT16, 65505, NULL},
        {{.kind = HN_FILL_IOTA, .numbers = {0, 1}},
         HN_FLOAT16,
         65521,
         "which does not fit into float16"},
        {{.kind = HN_FILL_NORMAL, .numbers = {0, 1e38}},
         HN_FLOAT32,
         1,
         "which does not fit into float32"},
        {{.kind = HN_FILL_SORTED, .numbers = {0, 1e39}}, HN_FLOAT64, 1, NULL},
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

/* Whether all values are numbers of that type: what others become is left to the conversion, which
 * hosts and devices do in ways of their own. */
static bool fits(const struct hn_recipe *recipe, enum hn_element element)
{
    char why[128];
    if (hn_element_is_real(element))
        return recipe->fill.kind != HN_FILL_CSR_ROWS;
    switch (recipe->fill.kind) {
    case HN_FILL_CSR_ROWS:
        return hn_element_size(element) > 2;
    case HN_FILL_TRANSPOSED:
        return hn_fill_check(&recipe->source_fill, element, recipe->count, why, sizeof why);
    default:
        return hn_fill_check(&recipe->fill, element, recipe->count, why, sizeof why);
    }
}

/* What `hone inputs` writes is what kernels get, to the bit; in any pieces. */
TEST(the_host_fills_as_the_device_does)
{
    enum { COUNT = 10000, PIECE = 3333 };
    static const struct hn_recipe recipes[] = {
        {.fill = {.kind = HN_FILL_UNIFORM, .numbers = {-1, 1}}},
        {.fill = {.kind = HN_FILL_UNIFORM, .numbers = {0, 100}}},
        {.fill = {.kind = HN_FILL_NORMAL, .numbers = {5, 2}}},
        {.fill = {.kind = HN_FILL_NORMAL, .numbers = {5, 1e30}}},
        {.fill = {.kind = HN_FILL_IOTA, .numbers = {1, 3}}},
        {.fill = {.kind = HN_FILL_CONSTANT, .numbers = {7, 0}}},
        {.fill = {.kind = HN_FILL_PERMUTATION}},
        {.fill = {.kind = HN_FILL_SKEWED, .numbers = {100, 0.25}}},
        {.fill = {.kind = HN_FILL_ZIPF, .numbers = {100, 1.1}}},
        {.fill = {.kind = HN_FILL_SORTED, .numbers = {0, 90}}},
        {.fill = {.kind = HN_FILL_CSR_ROWS, .numbers = {3.5, 1}}},
        {.fill = {.kind = HN_FILL_TRANSPOSED, .numbers = {100}},
         .source_fill = {.kind = HN_FILL_UNIFORM, .numbers = {-1, 1}},
         .source = 3},
    };
    static unsigned char device[COUNT * 8], host[COUNT * 8];
    int compared = 0;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        for (int e = 0; e < HN_ELEMENT_COUNT; e++) {
            enum hn_element element = (enum hn_element)e;
            struct hn_recipe recipe = recipes[i];
            size_t size = hn_element_size(element);
            recipe.count = hn_element_size(element) == 1 ? 100 : COUNT;
            recipe.argument = 2;
            if (!fits(&recipe, element))
                continue;
            compared++;
            fill_by(*state, &recipe, element, 17, device);
            for (uint64_t first = 0; first < recipe.count; first += PIECE)
                hn_host_fill(&recipe, element, 17, first,
                             recipe.count - first < PIECE ? recipe.count - first : PIECE,
                             host + first * size);
            assert_memory_equal(device, host, recipe.count * size);
        }
    }
    assert_int_equal(compared, 137);
}

TEST(sorted_numbers_ascend)
{
    enum { COUNT = 10000 };
    static float reals[COUNT];
    static int whole[COUNT];
    fill(*state, HN_FILL_SORTED, -1, 1, HN_FLOAT32, COUNT, 3, reals);
    fill(*state, HN_FILL_SORTED, 10, 19, HN_INT32, COUNT, 3, whole);
    for (size_t i = 1; i < COUNT; i++) {
        assert_true(reals[i - 1] <= reals[i]);
        assert_true(whole[i - 1] <= whole[i]);
    }
    assert_true(reals[0] >= -1 && reals[0] < -0.999f && reals[COUNT - 1] > 0.999f);
    assert_true(whole[0] == 10 && whole[COUNT - 1] == 19);
    /* Not evenly spaced. */
    assert_true(fabsf((reals[1] - reals[0]) - (reals[2] - reals[1])) > 0);
}

TEST(a_sparse_matrix_has_rows_and_columns)
{
    enum { ROWS = 1000, COLUMNS = 50 };
    static const double entries[] = {0.5, 8, 7.3};
    static unsigned rows[ROWS + 1];
    static int columns[ROWS * 8];
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const struct hn_recipe of_rows = {
            .fill = {.kind = HN_FILL_CSR_ROWS, .numbers = {entries[i], 1}}, .count = ROWS + 1};
        unsigned total = (unsigned)(entries[i] * ROWS), longest = 0, shortest = UINT32_MAX;
        const struct hn_recipe of_columns = {
            .fill = {.kind = HN_FILL_CSR_COLUMNS, .numbers = {COLUMNS}},
            .count = total,
            .argument = 1,
            .source_fill = of_rows.fill,
            .source_count = ROWS + 1};
        fill_by(*state, &of_rows, HN_UINT32, 5, rows);
        fill_by(*state, &of_columns, HN_INT32, 5, columns);
        assert_int_equal(rows[0], 0);
        assert_int_equal(rows[ROWS], total);
        for (size_t row = 0; row < ROWS; row++) {
            assert_true(rows[row] <= rows[row + 1]);
            unsigned length = rows[row + 1] - rows[row];
            longest = length > longest ? length : longest;
            shortest = length < shortest ? length : shortest;
            for (unsigned k = rows[row]; k < rows[row + 1]; k++) {
                assert_true(columns[k] >= 0 && columns[k] < COLUMNS);
                assert_true(k == rows[row] || columns[k] > columns[k - 1]);
            }
        }
        assert_true(longest > entries[i] * 1.5 && shortest < entries[i] / 2);
    }
}

TEST(a_transposed_input_is_that_input)
{
    enum { ROWS = 12, COLUMNS = 35 };
    float x[ROWS * COLUMNS], turned[ROWS * COLUMNS];
    struct hn_recipe recipe = {.fill = {.kind = HN_FILL_UNIFORM, .numbers = {-1, 1}},
                               .count = ROWS * COLUMNS,
                               .argument = 4};
    fill_by(*state, &recipe, HN_FLOAT32, 9, x);
    recipe.source_fill = recipe.fill;
    recipe.source = 4;
    recipe.argument = 5;
    recipe.fill = (struct hn_fill){.kind = HN_FILL_TRANSPOSED, .numbers = {ROWS}};
    fill_by(*state, &recipe, HN_FLOAT32, 9, turned);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++)
            assert_true(turned[column * ROWS + row] == x[row * COLUMNS + column]);
}

TEST(normal_numbers_are_normal)
{
    enum { COUNT = 100000 };
    static double x[COUNT];
    static const struct {
        double mean, deviation;
        uint64_t seed;
    } cases[] = {{0, 1, 11}, {3, 2, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double sum = 0, squares = 0, fourths = 0, within = 0;
        fill(*state, HN_FILL_NORMAL, cases[c].mean, cases[c].deviation, HN_FLOAT64, COUNT,
             cases[c].seed, x);
        for (size_t i = 0; i < COUNT; i++) {
            double z = (x[i] - cases[c].mean) / cases[c].deviation;
            sum += z / COUNT;
            squares += z * z / COUNT;
            fourths += pow(z, 4) / COUNT;
            within += (fabs(z) < 1) / (double)COUNT;
        }
        assert_true(fabs(sum) < 0.015 && fabs(squares - 1) < 0.025);
        assert_true(fabs(fourths - 3) < 0.2 && fabs(within - 0.682689) < 0.01);
    }
}
