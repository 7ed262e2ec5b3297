/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture keep;
static const struct hn_bench_request verify_only = {.verify = true};

static int load(void **state)
{
    return bench_fixture_use(&keep, "double/keep.yaml");
}

ALL_TESTS(load, NULL)

static void open_bench(const char *problem)
{
    hn_bindings_finish(&keep.config->problems[0]);
    assert_ok(hn_bindings_parse(problem, &keep.config->problems[0], NULL));
    bench_fixture_start(&keep, HN_COLD);
}

static void expect(const char *point, enum hn_outcome outcome, const char *message)
{
    struct hn_record record ENDED_BY(hn_record_finish) =
        bench_fixture_evaluate(&keep, point, &verify_only);
    if (record.outcome != outcome)
        fail_msg("%s: found %s (%s)", point, hn_outcome_name(record.outcome),
                 record.message == NULL ? "" : record.message);
    if (message != NULL)
        assert_string_equal(record.message, message);
    assert_true(record.verdict.max_error == (outcome == HN_OUTCOME_OK ? 0.0 : 1.0));
}

TEST(a_multiset_has_no_order)
{
    open_bench("n=3000,threshold=0.5");
    expect("ORDER=forward,FAULT=0", HN_OUTCOME_OK, NULL);
    expect("ORDER=backward,FAULT=0", HN_OUTCOME_OK, NULL);
}

TEST(one_wrong_element_is_named)
{
    open_bench("n=3000,threshold=0.5");
    expect("ORDER=backward,FAULT=1", HN_OUTCOME_WRONG_RESULT,
           "out holds '0.25' 1 times among its 2499 elements; expected 0 (in any order)");
    expect("ORDER=forward,FAULT=2", HN_OUTCOME_WRONG_RESULT,
           "out holds '0.500999987' 0 times among its 2499 elements; expected 1 (in any order)");
}

TEST(a_wrong_length_is_told_first)
{
    open_bench("n=3000,threshold=0.5");
    expect("ORDER=forward,FAULT=3", HN_OUTCOME_WRONG_RESULT,
           "kept[0] is 2500; expected 2499: an error of 1, more than the tolerance of 0");
}

TEST(nothing_may_be_kept)
{
    open_bench("n=3000,threshold=5.0");
    expect("ORDER=backward,FAULT=0", HN_OUTCOME_OK, NULL);
}

TEST(a_length_counts_in_every_mode)
{
    struct hn_compare *compare = keep.config->plan->arguments[1].compare;
    open_bench("n=3000,threshold=0.5");
    compare->mode = HN_COMPARE_EXACT;
    expect("ORDER=forward,FAULT=0", HN_OUTCOME_OK, NULL);
    struct hn_record record ENDED_BY(hn_record_finish) =
        bench_fixture_evaluate(&keep, "ORDER=backward,FAULT=0", &verify_only);
    assert_int_equal(record.outcome, HN_OUTCOME_WRONG_RESULT);
    compare->mode = HN_COMPARE_MULTISET;
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

/* 16 bits and vectors are compared as what they are. */
TEST(narrow_types_and_vectors_are_compared)
{
    static const struct {
        const char *point;
        enum hn_outcome outcome;
        const char *part;
    } cases[] = {
        {"FAULT=0,ORDER=0", HN_OUTCOME_OK, ""},
        {"FAULT=0,ORDER=1", HN_OUTCOME_OK, ""},
        {"FAULT=1,ORDER=0", HN_OUTCOME_OK, ""},
        {"FAULT=2,ORDER=0", HN_OUTCOME_WRONG_RESULT, "turned[7] is 10; expected "},
        {"FAULT=3,ORDER=0", HN_OUTCOME_WRONG_RESULT, "wide[5].z is "},
        {"FAULT=4,ORDER=1", HN_OUTCOME_WRONG_RESULT, "pairs holds '(0, "},
        {"FAULT=5,ORDER=0", HN_OUTCOME_WRONG_RESULT, "turned[9] is nan; expected "},
    };
    static struct bench_fixture types;
    bench_fixture_use(&types, "double/types.yaml");
    bench_fixture_start(&types, HN_COLD);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_record record ENDED_BY(hn_record_finish) =
            bench_fixture_evaluate(&types, cases[i].point, &verify_only);
        const char *message = record.message == NULL ? "" : record.message;
        if (record.outcome != cases[i].outcome || strstr(message, cases[i].part) == NULL)
            fail_msg("%s: found %s (%s)", cases[i].point, hn_outcome_name(record.outcome), message);
    }
}
