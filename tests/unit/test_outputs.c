/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture kept;

static int load(void **state)
{
    return bench_fixture_use(&kept, "double/keep.yaml");
}

ALL_TESTS(load, NULL)

static void open_bench(const char *problem)
{
    bench_fixture_set_problem(&kept, problem);
    bench_fixture_start(&kept, HN_COLD);
}

static void expect(const char *point, enum hn_outcome outcome)
{
    const struct hn_record *record =
        bench_fixture_record(&kept, point, &verify_only, outcome, NULL);
    assert_true(record->verdict.max_error == (outcome == HN_OUTCOME_OK ? 0.0 : 1.0));
}

TEST(nothing_may_be_kept)
{
    open_bench("n=3000,threshold=5.0");
    expect("ORDER=backward,FAULT=0", HN_OUTCOME_OK);
}

TEST(a_length_counts_in_every_mode)
{
    struct hn_compare *compare = kept.config->plan->arguments[1].compare;
    open_bench("n=3000,threshold=0.5");
    compare->mode = HN_COMPARE_EXACT;
    expect("ORDER=forward,FAULT=0", HN_OUTCOME_OK);
    bench_fixture_record(&kept, "ORDER=backward,FAULT=0", &verify_only, HN_OUTCOME_WRONG_RESULT,
                         NULL);
    compare->mode = HN_COMPARE_MULTISET;
    expect("ORDER=forward,FAULT=2", HN_OUTCOME_WRONG_RESULT);
}

TEST(lengths_of_any_integer_type_are_read)
{
    const int8_t minus = -1;
    const int16_t some = 300;
    const uint8_t most = 255;
    const int64_t many = INT64_C(1) << 40;
    assert_int_equal(hn_element_count(&minus, HN_INT8), 0);
    assert_int_equal(hn_element_count(&most, HN_UINT8), 255);
    assert_int_equal(hn_element_count(&some, HN_INT16), 300);
    assert_int_equal(hn_element_count(&many, HN_INT64), many);
}
